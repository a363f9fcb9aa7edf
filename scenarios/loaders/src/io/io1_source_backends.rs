//! IO-1: the same records from memory, from a file read whole, from a file read bit by bit.

use std::fmt;
use std::str::FromStr;

use weighbridge::prelude::*;

use crate::prelude::*;

/// The same records from memory and from files.
///
/// What does it cost to take rows from a file instead of from memory? 5,000 images of 64 x 64 x 3 `u8`,
/// normalised, come from
///
/// - `memory_source`: memory that was filled in set-up;
/// - `file_eager`: the data set's file, read whole into memory when the first batch is asked for. That read
///   is the first item's time; the batches after it come from memory, at the price of a second copy of the
///   data;
/// - `file_streaming`: the data set's file, read batch by batch inside the timed region, with memory for one
///   batch.
///
/// The file was read in set-up to check it, so it lies in the page cache: what is seen is the price of
/// reading through the system, not of the disk.
///
/// Timed: reading (as above), the transform, putting the batch together. Not timed: making and checking the
/// data, opening the files. The work report must show the same input digest and `Normalize` for all three.
///
/// `--param variant=tiny` streams 640 images, for smoke runs. It is no label, so that a plain run goes on
/// with the three.
#[scenario(id = "IO-1", category = "Input and output", sets = ["canonical", "gate"], equivalence = exact,
    workload = workload)]
fn source_backends(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(
        all,
        memory_source = SourceBackend::Memory,
        file_eager = SourceBackend::FileEager,
        file_streaming = SourceBackend::FileStreaming
    )]
    variant: SourceBackend,
    #[sweep(0)] workers: usize,
    #[sweep(implied, Destination::Host, Destination::Device)] delivery: Destination,
) -> Result<()> {
    bencher.load(loader, &workload(&variant, &workers, &delivery))
}

/// Returns the pipeline of a point of the sweep.
fn workload(variant: &SourceBackend, workers: &usize, delivery: &Destination) -> PipelineSpec {
    variant.pipeline().workers(*workers).deliver(*delivery)
}

/// The source of the images. (Records know by these names that a label still means the same.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceBackend {
    /// Memory that was filled in set-up.
    Memory,
    /// A file, read whole with the first batch.
    FileEager,
    /// A file, read batch by batch.
    FileStreaming,
    /// The same, of few images.
    Tiny,
}

impl SourceBackend {
    fn pipeline(self) -> PipelineSpec {
        let (access, elements) = match self {
            Self::Memory => (Access::Memory, 5_000),
            Self::FileEager => (Access::FileEager, 5_000),
            Self::FileStreaming => (Access::FileStreaming, 5_000),
            Self::Tiny => (Access::FileStreaming, 640),
        };
        PipelineSpec::images(&Images::new(elements, 64, 64)).access(access).map(Normalize)
    }
}

impl fmt::Display for SourceBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "memory_source",
            Self::FileEager => "file_eager",
            Self::FileStreaming => "file_streaming",
            Self::Tiny => "tiny",
        })
    }
}

impl FromStr for SourceBackend {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "tiny" { Ok(Self::Tiny) } else { Err(format!("`{text}` is not `tiny`")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiny_is_read_back_and_is_small() {
        assert_eq!("tiny".parse::<SourceBackend>().unwrap().to_string(), "tiny");
        assert!("large".parse::<SourceBackend>().is_err());
        assert!(SourceBackend::Tiny.pipeline().needs().memory <= 64 << 20);
    }
}
