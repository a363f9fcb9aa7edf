//! A comparison as Markdown: for a pull request, or the summary of a CI job.

use std::fmt::Write;

use super::{Judged, details, summary_line};
use weighbridge::data::Exit;

const FITS: &str = "a String takes all that is written";

/// The whole comparison; metrics are folded away under each case.
pub(super) fn of(name: &str, judged: &[Judged], exit: Exit) -> String {
    let mut text = format!("## Weighbridge: {} against `{name}`\n", heading(exit));
    for Judged { comparison, missing, calibrated, fake, .. } in judged {
        writeln!(text, "\n### {}\n", comparison.suite).expect(FITS);
        match &comparison.baseline.run {
            Some(run) => writeln!(text, "Run `{}` against the stored run `{run}`.", comparison.candidate),
            None => writeln!(text, "Measured in turns with `{}`.", comparison.baseline.name),
        }
        .expect(FITS);
        if let Some(fake) = fake {
            writeln!(text, "\n**{fake}**").expect(FITS);
        }
        if !comparison.environment_changes.is_empty() {
            text.push_str("\nChanged around the code:\n\n");
            for change in &comparison.environment_changes {
                writeln!(text, "- `{change}`").expect(FITS);
            }
        }
        if let Some(refusal) = &comparison.refused {
            writeln!(text, "\n**Nothing judged**: {refusal}").expect(FITS);
        }
        let cases = details::cases(comparison);
        if !cases.is_empty() {
            write!(text, "\n{}", cases.markdown()).expect(FITS);
        }
        let failures =
            comparison.failures.iter().map(|failure| format!("**failed** {}: {}", failure.case, failure.why));
        let missing =
            missing.iter().map(|id| format!("**missing** scenario {id} of `benches/scenarios.lock`"));
        let notes: Vec<String> = details::reasons(comparison)
            .into_iter()
            .chain(calibrated.clone())
            .chain(failures)
            .chain(missing)
            .collect();
        if !notes.is_empty() {
            text.push('\n');
            for note in notes {
                writeln!(text, "- {}", note.replace('\n', " ")).expect(FITS);
            }
        }
        let detailed: Vec<_> = comparison.rows.iter().filter(|row| !row.metrics.is_empty()).collect();
        if !detailed.is_empty() {
            text.push_str("\n<details><summary>All metrics</summary>\n");
            for row in detailed {
                write!(
                    text,
                    "\n**{}**: {}\n\n{}",
                    row.case,
                    details::verdict(row),
                    details::metrics(row).markdown()
                )
                .expect(FITS);
            }
            text.push_str("\n</details>\n");
        }
    }
    writeln!(text, "\n`{}`", summary_line::of(judged, exit)).expect(FITS);
    text
}

fn heading(exit: Exit) -> &'static str {
    match exit {
        Exit::Fine => "nothing regressed",
        Exit::Regressed => "regressed",
        Exit::NothingToJudge => "nothing to judge by",
        Exit::Inconclusive => "inconclusive",
        Exit::Failed => "cases failed",
        Exit::Usage | Exit::Unexpected | Exit::Interrupted => "not judged",
    }
}
