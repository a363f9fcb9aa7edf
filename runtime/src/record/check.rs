//! What a record must hold to be believed: a file may have been edited by hand, or written by a bad disk.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::schema::{Filed, Kind};
use super::{Baseline, CaseRecord, Estimate, MetricRecord, RunManifest};
use crate::metric::{Observation, Reading};
use crate::plan::CaseId;
use crate::run::{Outcome, Repeat};
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

impl Filed for RunManifest {
    const KIND: Kind = Kind::Run;

    fn check(&self) -> Result<(), String> {
        distinct("case", self.planned.cases.iter().map(CaseId::file_name).collect())?;
        self.load_at_end.map_or(Ok(()), |load| number("load_at_end", load))
    }
}

impl Filed for JournalEntry<'_> {
    const KIND: Kind = Kind::Repeat;

    fn check(&self) -> Result<(), String> {
        match &self.repeat.outcome {
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
}

impl Filed for CaseRecord {
    const KIND: Kind = Kind::Case;

    fn check(&self) -> Result<(), String> {
        metrics(&self.metrics)
    }
}

impl Filed for Baseline {
    const KIND: Kind = Kind::Baseline;

    fn check(&self) -> Result<(), String> {
        distinct("case", self.cases.iter().map(|case| case.id.file_name()).collect())?;
        self.cases
            .iter()
            .try_for_each(|case| metrics(&case.metrics).map_err(|what| format!("{}: {what}", case.id)))
    }
}

fn observation(seen: &Observation) -> Result<(), String> {
    if let Some(Reading::Value(bytes)) = seen.peak_memory {
        at_least_zero("peak_memory", bytes)?;
    }
    seen.custom.iter().try_for_each(|custom| number(&format!("metric `{}`", custom.name), custom.value))
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
