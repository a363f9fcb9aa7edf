//! What earlier runs of this machine measured: how far figures wander when nothing is compared.

use std::collections::BTreeMap;

use crate::plan::CaseId;
use crate::record::{Baseline, RunId, RunManifest, RunRecord};

/// The medians of earlier runs, by case and metric.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History(BTreeMap<String, BTreeMap<String, Vec<f64>>>);

impl History {
    /// The history of those runs that [belong](Self::belongs) beside the baseline and are not the candidate.
    pub fn gather<'a>(
        baseline: &Baseline,
        candidate: &RunId,
        runs: impl IntoIterator<Item = &'a RunRecord>,
    ) -> Self {
        let mut history = Self::default();
        let fitting =
            |run: &&RunRecord| run.manifest.id != *candidate && Self::belongs(&run.manifest, baseline);
        for run in runs.into_iter().filter(fitting) {
            for case in &run.cases {
                for metric in &case.metrics {
                    if let Some(estimate) = metric.estimate {
                        history.add(&case.id, &metric.name, estimate.median);
                    }
                }
            }
        }
        history
    }

    /// Whether a run shows what noise is to this baseline: the same suite, profile and machine, and the same
    /// environment variables. A run with another variable (one that slows the reference down, say) is an
    /// experiment, not noise.
    pub fn belongs(run: &RunManifest, baseline: &Baseline) -> bool {
        run.suite == baseline.suite
            && run.profile == baseline.profile
            && run.environment.machine == baseline.environment.machine
            && run.environment.variables == baseline.environment.variables
    }

    /// Adds the median that one run had.
    pub fn add(&mut self, case: &CaseId, metric: &str, median: f64) {
        let metrics = self.0.entry(case.to_string()).or_default();
        if let Some(medians) = metrics.get_mut(metric) {
            medians.push(median);
        } else {
            metrics.insert(metric.to_owned(), vec![median]);
        }
    }

    /// The medians of a metric of a case.
    pub(super) fn medians(&self, case: &CaseId, metric: &str) -> &[f64] {
        self.0.get(&case.to_string()).and_then(|metrics| metrics.get(metric)).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::judge::fixture::{case, run};

    #[test]
    fn only_runs_like_the_baseline_and_not_the_candidate_are_history() {
        let plain = |number| run(number, vec![case("A", &[1.0, 2.0, 3.0])]);
        let baseline = Baseline::promote("main", &plain(1));
        let mut slowed = plain(3);
        slowed.manifest.environment.variables.insert("WEIGHBRIDGE_SLOWDOWN".into(), "2".into());
        let mut elsewhere = plain(4);
        elsewhere.manifest.environment.machine.insert("turbo".into(), "on".into());
        let mut quick = plain(5);
        quick.manifest.profile = "quick".into();
        let candidate = plain(6);
        let runs = [plain(1), plain(2), slowed, elsewhere, quick, candidate.clone()];
        let history = History::gather(&baseline, &candidate.manifest.id, &runs);
        let id = |name| case(name, &[]).id;
        assert_eq!(history.medians(&id("A"), "wall_time"), [2.0, 2.0]);
        assert!(history.medians(&id("B"), "wall_time").is_empty());
    }
}
