//! The models that have a name, from their dimensions.

use serde::{Deserialize, Serialize};
use weighbridge::{Error, Result};

use super::rotary::RotaryGrid;
use super::{Layer, Model, Shape};

/// Added to the variance of a row.
const ROW: f64 = 1e-6;

/// Added to the variance of a channel over a batch.
const CHANNEL: f64 = 1e-5;

/// A model by its dimensions, as a configuration has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Dimensions {
    /// A vision transformer: patches, tokens before them, positions; blocks of attention and a network of
    /// four times the width, each after a layer norm; a layer norm; the first token; a linear map.
    Vit {
        /// Rows and columns of an image of three channels.
        image: usize,
        /// Rows and columns of a patch.
        patch: usize,
        /// Numbers of a token.
        width: usize,
        /// Heads of attention.
        heads: usize,
        /// Blocks.
        blocks: usize,
        /// Learned tokens before the patches: the one that is read, and registers.
        tokens: usize,
        /// Classes.
        classes: usize,
    },
    /// ViT-5 (Wang and others 2026, arXiv 2602.08071, and the code that they published): patches, learned
    /// positions, a token before them that is read, registers behind them; blocks of attention and a network
    /// of four times the width, each after a norm by the root of the mean square, and scaled; such a norm;
    /// the first token; a linear map. In attention, queries and keys go through a norm and are turned by
    /// where their patch lies, those of registers on a grid of their own.
    Vit5 {
        /// Rows and columns of an image of three channels.
        image: usize,
        /// Rows and columns of a patch.
        patch: usize,
        /// Numbers of a token.
        width: usize,
        /// Heads of attention.
        heads: usize,
        /// Blocks.
        blocks: usize,
        /// Registers: a square number.
        registers: usize,
        /// Classes.
        classes: usize,
    },
    /// ResNet-50 (He and others 2016) with the stride in the 3x3 convolution of a block.
    Resnet50 {
        /// Rows and columns of an image of three channels.
        image: usize,
        /// Channels of the first convolution; 64.
        width: usize,
        /// Classes.
        classes: usize,
    },
    /// A decoder of tokens: a table, positions; causal blocks as those of `vit`; a layer norm; a linear map
    /// of its own to the vocabulary.
    Gpt {
        /// Tokens of a sample.
        length: usize,
        /// Ids are below this.
        vocabulary: usize,
        /// Numbers of a token.
        width: usize,
        /// Heads of attention.
        heads: usize,
        /// Blocks.
        blocks: usize,
    },
    /// Linear maps with a function of each number between them.
    Mlp {
        /// Numbers of a sample.
        inputs: usize,
        /// Numbers between the maps.
        hidden: Vec<usize>,
        /// The function between the maps.
        activation: Activation,
        /// Classes.
        classes: usize,
    },
}

/// A function of each number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    /// The greater of a number and 0. It has a kink: by rounding alone it turns on in one system and not in
    /// another.
    Relu,
    /// [`Layer::Gelu`], which is smooth.
    Gelu,
}

impl Activation {
    fn layer(self) -> Layer {
        match self {
            Self::Relu => Layer::Relu,
            Self::Gelu => Layer::Gelu,
        }
    }
}

impl Dimensions {
    /// ViT-5 Small: 22 M parameters, 201 tokens.
    pub const VIT5_SMALL: Self =
        Self::Vit5 { image: 224, patch: 16, width: 384, heads: 6, blocks: 12, registers: 4, classes: 1_000 };

    /// ViT-5 Base: 87 M parameters.
    pub const VIT5_BASE: Self =
        Self::Vit5 { image: 224, patch: 16, width: 768, heads: 12, blocks: 12, registers: 4, classes: 1_000 };

    /// The same parts, so small that a processor does a step in well under 200 ms.
    pub const VIT5_TINY: Self =
        Self::Vit5 { image: 32, patch: 8, width: 96, heads: 6, blocks: 4, registers: 4, classes: 10 };

    /// The parts of ViT-5 that the report of its speed leaves open, and where they are taken from.
    pub const VIT5_ASSUMPTIONS: &str = "ViT-5 is as its paper and the code of its authors have it (arXiv \
         2602.08071): patches of 16, of 224 x 224 points, 4 registers and the token that is read make 201; \
         norms by the root of the mean square, also of queries and keys; rotary positions along two axes \
         beside learned ones, with bases 10,000 for patches and 100 for registers; scales of branches that \
         begin with 0.0001; no bias before the heads. Base has a width of 768, 12 heads and 12 blocks. \
         Assumed: no drop path and no augmentation, AdamW with a rate of 0.001, decay 0.05 and epsilon 1e-6 \
         of all parameters where the authors take LAMB, batches of 8 and 4 where they take 256.";

