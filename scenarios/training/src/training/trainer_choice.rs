//! Which system trains where something else is measured.

use std::fmt;
use std::str::FromStr;

use weighbridge::Result;

use crate::adapters::native::{NdarrayTrainer, ReferenceTrainer};
use crate::adapters::python;
use crate::contract::Trainer;

/// A trainer by its name on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrainerChoice {
    /// `ndarray (by hand)`, in this process.
    Ndarray,
    /// The reference in `f64`, in this process.
    Reference,
    /// `PyTorch`.
    PyTorch,
    /// `JAX (Flax NNX)`.
    Flax,
    /// `TensorFlow`.
    TensorFlow,
    /// `Keras (TensorFlow)`.
    Keras,
    /// `Keras (JAX)`.
    KerasJax,
    /// `Keras (PyTorch)`.
    KerasTorch,
}

impl TrainerChoice {
    const ALL: [Self; 8] = [
        Self::Ndarray,
        Self::Reference,
        Self::PyTorch,
        Self::Flax,
        Self::TensorFlow,
        Self::Keras,
        Self::KerasJax,
        Self::KerasTorch,
    ];

    const fn short(self) -> &'static str {
        match self {
            Self::Ndarray => "ndarray",
            Self::Reference => "reference",
            Self::PyTorch => "pytorch",
            Self::Flax => "flax",
            Self::TensorFlow => "tensorflow",
            Self::Keras => "keras",
            Self::KerasJax => "keras_jax",
            Self::KerasTorch => "keras_torch",
        }
    }

    /// The system.
    ///
    /// # Errors
    /// A skip where it is not installed.
    pub(super) fn make(self) -> Result<Box<dyn Trainer>> {
        match self {
            Self::Ndarray => Ok(Box::new(NdarrayTrainer)),
            Self::Reference => Ok(Box::new(ReferenceTrainer)),
            other => python::trainer(other.short()),
        }
    }
}

impl fmt::Display for TrainerChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.short())
    }
}

impl FromStr for TrainerChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|trainer| trainer.short() == text);
        found.ok_or_else(|| format!("`{text}` is none of {}", Self::ALL.map(Self::short).join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trainer_is_found_by_the_name_that_it_is_shown_with() {
        for trainer in TrainerChoice::ALL {
            assert_eq!(trainer.to_string().parse(), Ok(trainer));
        }
        assert!("torch".parse::<TrainerChoice>().unwrap_err().contains("pytorch"));
    }
}
