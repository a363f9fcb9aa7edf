//! HCV-2: images with masks.

use weighbridge::Dtype;
use weighbridge::prelude::*;
use weighbridge_data::FieldValues;

use crate::prelude::*;

/// Images with masks of 21 classes, moved together and resized each in its way.
///
/// What does a paired field cost, and is it kept in step? The crop and the mirror are drawn once for both;
/// the image is resized bilinearly, the mask to the nearest pixel, and only the image's colours are jittered.
///
/// Timed: fetching the rows, all five transforms, both fields, putting the batch together. Not timed: making
/// and mapping the data, opening the pipeline. The work report must show the five transforms, `image` and
/// `mask` as `f32`: the cast is of every field, and a class stays a whole number.
///
/// In the suite that this one follows the mask was interpolated and jittered like an image.
#[scenario(id = "HCV-2", category = "Computer vision", sets = ["heavy"], equivalence = exact,
    workload = workload)]
fn segmentation(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(
        seg_small = Pairs::new(10_000, 256, 16),
        tiny = Pairs::new(512, 48, 16),
        seg_medium = Pairs::new(50_000, 640, 8)
    )]
    variant: Pairs,
    #[sweep(0)] workers: usize,
    #[sweep(implied, Destination::Host, Destination::Device)] delivery: Destination,
) -> Result<()> {
    bencher.load(loader, &workload(&variant, &workers, &delivery))
}

/// Returns the pipeline of a point of the sweep.
fn workload(variant: &Pairs, workers: &usize, delivery: &Destination) -> PipelineSpec {
    pipeline(variant).workers(*workers).deliver(*delivery)
}

/// Square images, each with a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pairs {
    images: Images,
}

impl Pairs {
    /// This many, of this side, in batches of this many.
    pub const fn new(elements: usize, side: usize, batch_size: usize) -> Self {
        Self { images: Images::new(elements, side, batch_size) }
    }
}

fn pipeline(variant: &Pairs) -> PipelineSpec {
    let side = variant.images.side();
    let mut spec = PipelineSpec::images(&variant.images);
    spec.source = spec.source.with("mask", Dtype::I32, &[side, side, 1], FieldValues::Below(21));
    [RandomResizedCrop, RandomFlip, ColorJitter, Normalize, CastToFloat32]
        .into_iter()
        .fold(spec, PipelineSpec::map)
}
