//! A comparison as aligned text.

use std::fmt::Write;

use weighbridge::data::Verdict;

use super::{Judged, details};

const FITS: &str = "a String takes all that is written";

/// All suites, one after the other: what changed around the code, then the cases, then what each verdict
/// rests on.
pub(super) fn of(judged: &[Judged]) -> String {
    let mut text = String::new();
    for Judged { comparison, missing, calibrated, fake, .. } in judged {
        let baseline = &comparison.baseline;
        match &baseline.run {
            Some(run) => writeln!(
                text,
                "{}: run {} against the stored baseline `{}` (run {run})",
                comparison.suite, comparison.candidate, baseline.name
            ),
            None => writeln!(text, "{}: in a duel with `{}`", comparison.suite, baseline.name),
        }
        .expect(FITS);
        if let Some(fake) = fake {
            writeln!(text, "{fake}").expect(FITS);
        }
        for change in &comparison.environment_changes {
            writeln!(text, "changed: {change}").expect(FITS);
        }
        if let Some(refusal) = &comparison.refused {
            writeln!(text, "nothing judged: {refusal}").expect(FITS);
        }
        let cases = details::cases(comparison);
        if !cases.is_empty() {
            write!(text, "\n{}", cases.text()).expect(FITS);
        }
        for reason in details::reasons(comparison) {
            writeln!(text, "{reason}").expect(FITS);
        }
        for line in calibrated {
            writeln!(text, "{line}").expect(FITS);
        }
        for row in comparison.rows.iter().filter(|row| row.verdict == Verdict::Regressed) {
            write!(text, "\n{} regressed:\n{}", row.case, details::metrics(row).text()).expect(FITS);
        }
        for failure in &comparison.failures {
            writeln!(text, "failed: {}: {}", failure.case, failure.why).expect(FITS);
        }
        for id in missing {
            writeln!(text, "missing: scenario {id} is in benches/scenarios.lock and not in the run")
                .expect(FITS);
        }
        text.push('\n');
    }
    text
}
