//! What a trainer is asked to do: a [`TrainingSpec`], made of data alone: the [`model`], its samples, its
//! optimiser and its steps.

mod components;
mod initialisation;
pub mod model;
mod samples;
mod schedule;
mod step_order;
mod training;
mod training_ranks;

pub use components::{
    AttentionWay, Casts, Components, ImageLayout, NormWay, OptimiserWay, RopeWay, Swapped, TrainingState,
};
pub use initialisation::Initialisation;
pub use samples::{SampleTarget, Samples};
pub use schedule::Schedule;
pub use step_order::step_order;
pub use training::{Compilation, Optimiser, Precision, TrainingSpec};
pub use training_ranks::{GradientExchange, Scaling, TrainingRanks};
