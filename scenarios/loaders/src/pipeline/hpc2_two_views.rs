//! HPC-2: two views of each image.

use crate::prelude::*;
use weighbridge::prelude::*;

/// Images of 224 pixels, each delivered twice, through seven transforms with draws of their own.
///
/// What do two views of an image cost, the input of contrastive learning? Two branches start from the same
/// row; nothing is merged: the batch has the fields `image_1` and `image_2`.
///
/// Timed: fetching the rows, both branches, putting the batch together. Not timed: making and mapping the
/// data, opening the pipeline. The work report must show the seven transforms in each of two branches,
/// `2 branches delivered as views`, `image_1` and `image_2` as `f32`.
///
/// In the suite that this one follows there was one view, from one chain.
#[scenario(id = "HPC-2", category = "Pipeline complexity", sets = ["heavy"], equivalence = exact,
    workload = workload)]
fn two_views(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(
        dag_small = Images::new(10_000, 224, 64),
        tiny = Images::new(512, 48, 16),
        dag_medium = Images::new(100_000, 224, 128)
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

/// The transforms that make a view.
const VIEW: [Transform; 7] =
    [RandomResizedCrop, ColorJitter, GaussianBlur, RandomSolarize, RandomGrayscale, Normalize, CastToFloat32];

fn pipeline(variant: &Images) -> PipelineSpec {
    PipelineSpec::images(variant).branch(&VIEW).branch(&VIEW).merge(Merge::Views)
}
