//! What a comparison says: rows, what is counted, how the gate ends.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{
    Advice, Effect, EnvironmentChange, IncomparableReason, JudgedRounds, MetricChange, Policy, Tendency,
    Tolerance, Verdict,
};
use crate::metric::{Direction, Unit, names};
use crate::plan::CaseId;
use crate::record::{Difference, Document, DocumentKind, Environment, Estimate, RunId};

/// A run held against a baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// `<package>/<bench target>` of the run.
    pub suite: String,
    /// The method of the comparison.
    pub method: Method,
    /// The baseline.
    pub baseline: ComparedBaseline,
    /// The run that is judged.
    pub candidate: RunId,
    /// The environment in which both sides of a duel were measured, with the candidate's commit and whether
    /// its tree was dirty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Environment>,
    /// Changes around the code: to be told before any row.
    pub environment_changes: Vec<EnvironmentChange>,
    /// Lines to be told before any row: by whose rules was judged, and who measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The reason why nothing is judged, if nothing is.
    pub refused: Option<Refusal>,
    /// Cases of the run that failed, or whose work does not verify.
    pub failures: Vec<CaseFailure>,
    /// One row per case, in the order of the run; then those that it has no more.
    pub rows: Vec<Row>,
    /// The number of rows of each verdict.
    pub counts: VerdictCounts,
}

/// The way in which a comparison was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// A run was held against a stored baseline.
    Stored,
    /// Both sides were measured in turns.
    Duel,
}

/// The baseline that a run is compared with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComparedBaseline {
    /// Its name; in a duel the revision, program or adapter.
    pub name: String,
    /// The run that was promoted; none in a duel.
    pub run: Option<RunId>,
}

/// A case of the run that failed, or whose work does not verify.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseFailure {
    /// The id of the case.
    pub case: CaseId,
    /// The reason why it is a failure.
    pub why: IncomparableReason,
}

/// The verdict on one case, with its figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The id of the case.
    pub case: CaseId,
    /// The verdict on the case.
    pub verdict: Verdict,
    /// The metric that decided.
    pub metric: String,
    /// By how much that metric is worse; `None` where the case was not weighed.
    pub effect: Option<Effect>,
    /// The margin by which the metric might have been worse.
    pub tolerance: Option<Tolerance>,
    /// The smallest effect that would have been found, as a share.
    pub detectable: Option<f64>,
    /// By how much the metric was accepted to be worse, as a share: `effect` is what comes on top of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<f64>,
    /// Remarks to read before believing the verdict.
    pub marks: Vec<RowMark>,
    /// Advice that would make an inconclusive case decidable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<Advice>,
    /// The processes on both sides, where a stored baseline was judged by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<ProcessValues>,
    /// The rounds of a duel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<JudgedRounds>,
    /// All metrics that have a value on either side.
    pub metrics: Vec<MetricChange>,
}

/// The values of each process for the metric that decided: enough to decide again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessValues {
    /// One value for each process, the baseline's first: logarithms, more is worse.
    pub values: [Vec<f64>; 2],
    /// One value for each stored run.
    pub past: Vec<f64>,
    /// The kind of yardstick that they are divided by, where the stored runs show that it helps.
    pub yardstick: Option<String>,
    /// The share of blocks in which a thread was taken off its processor, on the side where it is larger. 0
    /// without blocks.
    pub switched: f64,
}

/// A caveat to know before believing a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowMark {
    /// Fewer than five runs are stored, so their spread is not known.
    FirstRuns,
    /// The CPU clock decided: the wall clock takes in what else the machine does.
    ByCpuClock,
    /// Wall time without the waiting for a processor decided.
    Undelayed,
    /// The values are divided by those of a yardstick.
    ByYardstick,
    /// A change of the metric was accepted: what is said is what comes on top of it.
    Accepted,
    /// Regressed past the level from which the policy warns.
    Warning,
}

/// The number of rows of each verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictCounts {
    /// Better.
    pub improved: usize,
    /// The same, within the tolerance.
    pub unchanged: usize,
    /// Worse.
    pub regressed: usize,
    /// Not decided.
    pub inconclusive: usize,
    /// Not in the baseline.
    pub added: usize,
    /// Not in the run.
    pub removed: usize,
    /// Not to be weighed against each other.
    pub incomparable: usize,
}

/// The reason why nothing is judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refusal {
    /// The run is the one that was promoted.
    SameRun,
    /// The baseline is of another suite.
    OtherSuite {
        /// The baseline's.
        baseline: String,
    },
    /// The baseline was taken on another machine: what differs, with the run's value here.
    OtherMachine(Vec<Difference>),
    /// The baseline was measured for another workspace.
    OtherWorkspace {
        /// The baseline's.
        baseline: String,
        /// The run's.
        here: String,
    },
    /// No case could be weighed.
    NothingCompared,
}

/// The end of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GateOutcome {
    /// Nothing is worse.
    Pass,
    /// A case regressed.
    Regressed,
    /// There was nothing to judge by.
    NothingToJudge,
    /// A case could not be decided.
    Inconclusive,
    /// A case failed, or its work does not verify.
    Failed,
}

