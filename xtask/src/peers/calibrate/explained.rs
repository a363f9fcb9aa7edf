//! Differences that have a known cause: the mechanism of each.

use super::cases::WorkerCell;

/// Why the figures of peers differ from their loops by hand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Explained {
    /// The peers' short names.
    shorts: &'static [&'static str],
    /// In these scenarios.
    scenarios: &'static [&'static str],
    /// With so many workers.
    workers: &'static [usize],
    /// Which side has more.
    side: ExplainedSide,
    /// The largest difference that it explains, in microseconds a batch.
    most: f64,
    /// What makes the difference.
    pub(super) mechanism: &'static str,
}

/// Which side takes longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExplainedSide {
    Harness,
    Hand,
}

/// What the worker does for a batch that a script does not.
const OWN_CALLS: &str = "The worker's own calls: it makes a batch from fields by name and the indices of their elements \
    (2 µs), hands it out as a dict of numpy arrays, and weighs and stamps it (1 µs). A script has one array.";

/// What passes cost.
const STOPS: &str = "Stops: between two passes the clock stands, counters are looked at and a copy is put away, after which caches are \
    cold (0.14 ms a pass of 10 ms, or of 20 batches where those take longer).";

/// All that are known, each with the figure that was measured as its bound.
const EXPLAINED: &[Explained] = &[
    Explained {
        shorts: &["numpy", "grain", "jax_dataloader", "torch", "deeplake"],
        scenarios: &["NLP-1"],
        workers: &[0],
        side: ExplainedSide::Harness,
        most: 7.0,
        mechanism: OWN_CALLS,
    },
    Explained {
        shorts: &["grain", "jax_dataloader", "torch"],
        scenarios: &["CV-1"],
        workers: &[0],
        side: ExplainedSide::Harness,
        most: 35.0,
        mechanism: STOPS,
    },
];

/// The mechanism behind a difference, where one is known.
pub(super) fn find(short: &str, cell: WorkerCell, difference: f64) -> Option<&'static str> {
    among(EXPLAINED, short, cell, difference)
}

fn among(all: &[Explained], short: &str, cell: WorkerCell, difference: f64) -> Option<&'static str> {
    let side = if difference > 0.0 { ExplainedSide::Harness } else { ExplainedSide::Hand };
    let is_of = |explained: &&Explained| {
        explained.shorts.contains(&short)
            && explained.side == side
            && difference.abs() * 1e6 <= explained.most
            && explained.scenarios.contains(&cell.scenario().id)
            && explained.workers.contains(&cell.workers)
    };
    all.iter().find(is_of).map(|explained| explained.mechanism)
}

#[cfg(test)]
mod tests {
    use super::*;
    use weighbridge_scenarios::adapters::python;

    #[test]
    fn a_mechanism_explains_a_difference_of_its_cell_and_side_up_to_what_was_measured() {
        let known = [Explained {
            shorts: &["grain"],
            scenarios: &["CV-1"],
            workers: &[2],
            side: ExplainedSide::Harness,
            most: 30.0,
            mechanism: "so",
        }];
        let cell = |scenario, workers| WorkerCell { scenario, workers };
        let found = |short, cell, difference| among(&known, short, cell, difference).is_some();
        assert!(found("grain", cell(0, 2), 29e-6));
        assert!(!found("grain", cell(0, 2), -29e-6) && !found("grain", cell(0, 2), 31e-6));
        assert!(!found("grain", cell(0, 0), 29e-6) && !found("grain", cell(1, 2), 29e-6));
        assert!(!found("numpy", cell(0, 2), 29e-6));
    }

    #[test]
    fn every_explanation_is_of_a_known_peer_and_says_something() {
        for explained in EXPLAINED {
            assert!(explained.shorts.iter().all(|short| python::find(short).is_some()), "{explained:?}");
            assert!(
                explained.most > 0.0 && !explained.mechanism.is_empty() && !explained.scenarios.is_empty(),
                "{explained:?}"
            );
        }
    }
}
