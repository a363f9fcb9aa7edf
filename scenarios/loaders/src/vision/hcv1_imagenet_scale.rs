//! HCV-1: the augmentation of image classifiers.

use crate::prelude::*;
use weighbridge::prelude::*;

/// Images of 224 pixels, cropped, resized, mirrored, jittered and normalised.
///
/// What does the usual augmentation of an image classifier cost at its usual size?
///
/// Timed: fetching the rows, all five transforms, putting the batch together. Not timed: making and mapping
/// the data, opening the pipeline. The work report must show the five transforms, and `image` as `f32`.
///
/// The colours are jittered on the range of `u8`. In the suite that this one follows they were limited to [0,
/// 1] there, and every image came out nearly black.
#[scenario(id = "HCV-1", category = "Computer vision", sets = ["heavy"], equivalence = exact,
    workload = workload)]
fn imagenet_scale(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(
        imagenet_small = Images::new(50_000, 224, 256),
        tiny = Images::new(512, 48, 32),
        imagenet_medium = Images::new(200_000, 224, 512),
        real_cifar10 = Images::cifar10_resized(50_000, 224, 256)
    )]
    variant: Images,
    #[sweep(0)] workers: usize,
    #[sweep(implied, Destination::Host, Destination::Device)] delivery: Destination,
) -> Result<()> {
    bencher.load(loader, &workload(&variant, &workers, &delivery))
}

/// Returns the pipeline of a point of the sweep.
fn workload(variant: &Images, workers: &usize, delivery: &Destination) -> PipelineSpec {
    pipeline(variant).workers(*workers).deliver(*delivery)
}

fn pipeline(variant: &Images) -> PipelineSpec {
    let chain = [RandomResizedCrop, RandomFlip, ColorJitter, Normalize, CastToFloat32];
    chain.into_iter().fold(PipelineSpec::images(variant), PipelineSpec::map)
}
