//! The transforms, as data: a name, one exact definition, and what it does to the kind of a field.

use std::fmt;
use std::str::FromStr;

use weighbridge::{Dtype, FieldKind};

/// One step of a pipeline. The variant is the whole of it: constants belong to the definition, so that a name
/// alone tells any implementation in any language what to do. The definitions in full, with every rounding
/// and every draw, are in `scenarios/docs/transforms.md`; the lines here say what each is.
///
/// Each step says which fields it touches; the others pass unchanged. A step that touches no field of the
/// data is refused when the pipeline is checked, because it would be a step in name only. All arithmetic on
/// `f32` is rounded to nearest after each operation (no fused multiply-add), so every implementation gives
/// the same bits.
///
/// Random steps take their draws from [`Draws`](weighbridge_data::Draws); all fields of one element share
/// them, so that an image and its mask move together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transform {
    /// Brings numbers to a common range.
    ///
    /// - A field that is `u8` in the source: to `f32(x) / 255`, correctly rounded, as `f32`. (Also when an
    ///   earlier step has cast it.)
    /// - A field that is `f32` in the source: to `(x - mean[k]) * scale[k]`, where `k` is the index on the
    ///   last axis of the element and `mean` and `scale` are the `f32` constants in the data set's manifest.
    ///   They describe the source: a later `Normalize` in the same list uses the same ones.
    /// - Other fields (token ids): untouched.
    Normalize,
    /// Casts every field to `f32`, rounding to nearest, ties to even. Touches every field; a no-op where the
    /// field is `f32` already.
    CastToFloat32,
    /// `x * 2`, on `f32` fields.
    Scale,
    /// `x` limited to `[0, 1]`, on `f32` fields: what is below 0 becomes 0, what is above 1 becomes 1.
    /// Negative zero and NaN stay.
    Clip,
    /// `x + 0.1` (the `f32` nearest to it), on `f32` fields.
    Add,
    /// `x * 0.9` (the `f32` nearest to it), on `f32` fields.
    Multiply,
    /// Keeps a window of `floor(7h/8)` by `floor(7w/8)` pixels, moves it to the upper left corner, and fills
    /// the rest with zeros, on fields with three axes (height, width, channels). The window's top is draw 0
    /// below `h - floor(7h/8) + 1`, its left draw 1 below `w - floor(7w/8) + 1`.
    RandomCrop,
    /// Mirrors left and right with probability 1/2 (draw 0's highest bit set), on fields with three axes.
    /// `RandomHorizontalFlip` is another name of it.
    RandomFlip,
    /// Adds normal noise of deviation 0.05, a draw of its own for each number, on `f32` fields.
    GaussianNoise,
    /// Adds one number from [-0.2, 0.2) to the whole element, on `f32` fields.
    RandomBrightness,
    /// Multiplies the whole element by one number from [0.8, 1.2), on `f32` fields.
    RandomScale,
    /// Cuts out a window of 8 to 100 % of the area and 3:4 to 4:3 in aspect and resizes it to the element's
    /// own size: bilinear for `u8` and `f32`, nearest for other types, which hold classes. On fields with
    /// three axes.
    RandomResizedCrop,
    /// Shifts the brightness, stretches the contrast about the element's mean, stretches the saturation about
    /// each pixel's grey, and limits to the range, on `u8` and `f32` fields with three axes and three
    /// channels.
    ColorJitter,
    /// Replaces all channels by their mean with probability 1/5, on `u8` and `f32` fields with three axes and
    /// three channels.
    RandomGrayscale,
    /// Blurs with a Gaussian of five pixels and a deviation from [0.1, 2), edges repeated, on `u8` and `f32`
    /// fields with three axes.
    GaussianBlur,
    /// Inverts what is at least half of the range with probability 1/2, on `u8` and `f32` fields with three
    /// axes.
    RandomSolarize,
    /// Turns by a random multiple of 90 degrees, counterclockwise, on square fields with three axes.
    AffineRotation,
    /// Resizes to half of each side and back: bilinear for `u8` and `f32`, nearest for other types. On fields
    /// with three axes.
    MultiScaleResize,
    /// Pads the rows of a batch with zeros to the longest of them, rounded up to a multiple of 8, on integer
    /// fields with one axis. How long a row is stands in the field `length`.
    DynamicPad,
    /// `ln(1 + |x|)`, on `f32` fields.
    LogTransform,
    /// `|x| mod 10000`, on `i32` and `i64` fields.
    HashEmbeddingIndex,
    /// Adds the field `attention_mask`: 1 where the token is not 0, else 0, as `f32`. On integer fields with
    /// one axis.
    CreateAttentionMask,
    /// Adds the field `causal_mask`: ones on and below the diagonal of a square as long as the row, as `f32`.
    /// On integer fields with one axis.
    CausalMaskGeneration,
    /// Eight rounds of `sin(x) + cos(x)`, on `f32` fields.
    ExpensiveTransform,
    /// `x + 0.1` (the `f32` nearest to it), on `f32` fields: beside `ExpensiveTransform`, what costs nothing.
    CheapTransform,
    /// Decodes a JPEG image, cuts out a window as [`Transform::RandomResizedCrop`] does, and resizes it to
    /// 224 x 224 pixels, on `u8` fields with one axis, whose images have [`Transform::PHOTOGRAPH`]. Decoders
    /// differ in a level or two, so it is defined up to that, and no member of [`Transform::ALL`].
    DecodeResizedCrop,
}

