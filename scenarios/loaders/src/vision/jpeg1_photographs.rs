//! JPEG-1: photographs from their files to batches.

use std::fmt;
use std::str::FromStr;

use weighbridge::prelude::*;

use crate::prelude::*;

/// Photographs decoded, cropped at random, mirrored, normalised and put together.
///
/// How fast does a loader feed an image classifier from what people really have: JPEG files of 500 x 375
/// pixels, 4:2:0? Every system decodes by the decoder that its users take, and crops and resizes by its own
/// operators. `files` has a file for each photograph, `tar` shards of such files, `records` the system's own
/// format, and `memory` their bytes in memory, where decoding alone is left.
///
/// Timed: reading, decoding, the crop of 8 to 100 % of the area to 224 x 224, the mirror, the division,
/// putting the batch together. Not timed: making the photographs, writing them in the form that is asked for,
/// opening the pipeline. The work report must show `DecodeResizedCrop`, `RandomFlip`, `Normalize`, and
/// `image` as `f32`. Work must be alike, and not the same: decoders differ by a level or two, and draws are
/// each system's own.
#[scenario(id = "JPEG-1", category = "Computer vision", workload = workload)]
fn photographs(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(default = PhotographForms(1_024), tiny = PhotographForms(128), large = PhotographForms(20_000))]
    variant: PhotographForms,
    #[sweep(Storage::Files, Storage::Tar, Storage::Records, Storage::Memory)] storage: Storage,
    #[sweep(0, 2)] workers: usize,
    #[sweep(implied, Interpreter::Default, Interpreter::FreeThreaded)] python: Interpreter,
) -> Result<()> {
    bencher.load(loader, &workload(&variant, &storage, &workers, &python))
}

/// Returns the pipeline of a point of the sweep.
fn workload(
    variant: &PhotographForms,
    storage: &Storage,
    workers: &usize,
    python: &Interpreter,
) -> PipelineSpec {
    pipeline(*variant, *storage).workers(*workers).interpreter(*python)
}

/// The number of photographs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhotographForms(pub usize);

/// The storage of the photographs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// A file for each.
    Files,
    /// Tar shards of files.
    Tar,
    /// The system's own format of records.
    Records,
    /// Their bytes in memory.
    Memory,
}

impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Files => "files",
            Self::Tar => "tar",
            Self::Records => "records",
            Self::Memory => "memory",
        })
    }
}

impl FromStr for Storage {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::Files, Self::Tar, Self::Records, Self::Memory];
        let found = all.into_iter().find(|storage| storage.to_string() == text);
        found.ok_or_else(|| format!("`{text}` is none of `files`, `tar`, `records`, `memory`"))
    }
}

fn pipeline(PhotographForms(elements): PhotographForms, storage: Storage) -> PipelineSpec {
    let access = match storage {
        Storage::Files => Access::Files,
        Storage::Tar => Access::Tar,
        Storage::Records => Access::Records,
        Storage::Memory => Access::Memory,
    };
    // 64 decoded photographs are 37 MiB: the tiny variant has smaller batches.
    let batch = (elements / 16).min(64);
    [DecodeResizedCrop, RandomFlip, Normalize, CastToFloat32]
        .into_iter()
        .fold(PipelineSpec::new(DataSpec::photographs(elements), batch), PipelineSpec::map)
        .access(access)
        .operators(Operators::Own)
}
