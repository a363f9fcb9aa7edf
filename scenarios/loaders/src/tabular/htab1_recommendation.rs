//! HTAB-1: the columns of a recommender.

use weighbridge::Dtype;
use weighbridge::prelude::*;
use weighbridge_data::FieldValues;

use crate::prelude::*;

/// Thirteen dense columns and 26 columns of ids: logarithm, hash, normalisation.
///
/// What does the preparation of click logs cost? The dense columns go through `LogTransform` and `Normalize`,
/// whose constants are those of the raw columns; the ids, below 2^30, are hashed to 10,000 rows of an
/// embedding.
///
/// Timed: fetching the rows, all three transforms, both fields, putting the batch together. Not timed: making
/// and mapping the data, opening the pipeline. The work report must show `LogTransform`,
/// `HashEmbeddingIndex`, `Normalize`; `dense` as `f32` and `sparse` as `i32` (of `real_criteo`, `i64`: the
/// CRC-32 of each category's text).
///
/// In the suite that this one follows the ids were cast to `f32` and went through the logarithm; nothing was
/// hashed, and `Normalize` did nothing.
#[scenario(id = "HTAB-1", category = "Tabular", sets = ["heavy"], equivalence = exact,
    workload = workload)]
fn recommendation(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(
        small = Clicks::new(1_000_000, 4_096),
        tiny = Clicks::new(100_000, 4_096),
        medium = Clicks::new(10_000_000, 8_192),
        real_criteo = Clicks::criteo(1_000_000, 4_096)
    )]
    variant: Clicks,
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
    let rows = match variant.origin() {
        None => dense.with("sparse", Dtype::I32, &[26], FieldValues::Below(1 << 30)),
        Some(origin) => dense.with("sparse", Dtype::I64, &[26], FieldValues::Read).read_from(origin),
    };
    PipelineSpec::new(rows, variant.batch_size()).map(LogTransform).map(HashEmbeddingIndex).map(Normalize)
}
