//! What a loader is asked to do: a [`PipelineSpec`], made of data alone, so that any system in any language
//! can be given the same one.
//!
//! Takes the description of a data set ([`DataSpec`](weighbridge_data::DataSpec)), hands on a checked
//! pipeline.

mod destination;
mod framework_setting;
mod learning_task;
mod mode;
mod operators;
mod route;
mod spec;
mod structure;
mod transform;
mod variants;

pub use destination::Destination;
pub use framework_setting::FrameworkSetting;
pub use learning_task::{Form, LearningTask, Parameters};
pub use mode::ExecutionMode;
pub use operators::Operators;
pub use route::{Route, Touch};
pub use spec::{Access, PROCESS, PipelineSpec, Shard, StoreAddress};
pub use structure::{Merge, MixRule, Structure, TransformGate};
pub use transform::{Transform, TransformEffect};
pub use variants::{Clicks, Images, Tokens, VariantTable};
