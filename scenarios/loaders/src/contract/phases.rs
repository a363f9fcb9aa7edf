//! The phases of a step: how long each took, and whether they are the step.

use std::collections::BTreeMap;
use std::time::Duration;

use weighbridge::{Bencher, Direction, Error, Result, Unit};

/// The times of steps, phase by phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    /// Each step, from before its first phase until after its last.
    pub step: Vec<Duration>,
    /// Each phase of each step, by the names that the system can tell apart: `data`, `forward`, `backward`,
    /// `optimiser`, `communication`, or several of them as one (`forward_backward`, `whole_step`).
    pub phases: BTreeMap<String, Vec<Duration>>,
}

/// The start of the name of a phase's metric; the phase's own name follows. Metrics below `phase/` are those
/// of a device's stream.
pub const PHASE: &str = "step/";

/// The name that stands there for all phases together.
pub const WHOLE_STEP: &str = "all";

/// Tells the mean time of each phase and of the step as metrics of the case.
///
/// # Errors
/// Phases that leave out some of the step, or have more than it.
pub fn tell_phases(bencher: &Bencher, phases: &Phases) -> Result<()> {
    for (name, mean) in mean_phases(phases)? {
        bencher.metric(&format!("{PHASE}{name}"), mean, Unit::SECONDS, Direction::Lower);
    }
    Ok(())
}

/// Checks that the phases are the step: in the median of the steps, since one whose thread lost its processor
/// between two phases is nothing that a system has left out.
fn check_phases(phases: &Phases) -> Result<()> {
    let names = || phases.phases.keys().collect::<Vec<_>>();
    if phases.phases.values().any(|times| times.len() != phases.step.len()) {
        return Err(Error::new(format!(
            "the phases {:?} are not all of {} steps",
            names(),
            phases.step.len()
        )));
    }
    let of = |at: usize| phases.phases.values().map(|times| times[at].as_secs_f64()).sum::<f64>();
    let steps = phases.step.iter().map(Duration::as_secs_f64).enumerate().map(|(at, step)| (of(at), step));
    let mut steps: Vec<(f64, f64)> = steps.collect();
    steps.sort_by(|one, other| (one.0 - one.1).total_cmp(&(other.0 - other.1)));
    match steps.get(steps.len() / 2) {
        Some((sum, step)) if (sum - step).abs() > LEFT * step + 1e-4 => Err(Error::new(format!(
            "the phases {:?} take {sum:.6} s of a step of {step:.6} s: they are not the step",
            names()
        ))),
        _ => Ok(()),
    }
}

/// The mean time of each phase in the order of a step, and last that of all of them: the step.
///
/// # Errors
/// As [`tell_phases`].
pub fn mean_phases(phases: &Phases) -> Result<Vec<(String, f64)>> {
    let mean =
        |times: &[Duration]| times.iter().map(Duration::as_secs_f64).sum::<f64>() / times.len().max(1) as f64;
    let step = mean(&phases.step);
    check_phases(phases)?;
    let mut named: Vec<(&String, &Vec<Duration>)> = phases.phases.iter().collect();
    named.sort_by_key(|(name, _)| ORDER.iter().position(|known| known == name));
    let mut means: Vec<(String, f64)> =
        named.into_iter().map(|(name, times)| (name.clone(), mean(times))).collect();
    means.push((WHOLE_STEP.to_owned(), step));
    Ok(means)
}

/// Phases in the order of a step.
const ORDER: [&str; 12] = [
    "data",
    "forward",
    "forward_backward",
    "backward",
    "backward_communication",
    "communication",
    "optimiser",
    "update",
    "forward_backward_optimiser",
    "forward_backward_communication_optimiser",
    "whole_step",
    "host",
];

/// The share of a step by which the sum of its phases may be off.
const LEFT: f64 = 0.02;

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps of ten milliseconds of which the phases say so many.
    fn told(milliseconds: [u64; 5]) -> Phases {
        let times = milliseconds.map(Duration::from_millis).to_vec();
        Phases { step: vec![Duration::from_millis(10); 5], phases: [("forward".to_owned(), times)].into() }
    }

    #[test]
    fn phases_that_leave_out_some_of_most_steps_are_refused_and_one_disturbed_step_accuses_nobody() {
        assert!(check_phases(&told([10; 5])).is_ok());
        assert!(check_phases(&told([10, 10, 4, 10, 10])).is_ok(), "it lost its processor once");
        for wrong in [[9; 5], [12; 5], [10, 10, 9, 9, 9]] {
            let why = check_phases(&told(wrong)).unwrap_err().to_string();
            assert!(why.contains("they are not the step"), "{wrong:?}: {why}");
        }
        let mut short = told([10; 5]);
        short.step.pop();
        assert!(check_phases(&short).unwrap_err().to_string().contains("are not all of 4 steps"));
    }
}
