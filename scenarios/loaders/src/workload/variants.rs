//! What variants of scenarios differ in: small descriptions, from which a pipeline follows.

use weighbridge_data::{DataSpec, Origin};

use super::PipelineSpec;

/// Square images with three channels, `u8` or `f32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Images {
    elements: usize,
    side: usize,
    batch_size: usize,
    floats: bool,
    origin: Option<Origin>,
}

impl Images {
    /// This many synthetic `u8` images, of this side, in batches of this many.
    pub const fn new(elements: usize, side: usize, batch_size: usize) -> Self {
        Self { elements, side, batch_size, floats: false, origin: None }
    }

    /// This many synthetic `f32` images, of this side, in batches of this many.
    pub const fn floats(elements: usize, side: usize, batch_size: usize) -> Self {
        Self { elements, side, batch_size, floats: true, origin: None }
    }

    /// Returns the number of images.
    pub const fn elements(&self) -> usize {
        self.elements
    }

    /// Pixels of a side.
    pub const fn side(&self) -> usize {
        self.side
    }

    /// The first images of CIFAR-10.
    pub const fn cifar10(elements: usize, batch_size: usize) -> Self {
        Self { elements, side: 32, batch_size, floats: false, origin: Some(Origin::Cifar10) }
    }

    /// The first images of CIFAR-10, brought to this side.
    pub const fn cifar10_resized(elements: usize, side: usize, batch_size: usize) -> Self {
        Self { elements, side, batch_size, floats: false, origin: Some(Origin::Cifar10) }
    }
}

impl Images {
    /// COCO's validation images as `u8`, brought to this side. Their captions are a field that a pipeline
    /// adds.
    pub const fn coco(elements: usize, side: usize, batch_size: usize, vocabulary: u32) -> Self {
        let origin = Some(Origin::CocoCaptions { vocabulary });
        Self { elements, side, batch_size, floats: false, origin }
    }

    /// The same as `f32` between 0 and 1.
    pub const fn coco_floats(elements: usize, side: usize, batch_size: usize, vocabulary: u32) -> Self {
        Self { floats: true, ..Self::coco(elements, side, batch_size, vocabulary) }
    }
}

/// Rows of a click log: dense columns, and columns of ids, as the scenario has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clicks {
    elements: usize,
    batch_size: usize,
    origin: Option<Origin>,
}

impl Clicks {
    /// This many, in batches of this many.
    pub const fn new(elements: usize, batch_size: usize) -> Self {
        Self { elements, batch_size, origin: None }
    }

    /// The first rows of the Criteo click log.
    pub const fn criteo(elements: usize, batch_size: usize) -> Self {
        Self { elements, batch_size, origin: Some(Origin::Criteo) }
    }

    /// Returns the origin that the rows are read from; `None`: they are synthetic.
    pub const fn origin(&self) -> Option<Origin> {
        self.origin
    }

    /// Returns the number of rows.
    pub const fn elements(&self) -> usize {
        self.elements
    }

    /// Rows of a batch.
    pub const fn batch_size(&self) -> usize {
        self.batch_size
    }
}

/// Rows of token ids, all of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tokens {
    elements: usize,
    length: usize,
    batch_size: usize,
    origin: Option<Origin>,
}

impl Tokens {
    /// This many synthetic rows, of this length, in batches of this many.
    pub const fn new(elements: usize, length: usize, batch_size: usize) -> Self {
        Self { elements, length, batch_size, origin: None }
    }

    /// The first rows of `WikiText-103`.
    pub const fn wikitext(elements: usize, length: usize, batch_size: usize) -> Self {
        Self { elements, length, batch_size, origin: Some(Origin::WikiText) }
    }

    /// The first rows of real text.
    pub const fn real_text(elements: usize, length: usize, batch_size: usize) -> Self {
        Self { elements, length, batch_size, origin: Some(Origin::Text) }
    }
}

/// Rows of `f32` features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariantTable {
    elements: usize,
    features: usize,
    batch_size: usize,
    origin: Option<Origin>,
}

impl VariantTable {
    /// This many synthetic rows, of so many features, in batches of this many.
    pub const fn new(elements: usize, features: usize, batch_size: usize) -> Self {
        Self { elements, features, batch_size, origin: None }
    }

    /// The first rows of the Criteo click log: its 13 dense columns.
    pub const fn criteo(elements: usize, batch_size: usize) -> Self {
        Self { elements, features: 13, batch_size, origin: Some(Origin::Criteo) }
    }
}

impl PipelineSpec {
    /// A pipeline over images, without transforms as yet.
    pub fn images(variant: &Images) -> Self {
        let Images { elements, side, batch_size, floats, origin } = *variant;
        let synthetic = if floats {
            DataSpec::normal("image", elements, vec![side, side, 3])
        } else {
            DataSpec::images(elements, side, 3)
        };
        Self::new(from(synthetic, origin), batch_size)
    }

    /// A pipeline over rows of tokens, without transforms as yet.
    pub fn tokens(variant: &Tokens) -> Self {
        let Tokens { elements, length, batch_size, origin } = *variant;
        Self::new(from(DataSpec::tokens(elements, length), origin), batch_size)
    }

    /// A pipeline over rows of features, without transforms as yet.
    pub fn table(variant: &VariantTable) -> Self {
        let VariantTable { elements, features, batch_size, origin } = *variant;
        Self::new(from(DataSpec::table(elements, features), origin), batch_size)
    }
}

fn from(synthetic: DataSpec, origin: Option<Origin>) -> DataSpec {
    match origin {
        None => synthetic,
        Some(origin) => synthetic.read_from(origin),
    }
}
