//! The catalogue of weighbridge, put together from its families: each is a crate of its own behind a feature
//! of its name.
//!
//! - [`data`]: the rows, synthetic or real, the same bytes for every system.
//! - `loaders`, on unless default features are off: data loaders and learners.
//! - `checkpoints`, with the feature of that name: saving and loading of states.
//! - `training`, likewise: training steps.
//! - `inference`, likewise: predictions and generations.
//! - [`python`]: how systems of Python are started.
//!
//! A bench target links a family with `use weighbridge_loaders as _;`, and all that are asked for with
//! `use weighbridge_scenarios as _;`.

#[cfg(feature = "checkpoints")]
pub use weighbridge_checkpoints as checkpoints;
pub use weighbridge_data as data;
#[cfg(feature = "inference")]
pub use weighbridge_inference as inference;
#[cfg(feature = "loaders")]
pub use weighbridge_loaders as loaders;
pub use weighbridge_python as python;
#[cfg(feature = "training")]
pub use weighbridge_training as training;

/// Imports that scenarios and adapters need: `use weighbridge_scenarios::prelude::*;`.
pub mod prelude {
    #[cfg(feature = "checkpoints")]
    pub use weighbridge_checkpoints::contract::{Checkpointer, Checkpoints};
    #[cfg(feature = "inference")]
    pub use weighbridge_inference::contract::{PredictionLoop, Predictor};
    #[cfg(feature = "loaders")]
    pub use weighbridge_loaders::prelude::*;
    #[cfg(feature = "training")]
    pub use weighbridge_training::contract::{Trainer, TrainingLoop};
}

/// The pages for people: rustdoc compiles their blocks. `tests/docs` says which page is missing here.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../README.md")]
    struct Readme;
    #[doc = include_str!("../../docs/guide/adapters.md")]
    struct Adapters;
    #[doc = include_str!("../../docs/guide/clusters.md")]
    struct Clusters;
    #[doc = include_str!("../../docs/guide/first-scenario.md")]
    struct FirstScenario;
    #[doc = include_str!("../../docs/guide/from-criterion.md")]
    struct FromCriterion;
    #[doc = include_str!("../../docs/guide/from-divan.md")]
    struct FromDivan;
    #[doc = include_str!("../../docs/guide/gpu.md")]
    struct Gpu;
    #[doc = include_str!("../../docs/guide/one-command.md")]
    struct OneCommand;
    #[doc = include_str!("../docs/guide/peers.md")]
    struct PeerInfo;
    #[doc = include_str!("../../docs/guide/sweeps.md")]
    struct Sweeps;
    #[doc = include_str!("../docs/guide/training.md")]
    struct Training;
    #[doc = include_str!("../../docs/record-format.md")]
    struct RecordFormat;
}
