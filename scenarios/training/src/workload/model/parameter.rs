//! The parameters of a model: their names, shapes, and what they begin with.

use serde::{Deserialize, Serialize};

use super::layer::{Layer, Shape};

/// A tensor of `f32` numbers that is learned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The place of its layer in the model, counted from 0 and joined by points, and what it is there:
    /// `6.1.qkv.weight`.
    pub name: String,
    /// Its axes. A linear map is `[from, to]`, a kernel `[rows, columns, from, to]`.
    pub shape: Vec<usize>,
    /// The numbers that it begins with.
    pub start: Start,
}

/// The first numbers of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Zeros.
    Zeros,
    /// Ones.
    Ones,
    /// 0.0001 everywhere: what a branch is scaled with that begins next to the identity.
    Small,
    /// Normal numbers around zero: what a scheme says of tables and tokens.
    Rows,
    /// Normal numbers around zero: what a scheme says of a map of so many numbers.
    Map {
        /// Numbers that each output is made of.
        from: usize,
    },
}

/// An initialisation scheme: the rule for the standard deviation of normal numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    /// 0.02 for all: as vision transformers and GPT-2 have it.
    Normal,
    /// The root of 2 over the numbers that an output is made of (He and others 2015); 0.02 for rows of
    /// tables.
    He,
    /// The root of 1 over the same (Y. Le Cun and others 1998); 0.02 for rows of tables.
    Lecun,
}

impl Scheme {
    /// The deviation of a parameter's first numbers, in millionths; `None` where they are no normal numbers.
    pub fn millionths(self, start: Start) -> Option<u32> {
        const ROWS: u32 = 20_000;
        let over =
            |numerator: f64, from: usize| Some((1e6 * (numerator / from as f64).sqrt()).round() as u32);
        match (start, self) {
            (Start::Zeros | Start::Ones | Start::Small, _) => None,
            (Start::Rows, _) | (Start::Map { .. }, Self::Normal) => Some(ROWS),
            (Start::Map { from }, Self::He) => over(2.0, from),
            (Start::Map { from }, Self::Lecun) => over(1.0, from),
        }
    }
}

impl Layer {
    /// The parameters that the layer itself has, those in its body left out.
    pub(super) fn own(&self, at: &str, input: Shape) -> Vec<Parameter> {
        let one = |name: &str, shape: &[usize], start| Parameter {
            name: format!("{at}.{name}"),
            shape: shape.to_vec(),
            start,
        };
        let map = |name: &str, from: usize, to: usize| {
            vec![
                one(&format!("{name}weight"), &[from, to], Start::Map { from }),
                one(&format!("{name}bias"), &[to], Start::Zeros),
            ]
        };
        let last = input.last();
        match *self {
            Self::Patches { size, width } => map("", size * size * last, width),
            Self::Embed { vocabulary, width } => vec![one("table", &[vocabulary, width], Start::Rows)],
            Self::Prepend { tokens } | Self::Append { tokens } => {
                vec![one("tokens", &[tokens, last], Start::Rows)]
            }
            Self::Positions => vec![one("positions", &[input.positions(), last], Start::Rows)],
            Self::LayerNorm { .. } | Self::BatchNorm { .. } => {
                vec![one("scale", &[last], Start::Ones), one("shift", &[last], Start::Zeros)]
            }
            Self::RmsNorm { .. } => vec![one("scale", &[last], Start::Ones)],
            Self::Scale => vec![one("scale", &[last], Start::Small)],
            Self::RotaryAttention { heads, .. } => {
                let norm = |name: &str| one(name, &[last / heads], Start::Ones);
                let mut all = vec![one("qkv.weight", &[last, 3 * last], Start::Map { from: last })];
                all.extend([norm("queries.scale"), norm("keys.scale")]);
                all.extend(map("out.", last, last));
                all
            }
            Self::Attention { .. } => [map("qkv.", last, 3 * last), map("out.", last, last)].concat(),
            Self::Linear { to } => map("", last, to),
            Self::Conv { to, kernel, .. } => {
                let from = kernel * kernel * last;
                vec![one("weight", &[kernel, kernel, last, to], Start::Map { from })]
            }
            Self::Residual { .. }
            | Self::Projected { .. }
            | Self::Gelu
            | Self::Relu
            | Self::MaxPool { .. }
            | Self::MeanPool
            | Self::FirstToken => Vec::new(),
        }
    }
}
