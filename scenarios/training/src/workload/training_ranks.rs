//! One training on several ranks: each steps on a share of every batch, and gradients are averaged over all
//! of them.

use std::fmt;
use std::ops::Range;

use serde::Serialize;
use weighbridge::{Error, Result};
use weighbridge_data::ranks::LaunchPlace;

use super::TrainingSpec;
use super::model::Layer;

/// The number of ranks of a training, and the exchange of their gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrainingRanks {
    /// The number of ranks.
    pub count: usize,
    /// The point of a step at which gradients are averaged.
    pub exchange: GradientExchange,
    /// Those of them that are this process's own; `None` where all are.
    pub place: Option<LaunchPlace>,
}

/// The point of a step at which the gradients of the ranks are averaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GradientExchange {
    /// After the way back, by a call that can be timed as a phase of its own.
    Apart,
    /// While the way back goes on, as the system does it by itself.
    Overlapped,
    /// Likewise, where each rank has a shard of weights, gradients and the state of the optimiser alone, and
    /// the weights of a layer are gathered when it is due.
    Sharded,
}

impl fmt::Display for GradientExchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Apart => "apart",
            Self::Overlapped => "overlapped",
            Self::Sharded => "sharded",
        })
    }
}

/// The batch that stays the same when ranks are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaling {
    /// The batch of all ranks together: each has less to do.
    Strong,
    /// The batch of each rank: all together do more.
    Weak,
}

impl fmt::Display for Scaling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Strong => "strong",
            Self::Weak => "weak",
        })
    }
}

impl TrainingRanks {
    /// So many ranks, all of them this process's.
    pub fn new(count: usize, exchange: GradientExchange) -> Self {
        Self { count, exchange, place: None }
    }

    /// Returns the ranks that are this process's own.
    pub fn own(self) -> Range<usize> {
        self.place.map_or(0..self.count, |place| place.first..place.first + place.here)
    }

    /// Refuses what cannot be the same training on so many ranks.
    ///
    /// # Errors
    /// No rank; a batch that they do not divide; a model in which samples of a batch see each other.
    pub fn check(self, spec: &TrainingSpec) -> Result<()> {
        if self.count == 0 || !spec.batch.is_multiple_of(self.count) {
            return Err(Error::new(format!("`ranks` {} do not divide `batch` {}", self.count, spec.batch)));
        }
        let norms = spec.layers()?.placed()?.iter().any(|one| matches!(one.layer, Layer::BatchNorm { .. }));
        if norms && self.count > 1 {
            return Err(Error::new(
                "a batch norm takes the mean of the samples that a rank has: \
                 on several ranks it is another model",
            ));
        }
        Ok(())
    }

    /// Samples of a step that each rank has.
    pub fn share(self, spec: &TrainingSpec) -> usize {
        spec.batch / self.count
    }

    /// Returns the samples of a batch that are this rank's.
    pub fn of_batch(self, spec: &TrainingSpec, rank: usize) -> Range<usize> {
        let share = self.share(spec);
        rank * share..(rank + 1) * share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_equal_and_together_they_are_the_batch() {
        let spec = TrainingSpec::read(TrainingSpec::TINY).unwrap();
        for count in [1, 2, 4, 8] {
            let ranks = TrainingRanks::new(count, GradientExchange::Apart);
            ranks.check(&spec).unwrap();
            let all: Vec<usize> = (0..count).flat_map(|rank| ranks.of_batch(&spec, rank)).collect();
            assert_eq!(all, (0..spec.batch).collect::<Vec<_>>());
        }
    }

    #[test]
    fn ranks_that_do_not_divide_the_batch_and_batch_norms_are_refused_by_name() {
        let spec = TrainingSpec::read(TrainingSpec::TINY).unwrap();
        for count in [0, 3, 64] {
            let said = TrainingRanks::new(count, GradientExchange::Apart).check(&spec).unwrap_err();
            assert_eq!(said.to_string(), format!("`ranks` {count} do not divide `batch` 32"));
        }
        let model = super::super::model::Dimensions::Resnet50 { image: 32, width: 8, classes: 10 };
        let norms = TrainingSpec { model, ..spec };
        let said = TrainingRanks::new(2, GradientExchange::Apart).check(&norms).unwrap_err();
        assert!(said.to_string().starts_with("a batch norm takes the mean"), "{said}");
    }
}
