//! What a record must hold to be believed: a file may have been edited by hand, or written by a bad disk.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::schema::{Document, DocumentKind};
use super::{Baseline, CaseRecord, Estimate, MetricRecord, Process, RankAggregate, RunManifest};
use crate::bencher::Purpose;
use crate::metric::names;
use crate::metric::{Observation, Reading};
use crate::plan::CaseId;
use crate::run::{DuelRound, EndedRound, Outcome, Repeat};
use crate::stats;

/// A repeat as the journal keeps it: with the case that it belongs to, so that a file in the wrong place is
/// seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct JournalEntry<'a> {
    /// The case.
    pub(crate) case: Cow<'a, CaseId>,
    /// The repeat.
    pub(crate) repeat: Cow<'a, Repeat>,
}

/// A round of a duel as its journal keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RoundEntry<'a> {
    /// The candidate's case.
    pub(crate) case: Cow<'a, CaseId>,
    /// True if it confirms what was found before.
    pub(crate) confirming: bool,
    /// Its number; see [`crate::run::RoundId`].
    pub(crate) number: u32,
    /// The round.
    pub(crate) round: Cow<'a, EndedRound>,
}

impl Document for RunManifest {
    const KIND: DocumentKind = DocumentKind::Run;

    fn check(&self) -> Result<(), String> {
        let cases = self.planned.cases.iter().chain(&self.planned.skipped);
        distinct("case", cases.map(CaseId::file_name).collect())?;
        self.load_at_end.map_or(Ok(()), |load| number("load_at_end", load))
    }
}

impl Document for JournalEntry<'_> {
    const KIND: DocumentKind = DocumentKind::Repeat;

    fn check(&self) -> Result<(), String> {
        outcome(&self.repeat.outcome)
    }
}

impl Document for RoundEntry<'_> {
    const KIND: DocumentKind = DocumentKind::Round;

    fn check(&self) -> Result<(), String> {
        match &self.round.outcome {
            Ok(DuelRound::Blocks { pairs, .. }) => match pairs.first() {
                None => Err("a round has no pair of blocks".to_owned()),
                Some(_) if pairs.iter().flatten().any(|block| block.iterations == 0) => {
                    Err("a block has no iteration".to_owned())
                }
                Some(_) => Ok(()),
            },
            Ok(DuelRound::Repeats(sides)) => match sides {
                [old, new] if old.len() == 2 && new.len() == 2 => {
                    old.iter().chain(new).try_for_each(|repeat| outcome(&repeat.outcome))
                }
                [old, new] => Err(format!(
                    "a round has {} and {} repeats, and not two of each side",
                    old.len(),
                    new.len()
                )),
            },
            Ok(DuelRound::Verified { .. }) | Err(_) => Ok(()),
        }
    }
}

fn outcome(outcome: &Outcome) -> Result<(), String> {
    match outcome {
        Outcome::Measured { seen, work, .. } => {
            observation(seen)?;
            let moments = work.iter().flat_map(|work| &work.content.moments);
            moments.into_iter().try_for_each(|(field, of)| {
                [of.sum, of.squares, of.min, of.max]
                    .into_iter()
                    .try_for_each(|value| number(&format!("moments of `{field}`"), value))
            })
        }
        Outcome::Failed(_) | Outcome::Skipped { .. } => Ok(()),
    }
}

impl Document for CaseRecord {
    const KIND: DocumentKind = DocumentKind::Case;

    fn check(&self) -> Result<(), String> {
        metrics(&self.metrics)?;
        ranks(&self.ranks)?;
        processes(&self.processes, &self.metrics)
    }
}

impl Document for Baseline {
    const KIND: DocumentKind = DocumentKind::Baseline;

    fn check(&self) -> Result<(), String> {
        distinct("case", self.cases.iter().map(|case| case.id.file_name()).collect())?;
        self.cases.iter().try_for_each(|case| {
            let checked = metrics(&case.metrics).and_then(|()| ranks(&case.ranks));
            let checked = checked.and_then(|()| processes(&case.processes, &case.metrics));
            checked.map_err(|what| format!("{}: {what}", case.id))
        })
    }
}

fn observation(seen: &Observation) -> Result<(), String> {
    if let Some(Reading::Value(bytes)) = seen.peak_memory {
        at_least_zero(names::PEAK_MEMORY, bytes)?;
    }
    seen.custom.iter().try_for_each(|custom| number(&format!("metric `{}`", custom.name), custom.value))?;
    seen.ranks.iter().try_for_each(|metric| {
        let mut told = metric.values.iter().flatten();
        told.try_for_each(|value| number(&format!("metric `{}` of a rank", metric.name), *value))
    })
}

