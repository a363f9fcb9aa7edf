//! The cases that are held against a loop by hand: three light ones, in which a batch's own cost shows.

use weighbridge::data::CaseId;
use weighbridge_loaders::workload::{Images, PipelineSpec, Tokens, VariantTable};

/// A scenario whose variant `small` is calibrated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scenario {
    /// Its id.
    pub(super) id: &'static str,
    /// Its pipeline, of which the data and the size of a batch are taken.
    spec: fn() -> PipelineSpec,
}

/// The variant of each.
pub(super) const VARIANT: &str = "small";
/// The numbers of workers, one after the other.
const WORKERS: [usize; 2] = [0, 2];

pub(super) const SCENARIOS: [Scenario; 3] = [
    Scenario { id: "CV-1", spec: || PipelineSpec::images(&Images::new(10_000, 32, 64)) },
    Scenario { id: "NLP-1", spec: || PipelineSpec::tokens(&Tokens::new(10_000, 128, 32)) },
    Scenario { id: "TAB-1", spec: || PipelineSpec::table(&VariantTable::new(10_000, 100, 256)) },
];

impl Scenario {
    pub(super) fn spec(&self) -> PipelineSpec {
        (self.spec)()
    }
}

/// A scenario with so many workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WorkerCell {
    /// Its place in [`SCENARIOS`].
    pub(super) scenario: usize,
    pub(super) workers: usize,
}

impl WorkerCell {
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let of = |scenario| WORKERS.map(|workers| Self { scenario, workers });
        (0..SCENARIOS.len()).flat_map(of)
    }

    pub(super) fn scenario(self) -> &'static Scenario {
        &SCENARIOS[self.scenario]
    }

    /// Returns the number of batches of an epoch, a short last one counted.
    pub(super) fn batches(self) -> usize {
        let spec = self.scenario().spec();
        spec.source.elements.div_ceil(spec.batch_size)
    }

    /// The cell that a case of a run is of.
    pub(super) fn of(id: &CaseId) -> Option<Self> {
        let scenario = SCENARIOS.iter().position(|scenario| scenario.id == id.scenario)?;
        let value = |axis: &str| id.point.iter().find(|value| value.axis == axis).map(|value| &value.text);
        let workers = value("workers").map_or(Some(0), |text| text.parse().ok())?;
        (value("variant").is_none_or(|variant| variant == VARIANT)).then_some(Self { scenario, workers })
    }
}

impl std::fmt::Display for WorkerCell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {} workers", self.scenario().id, self.workers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::case_id;

    #[test]
    fn a_case_is_of_the_cell_of_its_scenario_and_workers() {
        assert_eq!(WorkerCell::of(&case_id("NLP-1", "NumPy")), Some(WorkerCell { scenario: 1, workers: 0 }));
        assert_eq!(WorkerCell::of(&case_id("PC-1", "NumPy")), None);
    }
}
