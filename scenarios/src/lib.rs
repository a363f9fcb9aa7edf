//! The catalogue of weighbridge: what is asked of loaders, the data, the scenarios, and the systems that are measured.
//!
//! - [`contract`]: what a scenario asks of a system ([`Loader`](contract::Loader), [`Learner`](contract::Learner),
//!   [`Checkpointer`](contract::Checkpointer)).
//! - [`workload`]: what it is asked to do, as data ([`PipelineSpec`](workload::PipelineSpec)).
//! - [`data`]: the rows, synthetic or real, the same bytes for every system.
//! - [`adapters`]: the systems.
//! - The scenarios, one file each, in folders by category.
//!
//! A bench target links all of it with `use weighbridge_scenarios as _;`.

pub mod adapters;
pub mod contract;
pub mod data;
pub(crate) mod network;
pub(crate) mod processes;
pub(crate) mod ranks;
pub mod workload;

pub mod augmentation;
pub mod checkpoint;
pub mod distribution;
pub mod framework;
pub mod io;
pub mod multimodal;
pub mod nlp;
pub mod pipeline;
pub mod production;
pub mod tabular;
pub mod training;
pub mod vision;

/// What scenarios and loader adapters need: `use weighbridge_scenarios::prelude::*;`.
pub mod prelude {
    pub use crate::contract::{
        Batch, Checkpointer, Checkpoints, Epochs, Executed, Learner, LearningLoop, Load, Loader, Trainer,
        TrainingLoop,
    };
    pub use crate::data::{DataSet, DataSpec};
    pub use crate::workload::Transform::{
        self, Add, AffineRotation, CastToFloat32, CausalMaskGeneration, CheapTransform, Clip, ColorJitter,
        CreateAttentionMask, DecodeResizedCrop, DynamicPad, ExpensiveTransform, GaussianBlur, GaussianNoise,
        HashEmbeddingIndex, LogTransform, MultiScaleResize, Multiply, Normalize, RandomBrightness,
        RandomCrop, RandomFlip, RandomGrayscale, RandomResizedCrop, RandomScale, RandomSolarize, Scale,
    };
    pub use crate::workload::{
        Access, Clicks, Destination, ExecutionMode, Form, FrameworkSetting, Images, Interpreter,
        LearningTask, Merge, Mixing, Operators, Parameters, PipelineSpec, Tokens, VariantTable,
    };
    pub use weighbridge::Workload;
}

/// The pages for people: rustdoc compiles their blocks. `tests/docs` says which page is missing here.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../README.md")]
    struct Readme;
    #[doc = include_str!("../../docs/guide/adapters.md")]
    struct Adapters;
    #[doc = include_str!("../../docs/guide/first-scenario.md")]
    struct FirstScenario;
    #[doc = include_str!("../../docs/guide/from-criterion.md")]
    struct FromCriterion;
    #[doc = include_str!("../../docs/guide/from-divan.md")]
    struct FromDivan;
    #[doc = include_str!("../../docs/guide/gpu.md")]
    struct Gpu;
    #[doc = include_str!("../../docs/guide/peers.md")]
    struct PeerInfo;
    #[doc = include_str!("../../docs/guide/sweeps.md")]
    struct Sweeps;
    #[doc = include_str!("../../docs/guide/training.md")]
    struct Training;
    #[doc = include_str!("../../docs/record-format.md")]
    struct RecordFormat;
}
