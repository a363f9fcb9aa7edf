//! The weights of a model: drawn from a seed, the same for every system.

use weighbridge::{Dtype, FieldKind, Result};
use weighbridge_data::{DataSpec, FieldSpec, FieldValues, Origin};
use weighbridge_training::workload::model::{Layer, Model, Scheme, Start};

/// The weights of a model, as every system builds it.
///
/// They are those that a training begins with, but for two things. Nothing is left at zero: whoever leaves
/// out a bias or a shift answers otherwise. And rows of tables are as large as what blocks add to them: else
/// the answer to one text would be that to any other. A batch norm has a mean and a variance beside them,
/// since a model that predicts does not look at its batch.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelWeights {
    spec: DataSpec,
}

/// The seed of the weights.
const SEED: u64 = 1;

/// The deviation of rows of tables, in millionths.
const ROWS: u32 = 1_000_000;

/// The deviation of biases, shifts and means, in millionths.
const SHIFT: u32 = 100_000;

impl ModelWeights {
    /// The weights of a model.
    ///
    /// # Errors
    /// Layers that do not fit together.
    pub fn of(model: &Model) -> Result<Self> {
        Self::with_head(model, true)
    }

    /// The same where the last map has a bias of zeros: that of GPT-2 has none, and some systems have no
    /// place for one.
    ///
    /// # Errors
    /// Layers that do not fit together.
    pub fn without_bias_of_head(model: &Model) -> Result<Self> {
        Self::with_head(model, false)
    }

    fn with_head(model: &Model, has_bias: bool) -> Result<Self> {
        let placed = model.placed()?;
        let bare = (!has_bias).then(|| format!("{}.bias", model.layers.len() - 1));
        let batch_norms: Vec<String> = placed
            .iter()
            .filter(|one| matches!(one.layer, Layer::BatchNorm { .. }))
            .map(|one| format!("{}.shift", one.at))
            .collect();
        let mut fields = Vec::new();
        for one in model.parameters()? {
            let values = match one.start {
                _ if Some(&one.name) == bare.as_ref() => FieldValues::Same(0),
                _ if one.name.rsplit('.').next() == Some("scale") => FieldValues::Same(1),
                Start::Zeros => FieldValues::Spread(SHIFT),
                Start::Rows => FieldValues::Spread(ROWS),
                start => Scheme::Lecun.millionths(start).map_or(FieldValues::Same(1), FieldValues::Spread),
            };
            let after = batch_norms.contains(&one.name).then(|| one.clone());
            fields.push(field(one.name, one.shape, values));
            if let Some(shift) = after {
                let name = |what| shift.name.replace(".shift", what);
                let (mean, variance) = (name(".mean"), name(".variance"));
                fields.push(field(mean, shift.shape.clone(), FieldValues::Spread(SHIFT)));
                fields.push(field(variance, shift.shape, FieldValues::Same(1)));
            }
        }
        Ok(Self { spec: DataSpec { fields, elements: 1, origin: Origin::Synthetic { seed: SEED } } })
    }

    /// One element, a field for each tensor, in the order of the layers.
    pub fn data(&self) -> &DataSpec {
        &self.spec
    }

    /// Numbers of all tensors.
    pub fn count(&self) -> usize {
        self.spec.kinds().map(|kind| kind.shape.iter().product::<usize>()).sum()
    }
}

fn field(name: String, shape: Vec<usize>, values: FieldValues) -> FieldSpec {
    FieldSpec { kind: FieldKind { name, dtype: Dtype::F32, shape }, values }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::NamedModel;

    #[test]
    fn no_bias_is_zero_and_a_batch_norm_has_statistics_of_its_own() {
        let weights = ModelWeights::of(&NamedModel::ResnetTiny.model()).unwrap();
        let of = |name: &str| weights.data().fields.iter().find(|field| field.kind.name == name).unwrap();
        assert_eq!(of("1.mean").values, FieldValues::Spread(SHIFT));
        assert_eq!(of("1.variance").values, FieldValues::Same(1));
        assert!(weights.data().fields.iter().all(|field| field.values != FieldValues::Same(0)));
        let gpt = ModelWeights::without_bias_of_head(&NamedModel::GptTiny.model()).unwrap();
        let zeros: Vec<&str> = gpt
            .data()
            .fields
            .iter()
            .filter(|field| field.values == FieldValues::Same(0))
            .map(|field| field.kind.name.as_str())
            .collect();
        assert_eq!(zeros, ["11.bias"], "of a head alone");
        let model = NamedModel::EncoderTiny.model();
        assert_eq!(ModelWeights::of(&model).unwrap().count(), model.size().unwrap());
    }
}