    /// A plain vision transformer of the shape of ViT-5 Small.
    pub const VIT_SMALL: Self =
        Self::Vit { image: 224, patch: 16, width: 384, heads: 6, blocks: 12, tokens: 5, classes: 1_000 };

    /// A plain vision transformer of the shape of ViT-5 tiny.
    pub const VIT_TINY: Self =
        Self::Vit { image: 32, patch: 8, width: 96, heads: 6, blocks: 4, tokens: 5, classes: 10 };

    /// The layers.
    ///
    /// # Errors
    /// Dimensions that do not fit together, with the layer and the numbers.
    pub fn model(&self) -> Result<Model> {
        let model = match *self {
            Self::Vit { image, patch, width, heads, blocks, tokens, classes } => {
                let mut layers =
                    vec![Layer::Patches { size: patch, width }, Layer::Prepend { tokens }, Layer::Positions];
                layers.extend((0..blocks).flat_map(|_| block(width, heads, false)));
                layers.extend([
                    Layer::LayerNorm { epsilon: ROW },
                    Layer::FirstToken,
                    Layer::Linear { to: classes },
                ]);
                Model { input: picture(image), layers }
            }
            Self::Vit5 { image, patch, width, heads, blocks, registers, classes } => {
                vit5([image, patch], [width, heads, blocks], registers, classes)?
            }
            Self::Resnet50 { image, width, classes } => {
                Model { input: picture(image), layers: resnet50(width, classes) }
            }
            Self::Gpt { length, vocabulary, width, heads, blocks } => {
                let mut layers = vec![Layer::Embed { vocabulary, width }, Layer::Positions];
                layers.extend((0..blocks).flat_map(|_| block(width, heads, true)));
                layers.extend([Layer::LayerNorm { epsilon: ROW }, Layer::Linear { to: vocabulary }]);
                Model { input: Shape::Ids { length, below: vocabulary }, layers }
            }
            Self::Mlp { inputs, ref hidden, activation, classes } => {
                let between = hidden.iter().flat_map(|&to| [Layer::Linear { to }, activation.layer()]);
                let layers = between.chain([Layer::Linear { to: classes }]).collect();
                Model { input: Shape::Vector { width: inputs }, layers }
            }
        };
        let output = model.output()?;
        if model.input.count() == 0 || output.count() == 0 {
            return Err(Error::new(format!("the model makes {output} of {}", model.input)));
        }
        Ok(model)
    }
}

fn picture(side: usize) -> Shape {
    Shape::Grid { rows: side, columns: side, channels: 3 }
}

/// A block of a transformer: attention, then a network of four times the width.
fn block(width: usize, heads: usize, causal: bool) -> [Layer; 2] {
    let norm = || Layer::LayerNorm { epsilon: ROW };
    let attention = vec![norm(), Layer::Attention { heads, causal }];
    let network = vec![norm(), Layer::Linear { to: 4 * width }, Layer::Gelu, Layer::Linear { to: width }];
    [Layer::Residual { body: attention }, Layer::Residual { body: network }]
}

/// The base of the angles of patches, and of registers.
const TURNS: [f64; 2] = [10_000.0, 100.0];

fn vit5(
    [image, patch]: [usize; 2],
    [width, heads, blocks]: [usize; 3],
    registers: usize,
    classes: usize,
) -> Result<Model> {
    let side = registers.isqrt();
    if side * side != registers {
        return Err(Error::new(format!("{registers} registers: they lie on a square")));
    }
    let along = image.checked_div(patch).unwrap_or_default();
    let patches = RotaryGrid { first: 1, rows: along, columns: along, base: TURNS[0] };
    let behind = RotaryGrid { first: 1 + along * along, rows: side, columns: side, base: TURNS[1] };
    let turned: Vec<RotaryGrid> = [patches, behind].into_iter().filter(|grid| grid.places() > 0).collect();
    let mut layers = vec![
        Layer::Patches { size: patch, width },
        Layer::Positions,
        Layer::Prepend { tokens: 1 },
        Layer::Append { tokens: registers },
    ];
    layers.extend((0..blocks).flat_map(|_| vit5_block(width, heads, &turned)));
    layers.extend([Layer::RmsNorm { epsilon: ROW }, Layer::FirstToken, Layer::Linear { to: classes }]);
    Ok(Model { input: picture(image), layers })
}

fn vit5_block(width: usize, heads: usize, turned: &[RotaryGrid]) -> [Layer; 2] {
    let norm = || Layer::RmsNorm { epsilon: ROW };
    let attention = Layer::RotaryAttention { heads, epsilon: ROW, turned: turned.to_vec() };
    let network = [Layer::Linear { to: 4 * width }, Layer::Gelu, Layer::Linear { to: width }];
    let body = |inner: Vec<Layer>| [vec![norm()], inner, vec![Layer::Scale]].concat();
    [Layer::Residual { body: body(vec![attention]) }, Layer::Residual { body: body(network.to_vec()) }]
}

