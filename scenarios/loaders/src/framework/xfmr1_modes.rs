//! XFMR-1: one list of transforms, run in four ways.

use weighbridge::prelude::*;
use xxhash_rust::xxh3::xxh3_128;

use crate::contract::{load_epochs, open_data, tell_recompilations};
use crate::prelude::*;

/// The same three transforms, eager, vectorised, compiled and fused, at three resolutions.
///
/// What does it bring to run a list of transforms in another way? Images go through `Normalize`, `RandomCrop`
/// and `AffineRotation`
///
/// - `eager`: element by element, each transform called through a pointer and giving a new array;
/// - `vectorised`: transform by transform, each over the whole batch;
/// - `compiled`: element by element, through a list that was put together when the program was compiled;
/// - `fused`: in one pass, each number computed from its source at once.
///
/// Each mode is code of its own and a case of one run. After the stream, outside the clock, in every repeat,
/// the first batches of the mode are hashed and those of the loader's ordinary pipeline: they must be the
/// same bits, or the scenario fails.
///
/// Timed: fetching the rows, the transforms, putting the batch together. Not timed: making and mapping the
/// data, opening the pipeline, the comparison. The metric `recompilations` is how often a system that
/// compiles has done so from the first batch of the stream to its last. The work report must show the three
/// transforms and the mode, and `image` as `f32`. A loader that has one way to run a list declines.
///
/// The older suite took the list of modes and ran one.
#[scenario(id = "XFMR-1", category = "Framework", equivalence = exact, workload = workload)]
fn modes(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(
        "32x32" = Images::floats(50_000, 32, 128),
        "128x128" = Images::floats(50_000, 128, 64),
        "512x512" = Images::floats(10_000, 512, 16),
        tiny = Images::floats(512, 32, 64)
    )]
    variant: Images,
    #[sweep(
        all,
        eager = ExecutionMode::Eager,
        vectorised = ExecutionMode::Vectorised,
        compiled = ExecutionMode::Compiled,
        fused = ExecutionMode::Fused
    )]
    mode: ExecutionMode,
) -> Result<()> {
    let (spec, data) = open_data(bencher, &pipeline(&variant))?;
    let mut epochs = bencher.open(|| loader.open_in(mode, &spec, &data))?;
    let before = epochs.compilations()?;
    load_epochs(bencher, &mut *epochs, &spec, &data)?;
    tell_recompilations(bencher, before, epochs.compilations()?);
    drop(epochs);
    let found = digests(&mut *loader.open_in(mode, &spec, &data)?)?;
    let expected = digests(&mut *loader.open(&spec, &data)?)?;
    if found != expected {
        return Err(Error::new(format!(
            "`mode` {mode} delivers other bits than the loader's ordinary pipeline: the digests of its first \
             batches are {found:x?}, and should be {expected:x?}"
        )));
    }
    bencher.metric("compared_batches", found.len() as f64, Unit::COUNT, Direction::Information);
    Ok(())
}

/// Returns the pipeline of a point of the sweep.
fn workload(variant: &Images, _: &ExecutionMode) -> PipelineSpec {
    pipeline(variant)
}

fn pipeline(variant: &Images) -> PipelineSpec {
    PipelineSpec::images(variant).map(Normalize).map(RandomCrop).map(AffineRotation)
}

/// Batches that are compared.
const COMPARED: u64 = 4;

fn digests(epochs: &mut dyn Epochs) -> Result<Vec<u128>> {
    epochs.begin(0)?;
    let mut digests = Vec::new();
    epochs.pass(COMPARED, &mut |batch| digests.push(xxh3_128(batch.bytes(0))))?;
    Ok(digests)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::adapters::native::Reference;
    use crate::contract::changed_loader::bencher;

    /// The reference, whose modes see another seed.
    struct Elsewhere(Reference);

    impl Loader for Elsewhere {
        fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
            self.0.open(spec, data)
        }

        fn open_in(
            &mut self,
            mode: ExecutionMode,
            spec: &PipelineSpec,
            data: &Arc<DataSet>,
        ) -> Result<Box<dyn Epochs + '_>> {
            self.0.open_in(mode, &spec.clone().seed(7), data)
        }
    }

    #[test]
    fn a_mode_that_does_other_work_fails() {
        for mode in ExecutionMode::ALL {
            modes(&mut bencher(), &mut Reference, Images::floats(64, 9, 16), mode).unwrap();
            let said = modes(&mut bencher(), &mut Elsewhere(Reference), Images::floats(64, 9, 16), mode);
            assert!(said.unwrap_err().to_string().contains("delivers other bits"));
        }
    }

    #[test]
    fn a_loader_with_one_way_declines_by_name() {
        let loader = &mut crate::adapters::native::Rayon;
        let said =
            modes(&mut bencher(), loader, Images::floats(64, 9, 16), ExecutionMode::Fused).unwrap_err();
        assert!(said.is_skip() && said.to_string().contains("`mode` fused"), "{said}");
    }
}