/// Whatever is said over ranks is between their ends, and those are two of them.
fn ranks(aggregates: &[RankAggregate]) -> Result<(), String> {
    for one in aggregates {
        let name = format!("metric `{}` over ranks", one.name);
        let told = |rank: usize| rank < one.ranks;
        if !one.missing.iter().all(|rank| told(*rank)) {
            return Err(format!("{name} misses a rank that is none of its {}", one.ranks));
        }
        let Some(over) = one.over else { continue };
        // Rounding may take a mean of equal numbers off them.
        let slack = 8.0 * f64::EPSILON * over.min.abs().max(over.max.abs());
        let within = |value: f64| (over.min - slack..=over.max + slack).contains(&value);
        let in_order =
            [over.mean, over.p50, over.p99].into_iter().all(within) && over.p50 <= over.p99 + slack;
        if !in_order || over.std < 0.0 || !told(over.min_rank) || !told(over.max_rank) {
            return Err(format!("{name} contradicts itself: {over:?}"));
        }
    }
    Ok(())
}

fn metrics(metrics: &[MetricRecord]) -> Result<(), String> {
    distinct("metric", metrics.iter().map(|metric| metric.name.clone()).collect())?;
    metrics.iter().try_for_each(|metric| {
        let name = format!("metric `{}`", metric.name);
        let values: Vec<f64> = metric.values.iter().filter_map(Reading::value).collect();
        // Times and rates are never negative; a change of memory or an author's own score may be.
        let symbol = metric.unit.symbol();
        let check = if symbol == "s" || symbol.ends_with("/s") { at_least_zero } else { number };
        values.iter().try_for_each(|value| check(&name, *value))?;
        metric.estimate.map_or(Ok(()), |estimate| covers(&name, &estimate, &values))
    })
}

/// Verdicts follow from processes, so they are held against all that says the same.
fn processes(processes: &[Process], metrics: &[MetricRecord]) -> Result<(), String> {
    if processes.is_empty() {
        return Ok(()); // of a version that kept none
    }
    if let Some(metric) = metrics.iter().find(|metric| metric.values.len() != processes.len()) {
        let (values, rows) = (metric.values.len(), processes.len());
        return Err(format!("metric `{}` has {values} values for {rows} processes", metric.name));
    }
    let wall_time = metrics.iter().find(|metric| metric.name == names::WALL_TIME);
    for (at, process) in processes.iter().enumerate() {
        let of = |column: &str| format!("`{column}` of process {}", at + 1);
        for time in process.yardsticks.into_iter().flatten() {
            at_least_zero(&of("yardsticks"), time)?;
        }
        let Some(blocks) = &process.blocks else { continue };
        if blocks.count.checked_mul(blocks.iterations) != Some(process.iterations) {
            return Err(format!("{} is not that of its blocks", of("iterations")));
        }
        for (column, times) in [("wall", &blocks.wall), ("cpu", &blocks.cpu)] {
            times.iter().try_for_each(|time| at_least_zero(&of(column), *time))?;
            if !times.is_sorted() {
                return Err(format!("{} has percentiles that fall", of(column)));
            }
        }
        for (column, value) in
            [("faults", blocks.faults), ("elements", blocks.elements), ("bytes", blocks.bytes)]
        {
            at_least_zero(&of(column), value)?;
        }
        for (column, share) in [("switched", blocks.switched), ("throttled", blocks.throttled)] {
            if !(0.0..=1.0).contains(&share) {
                return Err(format!("{} is {share}, which is no share", of(column)));
            }
        }
        // Where no block was switched both are the median of the same samples, with five digits.
        let value = wall_time.and_then(|metric| metric.values[at].value());
        if let Some(value) = value.filter(|_| blocks.switched == 0.0) {
            let median = blocks.wall[1] * 1e-9;
            if (median - value).abs() > 2e-4 * value {
                return Err(format!("{} says {median} s and metric `wall_time` {value} s", of("wall")));
            }
        }
    }
    Ok(())
}

/// Checks that the condensed processes of a case follow from its repeats, which are all in it.
pub(crate) fn against_samples(case: &CaseRecord) -> Result<(), String> {
    let measured = case.repeats.iter().filter(|repeat| repeat.purpose != Purpose::Verify);
    let follow: Vec<Process> = measured
        .filter_map(|repeat| match &repeat.outcome {
            Outcome::Measured { seen, .. } => Some(Process::of(seen)),
            Outcome::Failed(_) | Outcome::Skipped { .. } => None,
        })
        .collect();
    if case.processes.is_empty() || case.processes == follow {
        Ok(())
    } else {
        Err("its processes do not follow from the samples in the journal".to_owned())
    }
}

/// An estimate is over the values beside it; one that is not was changed without them, or they without it.
fn covers(name: &str, estimate: &Estimate, values: &[f64]) -> Result<(), String> {
    let (low, high) = estimate.interval.unwrap_or((estimate.median, estimate.median));
    let median = stats::median(values);
    // Text and back may cost the last bit of a number.
    let same = (median - estimate.median).abs() <= 1e-12 * median.abs();
    if same && estimate.n == values.len() && low <= estimate.median && estimate.median <= high {
        Ok(())
    } else {
        Err(format!("{name} has an estimate ({}) that is not of its values", estimate.median))
    }
}

