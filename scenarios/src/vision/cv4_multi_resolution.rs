//! CV-4: images resized to two resolutions.

use weighbridge::prelude::*;
use weighbridge::{Equivalence, Requirements};

use crate::prelude::*;

/// Images resized to half of each side and back to the whole, then normalised.
///
/// What does resizing cost, to more than one target in one pipeline: down to half of the resolution, and up again? Both
/// are bilinear, on `u8`, rounded to `u8` after each.
///
/// Timed: fetching the rows, both resizings, the cast, putting the batch together. Not timed: making and mapping the
/// data, opening the pipeline. The work report must show `MultiScaleResize`, `Normalize`, and `image` as `f32`.
#[scenario(id = "CV-4", category = "Computer vision", equivalence = by(agreement),
    needs = needs, describe = describe)]
fn multi_resolution(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(default = Images::new(2_000, 128, 64), tiny = Images::new(512, 48, 64), large = Images::new(50_000, 512, 64))]
    variant: Images,
    #[sweep(0)] workers: usize,
    #[sweep(implied, Destination::Host, Destination::Device)] delivery: Destination,
    #[sweep(implied, Operators::Shared, Operators::Own)] operators: Operators,
) -> Result<()> {
    bencher.load(loader, &pipeline(&variant).workers(workers).deliver(delivery).operators(operators))
}

/// What must agree at a point.
fn agreement(
    variant: &Images,
    workers: &usize,
    delivery: &Destination,
    operators: &Operators,
) -> Equivalence {
    pipeline(variant).workers(*workers).deliver(*delivery).operators(*operators).agreement()
}

/// What a point needs, for the plan.
fn needs(variant: &Images, workers: &usize, delivery: &Destination, operators: &Operators) -> Requirements {
    pipeline(variant).workers(*workers).deliver(*delivery).operators(*operators).needs()
}

/// What a point does, for listings.
fn describe(variant: &Images, workers: &usize, delivery: &Destination, operators: &Operators) -> String {
    pipeline(variant).workers(*workers).deliver(*delivery).operators(*operators).describe()
}

fn pipeline(variant: &Images) -> PipelineSpec {
    PipelineSpec::images(variant).map(MultiScaleResize).map(Normalize)
}
