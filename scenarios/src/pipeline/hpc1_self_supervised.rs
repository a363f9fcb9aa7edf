//! HPC-1: the chain of self-supervised learning.

use crate::prelude::*;
use weighbridge::Needs;
use weighbridge::prelude::*;

/// Images of 224 pixels through the eight transforms of self-supervised learning.
///
/// What does a long chain of real work cost, where no step is memory traffic alone: crop, mirror, jitter, grey, blur,
/// solarise, normalise, cast? It is the scenario that more workers should help most.
///
/// Timed: fetching the rows, all eight transforms, putting the batch together. Not timed: making and mapping the data,
/// opening the pipeline. The ticket must show the eight transforms, and `image` as `f32`.
#[scenario(id = "HPC-1", category = "Pipeline complexity", sets = ["heavy"], equivalence = exact,
    needs = needs, describe = describe)]
fn self_supervised(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(ssl_small = Images::new(10_000, 224, 64), tiny = Images::new(512, 48, 32), ssl_medium = Images::new(50_000, 224, 128), ssl_large = Images::new(200_000, 224, 256))]
    variant: Images,
    #[sweep(0, 2)] workers: usize,
    #[sweep(implied, Destination::Host, Destination::Device)] delivery: Destination,
) -> Result<()> {
    bencher.load(loader, &pipeline(&variant).workers(workers).deliver(delivery))
}

/// What a point needs, for the plan.
fn needs(variant: &Images, workers: &usize, delivery: &Destination) -> Needs {
    pipeline(variant).workers(*workers).deliver(*delivery).needs()
}

/// What a point does, for listings.
fn describe(variant: &Images, workers: &usize, delivery: &Destination) -> String {
    pipeline(variant).workers(*workers).deliver(*delivery).describe()
}

/// The chain.
const CHAIN: [Transform; 8] = [
    RandomResizedCrop,
    RandomFlip,
    ColorJitter,
    RandomGrayscale,
    GaussianBlur,
    RandomSolarize,
    Normalize,
    CastToFloat32,
];

fn pipeline(variant: &Images) -> PipelineSpec {
    CHAIN.into_iter().fold(PipelineSpec::images(variant), PipelineSpec::map)
}
