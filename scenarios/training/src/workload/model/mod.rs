//! Models as data: layers that every framework builds in its own way, their parameters, and the work that
//! they are.
//!
//! A [`Model`] is made from dimensions (`presets`), says which parameters it has (`parameter`) and how many
//! floating-point operations a sample takes (`flops`). What could stand in the place of attention is counted
//! alone (`mixer`).

mod flops;
mod layer;
mod mixer;
#[cfg(test)]
mod models_file;
mod parameter;
mod presets;
mod rotary;

use serde::{Deserialize, Serialize};
use weighbridge::{Error, Result};

pub use flops::{Component, Flops, Operations};
pub use layer::{Layer, Shape};
pub use mixer::Mixer;
pub use parameter::{Parameter, Scheme, Start};
pub use presets::{Activation, Dimensions};
pub use rotary::RotaryGrid;

/// A model: what it takes, and its layers in order. What leaves the last one are the logits of a
/// classification, of the sample or of each of its places.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// One sample of its input.
    pub input: Shape,
    /// The layers, in order.
    pub layers: Vec<Layer>,
}

/// A layer where it stands.
#[derive(Clone, Debug)]
pub struct PlacedLayer<'a> {
    /// The numbers of the layers around it and its own, joined by points.
    pub at: String,
    /// The layer.
    pub layer: &'a Layer,
    /// The shape of its input.
    pub input: Shape,
    /// The shape of its output.
    pub output: Shape,
    /// `true` if it is the last layer of what is added to what goes around it.
    pub ends_residual: bool,
}

impl Model {
    /// The shape of the logits of one sample.
    ///
    /// # Errors
    /// Layers that do not fit together, named by their place; logits that are no rows of numbers.
    pub fn output(&self) -> Result<Shape> {
        let output = self.placed()?.last().map(|last| last.output);
        match output {
            Some(output @ (Shape::Vector { .. } | Shape::Sequence { .. })) => Ok(output),
            Some(output) => Err(Error::new(format!("a model ends in logits, and this one in {output}"))),
            None => Err(Error::new("a model has layers, and this one has none")),
        }
    }

    /// Classes that the logits tell apart, and the labels of a sample: one, or one for each place.
    ///
    /// # Errors
    /// As [`Model::output`].
    pub fn labels(&self) -> Result<(usize, Vec<usize>)> {
        let output = self.output()?;
        let shape = match output {
            Shape::Sequence { length, .. } => vec![length],
            _ => vec![],
        };
        Ok((output.last(), shape))
    }

    /// Every layer with its place, inner ones before the one that they are in.
    ///
    /// # Errors
    /// As [`Model::output`].
    pub fn placed(&self) -> Result<Vec<PlacedLayer<'_>>> {
        let mut all = Vec::new();
        place(&self.layers, self.input, ("", false), &mut all)?;
        Ok(all)
    }

    /// Its parameters, in the order of its layers.
    ///
    /// # Errors
    /// As [`Model::output`].
    pub fn parameters(&self) -> Result<Vec<Parameter>> {
        self.output()?;
        let own = |placed: &PlacedLayer<'_>| {
            let mut own = placed.layer.own(&placed.at, placed.input);
            if placed.ends_residual && matches!(placed.layer, Layer::BatchNorm { .. }) {
                // Goyal and others 2017, 5.1: a block begins as the identity. It also keeps rounding from
                // growing block by block.
                own[0].start = Start::Zeros;
            }
            own
        };
        Ok(self.placed()?.iter().flat_map(own).collect())
    }

    /// Returns the count of numbers that are learned.
    ///
    /// # Errors
    /// As [`Model::output`].
    pub fn size(&self) -> Result<usize> {
        Ok(self.parameters()?.iter().map(|one| one.shape.iter().product::<usize>()).sum())
    }
}

/// Adds the layers after one another, and gives what leaves the last.
fn place<'a>(
    layers: &'a [Layer],
    input: Shape,
    (above, is_residual): (&str, bool),
    all: &mut Vec<PlacedLayer<'a>>,
) -> Result<Shape> {
    let last = layers.len().saturating_sub(1);
    layers.iter().enumerate().try_fold(input, |input, (number, layer)| {
        let at = if above.is_empty() { number.to_string() } else { format!("{above}.{number}") };
        let output = layer.output(input, &at)?;
        match layer {
            Layer::Residual { body } => {
                place(body, input, (&at, true), all)?;
            }
            Layer::Projected { body, around } => {
                place(body, input, (&format!("{at}.0"), true), all)?;
                place(around, input, (&format!("{at}.1"), false), all)?;
            }
            _ => {}
        }
        let ends_residual = is_residual && number == last;
        all.push(PlacedLayer { at, layer, input, output, ends_residual });
        Ok(output)
    })
}
