//! The description of a data set: small, comparable, made without touching the data.

use weighbridge::{Dtype, FieldKind};
use xxhash_rust::xxh3::xxh3_128;

use super::{Leaf, photograph};

/// The seed of all synthetic data.
const SEED: u64 = 42;

/// Token ids are below this.
pub const VOCABULARY: u32 = 32_000;

/// The specification of a data set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataSpec {
    /// The fields of an element.
    pub fields: Vec<FieldSpec>,
    /// The number of elements.
    pub elements: usize,
    /// The source of the numbers.
    pub origin: Origin,
}

/// One field of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldSpec {
    /// Its name, type and element shape.
    pub kind: FieldKind,
    /// The rule by which its numbers come about.
    pub values: FieldValues,
}

/// A rule by which the numbers of a field come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldValues {
    /// Whole numbers from 0, below this, all equally likely.
    Below(u32),
    /// Whole numbers from the first, below the second, all equally likely.
    Between(u32, u32),
    /// Pictures of a scene, as `u8`: with a light side, edges and grain, which no two steps change alike.
    Scene,
    /// Pictures of a scene of [`SHAPE`](crate::photograph::SHAPE), encoded as JPEG and filled up
    /// with zeros.
    Photograph,
    /// Standard normal, drawn in `f64` and rounded to `f32`.
    Normal,
    /// Normal with the number of an element's numbers as its standard deviation, from one stream over all
    /// such fields in their order, as [Orbax's benchmarks](https://orbax.readthedocs.io) make a state: drawn
    /// in `f64` and rounded to `f32`.
    Scaled,
    /// Normal around zero, with so many millionths as standard deviation, drawn in `f64` and rounded to
    /// `f32`.
    Spread(u32),
    /// Standard normal around a centre, as `f32`: that of the class which the next field draws by
    /// [`FieldValues::Below`].
    Around {
        /// As many centres.
        classes: u32,
        /// Their numbers are normal with so many millionths as standard deviation.
        apart: u32,
    },
    /// This number throughout, as `f32`.
    Same(u8),
    /// The same number everywhere: so many millionths, as `f32`.
    Millionths(u32),
    /// A value that is no array.
    Leaf(Leaf),
    /// Read from files.
    Read,
}

/// The source of the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A generator. Fewer elements with the same seed are the first of more.
    Synthetic {
        /// Its seed.
        seed: u64,
    },
    /// A directory of text, hashed to token ids.
    Text,
    /// The CIFAR-10 training images.
    Cifar10,
    /// The Criteo click log: its 13 columns of numbers, and its 26 of categories where a second field is
    /// asked for.
    Criteo,
    /// The raw training text of `WikiText-103`, hashed to token ids.
    WikiText,
    /// Handwritten digits, dealt out for a training: the last `held_out` elements are none that stand before
    /// them.
    Digits {
        /// The seed of the order.
        seed: u64,
        /// Elements that nothing is learned from.
        held_out: usize,
    },
    /// Files of safetensors, whose tensors are the fields of one element: they are opened by
    /// [`Cache::open_files`](super::Cache::open_files).
    Tensors {
        /// XXH3-64 of the file, where it is pinned: that of the weights that a training begins with.
        digest: Option<u64>,
    },
    /// COCO's validation images of 2017 with their captions.
    CocoCaptions {
        /// Token ids of captions are below this.
        vocabulary: u32,
    },
}

impl FieldSpec {
    /// Returns whether there are constants of `Normalize` for it: for rows of `f32`, and not for the tensors
    /// of a state or a model.
    pub(super) fn is_normalised(&self) -> bool {
        let of_a_model = matches!(
            self.values,
            FieldValues::Scaled | FieldValues::Spread(_) | FieldValues::Same(_) | FieldValues::Millionths(_)
        );
        self.kind.dtype == Dtype::F32 && !of_a_model
    }
}

impl DataSpec {
    /// Square `u8` images, every value equally likely.
    pub fn images(elements: usize, side: usize, channels: usize) -> Self {
        let kind = FieldKind { name: "image".into(), dtype: Dtype::U8, shape: vec![side, side, channels] };
        Self::synthetic(elements, vec![FieldSpec { kind, values: FieldValues::Below(256) }])
    }

    /// Photographs as JPEG files: `u8` rows of [`photograph::ROOM`](super::photograph::ROOM) bytes.
    pub fn photographs(elements: usize) -> Self {
        let kind = FieldKind { name: "image".into(), dtype: Dtype::U8, shape: vec![photograph::ROOM] };
        Self::synthetic(elements, vec![FieldSpec { kind, values: FieldValues::Photograph }])
    }

