//! Differences that have a known cause: the mechanism of each.

use super::cases::Cell;

/// Why a peer's figure differs from its loop by hand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Explained {
    /// The peer's short name.
    short: &'static str,
    /// In these scenarios.
    scenarios: &'static [&'static str],
    /// With so many workers.
    workers: &'static [usize],
    /// Which side has more.
    side: Side,
    /// What makes the difference.
    pub(super) mechanism: &'static str,
}

/// Which side takes longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Harness,
    Hand,
}

/// All that are known.
const EXPLAINED: &[Explained] = &[];

/// The mechanism behind a difference, where one is known.
pub(super) fn find(short: &str, cell: Cell, difference: f64) -> Option<&'static str> {
    among(EXPLAINED, short, cell, difference)
}

fn among(all: &[Explained], short: &str, cell: Cell, difference: f64) -> Option<&'static str> {
    let side = if difference > 0.0 { Side::Harness } else { Side::Hand };
    let is_of = |explained: &&Explained| {
        explained.short == short
            && explained.side == side
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
    fn a_mechanism_explains_a_difference_of_its_cell_and_side_alone() {
        let known = [Explained {
            short: "grain",
            scenarios: &["CV-1"],
            workers: &[2],
            side: Side::Harness,
            mechanism: "so",
        }];
        let cell = |scenario, workers| Cell { scenario, workers };
        let found = |short, cell, difference| among(&known, short, cell, difference).is_some();
        assert!(found("grain", cell(0, 2), 1.0));
        assert!(!found("grain", cell(0, 2), -1.0) && !found("grain", cell(0, 0), 1.0));
        assert!(!found("grain", cell(1, 2), 1.0) && !found("numpy", cell(0, 2), 1.0));
    }

    #[test]
    fn every_explanation_is_of_a_known_peer_and_says_something() {
        for explained in EXPLAINED {
            assert!(python::find(explained.short).is_some(), "{explained:?}");
            assert!(!explained.mechanism.is_empty() && !explained.scenarios.is_empty(), "{explained:?}");
        }
    }
}
