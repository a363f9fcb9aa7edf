//! TAB-2: dense and sparse columns.

use weighbridge::Dtype;
use weighbridge::prelude::*;
use weighbridge_data::FieldValues;

use crate::prelude::*;

/// Thirteen dense columns and 26 sparse ones, each a field of its own, untransformed.
///
/// What does a field cost? A row is 13 `f32` and 26 `i64` ids below 1,000, as click models read them: 27
/// fields, of which all must be put together for every batch of 1,024.
///
/// Timed: fetching the rows of every field, putting the batch together. Not timed: making and mapping the
/// data, opening the pipeline. The work report must show no transform; `dense` as `f32` and `sparse_0` to
/// `sparse_25` as `i64` in every batch.
#[scenario(id = "TAB-2", category = "Tabular", sets = ["canonical", "tpu"], equivalence = exact,
    workload = workload)]
fn sparse_features(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(default = Clicks::new(1_000_000, 1_024), tiny = Clicks::new(100_000, 1_024))] variant: Clicks,
    #[sweep(0)] workers: usize,
    #[sweep(implied, Destination::Host, Destination::Device)] delivery: Destination,
) -> Result<()> {
    bencher.load(loader, &workload(&variant, &workers, &delivery))
}

/// Returns the pipeline of a point of the sweep.
fn workload(variant: &Clicks, workers: &usize, delivery: &Destination) -> PipelineSpec {
    pipeline(variant).workers(*workers).deliver(*delivery)
}

fn pipeline(variant: &Clicks) -> PipelineSpec {
    let dense = DataSpec::normal("dense", variant.elements(), vec![13]);
    let columns = (0..26).map(|column| format!("sparse_{column}"));
    let rows = columns.fold(dense, |rows, name| rows.with(&name, Dtype::I64, &[], FieldValues::Below(1_000)));
    PipelineSpec::new(rows, variant.batch_size())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_is_delivered() {
        let output = pipeline(&Clicks::new(10, 5)).output().unwrap();
        assert_eq!(output.len(), 27);
        assert_eq!((&*output[26].name, output[26].dtype), ("sparse_25", Dtype::I64));
    }
}