impl Comparison {
    /// Tells how the gate ends. If several hold: a failure first, then that there is nothing to judge by, a
    /// regression, and last that a case could not be decided. A case that cannot be compared was not decided
    /// either, and for one that is gone, or that lacks a metric which gates, there is nothing to judge by: a
    /// gate fails closed.
    pub fn outcome(&self, policy: &Policy) -> GateOutcome {
        let open = self.counts.inconclusive + self.counts.incomparable;
        let removed = self.counts.removed > 0 && !policy.removed_passes;
        if !self.failures.is_empty() {
            GateOutcome::Failed
        } else if self.refused.is_some() || removed || self.rows.iter().any(Row::lacks_its_metric) {
            GateOutcome::NothingToJudge
        } else if self.rows.iter().any(|row| row.fails(policy)) {
            GateOutcome::Regressed
        } else if open > 0 && !policy.inconclusive_passes {
            GateOutcome::Inconclusive
        } else {
            GateOutcome::Pass
        }
    }
}

impl Document for Comparison {
    const KIND: DocumentKind = DocumentKind::Duel;

    fn check(&self) -> Result<(), String> {
        if self.counts == VerdictCounts::of(&self.rows) {
            Ok(())
        } else {
            Err("its `counts` are not those of its rows".to_owned())
        }
    }
}

impl VerdictCounts {
    /// Counts rows.
    pub fn of(rows: &[Row]) -> Self {
        let mut counts = Self::default();
        for row in rows {
            let count = match row.verdict {
                Verdict::Improved => &mut counts.improved,
                Verdict::Unchanged => &mut counts.unchanged,
                Verdict::Regressed => &mut counts.regressed,
                Verdict::Inconclusive(_) => &mut counts.inconclusive,
                Verdict::Added => &mut counts.added,
                Verdict::Removed => &mut counts.removed,
                Verdict::Incomparable(_) => &mut counts.incomparable,
            };
            *count += 1;
        }
        counts
    }

    /// Rows whose figures were weighed.
    pub fn weighed(&self) -> usize {
        self.improved + self.unchanged + self.regressed + self.inconclusive
    }
}

impl Row {
    /// Marks a regression that is past the level from which one is to be warned of.
    pub(super) fn warn(&mut self, policy: &Policy) {
        let warned = self.effect.is_some_and(|effect| policy.warns(&self.case.scenario, effect));
        if warned && self.verdict == Verdict::Regressed {
            self.marks.push(RowMark::Warning);
        }
    }

    /// The metric that decided, on both sides, as its estimates are.
    pub fn decided(&self) -> Option<&MetricChange> {
        self.change_of(&self.metric)
    }

    /// The figures that the verdict rests on, by the clock that decided: what stands beside a verdict.
    /// Values that were divided by those of a yardstick have no unit: then it is the estimates by that
    /// clock.
    pub fn judged(&self) -> Option<Cow<'_, MetricChange>> {
        let decided = self.decided()?;
        let is_rate = decided.direction == Direction::Higher;
        let name =
            match self.marks.iter().find(|mark| matches!(mark, RowMark::ByCpuClock | RowMark::Undelayed)) {
                Some(RowMark::ByCpuClock) if is_rate => names::THROUGHPUT_CPU,
                Some(RowMark::ByCpuClock) => names::CPU_TIME,
                Some(_) => names::UNDELAYED_TIME,
                None => return Some(Cow::Borrowed(decided)),
            };
        let values = self.processes.as_ref().filter(|processes| processes.yardstick.is_none());
        let of_values = values.and_then(|processes| {
            let shift = self.accepted.map_or(0.0, f64::ln_1p);
            let side = |at: usize, shift: f64| {
                let turned =
                    |value: &f64| if is_rate { (shift - value).exp() } else { (value - shift).exp() };
                Estimate::of(&processes.values[at].iter().map(turned).collect::<Vec<_>>())
            };
            let sides = [Some(side(0, shift)?), Some(side(1, 0.0)?)];
            let unit = if is_rate { &decided.unit } else { &Unit::SECONDS };
            Some(MetricChange::new(name, unit, decided.direction, sides, decided.tendency))
        });
        of_values.map(Cow::Owned).or_else(|| self.change_of(name).map(Cow::Borrowed))
    }

    fn change_of(&self, metric: &str) -> Option<&MetricChange> {
        self.metrics.iter().find(|change| change.metric == metric)
    }

    /// Metrics that are worse beside the one that decided: no gate is on them.
    pub fn worse_beside(&self) -> impl Iterator<Item = &MetricChange> {
        self.metrics
            .iter()
            .filter(|metric| metric.tendency == Tendency::Worse && metric.metric != self.metric)
    }

    /// Tells whether a metric that the case is to be judged by has no value on one side.
    fn lacks_its_metric(&self) -> bool {
        matches!(self.verdict, Verdict::Incomparable(IncomparableReason::NoValue(_)))
    }

    /// Tells whether the case regressed so far that it fails the gate.
    fn fails(&self, policy: &Policy) -> bool {
        self.verdict == Verdict::Regressed
            && self.effect.is_none_or(|effect| policy.fails(&self.case.scenario, effect))
    }

    /// A row without figures.
    pub(crate) fn bare(case: &CaseId, metric: &str, verdict: Verdict) -> Self {
        Self {
            case: case.clone(),
            verdict,
            metric: metric.to_owned(),
            effect: None,
            tolerance: None,
            detectable: None,
            accepted: None,
            marks: Vec::new(),
            advice: None,
            processes: None,
            rounds: None,
            metrics: Vec::new(),
        }
    }
}
