//! Differences that have a known cause: the mechanism of each.

use super::cases::WorkerCell;

/// A known cause for which the figures of peers differ from their loops by hand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Explanation {
    /// The peers' short names.
    shorts: &'static [&'static str],
    /// In these scenarios.
    scenarios: &'static [&'static str],
    /// With so many workers.
    workers: &'static [usize],
    /// The side that has more.
    side: ExplainedSide,
    /// The largest difference that it explains, in microseconds a batch.
    most: f64,
    /// The mechanism that makes the difference, in words.
    pub(super) mechanism: &'static str,
}

/// The side that takes longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExplainedSide {
    Harness,
    Hand,
}

/// Work that the worker does and a script does not.
const OWN: &str = "The worker's own work: it makes a batch from fields by name and the indices of their \
    elements (2 µs), hands it out as a dict of numpy arrays, and weighs and stamps it (1 µs); a script has \
    one array. Between two passes the clock stands, counters are looked at and a copy is put away, after \
    which caches are cold: 0.14 ms a pass, which is 25 ms, or an epoch that is shorter.";

/// The same and page faults.
const BOTH: &str = "The worker's own work (3 µs a batch and 0.14 ms a pass) and page faults, \
    which one side has more of, together.";

/// Those whose workers are threads of the worker's own interpreter: its work takes the lock from them.
const THREADS: &[&str] = &["grain", "grain_records", "spdl"];

/// Of that, seconds of each batch.
const CALLS: f64 = 3e-6;
/// Seconds of each pass.
const STOP: f64 = 0.14e-3;
/// The seconds of a pass, if the epoch has as many.
const PASS: f64 = 25e-3;

/// The cost of the bits of the specification.
const EXACT: &str = "Exact numbers: XLA makes a division by one number a product, whose last bits are \
    others. The adapter divides by an array, and a script does as its users do.";

/// The same, where a thread of the framework makes the batches.
const LOCK: &str = "The interpreter's lock: the worker's own calls (4 µs) take it from the thread that \
    decodes, and after a stop that thread is asleep (0.2 ms a pass, which is an epoch of 1.4 ms on TAB-1).";

/// The same, where two or three threads of an interpreter hand over batch for batch: the loop of events, the
/// pool, the consumer.
const HAND_OVER: &str = "The interpreter's lock among the event loop, the pool and the consumer: what a job \
    does in Python costs ten times its time. The script with 3.5 µs of empty loop in its job takes 40 to 100 \
    µs more, as the adapter does, whose job has the worker's own work in it.";

/// The cost of new memory.
const FAULTS: &str = "Page faults: one side's heap goes back to the system between batches, and is touched \
    anew. Where the last piece of a heap is as large as a batch, this is luck: glibc gives back what lies \
    free at its end, and a few small pieces decide what lies there.";

/// Both sides of a cell, as far as a mechanism goes by it. Seconds of a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellDifference {
    pub(super) cell: WorkerCell,
    /// The time that the loop by hand takes.
    pub(super) hand: f64,
    /// The time that the harness takes more than the loop by hand.
    pub(super) difference: f64,
    /// The largest difference that is none.
    pub(super) bound: f64,
    /// Page faults of a batch that the harness has more.
    pub(super) faults: f64,
    /// The cost of a page fault.
    pub(super) fault_cost: f64,
}

impl CellDifference {
    /// The worker's own work for a batch, in seconds. Without workers it is done in turns with the
    /// framework's, and with threads as workers as well: one has the interpreter's lock. Beside other
    /// processes it is nothing.
    fn own_work(&self, short: &str) -> f64 {
        if self.cell.workers > 0 && !THREADS.contains(&short) {
            return 0.0;
        }
        let batches = (PASS / self.hand).min(self.cell.batches() as f64);
        CALLS + STOP / batches
    }

    /// Returns whether no more than the bound is left when the worker's own work is taken away.
    fn is_of_the_worker(&self, short: &str) -> bool {
        let own = self.own_work(short);
        own > 0.0 && self.difference > 0.0 && self.difference <= own + self.bound
    }

    /// The same when page faults are taken away as well.
    fn is_of_both(&self, short: &str) -> bool {
        let (own, of_faults) = (self.own_work(short), self.faults * self.fault_cost);
        own > 0.0
            && of_faults > 0.0
            && self.difference > 0.0
            && self.difference <= own + of_faults + self.bound
    }

    /// Returns whether no more than the bound is left when page faults are taken away.
    fn is_of_faults(&self) -> bool {
        let of_faults = self.faults * self.fault_cost;
        of_faults * self.difference > 0.0 && self.difference.abs() <= of_faults.abs() + self.bound
    }
}

