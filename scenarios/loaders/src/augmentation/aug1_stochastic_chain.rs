//! AUG-1: a chain of random transforms.

use weighbridge::prelude::*;

use crate::prelude::*;

/// Normalised images with noise for each number and a shift for each image.
///
/// What do random numbers cost? `GaussianNoise` draws one for each of 3,072 numbers of an image,
/// `RandomBrightness` one for the image; both are addressed, so that the batches are the same in every run,
/// with any number of workers.
///
/// Timed: fetching the rows, all three transforms, putting the batch together. Not timed: making and mapping
/// the data, opening the pipeline. The work report must show `Normalize`, `GaussianNoise`,
/// `RandomBrightness`, and `image` as `f32`.
#[scenario(id = "AUG-1", category = "Augmentation",
    workload = workload)]
fn stochastic_chain(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(
        small = Images::new(10_000, 32, 64),
        tiny = Images::new(1_000, 32, 64),
        medium = Images::new(5_000, 128, 128),
        large = Images::new(50_000, 256, 64)
    )]
    variant: Images,
    #[sweep(0)] workers: usize,
    #[sweep(implied, Destination::Host, Destination::Device)] delivery: Destination,
    #[sweep(implied, Operators::Shared, Operators::Own)] operators: Operators,
) -> Result<()> {
    bencher.load(loader, &workload(&variant, &workers, &delivery, &operators))
}

/// Returns the pipeline of a point of the sweep.
fn workload(
    variant: &Images,
    workers: &usize,
    delivery: &Destination,
    operators: &Operators,
) -> PipelineSpec {
    pipeline(variant).workers(*workers).deliver(*delivery).operators(*operators)
}

fn pipeline(variant: &Images) -> PipelineSpec {
    PipelineSpec::images(variant).map(Normalize).map(GaussianNoise).map(RandomBrightness)
}
