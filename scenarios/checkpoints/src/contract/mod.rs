//! The contract: what a scenario asks of a system that saves states and loads them.

mod checkpointer;
mod looked_part;
mod manager;
mod retention;
mod stored;

pub use checkpointer::{Checkpointer, Checkpoints, Replicas, SaveLayer, SaveOptions, SaveWaiter, StepTimes};
pub use looked_part::LookedPart;
pub use manager::{Manager, TRAINED};
pub use retention::{KeepPolicies, KeepPolicy, Moment, Retention, SavePolicies, SavePolicy, SavedStep};
pub use stored::{CheckpointFormat, LoadedTensor, StoredCheckpoint, StoredFiles, TensorHeader};
