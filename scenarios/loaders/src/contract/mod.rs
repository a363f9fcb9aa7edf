//! The contracts: what a scenario asks of a loader, and of a learner that takes gradients through a pipeline.

#[cfg(any(test, feature = "testing"))]
pub mod changed_loader;
mod counted;
mod deliver;
mod each_batch;
mod experiments;
mod learn;
mod learner;
mod lives;
mod load;
mod loader;
mod noted_step;
mod phases;
#[cfg(feature = "cuda")]
pub(crate) mod to_device;

pub use counted::{cold_start, load_counted};
pub use deliver::deliver;
pub use each_batch::for_each_batch;
pub use experiments::{EXPERIMENT, Experiment};
#[cfg(test)]
pub(crate) use learn::tests::TellingLearner;
pub use learn::{
    Learn, RECOMPILATIONS, check_gradient, open_learning_task, tell_recompilations, time_steps, time_steps_of,
};
pub(crate) use learn::{rounding_of_sum, within};
pub use learner::{Learner, LearningLoop, Tensors};
pub use load::{EpochStream, Load, keep_order, load_epochs, load_in_order, open_data, stream_epochs};
pub use loader::Loader;
pub use noted_step::{NotedEpoch, NotedStep};
pub use phases::{PHASE, Phases, WHOLE_STEP, mean_phases, tell_phases};
