//! Training steps: how long they take, phase by phase, and whether each system takes the same ones.
//!
//! Losses have a trend over an epoch, so that no sample of them can be held against all: `equivalence` is
//! `shape`, and the proof is the scenario's own.
//!
//! A scenario here opens a training, times its steps as a stream, and then holds it against the reference
//! (`proof`): the settings that it has really set (`settings`), the weights that the timed steps have left,
//! its weights at the start, what its first step computes, and its weights after three steps. Beside the
//! figures stands what the machine could do at best (`peak_flops`), or how the training comes to a target
//! (`learning_curve`). Where several ranks train one model, `rank_proof` holds them against each other too.

mod fed_proof;
mod feeding;
mod learning_curve;
#[cfg(test)]
mod liars;
mod named_peak;
mod peak;
mod preset;
mod proof;
#[cfg(test)]
mod rank_liars;
mod rank_proof;
mod settings;
mod storage;
pub mod train1_steps;
pub mod train2_target;
pub mod train3_loader;
pub mod train4_ranks;
mod trainer_choice;

pub use learning_curve::{ACCURACY_AT, BEST_ACCURACY, LOSS_AT, STEPS_TO_TARGET, TIME_AT, TIME_TO_TARGET};
pub use named_peak::{NAMED_PEAKS, NamedPeak, PeakRate, named_peaks};
pub use peak::{MEASURED_PEAK, PEAK, measured_product};
pub use preset::Preset;
pub use storage::LoaderStorage;
pub use train1_steps::train;
pub use train2_target::train_to_target;
pub use train3_loader::{
    BOTH_AT_ONCE, DATA_WAIT, EFFICIENCY, EXPOSED_LOADING, FULL_STEP, LOADER_ALONE, STEP_ALONE,
};
pub use train4_ranks::train_on_ranks;
pub use trainer_choice::TrainerChoice;

pub use crate::contract::{
    COMPILATION, DEVICE_MEMORY, FORWARD_MEMORY, OPERATOR, PHASE, PROFILED, RANK_PHASE, RANK_STEP,
    TRAINING_MEMORY, WHOLE_STEP,
};
