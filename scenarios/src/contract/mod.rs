//! The contracts: what a scenario asks of a system under test.

#[cfg(test)]
pub(crate) mod changed;
mod checkpointer;
mod deliver;
mod experiments;
mod learn;
mod learner;
mod load;
mod loader;
mod manager;
mod retention;
mod stored;
#[cfg(feature = "cuda")]
pub(crate) mod to_device;
mod train;
mod trainer;

pub use checkpointer::{Checkpointer, Checkpoints, Replicas, SaveLayer, SaveOptions, Saving, StepTimes};
pub use deliver::deliver;
pub use experiments::{EXPERIMENT, Experiment};
pub use learn::{
    Learn, RECOMPILATIONS, check_gradient, open_learning_task, tell_recompilations, time_steps, time_steps_of,
};
pub use learner::{Learner, LearningLoop};
pub use load::{EpochStream, Load, for_each_batch, keep_order, load_epochs, load_in_order, open_data};
pub use loader::{Batch, Epochs, Executed, Loader, Rank, time_epoch};
pub use manager::{Manager, TRAINED};
pub use retention::{KeepPolicies, KeepPolicy, Moment, Retention, SavePolicies, SavePolicy, SavedStep};
pub use stored::{CheckpointFormat, LoadedTensor, StoredCheckpoint, StoredFiles, TensorHeader};
pub(crate) use train::tell_rank_phases;
pub use train::{
    FORWARD_MEMORY, Material, OPERATOR, PHASE, PROFILED, RANK_PHASE, RANK_STEP, TRAINING_MEMORY, Train,
    WHOLE_STEP, open_material, tell_operators, time_phases,
};
pub use trainer::{First, OperatorTimes, Phases, Tensors, Trainer, TrainingLoop};
