//! A comparison as Markdown: for a pull request, or the summary of a CI job.

use std::fmt::Write;

use super::{JudgedSuite, details, summary_line};
use crate::inert::{code, markdown};
use weighbridge::data::Exit;

const FITS: &str = "a String takes all that is written";

/// The whole comparison; metrics are folded away under each case.
pub(super) fn of(name: &str, judged: &[JudgedSuite], exit: Exit) -> String {
    let mut text = format!("## Weighbridge: {} against {}\n", heading(exit), code(name));
    for JudgedSuite { comparison, missing, calibrated, fake, .. } in judged {
        writeln!(text, "\n### {}\n", markdown(&comparison.suite)).expect(FITS);
        match &comparison.baseline.run {
            Some(run) => writeln!(text, "Run `{}` against the stored run `{run}`.", comparison.candidate),
            None => writeln!(text, "Measured in turns with {}.", code(&comparison.baseline.name)),
        }
        .expect(FITS);
        if let Some(fake) = fake {
            writeln!(text, "\n**{}**", markdown(fake)).expect(FITS);
        }
        if !comparison.environment_changes.is_empty() {
            text.push_str("\nChanged around the code:\n\n");
            for change in &comparison.environment_changes {
                writeln!(text, "- {}", code(&change.to_string())).expect(FITS);
            }
        }
        if !comparison.notes.is_empty() {
            text.push('\n');
            for note in &comparison.notes {
                writeln!(text, "- **note**: {}", markdown(note)).expect(FITS);
            }
        }
        if let Some(refusal) = &comparison.refused {
            writeln!(text, "\n**Nothing judged**: {}", markdown(&refusal.to_string())).expect(FITS);
        }
        let cases = details::cases(comparison);
        if !cases.is_empty() {
            write!(text, "\n{}", cases.markdown()).expect(FITS);
        }
        let failures = comparison
            .failures
            .iter()
            .map(|failure| format!("**failed** {}", markdown(&format!("{}: {failure}", failure.case))));
        let missing = missing
            .iter()
            .map(|id| format!("**missing** scenario {} of `benches/scenarios.lock`", markdown(id)));
        let notes: Vec<String> = details::reasons(comparison, markdown)
            .into_iter()
            .chain(calibrated.iter().map(|note| markdown(note)))
            .chain(failures)
            .chain(missing)
            .collect();
        if !notes.is_empty() {
            text.push('\n');
            for note in notes {
                writeln!(text, "- {note}").expect(FITS);
            }
        }
        let detailed: Vec<_> = comparison.rows.iter().filter(|row| !row.metrics.is_empty()).collect();
        if !detailed.is_empty() {
            text.push_str("\n<details><summary>All metrics</summary>\n");
            for row in detailed {
                write!(
                    text,
                    "\n**{}**: {}\n\n{}",
                    markdown(&row.case.to_string()),
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
