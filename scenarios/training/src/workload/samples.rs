//! What a training learns from, and how well it is to know it.

use serde::{Deserialize, Serialize};
use weighbridge::{Dtype, Error, FieldKind, Result};
use weighbridge_data::{DIGITS, DataSpec, FieldSpec, FieldValues, Origin};

use super::model::{Model, Shape};

/// The samples that a training learns from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Samples {
    /// Standard normal numbers, or ids, with labels that are all equally likely: nothing can be learned, and
    /// nothing need be.
    Noise {
        /// Their seed.
        seed: u64,
    },
    /// Standard normal numbers around a centre for each class, all classes equally likely: what can be
    /// learned.
    Clusters {
        /// Their seed.
        seed: u64,
        /// The standard deviation of a centre's numbers.
        apart: f64,
    },
    /// 1,797 handwritten digits of 8 by 8 points (Alpaydin and Kaynak 1998): as vectors of 64 numbers, or as
    /// images of 8 by 8 that have each point in all channels. Each pass over them has an order of its own.
    Digits {
        /// The seed of the split and of the order.
        seed: u64,
    },
}

/// The accuracy that a training is to reach on samples that it has not learned from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleTarget {
    /// The share of them whose label has the greatest logit.
    pub accuracy: f64,
    /// The number of these samples. Nothing is learned from them.
    pub held_out: usize,
    /// After each so many steps they are looked at.
    pub every: usize,
}

impl SampleTarget {
    /// Returns the number of labels that must be right, of so many.
    pub fn due(&self, labels: usize) -> usize {
        (self.accuracy * labels as f64).ceil() as usize
    }

    /// Refuses a target that is none, and names the key.
    ///
    /// # Errors
    /// An accuracy beyond 1 or not above 0, nothing held out, steps between looks that are 0 or more than
    /// there are.
    pub(super) fn check(&self, steps: usize) -> Result<()> {
        let Self { accuracy, held_out, every } = *self;
        if !(accuracy > 0.0 && accuracy <= 1.0) {
            return Err(Error::new(format!(
                "`target.accuracy` is {accuracy}: it must be a share above 0 and up to 1"
            )));
        }
        if held_out == 0 {
            return Err(Error::new("`target.held_out` is 0: a target needs samples to be seen on"));
        }
        if !(1..=steps).contains(&every) {
            return Err(Error::new(format!(
                "`target.every` is {every}: it must be from 1 to the {steps} steps"
            )));
        }
        Ok(())
    }
}

