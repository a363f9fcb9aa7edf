//! CV-1: images to normalised float batches.

use weighbridge::prelude::*;

use crate::prelude::*;

/// Images to normalised float batches.
///
/// How fast does a loader turn `u8` images (height, width, channels) into `f32` batches in `[0, 1]`: the
/// input of every image classifier?
///
/// Timed: fetching the rows, both transforms, putting the batch together. Not timed: making and mapping the
/// data, opening the pipeline. The work report must show `Normalize`, `CastToFloat32`, and `image` as `f32`;
/// the cast finds `f32` already and has nothing to do where the system's `Normalize` gives that type. The
/// variants `batch_1` to `batch_512` are `small` in batches of other sizes: small ones show what a batch
/// costs a system however little is in it.
#[scenario(id = "CV-1", category = "Computer vision", sets = ["canonical", "gate", "tpu"],
    workload = workload)]
#[expect(clippy::too_many_arguments, reason = "each is an axis")]
fn image_classification(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(
        small = Images::new(10_000, 32, 64),
        tiny = Images::new(1_000, 32, 64),
        medium = Images::new(5_000, 128, 128),
        large = Images::new(50_000, 256, 64),
        batch_1 = Images::new(10_000, 32, 1),
        batch_8 = Images::new(10_000, 32, 8),
        batch_64 = Images::new(10_000, 32, 64),
        batch_512 = Images::new(10_000, 32, 512),
        real_cifar10 = Images::cifar10(10_000, 64)
    )]
    variant: Images,
    #[sweep(0, 2)] workers: usize,
    #[sweep(implied, Destination::Host, Destination::Device)] delivery: Destination,
    #[sweep(implied, Operators::Shared, Operators::Own)] operators: Operators,
    #[sweep(implied, Interpreter::Default, Interpreter::FreeThreaded)] python: Interpreter,
    #[sweep(implied, FrameworkSetting::Best, FrameworkSetting::Default)] setting: FrameworkSetting,
) -> Result<()> {
    bencher.load(loader, &workload(&variant, &workers, &delivery, &operators, &python, &setting))
}

/// Returns the pipeline of a point of the sweep.
fn workload(
    variant: &Images,
    workers: &usize,
    delivery: &Destination,
    operators: &Operators,
    python: &Interpreter,
    setting: &FrameworkSetting,
) -> PipelineSpec {
    let pipeline = pipeline(variant).workers(*workers).deliver(*delivery);
    pipeline.operators(*operators).interpreter(*python).setting(*setting)
}

fn pipeline(variant: &Images) -> PipelineSpec {
    PipelineSpec::images(variant).map(Normalize).map(CastToFloat32)
}