/// The effect of a transform on one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransformEffect {
    /// Nothing: the field passes unchanged.
    Untouched,
    /// The field becomes this; it may be what it was.
    Becomes(FieldKind),
    /// The field stays, and this one is made from it.
    Adds(FieldKind),
}

impl Transform {
    /// All that have one exact definition. `RandomHorizontalFlip`, the 26th name, is
    /// [`Transform::RandomFlip`].
    pub const ALL: [Self; 25] = [
        Self::Normalize,
        Self::CastToFloat32,
        Self::Scale,
        Self::Clip,
        Self::Add,
        Self::Multiply,
        Self::RandomCrop,
        Self::RandomFlip,
        Self::GaussianNoise,
        Self::RandomBrightness,
        Self::RandomScale,
        Self::RandomResizedCrop,
        Self::ColorJitter,
        Self::RandomGrayscale,
        Self::GaussianBlur,
        Self::RandomSolarize,
        Self::AffineRotation,
        Self::MultiScaleResize,
        Self::DynamicPad,
        Self::LogTransform,
        Self::HashEmbeddingIndex,
        Self::CreateAttentionMask,
        Self::CausalMaskGeneration,
        Self::ExpensiveTransform,
        Self::CheapTransform,
    ];

    /// The name in work reports and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Normalize => "Normalize",
            Self::CastToFloat32 => "CastToFloat32",
            Self::Scale => "Scale",
            Self::Clip => "Clip",
            Self::Add => "Add",
            Self::Multiply => "Multiply",
            Self::RandomCrop => "RandomCrop",
            Self::RandomFlip => "RandomFlip",
            Self::GaussianNoise => "GaussianNoise",
            Self::RandomBrightness => "RandomBrightness",
            Self::RandomScale => "RandomScale",
            Self::RandomResizedCrop => "RandomResizedCrop",
            Self::ColorJitter => "ColorJitter",
            Self::RandomGrayscale => "RandomGrayscale",
            Self::GaussianBlur => "GaussianBlur",
            Self::RandomSolarize => "RandomSolarize",
            Self::AffineRotation => "AffineRotation",
            Self::MultiScaleResize => "MultiScaleResize",
            Self::DynamicPad => "DynamicPad",
            Self::LogTransform => "LogTransform",
            Self::HashEmbeddingIndex => "HashEmbeddingIndex",
            Self::CreateAttentionMask => "CreateAttentionMask",
            Self::CausalMaskGeneration => "CausalMaskGeneration",
            Self::ExpensiveTransform => "ExpensiveTransform",
            Self::CheapTransform => "CheapTransform",
            Self::DecodeResizedCrop => "DecodeResizedCrop",
        }
    }

    /// Returns the effect on a field that is `source` in the data set and `now` where the transform meets it.
    pub fn effect(self, source: &FieldKind, now: &FieldKind) -> TransformEffect {
        let float =
            |wanted: bool| if wanted { Some(FieldKind { dtype: Dtype::F32, ..now.clone() }) } else { None };
        let same = |wanted: bool| wanted.then(|| now.clone());
        let is_float = now.dtype == Dtype::F32;
        let is_integer = matches!(now.dtype, Dtype::I32 | Dtype::I64);
        let is_image = now.shape.len() == 3;
        let has_colours = is_image && matches!(now.dtype, Dtype::U8 | Dtype::F32);
        let becomes = match self {
            Self::Normalize => float(matches!(source.dtype, Dtype::U8 | Dtype::F32)),
            Self::CastToFloat32 => float(true),
            Self::Scale
            | Self::Clip
            | Self::Add
            | Self::Multiply
            | Self::GaussianNoise
            | Self::RandomBrightness
            | Self::RandomScale
            | Self::LogTransform
            | Self::ExpensiveTransform
            | Self::CheapTransform => same(is_float),
            Self::RandomCrop
            | Self::RandomFlip
            | Self::RandomResizedCrop
            | Self::AffineRotation
            | Self::MultiScaleResize => same(is_image),
            Self::GaussianBlur | Self::RandomSolarize => same(has_colours),
            Self::ColorJitter | Self::RandomGrayscale => same(has_colours && now.shape[2] == 3),
            Self::HashEmbeddingIndex => same(is_integer),
            Self::DynamicPad => same(is_integer && now.shape.len() == 1),
            Self::DecodeResizedCrop => (now.dtype == Dtype::U8 && now.shape.len() == 1)
                .then(|| FieldKind { shape: vec![Self::CROP, Self::CROP, 3], ..now.clone() }),
            Self::CreateAttentionMask | Self::CausalMaskGeneration => {
                let [length] = now.shape[..] else { return TransformEffect::Untouched };
                let (name, shape) = match self {
                    Self::CreateAttentionMask => ("attention_mask", vec![length]),
                    _ => ("causal_mask", vec![length, length]),
                };
                let kind = FieldKind { name: name.into(), dtype: Dtype::F32, shape };
                return if is_integer { TransformEffect::Adds(kind) } else { TransformEffect::Untouched };
            }
        };
        becomes.map_or(TransformEffect::Untouched, TransformEffect::Becomes)
    }

    /// Returns what a field must be for this to touch it, in words.
    pub(super) const fn wants(self) -> &'static str {
        match self {
            Self::Normalize => "it needs a field that is u8 or f32 in the data set",
            Self::CastToFloat32 => "it needs a field",
            Self::Scale
            | Self::Clip
            | Self::Add
            | Self::Multiply
            | Self::GaussianNoise
            | Self::RandomBrightness
            | Self::RandomScale
            | Self::LogTransform
            | Self::ExpensiveTransform
            | Self::CheapTransform => "it needs an f32 field: put Normalize or CastToFloat32 before it",
            Self::RandomCrop
            | Self::RandomFlip
            | Self::RandomResizedCrop
            | Self::AffineRotation
            | Self::MultiScaleResize => "it needs a field with height, width and channels",
            Self::GaussianBlur | Self::RandomSolarize => {
                "it needs a u8 or f32 field with height, width and channels"
            }
            Self::ColorJitter | Self::RandomGrayscale => {
                "it needs a u8 or f32 field with height, width and three channels"
            }
            Self::HashEmbeddingIndex => "it needs an i32 or i64 field",
            Self::DecodeResizedCrop => "it needs a u8 field with one axis, of encoded images",
            Self::DynamicPad | Self::CreateAttentionMask | Self::CausalMaskGeneration => {
                "it needs an i32 or i64 field with one axis"
            }
        }
    }

    /// Returns what is wrong with a field that this touches, in words; `None` if it can be done.
    pub(super) fn refuses(self, kind: &FieldKind) -> Option<&'static str> {
        if kind.shape.len() == 3 && kind.shape.contains(&0) {
            return Some("works on pixels, and there are none");
        }
        match self {
            Self::RandomCrop => kind.shape[..2]
                .iter()
                .any(|&side| Self::crop_window(side) == 0)
                .then_some("keeps 7/8 of each side, which leaves nothing"),
            Self::MultiScaleResize => kind.shape[..2]
                .iter()
                .any(|&side| side < 2)
                .then_some("halves each side, which leaves nothing"),
            Self::AffineRotation => {
                (kind.shape[0] != kind.shape[1]).then_some("turns by 90 degrees, which needs a square")
            }
            _ => None,
        }
    }

    /// The constant of `Scale`.
    pub const SCALE: f32 = 2.0;
    /// The constant of `Add` and `CheapTransform`.
    pub const ADD: f32 = 0.1;
    /// The constant of `Multiply`.
    pub const MULTIPLY: f32 = 0.9;
    /// The multiple that `DynamicPad` rounds lengths up to.
    pub const PAD_TO: usize = 8;

    /// Rows, columns and channels of a photograph of the suite.
    pub const PHOTOGRAPH: [usize; 3] = weighbridge_data::photograph::SHAPE;
    /// Pixels on a side of what `DecodeResizedCrop` makes.
    pub const CROP: usize = 224;

    /// Returns the length of `RandomCrop`'s window along an axis of `whole` pixels: 7/8 of it, rounded down.
    pub const fn crop_window(whole: usize) -> usize {
        whole * 7 / 8
    }
}

