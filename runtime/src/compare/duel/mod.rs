//! Judging two programs that were measured in turns: one value per round, decided at fixed looks, confirmed
//! afresh.
//!
//! The unit of inference is the round, that is a fresh process of each side. What a round says is in
//! `pairs.rs`, when and what the rounds decide in `sequence.rs`.

mod decider;
mod judged_rounds;
mod pairs;
mod sequence;

use std::collections::BTreeMap;

pub use self::decider::Decider;
pub use self::judged_rounds::JudgedRounds;
use self::pairs::{CondensedRound, condense};
use self::sequence::FreshRounds;
use super::change::is_of_samples;
use super::clock::hold_against_cycles;
use super::comparison::{Row, RowMark};
use super::logarithms::Logarithms;
use super::rule::{Judgement, unsteady};
use super::{
    Acceptance, IncomparableReason, InconclusiveReason, MetricChange, Policy, Tendency, Tolerance, Verdict,
};
use crate::bencher::PerIteration;
use crate::metric::names;
use crate::metric::{Direction, Reading, Stationarity, Unit};
use crate::plan::CaseId;
use crate::record::{Estimate, MetricRecord, standing_metrics};
use crate::run::{DuelRound, Outcome, Repeat};
use crate::stats;

/// The rounds of one case, as they come in.
#[derive(Clone, Debug, Default)]
pub struct CaseDuel {
    /// Changes of the case's metrics that were accepted, as logarithms: they are taken off the rounds.
    accepted: BTreeMap<String, f64>,
    work: [PerIteration; 2],
    blocks: Vec<CondensedRound>,
    repeats: [Vec<Repeat>; 2],
    /// The layout of the programs in each round.
    layouts: Vec<u32>,
}

/// A metric over the rounds.
struct DuelSeries {
    name: String,
    unit: Unit,
    direction: Direction,
    /// Each side's values.
    sides: [Vec<f64>; 2],
    /// Logarithms of how much worse the candidate is, one per round.
    shifts: Vec<f64>,
}

impl CaseDuel {
    /// A duel of this case without a round yet.
    pub fn new(case: &CaseId, policy: &Policy) -> Self {
        let of = |one: &Acceptance| {
            Some((one.metric.clone(), Acceptance::shift(&policy.accepted, case, &one.metric)?))
        };
        let accepted = policy.accepted.iter().filter_map(of).collect();
        Self { accepted, ..Self::default() }
    }

    /// Takes in a round of programs in this layout.
    pub fn add_of(&mut self, layout: u32, round: DuelRound) {
        let before = self.rounds();
        self.add(round);
        if self.rounds() > before {
            self.layouts.push(layout);
        }
    }

    /// Takes in a round.
    pub fn add(&mut self, round: DuelRound) {
        match round {
            DuelRound::Blocks { work, pairs } => {
                self.work = work;
                self.blocks.extend(condense(&work, &pairs));
            }
            DuelRound::Repeats([old, new]) => {
                self.repeats[0].extend(old);
                self.repeats[1].extend(new);
            }
            DuelRound::Verified { .. } => {}
        }
    }

    /// Tells whether the rounds so far decide, or are all that there will be. Where several metrics gate, one
    /// that regressed is enough, and all must be decided otherwise.
    pub fn is_decided(&self, case: &CaseId, policy: &Policy) -> bool {
        let margin = policy.duel_margin(&case.scenario);
        let all = self.series();
        let primary_metric = self.primary_metric(&all);
        let (judged, _) = self.judged(&all, |shifts| sequence::look(shifts, margin));
        let gates =
            |series: &DuelSeries| series.name == primary_metric || policy.gates(&case.scenario, &series.name);
        let gating = all.iter().zip(judged).filter(|(series, _)| gates(series));
        let looks: Vec<Option<Judgement>> = gating.map(|(_, judgement)| judgement).collect();
        let regressed = |look: &Option<Judgement>| {
            look.as_ref().is_some_and(|judgement| judgement.verdict == Verdict::Regressed)
        };
        looks.iter().any(regressed)
            || (!looks.is_empty() && looks.iter().all(Option::is_some))
            || self.rounds() >= sequence::MOST_ROUNDS
    }

    /// The number of rounds there were.
    pub fn rounds(&self) -> usize {
        self.blocks.len().max(self.repeats[0].len() / 2)
    }

    /// The most rounds that a duel has, and a confirmation always.
    pub const MOST_ROUNDS: usize = sequence::MOST_ROUNDS;

