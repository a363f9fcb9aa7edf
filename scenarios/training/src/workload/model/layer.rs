//! The layers that models are made of, and what shape leaves each.

use std::fmt;

use serde::{Deserialize, Serialize};
use weighbridge::{Error, Result};

use super::rotary::RotaryGrid;

/// One step of a model. Activations of one sample have a [`Shape`]; a batch has them one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Layer {
    /// A grid cut into squares of `size`, row by row, each of whose numbers (rows, columns, channels) go
    /// through one linear map.
    Patches {
        /// Rows and columns of a square.
        size: usize,
        /// Numbers that a square becomes.
        width: usize,
    },
    /// Ids to rows of a learned table.
    Embed {
        /// Rows of the table.
        vocabulary: usize,
        /// Numbers of a row.
        width: usize,
    },
    /// Learned rows before those of a sequence.
    Prepend {
        /// The number of rows.
        tokens: usize,
    },
    /// Learned rows behind those of a sequence: registers.
    Append {
        /// The number of rows.
        tokens: usize,
    },
    /// A learned row for each place, added.
    Positions,
    /// The body's output, added to its input.
    Residual {
        /// The layers beside the way around.
        body: Vec<Layer>,
    },
    /// The sum of two ways.
    Projected {
        /// The longer way.
        body: Vec<Layer>,
        /// The way around it, which changes the shape as the other does.
        around: Vec<Layer>,
    },
    /// Each row (or each position of a grid) less its mean, over its deviation (population, `epsilon` added
    /// to the variance), times a learned scale, plus a learned shift.
    LayerNorm {
        /// Added to the variance.
        epsilon: f64,
    },
    /// The same over a batch and all positions, for each channel. The statistics are always those of the
    /// batch, also where a model is evaluated: there are no running ones.
    BatchNorm {
        /// Added to the variance.
        epsilon: f64,
    },
    /// Each row over the root of the mean of its squares (`epsilon` added to it), times a learned scale.
    RmsNorm {
        /// Added to the mean of squares.
        epsilon: f64,
    },
    /// Each number of the last axis times a learned one of its own, which begins with 0.0001 (`LayerScale`).
    Scale,
    /// Attention of all heads that knows where a place lies: one linear map without a bias to queries, keys
    /// and values; the queries and keys of each head through a [`Layer::RmsNorm`] of their own scale, which
    /// all heads share, and then turned by their place; the rest as [`Layer::Attention`].
    RotaryAttention {
        /// Heads, which divide the width into parts of a multiple of four numbers.
        heads: usize,
        /// Added to the mean of squares of a query or a key.
        epsilon: f64,
        /// The places that are turned; the others are not.
        turned: Vec<RotaryGrid>,
    },
    /// Attention of all heads: one linear map to queries, keys and values (each by heads),
    /// `softmax(q k / sqrt(width of a head)) v`, one linear map of the heads side by side. Both maps have
    /// biases.
    Attention {
        /// Heads, which divide the width.
        heads: usize,
        /// `true` if a place sees itself and those before it alone.
        causal: bool,
    },
    /// A linear map with a bias of the last axis.
    Linear {
        /// Numbers that leave it.
        to: usize,
    },
    /// `x/2 (1 + erf(x / sqrt(2)))`.
    Gelu,
    /// `max(x, 0)`.
    Relu,
    /// A convolution without a bias, with `(kernel - 1) / 2` zeros around the grid.
    Conv {
        /// Channels that leave it.
        to: usize,
        /// Rows and columns of the kernel; odd.
        kernel: usize,
        /// Steps between places.
        stride: usize,
    },
    /// The greatest of each square, `(kernel - 1) / 2` places around the grid left out.
    MaxPool {
        /// Rows and columns of the square; odd.
        kernel: usize,
        /// Steps between places.
        stride: usize,
    },
    /// The mean over all places of a grid or a sequence.
    MeanPool,
    /// The first row of a sequence.
    FirstToken,
}

