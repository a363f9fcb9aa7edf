//! What of a pipeline is not a step on one element after the other: choices, branches, mixing, regrouping,
//! caching.

use std::fmt;

use weighbridge::{Error, Result};

use super::Transform;

/// The structure of a pipeline beside its list of transforms. The default is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Structure {
    /// Transforms of the list that only some elements go through.
    pub gates: Vec<TransformGate>,
    /// Lists of transforms that each start from what the pipeline's list gives.
    pub branches: Vec<Vec<Transform>>,
    /// The rule for the outputs of the branches.
    pub merge: Merge,
    /// The mixing of the elements of a finished batch with each other, if any.
    pub mixing: Option<MixRule>,
    /// Weights of the equal, contiguous parts of the data set that an epoch is mixed from; empty: the data
    /// set as it is.
    pub mixture: Vec<f64>,
    /// `true` if the batches of the first epoch are kept and delivered again in later ones. Beginning epoch 0
    /// begins with an empty cache.
    pub cache: bool,
    /// Regroups the finished batches into batches of this many elements.
    pub rebatch: Option<usize>,
}

/// Lets a transform of the list be done for some elements alone: those whose draw `unit(2^32)` at position
/// `decided_at` lies in `[from, below)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransformGate {
    /// The position of the transform.
    pub position: usize,
    /// The position whose draw decides: its own, or the first of several alternatives.
    pub decided_at: usize,
    /// The least draw that lets an element through.
    pub from: f64,
    /// The least draw above, that does not.
    pub below: f64,
}

impl TransformGate {
    /// The number of the draw that decides.
    pub const DRAW: u64 = 1 << 32;
}

/// A rule for the outputs of branches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Merge {
    /// The mean of their numbers.
    #[default]
    Mean,
    /// Each is delivered: the field `image` as `image_1`, `image_2`.
    Views,
}

/// A mixing of the elements of a batch. Element `i` of `n` is mixed with element `n - 1 - i`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MixRule {
    /// A weighted sum with one weight for the batch, drawn from Beta(alpha, alpha).
    MixUp {
        /// Both parameters of the distribution.
        alpha: f64,
    },
    /// A rectangle taken over from the partner, whose share of the area is one less a draw from Beta(alpha,
    /// alpha).
    CutMix {
        /// Both parameters of the distribution.
        alpha: f64,
    },
}

impl MixRule {
    /// The position in the address of a batch's draws.
    pub const POSITION: u64 = 1 << 33;
    /// Tries for a draw of the Beta distribution. The tries' draws are numbered below `2 * TRIES`.
    pub const TRIES: u64 = 64;

    /// Both parameters of the Beta distribution.
    pub const fn alpha(self) -> f64 {
        match self {
            Self::MixUp { alpha } | Self::CutMix { alpha } => alpha,
        }
    }
}

impl fmt::Display for MixRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MixUp { alpha } => write!(f, "MixUp (alpha {alpha})"),
            Self::CutMix { alpha } => write!(f, "CutMix (alpha {alpha})"),
        }
    }
}

impl Structure {
    /// The position in the address of a mixture's draws.
    pub const MIXTURE_POSITION: u64 = 1 << 34;

    /// The gate of a transform of the list, if it has one.
    pub fn gate(&self, position: usize) -> Option<TransformGate> {
        self.gates.iter().copied().find(|gate| gate.position == position)
    }

    /// Returns what is asked for beyond a list of transforms, in words: empty for a plain pipeline. A loader
    /// that can run plain pipelines alone declines with them.
    pub fn capabilities(&self) -> Vec<String> {
        let mut asked = Vec::new();
        if !self.mixture.is_empty() {
            let weights: Vec<String> = self.mixture.iter().map(ToString::to_string).collect();
            asked.push(format!("mixture {}", weights.join(":")));
        }
        if !self.gates.is_empty() {
            asked.push("steps that only some elements go through".into());
        }
        if !self.branches.is_empty() {
            asked.push(match self.merge {
                Merge::Mean => format!("{} branches merged by their mean", self.branches.len()),
                Merge::Views => format!("{} branches delivered as views", self.branches.len()),
            });
        }
        asked.extend(self.mixing.map(|mixing| mixing.to_string()));
        if self.cache {
            asked.push("cache".into());
        }
        asked.extend(self.rebatch.map(|size| format!("rebatch to {size}")));
        asked
    }

    /// The transforms of a pipeline as work reports name them: with their gates, then branches, merge and
    /// what follows.
    pub(super) fn work(&self, transforms: &[Transform]) -> Vec<String> {
        let gated = |(position, transform): (usize, &Transform)| match self.gate(position) {
            None => transform.to_string(),
            Some(TransformGate { decided_at, from, below, .. }) if decided_at == position && from == 0.0 => {
                format!("{transform} (probability {below})")
            }
            Some(TransformGate { decided_at, from, below, .. }) => {
                format!("{transform} (where draw {decided_at} is in [{from}, {below}))")
            }
        };
        let mut work: Vec<String> = transforms.iter().enumerate().map(gated).collect();
        for (number, branch) in (1..).zip(&self.branches) {
            work.extend(branch.iter().map(|transform| format!("{transform} (branch {number})")));
        }
        let steps = self.capabilities();
        work.extend(steps.into_iter().filter(|step| !step.starts_with("steps ")));
        work
    }

    /// Refuses what cannot be, and names the parameter.
    pub(super) fn check(&self, transforms: usize, elements: usize) -> Result<()> {
        for TransformGate { position, from, below, decided_at } in &self.gates {
            let probable = 0.0 <= *from && from <= below && *below <= 1.0; // false for what is no number
            if !probable {
                return Err(Error::new(format!(
                    "`probability` of the transform at position {position} is from {from} to {below}: \
                     it lies between 0 and 1"
                )));
            }
            if position.max(decided_at) >= &transforms {
                return Err(Error::new(format!(
                    "there is no transform at position {}, for which a probability was given",
                    position.max(decided_at)
                )));
            }
        }
        if self.branches.len() == 1 || self.branches.iter().any(Vec::is_empty) {
            return Err(Error::new("`branches` are at least two, each with a transform"));
        }
        if let Some(alpha) = self.mixing.map(MixRule::alpha)
            && !(0.05..=2.0).contains(&alpha)
        {
            return Err(Error::new(format!(
                "`alpha` of the mixing is {alpha}: it must be a number from 0.05 to 2, beyond which the \
                 draws of the Beta distribution run out of tries"
            )));
        }
        if self.rebatch == Some(0) {
            return Err(Error::new("`rebatch` is 0: a batch holds at least one element"));
        }
        if !self.mixture.is_empty() {
            let sound = self.mixture.iter().all(|weight| weight.is_finite() && *weight >= 0.0);
            let sum: f64 = self.mixture.iter().sum();
            if !sound || !sum.is_finite() || sum <= 0.0 {
                return Err(Error::new(format!(
                    "`mixture` has the weights {:?}: each must be a number, none below 0, \
                     and their sum above 0",
                    self.mixture
                )));
            }
            if self.mixture.len() > elements {
                return Err(Error::new(format!(
                    "`mixture` has {} parts, but the data set has {elements} elements: no part may be empty",
                    self.mixture.len()
                )));
            }
        }
        Ok(())
    }
}
