//! Learners: pipelines with a gradient.
//!
//! The reference has its gradients written by hand, in both forms that a learning task can ask for; `burn`
//! derives them.

mod arithmetic;
#[cfg(feature = "burn")]
mod burn;
mod by_hand;
mod function;
mod modules;
mod stage;
mod step_output;

#[cfg(feature = "burn")]
pub use burn::BurnLearner;
pub use by_hand::ReferenceLearner;
pub(crate) use step_output::StepOutput;