    /// The row of the case: its verdict, with its figures.
    pub fn row(&self, case: &CaseId, policy: &Policy) -> Row {
        let margin = policy.duel_margin(&case.scenario);
        let all = self.series();
        let primary_metric = self.primary_metric(&all);
        let (judged, explained) = self.judged(&all, |shifts| sequence::so_far(shifts, margin));
        let gates =
            |series: &DuelSeries| series.name == primary_metric || policy.gates(&case.scenario, &series.name);
        let mut deciding: Option<usize> = None;
        for (at, series) in all.iter().enumerate() {
            let rank = |at: usize| judged[at].as_ref().map_or(Judgement::INCONCLUSIVE, Judgement::rank);
            let worse = |other: usize| rank(at) < rank(other);
            if gates(series) && deciding.is_none_or(worse) {
                deciding = Some(at);
            }
        }
        let why = InconclusiveReason::FewRounds(self.rounds());
        let mut row = Row::bare(case, &primary_metric, Verdict::Inconclusive(why));
        if let Some(at) = deciding {
            row.metric.clone_from(&all[at].name);
            let clock = explained.contains(&all[at].name.as_str());
            row.rounds = Some(JudgedRounds { clock, ..self.summary(&all[at]) });
            row.accepted = self.accepted.get(&all[at].name).map(|shift| shift.exp_m1());
            row.marks.extend(row.accepted.map(|_| RowMark::Accepted));
            if let Some(judgement) = &judged[at] {
                row.verdict = judgement.verdict.clone();
                row.effect = judgement.effect;
                row.tolerance = Some(Tolerance::duel(margin));
                row.detectable = judgement.effect.map(|effect| effect.detectable(margin));
            }
        }
        if row.rounds.as_ref().is_some_and(|rounds| 2 * rounds.by_cpu > rounds.shifts.len()) {
            row.marks.push(RowMark::ByCpuClock);
        }
        // What regressed is told as that; else what is not there any more cannot pass.
        if row.verdict != Verdict::Regressed
            && let Some(metric) = self.lacking(&all, policy.gated(&case.scenario))
        {
            row.verdict = Verdict::Incomparable(IncomparableReason::NoValue(metric.clone()));
            row.metric = metric;
        }
        row.warn(policy);
        row.metrics =
            all.iter().zip(&judged).map(|(series, judgement)| changed(series, judgement.as_ref())).collect();
        row
    }

