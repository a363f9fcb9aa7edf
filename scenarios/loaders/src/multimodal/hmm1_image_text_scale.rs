//! HMM-1: image and text at scale.

use weighbridge::Dtype;
use weighbridge::prelude::*;
use weighbridge_data::FieldValues;

use crate::prelude::*;

/// Images of 224 pixels, cropped and normalised, with 77 tokens each.
///
/// What does the input of contrastive models cost at its usual size? The crop is of images alone; the tokens
/// beside them pass.
///
/// Timed: fetching the rows, all three transforms, both fields, putting the batch together. Not timed: making
/// and mapping the data, opening the pipeline. The work report must show the three transforms, `image` and
/// `tokens` as `f32`: the cast is of every field.
///
/// In the suite that this one follows most systems failed here, since the crop took the tokens for an image.
#[scenario(id = "HMM-1", category = "Multimodal", sets = ["heavy"], equivalence = exact,
    workload = workload)]
fn image_text_scale(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(
        clip_small = Images::new(50_000, 224, 256),
        tiny = Images::new(512, 48, 32),
        clip_medium = Images::new(500_000, 224, 512),
        real_coco = Images::coco(50_000, 224, 256, IDS)
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

/// Token ids are below this: the vocabulary of CLIP.
const IDS: u32 = 49_408;

fn pipeline(variant: &Images) -> PipelineSpec {
    let mut spec = PipelineSpec::images(variant);
    spec.source = spec.source.with("tokens", Dtype::I32, &[77], FieldValues::Below(IDS));
    spec.map(RandomResizedCrop).map(Normalize).map(CastToFloat32)
}
