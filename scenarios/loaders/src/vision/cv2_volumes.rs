//! CV-2: float volumes, two to a batch.

use weighbridge::prelude::*;

use crate::prelude::*;

/// Float volumes in batches of two, standardised.
///
/// How fast does a loader move few but large elements, as medical images are: 1 MiB a volume, 2 MiB a batch?
/// The loop around a batch costs nothing here; memory does.
///
/// Timed: fetching the rows, the transform, putting the batch together. Not timed: making and mapping the
/// data, opening the pipeline. The work report must show `Normalize`, and `volume` as `f32`.
///
/// `Normalize` takes the constants of the data set for each index of the last axis, so it changes every
/// number. In the suite that this one follows it left `f32` as it was, and the scenario was iteration alone.
#[scenario(id = "CV-2", category = "Computer vision", sets = ["canonical", "tpu"],
    workload = workload)]
fn volumes(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(
        default = Volumes::new(500, 64, 2),
        tiny = Volumes::new(12, 64, 2),
        large = Volumes::new(5_000, 128, 2)
    )]
    variant: Volumes,
    #[sweep(0)] workers: usize,
    #[sweep(implied, Destination::Host, Destination::Device)] delivery: Destination,
    #[sweep(implied, Operators::Shared, Operators::Own)] operators: Operators,
) -> Result<()> {
    bencher.load(loader, &workload(&variant, &workers, &delivery, &operators))
}

/// Returns the pipeline of a point of the sweep.
fn workload(
    variant: &Volumes,
    workers: &usize,
    delivery: &Destination,
    operators: &Operators,
) -> PipelineSpec {
    pipeline(variant).workers(*workers).deliver(*delivery).operators(*operators)
}

/// Cubes of `f32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Volumes {
    elements: usize,
    side: usize,
    batch_size: usize,
}

impl Volumes {
    /// This many, of this side, in batches of this many.
    pub const fn new(elements: usize, side: usize, batch_size: usize) -> Self {
        Self { elements, side, batch_size }
    }
}

fn pipeline(variant: &Volumes) -> PipelineSpec {
    let Volumes { elements, side, batch_size } = *variant;
    PipelineSpec::new(DataSpec::normal("volume", elements, vec![side; 3]), batch_size).map(Normalize)
}
