//! MM-1: pairs of image and text.

use weighbridge::Dtype;
use weighbridge::prelude::*;
use weighbridge_data::{FieldValues, VOCABULARY};

use crate::prelude::*;

/// Float images with 77 tokens each, the images standardised.
///
/// What does a second field cost, when one is large and one is small: the input of contrastive models?
///
/// Timed: fetching the rows, the transform, both fields, putting the batch together. Not timed: making and
/// mapping the data, opening the pipeline. The work report must show `Normalize`, `image` as `f32` and
/// `tokens` as `i32`.
///
/// `Normalize` standardises by the constants of the data set, so it changes every number; it leaves the
/// tokens alone.
#[scenario(id = "MM-1", category = "Multimodal", equivalence = exact,
    workload = workload)]
fn image_text(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(
        default = Images::floats(5_000, 64, 64),
        tiny = Images::floats(512, 64, 64),
        large = Images::floats(50_000, 224, 64),
        real_coco = Images::coco_floats(5_000, 64, 64, VOCABULARY)
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
    let mut spec = PipelineSpec::images(variant);
    spec.source = spec.source.with("tokens", Dtype::I32, &[77], FieldValues::Below(VOCABULARY));
    spec.map(Normalize)
}
