//! The contract: what a scenario asks of a system that saves states and loads them.

mod checkpointer;
mod manager;
mod retention;
mod stored;

pub use checkpointer::{Checkpointer, Checkpoints, Replicas, SaveLayer, SaveOptions, SaveWaiter, StepTimes};
pub use manager::{Manager, TRAINED};
pub use retention::{KeepPolicies, KeepPolicy, Moment, Retention, SavePolicies, SavePolicy, SavedStep};
pub use stored::{CheckpointFormat, LoadedTensor, StoredCheckpoint, StoredFiles, TensorHeader};