impl fmt::Display for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Transform {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        if name == "RandomHorizontalFlip" {
            return Ok(Self::RandomFlip);
        }
        Self::ALL.into_iter().find(|transform| transform.name() == name).ok_or_else(|| {
            format!("`{name}` is no transform; the transforms are {}", Self::ALL.map(Self::name).join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back() {
        for transform in Transform::ALL {
            assert_eq!(transform.name().parse(), Ok(transform));
        }
        assert_eq!("RandomHorizontalFlip".parse(), Ok(Transform::RandomFlip));
        assert!("Normalise".parse::<Transform>().unwrap_err().contains("Normalize, CastToFloat32"));
    }

    #[test]
    fn token_ids_are_not_normalised_and_rows_are_not_cropped() {
        let tokens = FieldKind { name: "tokens".into(), dtype: Dtype::I32, shape: vec![128] };
        for transform in [Transform::Normalize, Transform::RandomResizedCrop, Transform::ColorJitter] {
            assert_eq!(transform.effect(&tokens, &tokens), TransformEffect::Untouched);
        }
    }

    #[test]
    fn every_name_is_defined_on_the_page() {
        let page = include_str!("../../../docs/transforms.md");
        for transform in Transform::ALL {
            assert!(page.contains(&format!("`{transform}`")), "{transform}");
        }
        assert!(page.contains("`RandomHorizontalFlip`"));
    }
}
