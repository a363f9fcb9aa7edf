//! Skipped cases as people read them.

use crate::bencher::visible_in_line;
use crate::plan::CaseId;
use crate::record::RunPlan;

/// A line for each skip: the case and the reason, of which only the first line is told. Cases that one
/// adapter, or one scenario without adapters, leaves for one reason are one line: which they are, the run's
/// record says.
pub(super) fn skip_lines<'a>(skips: impl Iterator<Item = (&'a CaseId, String)>) -> Vec<String> {
    let mut skips: Vec<(&CaseId, String)> = skips.collect();
    skips.sort_by(|(one, why), (other, its)| (who(one), why).cmp(&(who(other), its)));
    let alike = skips.chunk_by(|(one, why), (other, its)| who(one) == who(other) && why == its);
    let said = alike.map(|same| {
        let (id, why) = &same[0];
        let what = match (same.len(), &id.adapter) {
            (1, _) => id.to_string(),
            (many, Some(adapter)) => format!("{many} cases with {adapter}"),
            (many, None) => format!("{many} cases of {}", id.scenario),
        };
        let why = why.lines().next().unwrap_or_default();
        format!("{}: {}", visible_in_line(&what), visible_in_line(why))
    });
    said.collect()
}

/// The line on cases that had time for fewer repeats than were planned; empty where all had enough.
pub fn shortened(planned: &RunPlan) -> String {
    if planned.shortened.is_empty() {
        return String::new();
    }
    let of = |(case, repeats): (&String, &u32)| format!("{} {repeats}", visible_in_line(case));
    let cases: Vec<String> = planned.shortened.iter().map(of).collect();
    format!(
        "fewer repeats than planned, for want of time: {}; --budget SECS gives it more\n",
        cases.join(", ")
    )
}

/// Whoever leaves a case: an adapter, or a scenario that has none.
fn who(id: &CaseId) -> (Option<&str>, Option<&str>) {
    match &id.adapter {
        Some(adapter) => (Some(adapter), None),
        None => (None, Some(&id.scenario)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Point;

    #[test]
    fn cases_that_one_adapter_leaves_for_one_reason_are_one_line() {
        let of = |scenario: &str, adapter: &str| CaseId {
            scenario: scenario.into(),
            adapter: Some(adapter.into()),
            point: Point::default(),
            told_apart: false,
        };
        let (one, two, three) = (of("CV-1", "rayon"), of("CV-2", "rayon"), of("CV-2", "Lance"));
        let no_workers = || "it asks for no workers\nand more".to_owned();
        let skips = [(&one, no_workers()), (&three, no_workers()), (&two, no_workers())];
        let said = skip_lines(skips.into_iter());
        assert_eq!(
            said,
            ["CV-2/Lance: it asks for no workers", "2 cases with rayon: it asks for no workers"]
        );
        let other = skip_lines([(&one, "too large".into()), (&two, no_workers())].into_iter());
        assert_eq!(other.len(), 2, "{other:?}");
        let raw = skip_lines([(&one, "\u{1b}[2J::error::".into())].into_iter());
        assert!(!raw[0].contains('\u{1b}'), "{raw:?}");
    }
}
