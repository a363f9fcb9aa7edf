//! HPC-1: the chain of self-supervised learning.

use crate::prelude::*;
use weighbridge::prelude::*;

/// Images of 224 pixels through the eight transforms of self-supervised learning.
///
/// What does a long chain of real work cost, where no step is memory traffic alone: crop, mirror, jitter,
/// grey, blur, solarise, normalise, cast? It is the scenario that more workers should help most.
///
/// Timed: fetching the rows, all eight transforms, putting the batch together. Not timed: making and mapping
/// the data, opening the pipeline. The work report must show the eight transforms, and `image` as `f32`.
#[scenario(id = "HPC-1", category = "Pipeline complexity", sets = ["heavy"],
    workload = workload)]
fn self_supervised(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(
        ssl_small = Images::new(10_000, 224, 64),
        tiny = Images::new(512, 48, 32),
        ssl_medium = Images::new(50_000, 224, 128),
        ssl_large = Images::new(200_000, 224, 256)
    )]
    variant: Images,
    #[sweep(0, 2)] workers: usize,
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