/// The shape of the activations of one sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Shape {
    /// Rows, columns, channels: the last axis is the innermost.
    Grid {
        /// From top to bottom.
        rows: usize,
        /// From left to right.
        columns: usize,
        /// Of each position.
        channels: usize,
    },
    /// Rows of numbers.
    Sequence {
        /// The number of rows.
        length: usize,
        /// Numbers in a row.
        width: usize,
    },
    /// Numbers.
    Vector {
        /// The length of the vector.
        width: usize,
    },
    /// Ids, each below `below`.
    Ids {
        /// The number of ids.
        length: usize,
        /// The exclusive upper bound of all ids.
        below: usize,
    },
}

impl Shape {
    /// Numbers of one sample.
    pub fn count(self) -> usize {
        self.positions() * self.last()
    }

    /// Rows of the last axis.
    pub fn positions(self) -> usize {
        match self {
            Self::Grid { rows, columns, .. } => rows * columns,
            Self::Sequence { length, .. } | Self::Ids { length, .. } => length,
            Self::Vector { .. } => 1,
        }
    }

    /// Numbers on the last axis; one for ids.
    pub fn last(self) -> usize {
        match self {
            Self::Grid { channels, .. } => channels,
            Self::Sequence { width, .. } | Self::Vector { width } => width,
            Self::Ids { .. } => 1,
        }
    }

    /// The axes of one sample.
    pub fn axes(self) -> Vec<usize> {
        match self {
            Self::Grid { rows, columns, channels } => vec![rows, columns, channels],
            Self::Sequence { length, width } => vec![length, width],
            Self::Vector { width } => vec![width],
            Self::Ids { length, .. } => vec![length],
        }
    }

    /// The same with another last axis.
    fn with_last(self, last: usize) -> Option<Self> {
        match self {
            Self::Grid { rows, columns, .. } => Some(Self::Grid { rows, columns, channels: last }),
            Self::Sequence { length, .. } => Some(Self::Sequence { length, width: last }),
            Self::Vector { .. } => Some(Self::Vector { width: last }),
            Self::Ids { .. } => None,
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Grid { rows, columns, channels } => write!(f, "a grid of {rows}x{columns}x{channels}"),
            Self::Sequence { length, width } => write!(f, "{length} rows of {width}"),
            Self::Vector { width } => write!(f, "{width} numbers"),
            Self::Ids { length, below } => write!(f, "{length} ids below {below}"),
        }
    }
}

