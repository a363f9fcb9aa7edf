//! The table at the end of a call of cargo: what each of its bench targets has come to.

use super::Columns;
use crate::compare::Comparison;
use crate::record::{CaseRecord, CaseStatus, RunRecord};

/// The end of one bench target.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetEnd {
    /// `package/target`.
    pub target: String,
    /// Its cases.
    pub cases: usize,
    /// Those that were measured.
    pub measured: usize,
    /// Those that failed, or whose work or clock does not verify.
    pub failed: usize,
    /// Those that are slower than in the baseline that it was judged by.
    pub regressed: usize,
    /// Its exit code.
    pub exit: u8,
}

impl TargetEnd {
    /// The end of a run, as it was judged, if it was.
    pub fn of(run: &RunRecord, judged: Option<&Comparison>, exit: u8) -> Self {
        let count = |takes: fn(&CaseRecord) -> bool| run.cases.iter().filter(|case| takes(case)).count();
        Self {
            target: run.manifest.suite.clone(),
            cases: run.cases.len(),
            measured: count(|case| case.status == CaseStatus::Measured),
            failed: count(CaseRecord::has_failed),
            regressed: judged.map_or(0, |comparison| comparison.counts.regressed),
            exit,
        }
    }

    /// The line that keeps it for the targets that come after it.
    pub fn to_note(&self) -> String {
        let Self { target: _, cases, measured, failed, regressed, exit } = self;
        format!("{cases} {measured} {failed} {regressed} {exit}")
    }

    /// Reads such a line; `None` where it is none.
    pub fn of_note(target: String, note: &str) -> Option<Self> {
        let mut numbers = note.split(' ').map(str::parse::<usize>);
        let mut next = || numbers.next()?.ok();
        let (cases, measured, failed, regressed) = (next()?, next()?, next()?, next()?);
        Some(Self { target, cases, measured, failed, regressed, exit: next()?.try_into().ok()? })
    }
}

/// The table of all targets of a call; empty for fewer than two.
pub fn targets(ends: &[TargetEnd]) -> String {
    if ends.len() < 2 {
        return String::new();
    }
    let mut shown =
        Columns::new(["all bench targets", "cases>", "measured>", "failed>", "regressed>", "exit>"]);
    for TargetEnd { target, cases, measured, failed, regressed, exit } in ends {
        let numbers =
            [*cases, *measured, *failed, *regressed, usize::from(*exit)].map(|number| number.to_string());
        shown.row(std::iter::once(target.clone()).chain(numbers));
    }
    format!("\n{}", shown.fitted(None, &[]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_target_is_a_row_and_its_note_says_the_same() {
        let end = |target: &str, failed, exit| TargetEnd {
            target: target.to_owned(),
            cases: 12,
            measured: 12 - failed,
            failed,
            regressed: 1,
            exit,
        };
        let ends = [end("one/fast", 0, 3), end("two/work_load", 2, 6)];
        let expected = "
  all bench targets  cases  measured  failed  regressed  exit
  one/fast              12        12       0          1     3
  two/work_load         12        10       2          1     6
";
        assert_eq!(targets(&ends), expected);
        for end in &ends {
            assert_eq!(TargetEnd::of_note(end.target.clone(), &end.to_note()).as_ref(), Some(end));
        }
        assert_eq!((targets(&ends[..1]), TargetEnd::of_note("x".into(), "1 2 3")), (String::new(), None));
    }
}
