//! How many floating-point operations a prediction takes, from the dimensions alone.

use weighbridge::Result;
use weighbridge_training::workload::model::{Component, Flops, Layer, Model, Shape};

use super::Generation;

/// The operations of a model: products of matrices and convolutions, forward. A multiplication and an
/// addition are two.
#[derive(Clone, Debug)]
pub struct PredictionOperations<'a> {
    model: &'a Model,
    decodes: bool,
}

impl<'a> PredictionOperations<'a> {
    /// Those of a model, of a decoder where `decodes` says so.
    pub fn of(model: &'a Model, decodes: bool) -> Self {
        Self { model, decodes }
    }

    /// The operations of one sample. Of a decoder the last place alone goes through the map to the ids.
    ///
    /// # Errors
    /// Layers that do not fit together.
    pub fn sample(&self) -> Result<u64> {
        match self.model.input {
            Shape::Ids { length, .. } if self.decodes => self.decoder(length),
            _ => Ok(Flops::of(self.model)?.forward()),
        }
    }

    /// The operations of one sequence that is generated.
    ///
    /// # Errors
    /// Layers that do not fit together.
    pub fn generation(&self, generation: Generation) -> Result<u64> {
        let Generation { prompt, tokens, cached } = generation;
        let later = (prompt + 1)..(prompt + tokens);
        let later: u64 = if cached {
            let (one, seen) = (self.decoder(1)?, self.scores_of_a_place());
            later.map(|length| one + seen * (length as u64 - 1)).sum()
        } else {
            later.map(|length| self.decoder(length)).sum::<Result<u64>>()?
        };
        Ok(self.decoder(prompt)? + later)
    }

    /// Those of a sequence of so many ids, of which the last one goes through the map to the ids.
    fn decoder(&self, length: usize) -> Result<u64> {
        let input = match self.model.input {
            Shape::Ids { below, .. } => Shape::Ids { length, below },
            other => other,
        };
        let flops = Flops::of(&Model { input, layers: self.model.layers.clone() })?;
        let head = flops.components.get(&Component::Head).map_or(0, |head| head.matrix);
        Ok(flops.forward() - head + head / length as u64)
    }

    /// The cost of attention to one more place, for a place: a product with its key, and one with its value.
    fn scores_of_a_place(&self) -> u64 {
        let placed = self.model.placed().unwrap_or_default();
        let of = |layer: &Layer, width: usize| match layer {
            Layer::Attention { .. } => 4 * width as u64,
            _ => 0,
        };
        placed.iter().map(|one| of(one.layer, one.input.last())).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::NamedModel;

    #[test]
    fn keys_and_values_that_are_kept_save_what_goes_through_again() {
        let model = NamedModel::GptTiny.model();
        let operations = PredictionOperations::of(&model, true);
        let of = |cached| operations.generation(Generation { prompt: 16, tokens: 16, cached }).unwrap();
        assert!(10 * of(true) < of(false), "{} {}", of(true), of(false));
        let one = |cached| operations.generation(Generation { prompt: 16, tokens: 1, cached }).unwrap();
        assert_eq!(one(true), one(false), "the first id is of the prompt");
        // By hand: 4 blocks of 12 width^2, twice; scores 4 blocks of 4 length width; the head of one place.
        let (width, length) = (96, 16);
        let by_hand = length * (4 * 2 * 12 * width * width + 4 * 4 * length * width) + 2 * width * 256;
        assert_eq!(one(true), by_hand);
    }

    #[test]
    fn a_convolutional_network_has_the_operations_that_are_published() {
        let model = NamedModel::Resnet50.model();
        let giga = PredictionOperations::of(&model, false).sample().unwrap() as f64 / 2e7;
        assert_eq!(giga.round() as u64, 409); // 4.09 G multiplications with additions
    }
}
