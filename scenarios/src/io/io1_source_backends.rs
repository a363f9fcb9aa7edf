//! IO-1: the same records from memory, from a file read whole, from a file read bit by bit.

use weighbridge::Needs;
use weighbridge::prelude::*;

use crate::prelude::*;

/// The same records from memory and from files.
///
/// What does it cost to take rows from a file instead of from memory? 5,000 images of 64 x 64 x 3 `u8`, normalised, come
/// from
///
/// - `memory_source`: memory that was filled in set-up;
/// - `file_eager`: the data set's file, read whole into memory when the first batch is asked for. That read is the first
///   item's time; the batches after it come from memory, at the price of a second copy of the data;
/// - `file_streaming`: the data set's file, read batch by batch inside the timed region, with memory for one batch.
///
/// The file was read in set-up to check it, so it lies in the page cache: what is seen is the price of reading through
/// the system, not of the disk.
///
/// Timed: reading (as above), the transform, putting the batch together. Not timed: making and checking the data,
/// opening the files. The ticket must show the same input digest and `Normalize` for all three.
#[scenario(id = "IO-1", category = "Input and output", sets = ["canonical", "gate"], equivalence = exact,
    needs = needs, describe = describe)]
fn source_backends(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(
        all,
        memory_source = Access::Memory,
        file_eager = Access::FileEager,
        file_streaming = Access::FileStreaming
    )]
    variant: Access,
    #[sweep(0)] workers: usize,
) -> Result<()> {
    bencher.load(loader, &pipeline(variant).workers(workers))
}

/// What a point needs, for the plan.
fn needs(variant: &Access, workers: &usize) -> Needs {
    pipeline(*variant).workers(*workers).needs()
}

/// What a point does, for listings.
fn describe(variant: &Access, workers: &usize) -> String {
    pipeline(*variant).workers(*workers).describe()
}

fn pipeline(access: Access) -> PipelineSpec {
    PipelineSpec::images(&Images::new(5_000, 64, 64)).access(access).map(Normalize)
}
