//! The ways that the components of a ViT-5 can be written in. Each computes the same numbers, but for
//! rounding: what differs is the time that a step takes.

use serde::{Deserialize, Serialize};
use weighbridge::Sweep;

/// A choice of ways: those of a state, and over them each that is asked for by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Sweep)]
#[serde(deny_unknown_fields)]
pub struct Components {
    /// The state that decides about each component of which nothing is said.
    #[sweep(all, original = TrainingState::Original, optimised = TrainingState::Optimised)]
    pub state: TrainingState,
    /// The component that is in the way of the other state: what it brings alone, or takes away.
    #[sweep(implied, none = None, rope = Some(Swapped::Rope), attention = Some(Swapped::Attention),
        norm = Some(Swapped::Norm), casts = Some(Swapped::Casts), optimiser = Some(Swapped::Optimiser),
        layout = Some(Swapped::Layout))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swapped: Option<Swapped>,
    /// The source of the sines and cosines by which queries and keys are turned.
    #[sweep(implied, by_state = None, cached = Some(RopeWay::Cached), buffers = Some(RopeWay::Buffers))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rope: Option<RopeWay>,
    /// The code that computes scores and values.
    #[sweep(implied, by_state = None, by_hand = Some(AttentionWay::ByHand), math = Some(AttentionWay::Math),
        flash = Some(AttentionWay::Flash), library = Some(AttentionWay::Library))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attention: Option<AttentionWay>,
    /// The code of norms by the root of the mean square.
    #[sweep(implied, by_state = None, parts = Some(NormWay::Parts), fused = Some(NormWay::Fused))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub norm: Option<NormWay>,
    /// Casts to `f32` and back around norms, turns and the softmax.
    #[sweep(implied, by_state = None, kept = Some(Casts::Kept), removed = Some(Casts::Removed))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub casts: Option<Casts>,
    /// The code of the optimiser.
    #[sweep(implied, by_state = None, plain = Some(OptimiserWay::Plain),
        foreach = Some(OptimiserWay::Foreach), fused = Some(OptimiserWay::Fused))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optimiser: Option<OptimiserWay>,
    /// The order of the numbers of images in memory.
    #[sweep(implied, by_state = None, channels_first = Some(ImageLayout::ChannelsFirst),
        channels_last = Some(ImageLayout::ChannelsLast))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<ImageLayout>,
}

impl Components {
    /// A state, and nothing else asked for.
    pub fn of(state: TrainingState) -> Self {
        let (rope, attention, norm, casts) = (None, None, None, None);
        Self { state, swapped: None, rope, attention, norm, casts, optimiser: None, layout: None }
    }
}

/// A model as it was published, or with every component in the way that a system has for speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrainingState {
    /// Operations one by one.
    Original,
    /// Each component as a system has it for speed.
    Optimised,
}

/// A component that is swapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Swapped {
    /// The source of sines and cosines.
    Rope,
    /// The code of attention.
    Attention,
    /// The code of norms.
    Norm,
    /// Casts.
    Casts,
    /// The code of the optimiser.
    Optimiser,
    /// The order of the numbers of images.
    Layout,
}

/// The source of sines and cosines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RopeWay {
    /// Looked up in each forward, and made where they are not there yet.
    Cached,
    /// Made once, when the model is.
    Buffers,
}

/// The code of attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttentionWay {
    /// Two products and a softmax.
    ByHand,
    /// The framework's function, told to do so by its operations.
    Math,
    /// The framework's function, told to use its kernel that keeps no scores.
    Flash,
    /// The framework's function, which chooses by itself.
    Library,
}

/// The code of norms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NormWay {
    /// Square, mean, root, product, one by one.
    Parts,
    /// One function of the framework.
    Fused,
}

/// Casts that change nothing where all is `f32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Casts {
    /// As published.
    Kept,
    /// Left out.
    Removed,
}

/// The code of an optimiser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptimiserWay {
    /// Parameter by parameter.
    Plain,
    /// Each operation over a list of all parameters.
    Foreach,
    /// All operations in one kernel, or over all parameters as one.
    Fused,
}

/// The order of the numbers of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageLayout {
    /// Channel, row, column.
    ChannelsFirst,
    /// Row, column, channel.
    ChannelsLast,
}
