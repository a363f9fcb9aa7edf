//! How many floating-point operations a sample takes, from the dimensions alone: one function for every
//! column of every table.
//!
//! A multiplication and an addition are two operations. What is counted apart: products of matrices and
//! convolutions, and what is done number by number. Of the latter an exponential, an error function, a root
//! and a division are one operation each.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weighbridge::Result;

use super::{Layer, Model, PlacedLayer};

/// A part of a model as tables have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Component {
    /// The map of patches.
    Patches,
    /// The maps to queries, keys and values, and the one after the heads.
    AttentionLinear,
    /// Queries times keys, and their softmax times values: in full, also where half of it is masked.
    AttentionScores,
    /// Linear maps between layers.
    Linear,
    /// Convolutions.
    Convolution,
    /// The linear map to the logits.
    Head,
    /// Norms.
    Norm,
    /// Queries and keys that are turned by their place.
    Rotary,
    /// Everything else that is done number by number.
    Pointwise,
}

impl Component {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Patches => "patches",
            Self::AttentionLinear => "attention linear",
            Self::AttentionScores => "attention scores and values",
            Self::Linear => "linear",
            Self::Convolution => "convolution",
            Self::Head => "head",
            Self::Norm => "norm",
            Self::Rotary => "rotary positions",
            Self::Pointwise => "pointwise",
        }
    }
}

/// Operations of one sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operations {
    /// Of products of matrices and convolutions, forward.
    pub matrix: u64,
    /// The same of the gradients that are really computed: of the parameters, and of every input but the
    /// model's own.
    pub gradients: u64,
    /// Done number by number, forward.
    pub pointwise: u64,
}

impl Operations {
    fn plus(self, other: Self) -> Self {
        Self {
            matrix: self.matrix + other.matrix,
            gradients: self.gradients + other.gradients,
            pointwise: self.pointwise + other.pointwise,
        }
    }
}

/// The operations of a model by component, for one sample.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flops {
    /// Those that the model has.
    pub components: BTreeMap<Component, Operations>,
}

impl Flops {
    /// Counts the operations of a model for one sample.
    ///
    /// # Errors
    /// Layers that do not fit together.
    pub fn of(model: &Model) -> Result<Self> {
        let mut flops = Self::default();
        let placed = model.placed()?;
        let head = placed.iter().rposition(|placed| matches!(placed.layer, Layer::Linear { .. }));
        // Below the first layer with parameters nothing is learned, so its input needs no gradient.
        let first = placed.iter().position(|placed| !placed.layer.own("", placed.input).is_empty());
        for (number, placed) in placed.iter().enumerate() {
            for (component, operations) in of_layer(placed, Some(number) == head, Some(number) == first) {
                let sum = flops.components.entry(component).or_default();
                *sum = sum.plus(operations);
            }
        }
        Ok(flops)
    }

    /// All components together.
    pub fn total(&self) -> Operations {
        self.components.values().copied().fold(Operations::default(), Operations::plus)
    }

    /// Forward: products and convolutions.
    pub fn forward(&self) -> u64 {
        self.total().matrix
    }

    /// Forward and backward by the convention of three times forward.
    pub fn train(&self) -> u64 {
        3 * self.forward()
    }

    /// Forward, and the gradients that are really computed.
    pub fn computed(&self) -> u64 {
        let Operations { matrix, gradients, .. } = self.total();
        matrix + gradients
    }

    /// Samples in a second that a device of this many operations in a second cannot exceed: [`Flops::train`]
    /// at the peak.
    pub fn most_samples(&self, peak: f64) -> f64 {
        peak / self.train() as f64
    }

    /// The share of a peak that so many trained samples in a second are, by [`Flops::train`].
    pub fn utilisation(&self, samples_per_second: f64, peak: f64) -> f64 {
        samples_per_second / self.most_samples(peak)
    }
}

