//! The transforms, as data: a name, one exact definition, and what it does to the kind of a field.

use std::fmt;
use std::str::FromStr;

use weighbridge::{Dtype, FieldKind};

/// One step of a pipeline. The variant is the whole of it: constants belong to the definition, so that a name alone
/// tells any implementation in any language what to do.
///
/// Each step says which fields it touches; the others pass unchanged. A step that touches no field of the data is
/// refused when the pipeline is checked, because it would be a step in name only. All arithmetic on `f32` is rounded
/// to nearest after each operation (no fused multiply-add), so every implementation gives the same bits.
///
/// Random steps take their draws from [`Draws`](super::Draws); all fields of one element share them, so that an image
/// and its mask move together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transform {
    /// Brings numbers to a common range.
    ///
    /// - A field that is `u8` in the source: to `f32(x) / 255`, correctly rounded, as `f32`. (Also when an earlier
    ///   step has cast it.)
    /// - A field that is `f32` in the source: to `(x - mean[k]) * scale[k]`, where `k` is the index on the last axis
    ///   of the element and `mean` and `scale` are the `f32` constants in the data set's manifest. They describe the
    ///   source: a later `Normalize` in the same list uses the same ones.
    /// - Other fields (token ids): untouched.
    Normalize,
    /// Casts every field to `f32`, rounding to nearest, ties to even. Touches every field; a no-op where the field is
    /// `f32` already.
    CastToFloat32,
    /// `x * 2`, on `f32` fields.
    Scale,
    /// `x` limited to `[0, 1]`, on `f32` fields: what is below 0 becomes 0, what is above 1 becomes 1. Negative zero
    /// and NaN stay.
    Clip,
    /// `x + 0.1` (the `f32` nearest to it), on `f32` fields.
    Add,
    /// `x * 0.9` (the `f32` nearest to it), on `f32` fields.
    Multiply,
    /// Keeps a window of `floor(7h/8)` by `floor(7w/8)` pixels, moves it to the upper left corner, and fills the rest
    /// with zeros, on fields with three axes (height, width, channels). The window's top is draw 0 below
    /// `h - floor(7h/8) + 1`, its left draw 1 below `w - floor(7w/8) + 1`.
    RandomCrop,
    /// Mirrors left and right with probability 1/2 (draw 0's highest bit set), on fields with three axes.
    /// `RandomHorizontalFlip` is another name of it.
    RandomFlip,
}

impl Transform {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Normalize,
        Self::CastToFloat32,
        Self::Scale,
        Self::Clip,
        Self::Add,
        Self::Multiply,
        Self::RandomCrop,
        Self::RandomFlip,
    ];

    /// The name in tickets and on the command line.
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
        }
    }

    /// What becomes of a field that is `now`, and was `source` in the data set. `None`: the field is untouched.
    pub fn touches(self, source: &FieldKind, now: &FieldKind) -> Option<FieldKind> {
        let float = |touched: bool| touched.then(|| FieldKind { dtype: Dtype::F32, ..now.clone() });
        match self {
            Self::Normalize => float(matches!(source.dtype, Dtype::U8 | Dtype::F32)),
            Self::CastToFloat32 => float(true),
            Self::Scale | Self::Clip | Self::Add | Self::Multiply => float(now.dtype == Dtype::F32),
            Self::RandomCrop | Self::RandomFlip => (now.shape.len() == 3).then(|| now.clone()),
        }
    }

    /// The constant of `Scale`.
    pub const SCALE: f32 = 2.0;
    /// The constant of `Add`.
    pub const ADD: f32 = 0.1;
    /// The constant of `Multiply`.
    pub const MULTIPLY: f32 = 0.9;

    /// How many pixels of `whole` the window of `RandomCrop` has along an axis.
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
    fn token_ids_are_not_normalised() {
        let tokens = FieldKind { name: "tokens".into(), dtype: Dtype::I32, shape: vec![128] };
        assert_eq!(Transform::Normalize.touches(&tokens, &tokens), None);
    }
}