impl Samples {
    /// So many samples to learn from and, after them, those that are held out: `input` as the model takes it,
    /// and `label`.
    ///
    /// # Errors
    /// What the model does not take, or these samples do not have.
    pub(super) fn data(self, model: &Model, learned: usize, held_out: usize) -> Result<DataSpec> {
        let (classes, labels) = model.labels()?;
        let (dtype, values) = match (model.input, self) {
            (Shape::Ids { below, .. }, Self::Noise { .. }) => (Dtype::I32, FieldValues::Below(below as u32)),
            (Shape::Ids { .. }, other) => {
                return Err(Error::new(format!(
                    "`samples.kind` is {}: there are none of ids, as this model takes them",
                    other.name()
                )));
            }
            (_, Self::Clusters { apart, .. }) => {
                if !(apart > 0.0 && apart <= 1_000.0) {
                    return Err(Error::new(format!(
                        "`samples.apart` is {apart}: it must be above 0 and up to 1000"
                    )));
                }
                (Dtype::F32, FieldValues::Around { classes: classes as u32, apart: (apart * 1e6) as u32 })
            }
            _ => (Dtype::F32, FieldValues::Normal),
        };
        if matches!(self, Self::Clusters { .. } | Self::Digits { .. }) && !labels.is_empty() {
            return Err(Error::new(format!("`samples.kind` is {}: they have one label each", self.name())));
        }
        let kind = FieldKind { name: "input".into(), dtype, shape: model.input.axes() };
        let spec = DataSpec {
            fields: vec![FieldSpec { kind, values }],
            elements: learned + held_out,
            origin: Origin::Synthetic { seed: self.seed() },
        };
        let spec = spec.with("label", Dtype::I32, &labels, FieldValues::Below(classes as u32));
        let Self::Digits { seed } = self else { return Ok(spec) };
        let shape = model.input.axes();
        if !(shape == [64] || matches!(shape[..], [8, 8, _])) || classes < 10 {
            return Err(Error::new(format!(
                "`samples.kind` is digits: they are 64 numbers or images of 8 by 8, of 10 classes, \
                 and the model makes {classes} of {}",
                model.input
            )));
        }
        if held_out >= DIGITS {
            return Err(Error::new(format!(
                "`target.held_out` is {held_out}: there are {DIGITS} digits, and some are to be learned from"
            )));
        }
        Ok(spec.read_from(Origin::Digits { seed, held_out }))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Noise { .. } => "noise",
            Self::Clusters { .. } => "clusters",
            Self::Digits { .. } => "digits",
        }
    }

    fn seed(self) -> u64 {
        match self {
            Self::Noise { seed } | Self::Clusters { seed, .. } | Self::Digits { seed } => seed,
        }
    }

    /// The same with another seed.
    #[must_use]
    pub fn seeded(self, seed: u64) -> Self {
        match self {
            Self::Noise { .. } => Self::Noise { seed },
            Self::Clusters { apart, .. } => Self::Clusters { seed, apart },
            Self::Digits { .. } => Self::Digits { seed },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::TrainingSpec;

    fn digits() -> TrainingSpec {
        TrainingSpec::read(TrainingSpec::DIGITS_MLP).unwrap()
    }

    #[test]
    fn what_is_held_out_stands_behind_what_is_learned_from() {
        let spec = digits();
        let target = spec.target.unwrap();
        let data = spec.data().unwrap();
        assert_eq!(data.elements, spec.batch * spec.steps + target.held_out);
        assert!(matches!(data.origin, Origin::Digits { held_out, .. } if held_out == target.held_out));
        assert_eq!(spec.expected().unwrap().elements, (spec.batch * spec.steps) as u64);
    }

    #[test]
    fn a_target_that_is_none_and_samples_that_do_not_fit_are_refused_by_their_key() {
        let refused = |before: &str, after: &str| {
            let text = TrainingSpec::DIGITS_MLP;
            assert!(text.contains(before), "{before}");
            TrainingSpec::read(&text.replace(before, after)).unwrap_err().to_string()
        };
        for (before, after, said) in [
            (
                "accuracy = 0.95",
                "accuracy = 95",
                "`target.accuracy` is 95: it must be a share above 0 and up to 1",
            ),
            ("accuracy = 0.95", "accuracy = nan", "`target.accuracy` is NaN"),
            ("held_out = 297", "held_out = 0", "`target.held_out` is 0"),
            ("held_out = 297", "held_out = 1797", "`target.held_out` is 1797: there are 1797 digits"),
            ("every = 8", "every = 0", "`target.every` is 0"),
            ("every = 8", "every = 100000", "`target.every` is 100000: it must be from 1 to the"),
            ("inputs = 64", "inputs = 63", "the model makes 10 of"),
            ("classes = 10", "classes = 9", "of 10 classes, and the model makes 9 of"),
            ("kind = \"digits\"", "kind = \"letters\"", "letters"),
            ("kind = \"digits\"", "kind = \"clusters\"\napart = -1.0", "`samples.apart` is -1"),
        ] {
            let found = refused(before, after);
            assert!(found.contains(said), "{after}: {found}");
        }
    }

    #[test]
    fn a_share_of_the_labels_is_due_and_never_less() {
        let target = SampleTarget { accuracy: 0.95, held_out: 297, every: 1 };
        assert_eq!((target.due(297), target.due(100), target.due(1)), (283, 95, 1));
    }
}