    /// Rows of token ids.
    pub fn tokens(elements: usize, length: usize) -> Self {
        let kind = FieldKind { name: "tokens".into(), dtype: Dtype::I32, shape: vec![length] };
        Self::synthetic(elements, vec![FieldSpec { kind, values: FieldValues::Below(VOCABULARY) }])
    }

    /// Rows of normal features.
    pub fn table(elements: usize, features: usize) -> Self {
        Self::normal("features", elements, vec![features])
    }

    /// One `f32` field of any shape, standard normal.
    pub fn normal(name: &str, elements: usize, shape: Vec<usize>) -> Self {
        let kind = FieldKind { name: name.into(), dtype: Dtype::F32, shape };
        Self::synthetic(elements, vec![FieldSpec { kind, values: FieldValues::Normal }])
    }

    /// The state of a model: one element, whose fields are tensors, and leaves that are no arrays.
    pub fn state(fields: Vec<FieldSpec>, seed: u32) -> Self {
        Self { fields, elements: 1, origin: Origin::Synthetic { seed: seed.into() } }
    }

    /// Synthetic data of these fields.
    pub fn synthetic(elements: usize, fields: Vec<FieldSpec>) -> Self {
        Self { fields, elements, origin: Origin::Synthetic { seed: SEED } }
    }

    /// The same data with another field beside those that there are.
    #[must_use]
    pub fn with(mut self, name: &str, dtype: Dtype, shape: &[usize], values: FieldValues) -> Self {
        let kind = FieldKind { name: name.into(), dtype, shape: shape.to_vec() };
        self.fields.push(FieldSpec { kind, values });
        self
    }

    /// The same fields and shapes, read from files.
    #[must_use]
    pub fn read_from(mut self, origin: Origin) -> Self {
        for field in &mut self.fields {
            field.values = FieldValues::Read;
        }
        Self { origin, ..self }
    }

    /// The same data with pictures of a scene where there were `u8` images of noise.
    #[must_use]
    pub fn of_scenes(mut self) -> Self {
        for FieldSpec { kind, values } in &mut self.fields {
            if *values == FieldValues::Below(256) && kind.dtype == Dtype::U8 && kind.shape.len() == 3 {
                *values = FieldValues::Scene;
            }
        }
        self
    }

    /// The first elements alone.
    #[must_use]
    pub fn cut_to(self, elements: usize) -> Self {
        Self { elements: self.elements.min(elements), ..self }
    }

    /// Name, type and element shape of every field.
    pub fn kinds(&self) -> impl Iterator<Item = &FieldKind> {
        self.fields.iter().map(|field| &field.kind)
    }

    /// Bytes of all elements.
    pub fn bytes(&self) -> u64 {
        let row: usize =
            self.kinds().map(|kind| kind.shape.iter().product::<usize>() * kind.dtype.size()).sum();
        (row as u64).saturating_mul(self.elements as u64)
    }

    /// A name for people and file systems: fields, shapes, count. `suffix` says what else tells it apart.
    pub(super) fn name(&self, suffix: &str) -> String {
        let field = |FieldSpec { kind, values }: &FieldSpec| {
            let shape: Vec<String> = kind.shape.iter().map(usize::to_string).collect();
            let values = match values {
                FieldValues::Below(bound) => format!("below{bound}"),
                FieldValues::Between(from, below) => format!("from{from}below{below}"),
                FieldValues::Scene => "scene".into(),
                FieldValues::Photograph => "photograph".into(),
                FieldValues::Normal => "normal".into(),
                FieldValues::Scaled => "scaled".into(),
                FieldValues::Spread(millionths) => format!("spread{millionths}"),
                FieldValues::Around { classes, apart } => format!("around{classes}by{apart}"),
                FieldValues::Same(number) => format!("same{number}"),
                FieldValues::Millionths(number) => format!("millionths{number}"),
                FieldValues::Leaf(leaf) => format!("leaf{}", leaf.name()),
                FieldValues::Read => "read".into(),
            };
            format!("{}-{}-{}-{values}-", kind.name, kind.dtype.name(), shape.join("x"))
        };
        let fields: String = self.fields.iter().map(field).collect();
        // File systems end names at 255 bytes.
        let fields = if fields.len() <= 150 {
            fields
        } else {
            format!("{}-fields-{:032x}-", self.fields.len(), xxh3_128(fields.as_bytes()))
        };
        format!("{fields}{}-{suffix}", self.elements)
    }
}