/// Returns the operations that one layer adds, those in its body left out.
fn of_layer(placed: &PlacedLayer<'_>, is_head: bool, is_first: bool) -> Vec<(Component, Operations)> {
    let PlacedLayer { layer, input, output, .. } = placed;
    let (from, places, to) = (input.last() as u64, output.positions() as u64, output.last() as u64);
    let numbers = output.count() as u64;
    // A product has two gradients, each of as many operations as itself.
    let product = |matrix: u64, pointwise: u64| Operations {
        matrix,
        gradients: if is_first { matrix } else { 2 * matrix },
        pointwise,
    };
    let pointwise =
        |pointwise: u64| vec![(Component::Pointwise, Operations { pointwise, ..Operations::default() })];
    match **layer {
        Layer::Patches { size, .. } => {
            let from = (size * size) as u64 * from;
            vec![(Component::Patches, product(2 * places * from * to, numbers))]
        }
        Layer::Linear { .. } => {
            let component = if is_head { Component::Head } else { Component::Linear };
            vec![(component, product(2 * places * from * to, numbers))]
        }
        Layer::Conv { kernel, .. } => {
            let from = (kernel * kernel) as u64 * from;
            vec![(Component::Convolution, product(2 * places * from * to, 0))]
        }
        Layer::Attention { heads, .. } => {
            let scores = heads as u64 * places * places;
            vec![
                (Component::AttentionLinear, product(8 * places * from * from, 4 * numbers)),
                // Scaled by the width of a head, then a softmax: greatest, difference, exponential, sum,
                // division.
                (Component::AttentionScores, product(4 * places * places * from, 6 * scores)),
            ]
        }
        // No bias before the heads. Queries and keys go through a norm (square, sum, product with the
        // inverse root, scale), and each of their numbers that is turned takes two products and a sum; the
        // sines and cosines are those of the place, and not counted.
        Layer::RotaryAttention { heads, ref turned, .. } => {
            let scores = heads as u64 * places * places;
            let turning: u64 = turned.iter().map(|grid| 2 * 3 * from * grid.places() as u64).sum();
            let alone = |pointwise: u64| Operations { pointwise, ..Operations::default() };
            vec![
                (Component::AttentionLinear, product(8 * places * from * from, numbers)),
                (Component::AttentionScores, product(4 * places * places * from, 6 * scores)),
                (Component::Norm, alone(2 * 4 * numbers)),
                (Component::Rotary, alone(turning)),
            ]
        }
        Layer::RmsNorm { .. } => {
            vec![(Component::Norm, Operations { pointwise: 4 * numbers, ..Operations::default() })]
        }
        // Sum, difference, square, sum, product with the inverse root, scale, shift.
        Layer::LayerNorm { .. } | Layer::BatchNorm { .. } => {
            vec![(Component::Norm, Operations { pointwise: 7 * numbers, ..Operations::default() })]
        }
        Layer::Gelu => pointwise(5 * numbers),
        Layer::Relu | Layer::Positions | Layer::Scale | Layer::Residual { .. } | Layer::Projected { .. } => {
            pointwise(numbers)
        }
        Layer::MaxPool { kernel, .. } => pointwise((kernel * kernel) as u64 * numbers),
        Layer::MeanPool => pointwise(input.count() as u64),
        Layer::Embed { .. } | Layer::Prepend { .. } | Layer::Append { .. } | Layer::FirstToken => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::model::{Activation, Dimensions};

    fn flops(dimensions: &Dimensions) -> Flops {
        Flops::of(&dimensions.model().unwrap()).unwrap()
    }

    fn giga(operations: u64) -> f64 {
        (operations as f64 / 1e7).round() / 100.0
    }

    #[test]
    fn a_vision_transformer_has_the_operations_of_its_dimensions() {
        let small = flops(&Dimensions::VIT5_SMALL);
        let of = |component| giga(small.components[&component].matrix);
        assert_eq!((of(Component::AttentionLinear), of(Component::Linear)), (2.85, 5.69));
        assert_eq!((of(Component::AttentionScores), of(Component::Patches)), (0.74, 0.12));
        assert_eq!((giga(small.forward()), giga(small.train())), (9.4, 28.19));
        // Its other positions and norms are no products.
        assert_eq!(small.forward(), flops(&Dimensions::VIT_SMALL).forward());
        // At 989 TFLOPS.
        assert_eq!(small.most_samples(989e12).round() as u64, 35_082);
        assert_eq!((1e3 * small.utilisation(7_716.0, 989e12)).round() as u64, 220);
    }

    #[test]
    fn what_is_done_number_by_number_in_a_vit5_is_that_of_its_parts() {
        let tiny = flops(&Dimensions::VIT5_TINY);
        let of = |component| tiny.components[&component].pointwise;
        // 4 blocks of 21 places of 96 numbers: two norms, one each of queries and keys; and the last one.
        assert_eq!(of(Component::Norm), (4 * 4 + 1) * 4 * 21 * 96);
        // Of each query and key two products and a sum, on 16 patches and 4 registers.
        assert_eq!(of(Component::Rotary), 4 * 2 * 3 * (16 + 4) * 96);
    }

    #[test]
    fn a_convolutional_network_has_the_operations_that_are_published() {
        // 4.09 G multiplications with additions for ResNet-50 at 224 (torchvision's own figure).
        let resnet = flops(&Dimensions::Resnet50 { image: 224, width: 64, classes: 1_000 });
        assert_eq!((resnet.forward() as f64 / 2e7).round() as u64, 409);
    }

    #[test]
    fn the_input_of_a_model_has_no_gradient() {
        let mlp = flops(&Dimensions::Mlp {
            inputs: 10,
            hidden: vec![20],
            activation: Activation::Relu,
            classes: 5,
        });
        let (first, last) = (2 * 10 * 20, 2 * 20 * 5);
        assert_eq!((mlp.forward(), mlp.computed()), (first + last, 2 * first + 3 * last));
        let gpt = flops(&Dimensions::Gpt { length: 8, vocabulary: 11, width: 4, heads: 2, blocks: 1 });
        assert_eq!(gpt.computed(), gpt.train()); // below its maps a table is learned
    }
}
