//! What a loader is asked to do: a [`PipelineSpec`], made of data alone, so that any system in any language can be
//! given the same one.
//!
//! Takes the description of a data set ([`DataSpec`](crate::data::DataSpec)), hands on a checked pipeline.

mod checkpoint_source;
mod compression;
mod cut;
mod cuts_file;
mod destination;
mod device_count;
mod device_mesh;
mod draw;
mod either;
mod framework_setting;
mod initialisation;
mod interpreter;
mod learning_task;
mod mode;
pub mod model;
mod operators;
mod orbax_load_options;
mod orbax_options;
mod placement;
mod route;
mod samples;
mod schedule;
mod spec;
mod state;
mod state_file;
mod step;
mod structure;
mod training;
mod training_ranks;
mod transform;
mod variants;

pub use checkpoint_source::{CheckpointSource, DigestUse};
pub use compression::Compression;
pub use cut::cut;
pub use cuts_file::CutsFile;
pub use destination::Destination;
pub use device_count::DeviceCount;
pub use device_mesh::DeviceMesh;
pub use draw::{Draw, Draws};
pub use framework_setting::FrameworkSetting;
pub use initialisation::Initialisation;
pub use interpreter::Interpreter;
pub use learning_task::{Form, LearningTask, Parameters};
pub use mode::ExecutionMode;
pub use operators::Operators;
pub use orbax_load_options::OrbaxLoadOptions;
pub use orbax_options::{OrbaxOptions, Setting};
pub use placement::Placement;
pub use route::{Route, Touch};
pub use samples::{SampleTarget, Samples};
pub use schedule::Schedule;
pub use spec::{Access, PROCESS, PipelineSpec, Shard};
pub use state::{State, Tensor};
pub use state_file::StateFile;
pub use step::{StepKind, Stub};
pub use structure::{Merge, Mixing, Structure, TransformGate};
pub use training::{Compilation, Optimiser, Precision, TrainingSpec};
pub use training_ranks::{GradientExchange, Scaling, TrainingRanks};
pub use transform::{Transform, TransformEffect};
pub use variants::{Clicks, Images, Tokens, VariantTable};
