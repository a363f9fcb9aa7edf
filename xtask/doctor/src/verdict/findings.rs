//! All that a verdict is made of, and when an effect is one.

use super::limit::Limit;
use super::remedy::{Gain, Remedy};
use crate::look::Look;
use crate::processes::ProcessSums;
use crate::trial::{Effect, Trial};

/// A change below this share of a step accuses nobody, and it has to be this share surely.
pub(super) const LEAST: f64 = 0.1;
pub(super) const LEAST_SURE: f64 = 0.05;

/// All that is known of a script.
#[derive(Debug)]
pub(crate) struct Findings<'a> {
    pub(crate) look: &'a Look,
    /// Absent where nothing was tried.
    pub(crate) trial: Option<&'a Trial>,
    pub(crate) processes: ProcessSums,
    /// Processors that the script may use.
    pub(crate) available: usize,
}

/// Something that may be the limit.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) limit: Limit,
    pub(super) gain: Gain,
    pub(super) remedy: Remedy,
    pub(super) evidence: Vec<String>,
}

/// Tells whether an effect is neither surely one nor surely none.
pub(super) fn is_open(effect: &Effect) -> bool {
    effect.interval.is_none_or(|(low, high)| 1.0 - low >= 2.0 * LEAST && 1.0 - high < LEAST_SURE)
}

/// Tells whether an effect is large enough to accuse, and surely one.
pub(super) fn is_large(effect: &Effect) -> bool {
    effect.saved() >= LEAST && effect.surely_saved() >= LEAST_SURE
}

/// A share in per cent.
pub(super) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// A time with its unit.
pub(super) fn time(seconds: f64) -> String {
    weighbridge::data::quantity::show(seconds, &weighbridge::data::Unit::SECONDS)
}
