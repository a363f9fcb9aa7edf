//! TAB-1: dense rows, every column brought to mean 0 and deviation 1.

use weighbridge::prelude::*;

use crate::prelude::*;

/// Dense float rows, standardised column by column.
///
/// How fast does a loader feed rows of features to a model, with the one step that tables always need?
/// `Normalize` subtracts each column's mean and multiplies by one over its deviation, so the data change in
/// every number; the constants are part of the data set.
///
/// Timed: fetching the rows, the transform, putting the batch together. Not timed: making and mapping the
/// data, computing the constants, opening the pipeline. The work report must show `Normalize`, and `features`
/// as `f32`.
#[scenario(id = "TAB-1", category = "Tabular", sets = ["canonical", "gate", "tpu"], equivalence = exact,
    workload = workload)]
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
    #[sweep(implied, FrameworkSetting::Best, FrameworkSetting::Default)] setting: FrameworkSetting,
) -> Result<()> {
    bencher.load(loader, &workload(&variant, &workers, &delivery, &setting))
}

/// Returns the pipeline of a point of the sweep.
fn workload(
    variant: &VariantTable,
    workers: &usize,
    delivery: &Destination,
    setting: &FrameworkSetting,
) -> PipelineSpec {
    pipeline(variant).workers(*workers).deliver(*delivery).setting(*setting)
}

fn pipeline(variant: &VariantTable) -> PipelineSpec {
    PipelineSpec::table(variant).map(Normalize)
}