fn resnet50(width: usize, classes: usize) -> Vec<Layer> {
    let norm = || Layer::BatchNorm { epsilon: CHANNEL };
    let mut layers = vec![
        Layer::Conv { to: width, kernel: 7, stride: 2 },
        norm(),
        Layer::Relu,
        Layer::MaxPool { kernel: 3, stride: 2 },
    ];
    for (stage, blocks) in [3, 4, 6, 3].into_iter().enumerate() {
        let inner = width << stage;
        for number in 0..blocks {
            let stride = if stage > 0 && number == 0 { 2 } else { 1 };
            let body = vec![
                Layer::Conv { to: inner, kernel: 1, stride: 1 },
                norm(),
                Layer::Relu,
                Layer::Conv { to: inner, kernel: 3, stride },
                norm(),
                Layer::Relu,
                Layer::Conv { to: 4 * inner, kernel: 1, stride: 1 },
                norm(),
            ];
            layers.push(if number == 0 {
                Layer::Projected {
                    body,
                    around: vec![Layer::Conv { to: 4 * inner, kernel: 1, stride }, norm()],
                }
            } else {
                Layer::Residual { body }
            });
            layers.push(Layer::Relu);
        }
    }
    layers.extend([Layer::MeanPool, Layer::Linear { to: classes }]);
    layers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_have_the_sizes_that_are_published() {
        let size = |dimensions: &Dimensions| dimensions.model().unwrap().size().unwrap();
        // torchvision's resnet50 has 25,557,032 parameters, running statistics left out.
        assert_eq!(size(&Dimensions::Resnet50 { image: 224, width: 64, classes: 1_000 }), 25_557_032);
        // ViT-S/16 has 22,050,664 with one token; here are five, of 384 numbers and with positions of their
        // own.
        assert_eq!(size(&Dimensions::VIT_SMALL), 22_050_664 + 2 * 4 * 384);
        // ViT-5 Small has 22 M and Base 87 M. Beside ViT-S/16 and ViT-B/16 (86,567,656) there are 4
        // registers, and no place of the token that is read; a norm has one number for two, and there is one
        // norm at the end; a block has no bias of queries, keys and values, two norms of a head and two
        // scales.
        for (model, plain, width) in
            [(Dimensions::VIT5_SMALL, 22_050_664, 384), (Dimensions::VIT5_BASE, 86_567_656, 768)]
        {
            let more = 4 * width + 12 * (2 * 64 + 2 * width);
            let fewer = width + (2 * 12 + 1) * width + 12 * 3 * width;
            assert_eq!(size(&model), plain + more - fewer);
        }
    }

    #[test]
    fn dimensions_that_do_not_fit_are_refused_with_the_layer_and_the_numbers() {
        let refused = |dimensions: Dimensions| dimensions.model().unwrap_err().to_string();
        let vit = |image, patch, width, heads| Dimensions::Vit {
            image,
            patch,
            width,
            heads,
            blocks: 1,
            tokens: 1,
            classes: 2,
        };
        assert!(refused(vit(30, 8, 16, 2)).contains("squares of 8 do not divide a grid of 30x30"));
        assert!(refused(vit(32, 0, 16, 2)).contains("`size` is 0"));
        assert!(refused(vit(32, 8, 16, 3)).contains("3 heads do not divide a width of 16"));
        assert!(refused(vit(32, 8, 16, 0)).contains("`heads` is 0"));
        assert!(refused(vit(0, 8, 16, 2)).contains("a grid of 0x0"));
        let vit5 = |patch, width, registers| Dimensions::Vit5 {
            image: 32,
            patch,
            width,
            heads: 2,
            blocks: 1,
            registers,
            classes: 2,
        };
        assert!(refused(vit5(8, 16, 3)).contains("3 registers: they lie on a square"));
        assert!(refused(vit5(8, 12, 4)).contains("into parts of a multiple of 4"));
        assert!(refused(vit5(0, 16, 4)).contains("`size` is 0"));
        vit5(8, 16, 0).model().unwrap();
        let mlp = Dimensions::Mlp { inputs: 4, hidden: vec![8, 0], activation: Activation::Gelu, classes: 2 };
        assert!(refused(mlp).contains("layer 2 (linear): `to` is 0"));
    }

    #[test]
    fn every_parameter_has_a_name_of_its_own() {
        let model = Dimensions::Resnet50 { image: 32, width: 8, classes: 10 }.model().unwrap();
        let mut names: Vec<String> = model.parameters().unwrap().into_iter().map(|one| one.name).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(names.contains(&"4.1.0.weight".to_owned()), "{names:?}");
    }
}