    /// The judgement on each series by this rule, and the names of those whose change a device's clock
    /// explains.
    fn judged<'a>(
        &self,
        all: &'a [DuelSeries],
        rule: impl Fn(&[f64]) -> Option<Judgement>,
    ) -> (Vec<Option<Judgement>>, Vec<&'a str>) {
        let mut judged: Vec<Option<Judgement>> =
            all.iter().map(|series| self.believed(series, rule(&series.shifts))).collect();
        let explained = held(all, &mut judged);
        (judged, explained)
    }

    /// A judgement, unless the samples that it is of never settle.
    fn believed(&self, series: &DuelSeries, judgement: Option<Judgement>) -> Option<Judgement> {
        match unsteady(self.unsteady(&series.name, &series.unit)) {
            Some(why) => judgement.map(|of| Judgement { verdict: Verdict::Inconclusive(why), ..of }),
            None => judgement,
        }
    }

    /// On which sides most whole repeats have samples that never settle, where the metric is of them.
    fn unsteady(&self, metric: &str, unit: &Unit) -> [bool; 2] {
        let never_settles = |repeats: &Vec<Repeat>| {
            let stationarities: Vec<Stationarity> = repeats.iter().filter_map(stationarity).collect();
            Stationarity::of_most(&stationarities) == Some(Stationarity::Unsteady)
        };
        match is_of_samples(metric, unit) {
            true => [&self.repeats[0], &self.repeats[1]].map(never_settles),
            false => [false; 2],
        }
    }

    /// The reason why a regression that these rounds confirm is a device's clock's, where it is.
    fn explained(&self, metric: &str, margin: f64) -> Option<InconclusiveReason> {
        let all = self.series();
        let at = all.iter().position(|series| series.name == metric)?;
        let (mut judged, _) = self.judged(&all, |shifts| sequence::so_far(shifts, margin));
        // The confirmation says so, by a test of its own; what its cycles are said to have done is the
        // interval's.
        judged[at].as_mut()?.verdict = Verdict::Regressed;
        held(&all, &mut judged);
        match &judged[at].as_ref()?.verdict {
            Verdict::Inconclusive(why) => Some(why.clone()),
            _ => None,
        }
    }

    /// The metric that stands for the case.
    fn primary_metric(&self, all: &[DuelSeries]) -> String {
        match self.repeats[0].is_empty() {
            true => all.first().map_or_else(|| names::WALL_TIME.to_owned(), |series| series.name.clone()),
            false => standing_metrics(&self.repeats[0]).0,
        }
    }

    /// The first of these metrics that the baseline has and that cannot be told of both sides.
    fn lacking(&self, all: &[DuelSeries], gated: &[String]) -> Option<String> {
        let before = standing_metrics(&self.repeats[0]).1;
        let there =
            |name: &&String| before.iter().any(|metric| metric.name == **name && metric.estimate.is_some());
        gated.iter().filter(there).find(|name| !all.iter().any(|series| series.name == **name)).cloned()
    }

    fn summary(&self, deciding: &DuelSeries) -> JudgedRounds {
        let mut clean = (0, 0);
        for round in &self.blocks {
            clean = (clean.0 + round.clean.0, clean.1 + round.clean.1);
        }
        let errors: Vec<f64> = self.blocks.iter().map(|round| round.error).collect();
        JudgedRounds {
            shifts: deciding.shifts.clone(),
            by_cpu: self.blocks.iter().filter(|round| round.by_cpu).count(),
            clean_pairs: clean,
            unsteady: self.unsteady(&deciding.name, &deciding.unit) != [false; 2],
            within: if errors.is_empty() { 0.0 } else { stats::median(&errors) },
            ..JudgedRounds::default()
        }
    }

    fn series(&self) -> Vec<DuelSeries> {
        let mut all = if self.repeats[0].is_empty() { self.block_series() } else { self.repeat_series() };
        for series in &mut all {
            let shift = self.accepted.get(&series.name).copied().unwrap_or_default();
            series.shifts.iter_mut().for_each(|of| *of -= shift);
        }
        all
    }

    fn block_series(&self) -> Vec<DuelSeries> {
        let series = |name: &str,
                      unit: Unit,
                      side: fn(&CondensedRound, usize) -> f64,
                      shift: fn(&CondensedRound) -> f64| {
            let values = |at: usize| self.blocks.iter().map(|round| side(round, at)).collect();
            DuelSeries {
                name: name.to_owned(),
                unit,
                direction: Direction::Lower,
                sides: [values(0), values(1)],
                shifts: self.blocks.iter().map(shift).collect(),
            }
        };
        vec![
            series(names::WALL_TIME, Unit::SECONDS, |round, side| round.sides[side].wall, |round| round.time),
            series(names::CPU_TIME, Unit::SECONDS, |round, side| round.sides[side].cpu, |round| round.cpu),
            series(
                names::MINOR_FAULTS,
                Unit::COUNT,
                |round, side| round.sides[side].faults,
                |round| round.faults,
            ),
        ]
    }

    fn repeat_series(&self) -> Vec<DuelSeries> {
        let [old, new] = [0, 1].map(|side| standing_metrics(&self.repeats[side]).1);
        let paired = |metric: &MetricRecord| {
            let other = new.iter().find(|other| other.name == metric.name)?;
            let mut series = DuelSeries {
                name: metric.name.clone(),
                unit: metric.unit.clone(),
                direction: metric.direction,
                sides: [Vec::new(), Vec::new()],
                shifts: Vec::new(),
            };
            let values = metric.values.iter().chain(&other.values).filter_map(Reading::value);
            let logarithms = Logarithms::of(metric, values);
            // Two repeats of each side make a round.
            for (old, new) in metric.values.chunks(2).zip(other.values.chunks(2)) {
                let sides = [middle(old, metric, logarithms)?, middle(new, metric, logarithms)?];
                series.shifts.push(sides[1].1 - sides[0].1);
                series.sides[0].push(sides[0].0);
                series.sides[1].push(sides[1].0);
            }
            Some(series)
        };
        old.iter().filter_map(paired).collect()
    }
}

/// Holds what is said of a device's time against what is said of its cycles, and gives the names of those
/// whose change the clock explains.
fn held<'a>(all: &'a [DuelSeries], judged: &mut [Option<Judgement>]) -> Vec<&'a str> {
    hold_against_cycles(all.iter().map(|series| series.name.as_str()).zip(judged))
}

/// Finds the course that the samples of a repeat take.
fn stationarity(repeat: &Repeat) -> Option<Stationarity> {
    match &repeat.outcome {
        Outcome::Measured { seen, .. } => seen.stationarity,
        _ => None,
    }
}

/// The middle of a side's repeats in a round, and the mean of their logarithms turned so that more is worse.
/// `None` where one has no value.
fn middle(readings: &[Reading], metric: &MetricRecord, logarithms: Logarithms) -> Option<(f64, f64)> {
    let values: Vec<f64> = readings.iter().map(Reading::value).collect::<Option<_>>()?;
    let mut sum = 0.0;
    for value in &values {
        sum += logarithms.take(*value)?;
    }
    let sign = if metric.direction == Direction::Higher { -1.0 } else { 1.0 };
    let mean = sign * sum / values.len() as f64;
    (mean.is_finite() && !values.is_empty()).then(|| (stats::median(&values), mean))
}

