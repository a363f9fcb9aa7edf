//! The models that have a name.

use std::fmt;
use std::str::FromStr;

use weighbridge_training::workload::model::{Activation, Dimensions, Layer, Model, Shape};

/// A model that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedModel {
    /// Three linear maps of 784 numbers, as for handwritten digits.
    Mlp,
    /// An encoder of the shape of BERT, with 2 blocks of 128 numbers (as BERT tiny has), over 64 ids.
    EncoderTiny,
    /// A decoder of the shape of GPT-2, with 4 blocks of 96 numbers, over 128 ids.
    GptTiny,
    /// ResNet-50 with an eighth of its channels, on images of 32 by 32 points.
    ResnetTiny,
    /// ResNet-50 on images of 224 by 224 points.
    Resnet50,
    /// The shape of BERT base: 12 blocks of 768 numbers, over 128 ids.
    EncoderBase,
    /// The shape of GPT-2 with 124 M parameters: 12 blocks of 768 numbers, over 256 ids. Its map to the ids
    /// is one of its own and not the table of ids, so that 38 M parameters come to those.
    Gpt124m,
    /// The shape of [`NamedModel::EncoderTiny`] in no time: for tests.
    ForTests,
    /// The shape of [`NamedModel::GptTiny`] in no time: for tests.
    DecoderForTests,
    /// The same over texts: for tests of servers.
    TextForTests,
}

/// Added to the variance of a row, as BERT and GPT-2 have it.
const EPSILON: f64 = 1e-5;

impl NamedModel {
    const ALL: [Self; 10] = [
        Self::Mlp,
        Self::EncoderTiny,
        Self::GptTiny,
        Self::ResnetTiny,
        Self::Resnet50,
        Self::EncoderBase,
        Self::Gpt124m,
        Self::ForTests,
        Self::DecoderForTests,
        Self::TextForTests,
    ];

    /// The layers.
    ///
    /// # Panics
    /// Never: it is tested that they fit together.
    pub fn model(self) -> Model {
        let named = |dimensions: Dimensions| dimensions.model().expect("it is tested that they fit");
        match self {
            Self::Mlp => named(Dimensions::Mlp {
                inputs: 784,
                hidden: vec![512, 256],
                activation: Activation::Relu,
                classes: 10,
            }),
            Self::EncoderTiny => {
                encoder(Text { length: 64, vocabulary: 1_000, width: 128, heads: 2, blocks: 2 }, 2)
            }
            Self::EncoderBase => {
                encoder(Text { length: 128, vocabulary: 30_522, width: 768, heads: 12, blocks: 12 }, 2)
            }
            Self::GptTiny => {
                named(Dimensions::Gpt { length: 128, vocabulary: 256, width: 96, heads: 6, blocks: 4 })
            }
            Self::Gpt124m => {
                named(Dimensions::Gpt { length: 256, vocabulary: 50_257, width: 768, heads: 12, blocks: 12 })
            }
            Self::ResnetTiny => named(Dimensions::Resnet50 { image: 32, width: 8, classes: 10 }),
            Self::Resnet50 => named(Dimensions::Resnet50 { image: 224, width: 64, classes: 1_000 }),
            Self::ForTests => encoder(Text { length: 6, vocabulary: 11, width: 8, heads: 2, blocks: 2 }, 3),
            Self::DecoderForTests => {
                named(Dimensions::Gpt { length: 12, vocabulary: 13, width: 8, heads: 2, blocks: 2 })
            }
            Self::TextForTests => {
                named(Dimensions::Gpt { length: 96, vocabulary: 256, width: 8, heads: 2, blocks: 1 })
            }
        }
    }

    /// Returns whether it is a decoder: what it predicts is the id that comes next.
    pub fn decodes(self) -> bool {
        matches!(self, Self::GptTiny | Self::Gpt124m | Self::DecoderForTests | Self::TextForTests)
    }

    fn short(self) -> &'static str {
        match self {
            Self::Mlp => "mlp",
            Self::EncoderTiny => "encoder_tiny",
            Self::GptTiny => "gpt_tiny",
            Self::ResnetTiny => "resnet_tiny",
            Self::Resnet50 => "resnet50",
            Self::EncoderBase => "encoder_base",
            Self::Gpt124m => "gpt_124m",
            Self::ForTests => "encoder_for_tests",
            Self::DecoderForTests => "decoder_for_tests",
            Self::TextForTests => "text_for_tests",
        }
    }
}

impl fmt::Display for NamedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.short())
    }
}

impl FromStr for NamedModel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|model| model.short() == text);
        found.ok_or_else(|| format!("`{text}` is none of {}", Self::ALL.map(Self::short).join(", ")))
    }
}

/// The dimensions of an encoder of text.
struct Text {
    length: usize,
    vocabulary: usize,
    width: usize,
    heads: usize,
    blocks: usize,
}

/// An encoder of the shape of BERT (Devlin and others 2018): a table, positions, a layer norm; blocks of
/// attention and a network of four times the width, each followed by a layer norm of its sum; the first
/// place; a linear map. Kinds of segments and the pooler are left out.
fn encoder(text: Text, classes: usize) -> Model {
    let Text { length, vocabulary, width, heads, blocks } = text;
    let norm = || Layer::LayerNorm { epsilon: EPSILON };
    let block = || {
        let network = vec![Layer::Linear { to: 4 * width }, Layer::Gelu, Layer::Linear { to: width }];
        let attention = vec![Layer::Attention { heads, causal: false }];
        [Layer::Residual { body: attention }, norm(), Layer::Residual { body: network }, norm()]
    };
    let mut layers = vec![Layer::Embed { vocabulary, width }, Layer::Positions, norm()];
    layers.extend((0..blocks).flat_map(|_| block()));
    layers.extend([Layer::FirstToken, Layer::Linear { to: classes }]);
    Model { input: Shape::Ids { length, below: vocabulary }, layers }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_have_the_sizes_that_are_published() {
        let size = |model: NamedModel| model.model().size().unwrap();
        assert_eq!(size(NamedModel::Resnet50), 25_557_032);
        // BERT base has 109,482,240, among them two kinds of segments, a pooler, and 512 positions.
        let (segments, pooler, positions) = (2 * 768, 768 * 768 + 768, (512 - 128) * 768);
        let head = 2 * 768 + 2;
        assert_eq!(size(NamedModel::EncoderBase), 109_482_240 - segments - pooler - positions + head);
        // GPT-2 has 124,439,808 with 1,024 positions, and its map to the ids is the table.
        let (head, positions) = (768 * 50_257 + 50_257, (1_024 - 256) * 768);
        assert_eq!(size(NamedModel::Gpt124m), 124_439_808 + head - positions);
    }

    #[test]
    fn a_model_is_found_by_the_name_that_it_is_shown_with() {
        for model in NamedModel::ALL {
            assert_eq!(model.to_string().parse(), Ok(model));
            model.model().output().unwrap();
        }
        assert!("gpt".parse::<NamedModel>().unwrap_err().contains("gpt_tiny"));
    }
}