fn number(name: &str, value: f64) -> Result<(), String> {
    if value.is_finite() { Ok(()) } else { Err(format!("{name} is {value}, which is no number")) }
}

fn at_least_zero(name: &str, value: f64) -> Result<(), String> {
    number(name, value)?;
    if value >= 0.0 { Ok(()) } else { Err(format!("{name} is {value}, which is below zero")) }
}

fn distinct(what: &str, mut names: Vec<String>) -> Result<(), String> {
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("{what} `{}` is there twice", pair[0])),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use super::*;
    use crate::metric::{Direction, Unit};
    use crate::record::{Blocks, OverRanks};

    type Edit = fn(&mut Process, &mut Blocks);

    fn sound() -> (Process, MetricRecord) {
        let blocks = Blocks {
            count: 20,
            iterations: 10,
            wall: [90.0, 100.0, 120.0],
            cpu: [89.0, 99.0, 110.0],
            faults: 0.5,
            elements: 7.0,
            ..Blocks::default()
        };
        let process =
            Process { iterations: 200, blocks: Some(blocks), yardsticks: [Some(500.0), None, None] };
        let metric = MetricRecord {
            name: "wall_time".into(),
            unit: Unit::SECONDS,
            direction: Direction::Lower,
            values: vec![Reading::Value(1e-7)],
            estimate: Estimate::of(&[1e-7]),
            looped: None,
        };
        (process, metric)
    }

    #[test]
    fn a_process_that_cannot_be_is_refused_by_its_column() {
        let (process, metric) = sound();
        processes(from_ref(&process), from_ref(&metric)).expect("sound");
        let edits: [(Edit, &str); 11] = [
            (|_, blocks| blocks.wall[1] = -100.0, "`wall` of process 1 is -100"),
            (|_, blocks| blocks.wall[1] = 10.0, "`wall` of process 1 has percentiles that fall"),
            (|_, blocks| blocks.cpu[2] = 1.0, "`cpu` of process 1 has percentiles that fall"),
            (|_, blocks| blocks.cpu[0] = f64::NAN, "`cpu` of process 1 is NaN"),
            (|_, blocks| blocks.wall = [270.0, 300.0, 360.0], "metric `wall_time`"),
            (|_, blocks| blocks.switched = 1.5, "`switched` of process 1 is 1.5, which is no share"),
            (|_, blocks| blocks.throttled = -0.5, "`throttled` of process 1"),
            (|_, blocks| blocks.faults = -0.5, "`faults` of process 1"),
            (|_, blocks| blocks.bytes = -1.0, "`bytes` of process 1"),
            (|process, _| process.iterations = 2000, "`iterations` of process 1 is not that of its blocks"),
            (|process, _| process.yardsticks[0] = Some(-500.0), "`yardsticks` of process 1"),
        ];
        for (edit, expected) in edits {
            let (mut process, mut blocks) = (process.clone(), process.blocks.expect("blocks"));
            edit(&mut process, &mut blocks);
            let edited = Process { blocks: Some(blocks), ..process };
            let said = processes(&[edited], from_ref(&metric)).expect_err(expected);
            assert!(said.contains(expected), "{said}");
        }
        let said = processes(&[process.clone(), process], &[metric]).expect_err("two and one");
        assert_eq!(said, "metric `wall_time` has 1 values for 2 processes");
    }

    #[test]
    fn aggregates_over_ranks_that_contradict_themselves_are_refused() {
        let aggregate = |change: &dyn Fn(&mut RankAggregate)| {
            let mut one = RankAggregate {
                name: "step".into(),
                unit: Unit::SECONDS,
                direction: Direction::Lower,
                ranks: 3,
                over: OverRanks::of(&[Some(0.1), None, Some(0.3)]),
                hosts: None,
                missing: vec![1],
            };
            change(&mut one);
            ranks(&[one])
        };
        let over = |change: &dyn Fn(&mut OverRanks)| aggregate(&|one| one.over.iter_mut().for_each(change));
        assert_eq!(aggregate(&|_| {}), Ok(()));
        assert_eq!(aggregate(&|one| one.over = OverRanks::of(&[Some(0.1); 3])), Ok(()));
        for wrong in [
            aggregate(&|one| one.missing = vec![3]),
            over(&|over| over.max_rank = 3),
            over(&|over| over.mean = 0.4),
            over(&|over| over.p99 = 0.1),
            over(&|over| over.std = -1.0),
            over(&|over| over.min = 0.35),
        ] {
            assert!(wrong.unwrap_err().starts_with("metric `step` over ranks"));
        }
    }
}
