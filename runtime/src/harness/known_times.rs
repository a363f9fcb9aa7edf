//! What the cases of a plan took when they ran here before: the estimate of a run is of this machine, with
//! all that its subjects import, convert and verify.

use std::time::Duration;

use crate::device::on_all_processors;
use crate::plan::{Plan, RepeatTimes};
use crate::record::RunManifest;
use crate::run::Outcome;
use crate::store::Runs;

/// Among so many of the newest runs earlier ones of a plan are looked for.
const NEWEST: usize = 50;
/// Of so many of them the repeats are read.
const READ: usize = 3;

/// The plan with the times of its cases, each from the newest run under the same profile and budget that has
/// the case. What cannot be read is not known: an estimate is no reason to fail.
pub(super) fn with_times(mut plan: Plan, runs: &Runs, suite: &str) -> Plan {
    let Ok(ids) = runs.ids() else { return plan };
    let manifests = ids.iter().take(NEWEST).filter_map(|id| runs.manifest(id).ok());
    let is_alike = |run: &RunManifest| {
        run.suite == suite && run.profile == plan.profile && run.planned.budget == plan.budget
    };
    let alike: Vec<RunManifest> = manifests.filter(is_alike).take(READ).collect();
    for run in &alike {
        let asked: Vec<usize> = (0..plan.cases.len()).filter(|case| needs(plan.cases[*case].took)).collect();
        let took = on_all_processors(&asked, |case| times(runs, run, &plan, *case));
        for (case, took) in asked.into_iter().zip(took) {
            let known = &mut plan.cases[case].took;
            known.verifying = known.verifying.or(took.verifying);
            known.measuring = known.measuring.or(took.measuring);
        }
    }
    plan
}

fn needs(known: RepeatTimes) -> bool {
    known.verifying.is_none() || known.measuring.is_none()
}

/// The times of the first repeat of each kind. One that failed may have done so at once, or at its timeout.
fn times(runs: &Runs, run: &RunManifest, plan: &Plan, case: usize) -> RepeatTimes {
    let [verifying, measuring] = [0, 1].map(|number| {
        let repeat = runs.repeat(run, &plan.cases[case].id, number).ok()??;
        matches!(repeat.outcome, Outcome::Measured { .. }).then(|| Duration::from_nanos(repeat.slot))
    });
    RepeatTimes { verifying, measuring }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::CaseOrder;
    use crate::plan::fixtures::plan;
    use crate::record::RunId;
    use crate::store::{Layout, fixtures};

    /// A plan of two cases that [`fixtures::manifest`] has as well.
    fn planned(runs: &Runs) -> Plan {
        let mut plan = plan(&["a", "b"], 2, CaseOrder::Declared);
        plan.profile = "quick".to_owned();
        plan.budget = fixtures::manifest(0, 2).planned.budget;
        for (depth, case) in plan.cases.iter_mut().enumerate() {
            case.id = fixtures::case_id(depth);
        }
        with_times(plan, runs, "toy/suite")
    }

    /// Stores a run in which repeats of the first cases took so many seconds: by case, the verifying and a
    /// measured one.
    fn store(runs: &Runs, second: u64, took: &[[u64; 2]]) -> RunId {
        let manifest = fixtures::manifest(second, took.len());
        runs.create(&manifest).expect("a folder");
        for (depth, took) in took.iter().enumerate() {
            for (number, seconds) in (0..).zip(took) {
                let mut repeat = fixtures::repeat(number, 3);
                repeat.slot = seconds * 1_000_000_000;
                runs.journal(&manifest.id, &fixtures::case_id(depth), &repeat).expect("written");
            }
        }
        manifest.id
    }

    fn seconds(verifying: u64, measuring: u64) -> RepeatTimes {
        let [verifying, measuring] = [verifying, measuring].map(|time| Some(Duration::from_secs(time)));
        RepeatTimes { verifying, measuring }
    }

    #[test]
    fn a_case_is_expected_to_take_what_it_took_in_the_newest_run_that_has_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let runs = Runs::new(Layout::new(folder.path()));
        assert_eq!(planned(&runs).cases[0].took, RepeatTimes::default());
        store(&runs, 1, &[[40, 50], [60, 70]]);
        store(&runs, 2, &[[4, 5]]);
        let plan = planned(&runs);
        assert_eq!([plan.cases[0].took, plan.cases[1].took], [seconds(4, 5), seconds(60, 70)]);
    }

    #[test]
    fn a_repeat_that_measured_nothing_or_cannot_be_read_tells_no_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let runs = Runs::new(Layout::new(folder.path()));
        let run = store(&runs, 1, &[[4, 5], [6, 7]]);
        let mut skipped = fixtures::repeat(1, 3);
        skipped.outcome = Outcome::Skipped { why: "not today".into() };
        runs.journal(&run, &fixtures::case_id(0), &skipped).expect("written");
        let broken = runs.layout().repeat(&run, &fixtures::case_id(1), 1);
        std::fs::write(broken, "no record").expect("written");
        let known = [4, 6].map(|time| RepeatTimes { measuring: None, ..seconds(time, 0) });
        assert_eq!(planned(&runs).cases.iter().map(|case| case.took).collect::<Vec<_>>(), known);
    }

    #[test]
    fn a_run_under_another_budget_or_of_another_suite_tells_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let runs = Runs::new(Layout::new(folder.path()));
        store(&runs, 1, &[[4, 5]]);
        let mut longer = planned(&runs);
        longer.cases[0].took = RepeatTimes::default();
        assert_eq!(with_times(longer.clone(), &runs, "toy/other").cases[0].took, RepeatTimes::default());
        longer.budget.min_time *= 2;
        assert_eq!(with_times(longer, &runs, "toy/suite").cases[0].took, RepeatTimes::default());
    }
}