impl Layer {
    /// The shape that leaves the layer. `at` is its place in the model, for errors.
    ///
    /// # Errors
    /// What does not fit: a shape that the layer does not take, dimensions that do not divide, none.
    pub fn output(&self, input: Shape, at: &str) -> Result<Shape> {
        let wrong = |why: String| Error::new(format!("layer {at} ({}): {why}", self.name()));
        let positive = |what: &str, number: usize| {
            if number == 0 { Err(wrong(format!("`{what}` is 0"))) } else { Ok(()) }
        };
        match (self, input) {
            (&Self::Patches { size, width }, Shape::Grid { rows, columns, .. }) => {
                positive("size", size)?;
                positive("width", width)?;
                if !rows.is_multiple_of(size) || !columns.is_multiple_of(size) {
                    return Err(wrong(format!("squares of {size} do not divide a grid of {rows}x{columns}")));
                }
                Ok(Shape::Sequence { length: rows / size * (columns / size), width })
            }
            (&Self::Embed { vocabulary, width }, Shape::Ids { length, below }) => {
                positive("width", width)?;
                if vocabulary < below {
                    return Err(wrong(format!("ids are below {below}, and the table has {vocabulary} rows")));
                }
                Ok(Shape::Sequence { length, width })
            }
            (&Self::Prepend { tokens } | &Self::Append { tokens }, Shape::Sequence { length, width }) => {
                Ok(Shape::Sequence { length: length + tokens, width })
            }
            (Self::Residual { body }, _) => {
                let output = through(body, input, at)?;
                if output != input {
                    return Err(wrong(format!("the body makes {output} of {input}: they cannot be added")));
                }
                Ok(output)
            }
            (Self::Projected { body, around }, _) => {
                let output = through(body, input, &format!("{at}.0"))?;
                let beside = through(around, input, &format!("{at}.1"))?;
                if output != beside {
                    return Err(wrong(format!("one way ends in {output}, the other in {beside}")));
                }
                Ok(output)
            }
            (&Self::LayerNorm { epsilon } | &Self::BatchNorm { epsilon } | &Self::RmsNorm { epsilon }, _)
                if !is_ids(input) =>
            {
                if !(epsilon.is_finite() && epsilon > 0.0) {
                    return Err(wrong(format!("`epsilon` is {epsilon}: it must be above 0")));
                }
                Ok(input)
            }
            (Self::Positions, Shape::Sequence { .. }) => Ok(input),
            (Self::Gelu | Self::Relu | Self::Scale, _) if !is_ids(input) => Ok(input),
            (&Self::Attention { heads, .. }, Shape::Sequence { width, .. }) => {
                positive("heads", heads)?;
                if !width.is_multiple_of(heads) {
                    return Err(wrong(format!("{heads} heads do not divide a width of {width}")));
                }
                Ok(input)
            }
            (&Self::RotaryAttention { heads, epsilon, ref turned }, Shape::Sequence { length, width }) => {
                positive("heads", heads)?;
                if !width.is_multiple_of(4 * heads) {
                    return Err(wrong(format!(
                        "{heads} heads do not divide a width of {width} into parts of a multiple of 4"
                    )));
                }
                if !(epsilon.is_finite() && epsilon > 0.0) {
                    return Err(wrong(format!("`epsilon` is {epsilon}: it must be above 0")));
                }
                turned.iter().try_for_each(|grid| grid.check(length)).map_err(wrong)?;
                Ok(input)
            }
            (&Self::Linear { to }, _) => {
                positive("to", to)?;
                input.with_last(to).ok_or_else(|| wrong(format!("it takes no ids, and {input} come")))
            }
            (&Self::Conv { to, kernel, stride }, Shape::Grid { rows, columns, .. }) => {
                positive("to", to)?;
                let [rows, columns] = windows([rows, columns], kernel, stride).map_err(wrong)?;
                Ok(Shape::Grid { rows, columns, channels: to })
            }
            (&Self::MaxPool { kernel, stride }, Shape::Grid { rows, columns, channels }) => {
                let [rows, columns] = windows([rows, columns], kernel, stride).map_err(wrong)?;
                Ok(Shape::Grid { rows, columns, channels })
            }
            (Self::MeanPool, Shape::Grid { .. } | Shape::Sequence { .. }) => {
                Ok(Shape::Vector { width: input.last() })
            }
            (Self::FirstToken, Shape::Sequence { width, .. }) => Ok(Shape::Vector { width }),
            _ => Err(wrong(format!("it does not take {input}"))),
        }
    }

    /// Returns the name of the layer as people read it, such as `layer norm`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Patches { .. } => "patches",
            Self::Embed { .. } => "embed",
            Self::Prepend { .. } => "prepend",
            Self::Append { .. } => "append",
            Self::Positions => "positions",
            Self::Residual { .. } => "residual",
            Self::Projected { .. } => "projected",
            Self::LayerNorm { .. } => "layer norm",
            Self::BatchNorm { .. } => "batch norm",
            Self::RmsNorm { .. } => "rms norm",
            Self::Scale => "scale",
            Self::RotaryAttention { .. } => "rotary attention",
            Self::Attention { .. } => "attention",
            Self::Linear { .. } => "linear",
            Self::Gelu => "gelu",
            Self::Relu => "relu",
            Self::Conv { .. } => "conv",
            Self::MaxPool { .. } => "max pool",
            Self::MeanPool => "mean pool",
            Self::FirstToken => "first token",
        }
    }
}

/// The shape that leaves layers one after the other.
fn through(layers: &[Layer], input: Shape, at: &str) -> Result<Shape> {
    layers
        .iter()
        .enumerate()
        .try_fold(input, |shape, (number, layer)| layer.output(shape, &format!("{at}.{number}")))
}

fn is_ids(shape: Shape) -> bool {
    matches!(shape, Shape::Ids { .. })
}

/// Returns the number of places that a square has along each side.
fn windows(sides: [usize; 2], kernel: usize, stride: usize) -> std::result::Result<[usize; 2], String> {
    if kernel.is_multiple_of(2) {
        return Err(format!("`kernel` is {kernel}: it must be odd"));
    }
    if stride == 0 {
        return Err("`stride` is 0".into());
    }
    // (side + 2 (kernel - 1) / 2 - kernel) / stride + 1
    Ok(sides.map(|side| side.saturating_sub(1) / stride + 1))
}
