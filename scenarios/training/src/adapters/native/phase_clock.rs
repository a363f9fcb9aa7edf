//! The phases of steps by a clock.

use std::time::{Duration, Instant};

use weighbridge::{Error, Result};
use weighbridge_loaders::contract::Phases;

/// Times steps phase by phase, those left out that are skipped. `step` takes one and says when a phase has
/// ended; at the end of the data it is false.
///
/// # Errors
/// What a step says; that the data end.
pub(super) fn clocked(
    skip: usize,
    steps: usize,
    mut step: impl FnMut(&mut dyn FnMut(&'static str)) -> Result<bool>,
) -> Result<Phases> {
    let mut told = Phases::default();
    for number in 0..skip + steps {
        let begun = Instant::now();
        let mut last = begun;
        let mut ended: Vec<(&str, Duration)> = Vec::new();
        let done = step(&mut |phase| {
            let now = Instant::now();
            ended.push((phase, now - last));
            last = now;
        })?;
        if !done {
            return Err(Error::new(format!("the data ended before step {number}")));
        }
        if number >= skip {
            told.step.push(begun.elapsed());
            for (phase, took) in ended {
                told.phases.entry(phase.to_owned()).or_default().push(took);
            }
        }
    }
    Ok(told)
}
