//! The contract: what a scenario asks of a system that trains a model.

mod noted_steps;
mod remote_training;
mod train;
mod trainer;

pub(crate) use noted_steps::{NotedSteps, draw_epoch};
pub(crate) use remote_training::{AnsweringTraining, RemoteTraining};
pub(crate) use train::tell_rank_phases;
pub use train::{
    COMPILATION, DEVICE_MEMORY, FORWARD_MEMORY, Material, OPERATOR, PROFILED, RANK_PHASE, RANK_STEP,
    TRAINING_MEMORY, Train, open_material, tell_compiling, tell_operators, time_phases,
};
pub use trainer::{First, OperatorTimes, TrainedEpoch, Trainer, TrainingLoop};
pub use weighbridge_loaders::contract::{PHASE, WHOLE_STEP};
