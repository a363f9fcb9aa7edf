//! The cells of a case's row that every table has.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::quantity;
use crate::metric::names;
use crate::record::{CaseRecord, Estimate, MetricRecord};

/// The change of a case against the last run, in words; empty where there is nothing to say.
pub type Changes = BTreeMap<String, String>;

/// The text beside a case that a run did not get to the end of.
pub(super) const UNFINISHED: &str = "not finished";

/// The median, and whether it is by another clock than the one on the wall.
pub(super) fn median(case: &CaseRecord, metric: &MetricRecord, estimate: &Estimate) -> String {
    let clock = match &*metric.name {
        name if case.primary_metric == name => "",
        names::CPU_TIME => " CPU",
        names::UNDELAYED_TIME => " undelayed",
        _ => "",
    };
    quantity::show(estimate.median, &metric.unit) + clock
}

/// The interval, or of how many repeats the median is, which are too few for one.
pub(super) fn interval(case: &CaseRecord, metric: &MetricRecord, estimate: &Estimate) -> String {
    let mut interval = match estimate.interval {
        Some((low, high)) => format!("[{}]", quantity::range(low, high, &metric.unit)),
        None if estimate.n == 1 => "none of 1 repeat".to_owned(),
        None => format!("none of {} repeats", estimate.n),
    };
    // A figure of the processor's clock does not hide what the clock on the wall said.
    let wall = case.primary_metric().and_then(|wall| Some((wall, wall.estimate?)));
    if let Some((wall, of)) = wall.filter(|(wall, _)| wall.name != metric.name) {
        write!(interval, ", wall {}", quantity::show(of.median, &wall.unit))
            .expect("a String takes all that is written");
    }
    interval
}
