//! Data loaders in the catalogue of weighbridge: what is asked of them, the scenarios, and the systems that
//! are measured.
//!
//! - [`contract`]: what a scenario asks of a system ([`Loader`](contract::Loader),
//!   [`Learner`](contract::Learner)).
//! - [`workload`]: what it is asked to do, as data ([`PipelineSpec`](workload::PipelineSpec)).
//! - [`adapters`]: the systems.
//! - The scenarios, one file each, in folders by category.
//!
//! A bench target links all of it with `use weighbridge_loaders as _;`.

pub mod adapters;
pub mod contract;
pub mod workload;

mod learning_proof;

pub mod augmentation;
pub mod distribution;
pub mod framework;
pub mod io;
pub mod multimodal;
pub mod nlp;
pub mod pipeline;
pub mod production;
pub mod tabular;
pub mod vision;

/// Names that scenarios and loader adapters need: `use weighbridge_loaders::prelude::*;`.
pub mod prelude {
    pub use weighbridge::Workload;
    pub use weighbridge_data::{Batch, DataSet, DataSpec, Epochs, ExecutedWork};
    pub use weighbridge_python::Interpreter;

    pub use crate::contract::{Learner, LearningLoop, Load, Loader};
    pub use crate::workload::Transform::{
        self, Add, AffineRotation, CastToFloat32, CausalMaskGeneration, CheapTransform, Clip, ColorJitter,
        CreateAttentionMask, DecodeResizedCrop, DynamicPad, ExpensiveTransform, GaussianBlur, GaussianNoise,
        HashEmbeddingIndex, LogTransform, MultiScaleResize, Multiply, Normalize, RandomBrightness,
        RandomCrop, RandomFlip, RandomGrayscale, RandomResizedCrop, RandomScale, RandomSolarize, Scale,
    };
    pub use crate::workload::{
        Access, Clicks, Destination, ExecutionMode, Form, FrameworkSetting, Images, LearningTask, Merge,
        MixRule, Operators, Parameters, PipelineSpec, Tokens, VariantTable,
    };
}