/// All that are known, each with the figure that was measured as its bound.
const EXPLAINED: &[Explanation] = &[
    Explanation {
        shorts: &["datarax"],
        scenarios: &["CV-1"],
        workers: &[0],
        side: ExplainedSide::Harness,
        most: 40.0,
        mechanism: EXACT,
    },
    // In one process, in turns with the script: 342 to 430 us of CPU time with the division by an array, 250
    // to 290 with one by a number.
    Explanation {
        shorts: &["datarax_scan"],
        scenarios: &["CV-1"],
        workers: &[0],
        side: ExplainedSide::Harness,
        most: 90.0,
        mechanism: EXACT,
    },
    // In one process: 35 us with the adapter and 31 us by hand on TAB-1, and 6 us more in passes of 36
    // batches.
    Explanation {
        shorts: &["ffcv"],
        scenarios: &["NLP-1", "TAB-1"],
        workers: &[0, 2],
        side: ExplainedSide::Harness,
        most: 10.0,
        mechanism: LOCK,
    },
    // In one process, in turns, the script with 3.5 us of Python more in its job: 42 us more on NLP-1 with
    // two workers, 98 and 43 us on TAB-1 with two and without; the adapter without the harness's loop 44, 92
    // and 37 us.
    Explanation {
        shorts: &["spdl"],
        scenarios: &["NLP-1", "TAB-1"],
        workers: &[2],
        side: ExplainedSide::Harness,
        most: 110.0,
        mechanism: HAND_OVER,
    },
    Explanation {
        shorts: &["spdl"],
        scenarios: &["NLP-1", "TAB-1"],
        workers: &[0],
        side: ExplainedSide::Harness,
        most: 60.0,
        mechanism: HAND_OVER,
    },
];

/// The mechanism behind a difference, where one is known.
pub(super) fn find(short: &str, of: &CellDifference) -> Option<&'static str> {
    let known = || among(EXPLAINED, short, of.cell, of.difference);
    let faults = || of.is_of_faults().then_some(FAULTS);
    let both = || of.is_of_both(short).then_some(BOTH);
    of.is_of_the_worker(short).then_some(OWN).or_else(known).or_else(faults).or_else(both)
}

fn among(all: &[Explanation], short: &str, cell: WorkerCell, difference: f64) -> Option<&'static str> {
    let side = if difference > 0.0 { ExplainedSide::Harness } else { ExplainedSide::Hand };
    let is_of = |explained: &&Explanation| {
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
    use weighbridge_python as python;

    use super::*;

    #[test]
    fn a_mechanism_explains_a_difference_of_its_cell_and_side_up_to_what_was_measured() {
        let known = [Explanation {
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
            let of = CellDifference { cell, hand: 100e-6, difference, bound: 5e-6, faults, fault_cost: 1e-6 };
            find("dali", &of)
        };
        assert_eq!((found(100e-6, 96.0), found(-100e-6, -96.0)), (Some(FAULTS), Some(FAULTS)));
        assert_eq!(found(100e-6, 94.0), None, "more is left than the bound");
        assert_eq!(found(100e-6, -96.0), None, "the quicker side has them");
    }

    #[test]
    fn a_difference_is_of_the_worker_up_to_its_calls_and_stops_where_it_has_no_workers() {
        // An epoch of TAB-1 has 40 batches, so that each stop is 3.5 us of every batch.
        let found = |workers, difference| {
            let cell = WorkerCell { scenario: 2, workers };
            find(
                "lance",
                &CellDifference { cell, hand: 20e-6, difference, bound: 1e-6, faults: 0.0, fault_cost: 1e-6 },
            )
        };
        assert_eq!((found(0, 7.4e-6), found(0, 7.6e-6)), (Some(OWN), None));
        assert_eq!((found(0, -2e-6), found(2, 2e-6)), (None, None));
    }

    #[test]
    fn workers_that_are_threads_have_the_workers_own_work_in_turns_with_theirs() {
        let found = |short, faults, difference| {
            let cell = WorkerCell { scenario: 2, workers: 2 };
            let of = CellDifference { cell, hand: 20e-6, difference, bound: 1e-6, faults, fault_cost: 1e-6 };
            find(short, &of)
        };
        assert_eq!((found("grain", 0.0, 7.4e-6), found("torch", 0.0, 7.4e-6)), (Some(OWN), None));
        assert_eq!((found("grain", 10.0, 17.4e-6), found("grain", 10.0, 17.6e-6)), (Some(BOTH), None));
        assert_eq!((found("grain", -1.0, 8e-6), found("torch", 10.0, 17.4e-6)), (None, None));
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
