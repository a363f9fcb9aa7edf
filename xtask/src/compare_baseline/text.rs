//! A comparison as aligned text.

use weighbridge::data::Verdict;

use super::{JudgedSuite, details};
use crate::inert::line;

/// All suites, one after the other: what changed around the code, then the cases, then what each verdict
/// rests on.
pub(super) fn of(judged: &[JudgedSuite]) -> String {
    let mut text = String::new();
    for JudgedSuite { comparison, missing, calibrated, fake, .. } in judged {
        let baseline = &comparison.baseline;
        let title = match &baseline.run {
            Some(run) => format!(
                "{}: run {} against the stored baseline `{}` (run {run})",
                comparison.suite, comparison.candidate, baseline.name
            ),
            None => format!("{}: in a duel with `{}`", comparison.suite, baseline.name),
        };
        line(&mut text, &title);
        if let Some(fake) = fake {
            line(&mut text, fake);
        }
        for change in &comparison.environment_changes {
            line(&mut text, &format!("changed: {change}"));
        }
        for note in &comparison.notes {
            line(&mut text, &format!("note: {note}"));
        }
        if let Some(refusal) = &comparison.refused {
            line(&mut text, &format!("nothing judged: {refusal}"));
        }
        let cases = details::cases(comparison);
        if !cases.is_empty() {
            text.extend(["\n", &cases.text()]);
        }
        for reason in details::reasons(comparison, str::to_owned) {
            line(&mut text, &reason);
        }
        for said in calibrated {
            line(&mut text, said);
        }
        for row in comparison.rows.iter().filter(|row| row.verdict == Verdict::Regressed) {
            text.push('\n');
            line(&mut text, &format!("{} regressed:", row.case));
            text.push_str(&details::metrics(row).text());
        }
        for failure in &comparison.failures {
            line(&mut text, &format!("failed: {}: {failure}", failure.case));
        }
        for id in missing {
            line(
                &mut text,
                &format!("missing: scenario {id} is in benches/scenarios.lock and not in the run"),
            );
        }
        text.push('\n');
    }
    text
}
