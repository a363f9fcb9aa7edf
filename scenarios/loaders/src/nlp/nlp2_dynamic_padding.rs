//! NLP-2: rows of many lengths, padded batch by batch.

use weighbridge::Dtype;
use weighbridge::prelude::*;
use weighbridge_data::{FieldValues, VOCABULARY};

use crate::contract::open_data;
use crate::prelude::*;

/// Token rows of 10 to 512 tokens, padded to the longest of their batch, with a mask.
///
/// What does padding cost where rows differ in length? A batch is as wide as its longest row, rounded up to a
/// multiple of 8, so batches differ in width, and the mask says which tokens are real.
///
/// Timed: fetching the rows, padding, the mask, putting the batch together. Not timed: making and mapping the
/// data, opening the pipeline. The work report must show `DynamicPad`, `CreateAttentionMask`; `tokens`,
/// `length` and `attention_mask` in every batch.
///
/// After the stream, outside the clock, one epoch shows the widths of its first batches; if eight or more are
/// all alike, the scenario fails. In the suite that this one follows the generator had padded every row to
/// 512, and nothing was left to do.
#[scenario(id = "NLP-2", category = "Natural language", sets = ["canonical", "tpu"], equivalence = exact,
    workload = workload)]
fn dynamic_padding(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(default = PaddedRows::new(100_000, 512, 32), tiny = PaddedRows::new(5_000, 512, 32))]
    variant: PaddedRows,
    #[sweep(0)] workers: usize,
) -> Result<()> {
    let spec = workload(&variant, &workers);
    bencher.load(loader, &spec)?;
    let widths = widths(bencher, loader, &spec)?;
    let (least, greatest) = (widths.iter().min(), widths.iter().max());
    if widths.len() >= 8 && least == greatest {
        return Err(Error::new(format!(
            "{} batches all have the width {greatest:?}: nothing was padded",
            widths.len()
        )));
    }
    for (name, width) in [("width/min", least), ("width/max", greatest)] {
        bencher.metric(name, width.map_or(0.0, |width| *width as f64), Unit::COUNT, Direction::Information);
    }
    Ok(())
}

/// Returns the pipeline of a point of the sweep.
fn workload(variant: &PaddedRows, workers: &usize) -> PipelineSpec {
    pipeline(variant).workers(*workers)
}

/// Rows of up to so many tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaddedRows {
    elements: usize,
    length: usize,
    batch_size: usize,
}

impl PaddedRows {
    /// This many, of 10 to `length` tokens, in batches of this many.
    pub const fn new(elements: usize, length: usize, batch_size: usize) -> Self {
        Self { elements, length, batch_size }
    }
}

fn pipeline(variant: &PaddedRows) -> PipelineSpec {
    let PaddedRows { elements, length, batch_size } = *variant;
    let rows = DataSpec::synthetic(elements, Vec::new())
        .with("tokens", Dtype::I32, &[length], FieldValues::Between(1, VOCABULARY)) // 0 is the padding
        .with("length", Dtype::I32, &[], FieldValues::Between(10, length as u32 + 1));
    PipelineSpec::new(rows, batch_size).map(DynamicPad).map(CreateAttentionMask)
}

/// The widths of the first batches.
fn widths(bencher: &Bencher, loader: &mut dyn Loader, spec: &PipelineSpec) -> Result<Vec<usize>> {
    let (spec, data) = open_data(bencher, spec)?;
    let mut epochs = loader.open(&spec, &data)?;
    epochs.begin(0)?;
    let mut widths = Vec::new();
    epochs.pass(64, &mut |batch| {
        let tokens = batch.kinds().iter().find(|kind| kind.name == "tokens");
        widths.extend(tokens.and_then(|kind| kind.shape.first()));
    })?;
    Ok(widths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::changed_loader::{ChangedLoader, bencher};

    fn run(change: fn(&mut PipelineSpec)) -> Result<()> {
        dynamic_padding(&mut bencher(), &mut ChangedLoader::new(change), PaddedRows::new(640, 64, 8), 0)
    }

    #[test]
    fn batches_that_are_all_as_wide_as_the_data_fail() {
        run(|_| {}).unwrap();
        let unpadded = |spec: &mut PipelineSpec| {
            spec.transforms.remove(0);
        };
        assert!(run(unpadded).unwrap_err().to_string().contains("nothing was padded"));
    }
}
