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
    cold (0.14 ms a pass, and 0.2 ms where a thread of the framework makes the batches; a pass is 25 ms, or as long as an epoch).";

/// What the bits of the specification cost.
const EXACT: &str = "Exact numbers: XLA makes a division by one number a product, whose last bits are others. The adapter divides by an \
    array, and a script does as its users do.";

/// Both, where an epoch is so short that each pass is one.
const OWN_CALLS_AND_STOPS: &str = "The worker's own calls (4 µs), which take the interpreter's lock from the thread that decodes, and \
    stops (0.2 ms a pass, which is an epoch of 1.4 ms on TAB-1).";

/// What new memory costs.
const FAULTS: &str = "Page faults: one side's heap goes back to the system between batches, and is touched anew. Where the last piece of a \
    heap is as large as a batch, this is luck: glibc gives back what lies free at its end, and a few small pieces decide what lies there.";

/// Both sides of a cell, as far as a mechanism goes by it. Seconds of a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellDifference {
    pub(super) cell: WorkerCell,
    /// What the harness has more than the loop by hand.
    pub(super) difference: f64,
    /// The largest difference that is none.
    pub(super) bound: f64,
    /// Page faults of a batch that the harness has more.
    pub(super) faults: f64,
    /// What a page fault costs.
    pub(super) fault_cost: f64,
}

impl CellDifference {
    /// Whether no more than the bound is left when page faults are taken away.
    fn is_of_faults(&self) -> bool {
        let of_faults = self.faults * self.fault_cost;
        of_faults * self.difference > 0.0 && self.difference.abs() <= of_faults.abs() + self.bound
    }
}

/// All that are known, each with the figure that was measured as its bound.
const EXPLAINED: &[Explained] = &[
    Explained {
        shorts: &["numpy", "grain", "jax_dataloader", "torch", "torchdata", "litdata", "hf_datasets"],
        scenarios: &["NLP-1"],
        workers: &[0],
        side: ExplainedSide::Harness,
        most: 3.0,
        mechanism: OWN_CALLS,
    },
    Explained {
        shorts: &["datarax"],
        scenarios: &["CV-1"],
        workers: &[0],
        side: ExplainedSide::Harness,
        most: 40.0,
        mechanism: EXACT,
    },
    // In one process: 35 us with the adapter and 31 us by hand on TAB-1, and 6 us more in passes of 36 batches.
    Explained {
        shorts: &["ffcv"],
        scenarios: &["NLP-1", "TAB-1"],
        workers: &[0, 2],
        side: ExplainedSide::Harness,
        most: 10.0,
        mechanism: OWN_CALLS_AND_STOPS,
    },
    Explained {
        shorts: &["grain", "jax_dataloader", "torch"],
        scenarios: &["CV-1"],
        workers: &[0],
        side: ExplainedSide::Harness,
        most: 2.0,
        mechanism: STOPS,
    },
];

/// The mechanism behind a difference, where one is known.
pub(super) fn find(short: &str, of: &CellDifference) -> Option<&'static str> {
    among(EXPLAINED, short, of.cell, of.difference).or_else(|| of.is_of_faults().then_some(FAULTS))
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
    fn a_difference_is_of_page_faults_where_the_slower_side_has_them_and_they_cost_as_much() {
        let found = |difference, faults| {
            let cell = WorkerCell { scenario: 0, workers: 2 };
            let of = CellDifference { cell, difference, bound: 5e-6, faults, fault_cost: 1e-6 };
            find("dali", &of)
        };
        assert_eq!((found(100e-6, 96.0), found(-100e-6, -96.0)), (Some(FAULTS), Some(FAULTS)));
        assert_eq!(found(100e-6, 94.0), None, "more is left than the bound");
        assert_eq!(found(100e-6, -96.0), None, "the quicker side has them");
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