fn changed(series: &DuelSeries, judgement: Option<&Judgement>) -> MetricChange {
    let [baseline, candidate] = [0, 1].map(|side| Estimate::of(&series.sides[side]));
    let tendency = match judgement {
        _ if series.direction == Direction::Information => Tendency::Information,
        Some(judgement) => judgement.verdict.tendency(),
        None => Tendency::Unclear,
    };
    MetricChange::new(&series.name, &series.unit, series.direction, [baseline, candidate], tendency)
}

/// A case that regressed at first, and its rounds with a new seed.
#[derive(Debug)]
pub struct Candidate<'a> {
    /// The row that says so.
    pub row: &'a mut Row,
    /// The fresh rounds.
    pub fresh: CaseDuel,
}

/// Confirms regressions on fresh rounds, or calls them inconclusive.
pub fn confirm(candidates: &mut [Candidate<'_>], policy: &Policy) {
    let (mut fresh, mut drifts) = (Vec::new(), Vec::new());
    for Candidate { row, fresh: duel } in candidates.iter() {
        let layouts =
            if duel.layouts.iter().any(|layout| *layout > 0) { duel.layouts.clone() } else { Vec::new() };
        let deciding = duel.series().into_iter().find(|series| series.name == row.metric);
        drifts.push(deciding.as_ref().and_then(|of| unsteady(duel.unsteady(&of.name, &of.unit))));
        fresh.push(
            deciding
                .map_or_else(FreshRounds::default, |series| FreshRounds { shifts: series.shifts, layouts }),
        );
    }
    let margins: Vec<f64> =
        candidates.iter().map(|candidate| policy.duel_margin(&candidate.row.case.scenario)).collect();
    let confirmations = sequence::confirmations(&fresh, &margins, policy.alpha());
    for ((((candidate, fresh), confirmation), margin), drift) in
        candidates.iter_mut().zip(fresh).zip(confirmations).zip(margins).zip(drifts)
    {
        let row = &mut *candidate.row;
        // The estimate comes from the fresh rounds: the first ones were chosen for being bad.
        if let Some(judgement) = sequence::so_far(&fresh.values(), margin) {
            row.effect = judgement.effect;
            row.detectable = judgement.effect.map(|effect| effect.detectable(margin));
        }
        if !confirmation.stands {
            row.verdict = Verdict::Inconclusive(match fresh.shifts.len() {
                rounds @ sequence::MOST_ROUNDS.. => {
                    let layouts = if fresh.layouts.is_empty() { 1 } else { fresh.values().len() };
                    InconclusiveReason::NotConfirmed { rounds, layouts, p: confirmation.adjusted }
                }
                rounds => InconclusiveReason::FewFreshRounds { rounds, of: sequence::MOST_ROUNDS },
            });
        }
        let explained = candidate.fresh.explained(&row.metric, margin).filter(|_| confirmation.stands);
        let clock = explained.is_some();
        if let Some(why) = explained {
            row.verdict = Verdict::Inconclusive(why);
        }
        let drifts = drift.is_some();
        if let Some(why) = drift {
            row.verdict = Verdict::Inconclusive(why);
        }
        if let Some(rounds) = &mut row.rounds {
            rounds.unsteady |= drifts;
            rounds.clock |= clock;
            rounds.confirmation = fresh.shifts;
            rounds.layouts = fresh.layouts;
            rounds.p = Some(confirmation.p);
            rounds.adjusted = Some(confirmation.adjusted);
        }
    }
}

/// Decides the cases of one comparison again from their rounds: the names of the verdicts, in order.
///
/// For whoever wants to check what was decided, or to try another margin on rounds that were kept.
pub fn decide(rounds: &[JudgedRounds], margin: f64, alpha: f64) -> Vec<&'static str> {
    let mut names = Vec::new();
    let mut candidates = Vec::new();
    for (at, rounds) in rounds.iter().enumerate() {
        let mut looks = stats::LOOKS.iter().filter(|look| look.rounds <= rounds.shifts.len());
        let decided = looks
            .find_map(|look| sequence::look(&rounds.shifts[..look.rounds], margin))
            .filter(|_| !rounds.unsteady && !rounds.clock);
        let name = decided.map_or("Inconclusive", |judgement| judgement.verdict.name());
        if name == Verdict::Regressed.name() {
            candidates.push(at);
        }
        names.push(name);
    }
    let fresh = |at: &usize| FreshRounds {
        shifts: rounds[*at].confirmation.clone(),
        layouts: rounds[*at].layouts.clone(),
    };
    let fresh: Vec<FreshRounds> = candidates.iter().map(fresh).collect();
    let confirmations = sequence::confirmations(&fresh, &vec![margin; fresh.len()], alpha);
    for (at, confirmation) in candidates.into_iter().zip(confirmations) {
        if !confirmation.stands {
            names[at] = "Inconclusive";
        }
    }
    names
}

#[cfg(test)]
mod tests;
