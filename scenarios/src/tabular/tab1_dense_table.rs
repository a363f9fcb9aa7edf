//! TAB-1: dense rows, every column brought to mean 0 and deviation 1.

use weighbridge::Requirements;
use weighbridge::prelude::*;

use crate::prelude::*;

/// Dense float rows, standardised column by column.
///
/// How fast does a loader feed rows of features to a model, with the one step that tables always need? `Normalize`
/// subtracts each column's mean and multiplies by one over its deviation, so the data change in every number; the
/// constants are part of the data set.
///
/// Timed: fetching the rows, the transform, putting the batch together. Not timed: making and mapping the data,
/// computing the constants, opening the pipeline. The work report must show `Normalize`, and `features` as `f32`.
#[scenario(id = "TAB-1", category = "Tabular", sets = ["canonical", "gate", "tpu"], equivalence = exact,
    needs = needs, describe = describe)]
fn dense_table(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(
        small = VariantTable::new(10_000, 100, 256),
        tiny = VariantTable::new(2_560, 100, 256),
        medium = VariantTable::new(1_000_000, 100, 1_024),
        real_criteo = VariantTable::criteo(10_000, 256)
    )]
    variant: VariantTable,
    #[sweep(0)] workers: usize,
    #[sweep(implied, Destination::Host, Destination::Device)] delivery: Destination,
) -> Result<()> {
    bencher.load(loader, &pipeline(&variant).workers(workers).deliver(delivery))
}

/// What a point needs, for the plan.
fn needs(variant: &VariantTable, workers: &usize, delivery: &Destination) -> Requirements {
    pipeline(variant).workers(*workers).deliver(*delivery).needs()
}

/// What a point does, for listings.
fn describe(variant: &VariantTable, workers: &usize, delivery: &Destination) -> String {
    pipeline(variant).workers(*workers).deliver(*delivery).describe()
}

fn pipeline(variant: &VariantTable) -> PipelineSpec {
    PipelineSpec::table(variant).map(Normalize)
}
