//! What the processor counted, by one iteration.

use super::names;
use super::observation::NO_SAMPLES;
use super::{Direction, Metric, Observation, Reading, Unit};

const fn counted(name: &'static str, description: &'static str, read: fn(&Observation) -> Reading) -> Metric {
    Metric { name, unit: Unit::COUNT, direction: Direction::Information, description, read }
}

/// Instructions.
pub(super) const INSTRUCTIONS: Metric = counted(
    names::INSTRUCTIONS,
    "instructions of one iteration or item, of the measuring thread in user mode",
    |seen| each(seen, seen.hardware.instructions.as_ref()),
);
/// Cycles.
pub(super) const CYCLES: Metric = counted(
    names::CYCLES,
    "processor cycles of one iteration or item, of the measuring thread in user mode",
    |seen| each(seen, seen.hardware.cycles.as_ref()),
);
/// Cache misses.
pub(super) const CACHE_MISSES: Metric = counted(
    names::CACHE_MISSES,
    "last-level cache misses of one iteration or item, of the measuring thread",
    |seen| each(seen, seen.hardware.cache_misses.as_ref()),
);

fn each(seen: &Observation, count: Option<&Reading>) -> Reading {
    if let (Some(Reading::Value(_)), Some(share)) = (count, seen.done_by_others()) {
        let share = share * 100.0;
        return Reading::absent(format!(
            "it counts the measuring thread, and others had {share:.0} % of the processor time"
        ));
    }
    match (count, seen.iterations()) {
        (_, 0) => Reading::absent(NO_SAMPLES),
        (Some(Reading::Value(count)), iterations) => Reading::Value(count / iterations as f64),
        (Some(other), _) => other.clone(),
        (None, _) => Reading::absent("not collected"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Hardware;
    use super::*;

    #[test]
    fn counts_are_of_one_iteration_and_what_is_not_counted_says_why() {
        let counts = [Ok(6_000), Err("no such counter".to_owned()), Ok(0)];
        let seen = Observation {
            samples: vec![1, 1],
            iterations_per_sample: 100,
            hardware: Hardware::of(counts),
            ..Observation::default()
        };
        assert_eq!((INSTRUCTIONS.read)(&seen), Reading::Value(30.0));
        assert_eq!((CYCLES.read)(&seen), Reading::absent("no such counter"));
        assert_eq!((CACHE_MISSES.read)(&seen), Reading::Value(0.0));
        assert_eq!((CYCLES.read)(&Observation::default()), Reading::absent(NO_SAMPLES));
    }
}
