//! What a training was run with, in words.

use std::collections::BTreeMap;

use crate::workload::{Optimiser, Schedule};

/// The settings of a training by the keys of its configuration.
pub(super) fn settings(
    (optimiser, schedule): (Optimiser, Schedule),
    precision: String,
    batch: usize,
    parameters: usize,
) -> BTreeMap<String, String> {
    let words = [
        ("optimiser", optimiser.name().to_owned()),
        ("precision", precision),
        ("batch", batch.to_string()),
        ("parameters", parameters.to_string()),
    ];
    let numbers = optimiser.settings().into_iter().map(|(key, value)| (key, value.to_string()));
    let rates = schedule.settings(optimiser.rate()).into_iter().map(|(key, rate)| (key, rate.to_string()));
    words.into_iter().chain(numbers).map(|(key, value)| (key.to_owned(), value)).chain(rates).collect()
}
