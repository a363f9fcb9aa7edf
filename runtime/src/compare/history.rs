//! What earlier runs of this machine measured: how far figures wander when nothing is compared.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::plan::CaseId;
#[cfg(test)]
use crate::record::RunRecord;
use crate::record::{Baseline, CaseRecord, MetricRecord, Process, RunId, RunManifest};
use crate::stats;

/// The figures of earlier runs, by case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History(BTreeMap<String, Past>);

/// The figures of one case in earlier runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Past {
    /// In the order of their ids.
    runs: Vec<PastRun>,
    /// The place of the first that counts.
    since: usize,
    /// The medians of each metric, with the place of their run in `runs`.
    medians: BTreeMap<String, Vec<(usize, f64)>>,
}

/// One run of a case, condensed further: medians over its processes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PastRun {
    /// Its id.
    run: String,
    /// The 10th percentile of CPU time of one iteration, in nanoseconds; `None` for a case without blocks.
    pub(super) cpu: Option<f64>,
    /// Elements and bytes of one iteration.
    pub(super) work: [f64; 2],
    /// Iterations or items of the whole repeat.
    pub(super) iterations: f64,
    /// The time of each kind of yardstick.
    pub(super) yardsticks: [Option<f64>; 3],
}

impl History {
    /// The history of those runs that [belong](Self::belongs) beside the baseline and are not the candidate.
    #[cfg(test)]
    pub(crate) fn gather<'a>(
        baseline: &Baseline,
        candidate: &RunId,
        runs: impl IntoIterator<Item = &'a RunRecord>,
    ) -> Self {
        let mut history = Self::default();
        let fitting =
            |run: &&RunRecord| run.manifest.id != *candidate && Self::belongs(&run.manifest, baseline);
        for run in runs.into_iter().filter(fitting) {
            for case in &run.cases {
                history.add(&run.manifest.id, case);
            }
        }
        history
    }

    /// Tells whether a run shows what noise is to this baseline: measured here, of the same suite, profile
    /// and machine, and with the same environment variables and priority. A run with another variable (one
    /// that slows the reference down, say) is an experiment, not noise.
    pub fn belongs(run: &RunManifest, baseline: &Baseline) -> bool {
        let differences = run.environment.differences(&baseline.environment);
        run.suite == baseline.suite
            && !run.environment.workspace().is_other_than(&baseline.environment.workspace())
            && run.profile == baseline.profile
            && run.environment.machine == baseline.environment.machine
            && differences.variables.is_empty()
            && !differences.process.iter().any(|fact| fact.what == "priority")
    }

    /// Adds a case of a run.
    pub fn add(&mut self, run: &RunId, case: &CaseRecord) {
        self.add_parts(run, &case.id, &case.processes, &case.metrics);
    }

    /// Adds the run that was promoted: a baseline has all of it that counts here.
    pub fn add_promoted(&mut self, baseline: &Baseline) {
        for case in &baseline.cases {
            self.add_parts(&baseline.run, &case.id, &case.processes, &case.metrics);
        }
    }

    fn add_parts(&mut self, run: &RunId, id: &CaseId, processes: &[Process], metrics: &[MetricRecord]) {
        let past = self.0.entry(id.to_string()).or_default();
        past.runs.push(PastRun::of(run, processes));
        let run = past.runs.len() - 1;
        for metric in metrics {
            let Some(estimate) = metric.estimate else { continue };
            if let Some(medians) = past.medians.get_mut(&metric.name) {
                medians.push((run, estimate.median));
            } else {
                past.medians.insert(metric.name.clone(), vec![(run, estimate.median)]);
            }
        }
    }

    /// The history of a case, if it has one.
    pub(super) fn past(&self, case: &CaseId) -> Option<&Past> {
        self.0.get(&case.to_string())
    }
}

impl Past {
    /// The same without the runs before this one.
    pub(super) fn since(&self, run: Option<&str>) -> Cow<'_, Self> {
        let Some(since) = run else { return Cow::Borrowed(self) };
        let mut past = self.clone();
        for medians in past.medians.values_mut() {
            medians.retain(|(run, _)| *self.runs[*run].run >= *since);
        }
        // The others stay where they are, since medians name them by their place.
        past.since = self.runs.iter().take_while(|run| *run.run < *since).count();
        Cow::Owned(past)
    }

    /// The runs in which a metric had a value, with its median there.
    pub(super) fn medians<'a>(&'a self, metric: &str) -> impl Iterator<Item = (&'a PastRun, f64)> {
        let medians = self.medians.get(metric).map_or(&[][..], Vec::as_slice);
        medians.iter().map(|(run, median)| (&self.runs[*run], *median))
    }

    /// All runs.
    pub(super) fn runs(&self) -> &[PastRun] {
        &self.runs[self.since..]
    }
}

impl PastRun {
    fn of(run: &RunId, processes: &[Process]) -> Self {
        let median = |read: &dyn Fn(&Process) -> Option<f64>| {
            let mut values = Vec::with_capacity(processes.len());
            for process in processes {
                values.extend(read(process));
            }
            (!values.is_empty()).then(|| stats::median(&values))
        };
        let blocks =
            |read: fn(&crate::record::Blocks) -> f64| median(&|process| process.blocks.as_ref().map(read));
        Self {
            run: run.to_string(),
            cpu: blocks(|blocks| blocks.cpu[0]),
            work: [
                blocks(|blocks| blocks.elements).unwrap_or(0.0),
                blocks(|blocks| blocks.bytes).unwrap_or(0.0),
            ],
            iterations: median(&|process| Some(process.iterations as f64)).unwrap_or(0.0),
            yardsticks: [0, 1, 2].map(|kind| median(&|process| process.yardsticks[kind])),
        }
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
        let past = history.past(&case("A", &[]).id).unwrap();
        let medians: Vec<f64> = past.medians("wall_time").map(|(_, median)| median).collect();
        assert_eq!((medians, past.runs().len()), (vec![2.0; 2], 2));
        assert_eq!(past.medians("latency_p99").count(), 0);
        assert!(history.past(&case("B", &[]).id).is_none());
    }
}
