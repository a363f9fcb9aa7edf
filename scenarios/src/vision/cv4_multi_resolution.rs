//! CV-4: images resized to two resolutions.

use weighbridge::Needs;
use weighbridge::prelude::*;

use crate::prelude::*;

/// Images resized to half of each side and back to the whole, then normalised.
///
/// What does resizing cost, to more than one target in one pipeline: down to half of the resolution, and up again? Both
/// are bilinear, on `u8`, rounded to `u8` after each.
///
/// Timed: fetching the rows, both resizings, the cast, putting the batch together. Not timed: making and mapping the
/// data, opening the pipeline. The ticket must show `MultiScaleResize`, `Normalize`, and `image` as `f32`.
#[scenario(id = "CV-4", category = "Computer vision", equivalence = exact,
    needs = needs, describe = describe)]
fn multi_resolution(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(default = Images::new(2_000, 128, 64), tiny = Images::new(512, 48, 64), large = Images::new(50_000, 512, 64))]
    variant: Images,
    #[sweep(0)] workers: usize,
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

fn pipeline(variant: &Images) -> PipelineSpec {
    PipelineSpec::images(variant).map(MultiScaleResize).map(Normalize)
}
