//! PR-2: random transforms that give the same bytes in every run.

use std::fmt;
use std::sync::Arc;

use weighbridge::prelude::*;
use xxhash_rust::xxh3::Xxh3;

use crate::contract::{for_each_batch, keep_order, load_in_order};
use crate::prelude::*;

/// Random crops and flips: the same bytes in every run, other bytes in every epoch.
///
/// Can a training run be repeated exactly, and what does the randomness cost? The timed stream is the
/// throughput of `RandomCrop` and `RandomFlip` over 5,000 images. After it, outside the clock, in every
/// repeat: the pipeline is opened once per run and goes through every epoch; the bytes are hashed in the
/// order of delivery. Epoch `e` must have one digest in all runs, different epochs different digests, and
/// every epoch all elements; and one more run goes through the first epoch with no worker, one and two, which
/// must change nothing. Anything else is a failure. (A loader that declines a number of workers, or hands out
/// their batches in any order, is compared over the others.)
///
/// Timed: fetching the rows, both transforms, putting the batch together. Not timed: making and mapping the
/// data, opening the pipeline, the comparison. The work report must show `RandomCrop`, `RandomFlip`, and
/// `image` as `u8`.
#[scenario(id = "PR-2", category = "Production", sets = ["canonical", "gate"], equivalence = exact,
    workload = workload)]
fn determinism(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(
        small = RepeatCounts { runs: 2, epochs: 2, elements: ELEMENTS },
        full = RepeatCounts { runs: 3, epochs: 5, elements: ELEMENTS },
        tiny = RepeatCounts { runs: 2, epochs: 2, elements: 640 }
    )]
    variant: RepeatCounts,
    #[sweep(0)] workers: usize,
) -> Result<()> {
    let spec = workload(&variant, &workers).seed(bencher.seed());
    let (spec, data) = load_in_order(bencher, loader, &spec)?;
    let digests = compare(loader, &spec, &data, variant)?;
    bencher.metric("epochs compared", digests as f64, Unit::COUNT, Direction::Information);
    Ok(())
}

/// Returns the pipeline of a point of the sweep.
fn workload(variant: &RepeatCounts, workers: &usize) -> PipelineSpec {
    pipeline(*variant).workers(*workers)
}

/// The repetitions that must give the same bytes: runs, and epochs of each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RepeatCounts {
    /// Pipelines opened one after the other.
    pub runs: usize,
    /// Epochs of each.
    pub epochs: u64,
    /// Images of an epoch.
    pub elements: usize,
}

/// As records have it, without the usual number of images: by this text they know that a label still means
/// the same.
impl fmt::Debug for RepeatCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Repeated");
        text.field("runs", &self.runs).field("epochs", &self.epochs);
        if self.elements != ELEMENTS {
            text.field("elements", &self.elements);
        }
        text.finish()
    }
}

/// Images of the variants that spare none.
const ELEMENTS: usize = 5_000;

fn pipeline(variant: RepeatCounts) -> PipelineSpec {
    PipelineSpec::images(&Images::new(variant.elements, 64, 64)).map(RandomCrop).map(RandomFlip)
}

/// Compares the epochs of all runs and says how many were looked at.
fn compare(
    loader: &mut dyn Loader,
    spec: &PipelineSpec,
    data: &Arc<DataSet>,
    variant: RepeatCounts,
) -> Result<u64> {
    let mut expected = Vec::new();
    for run in 0..variant.runs {
        let mut epochs = loader.open(spec, data)?;
        for epoch in 0..variant.epochs {
            let (elements, digest) = digest(&mut *epochs, epoch)?;
            if elements != spec.elements().len() {
                let all = spec.elements().len();
                return Err(Error::new(format!(
                    "run {run}, epoch {epoch} has {elements} elements instead of {all}"
                )));
            }
            if run == 0 {
                if let Some(same) = expected.iter().position(|earlier| *earlier == digest) {
                    return Err(Error::new(format!(
                        "epochs {same} and {epoch} have the same bytes: \
                         the random transforms do not follow the epoch"
                    )));
                }
                expected.push(digest);
            } else if expected[epoch as usize] != digest {
                return Err(Error::new(format!(
                    "run {run}, epoch {epoch} has the digest {digest:032x}, but run 0 had {:032x}: the \
                     pipeline does not repeat itself",
                    expected[epoch as usize]
                )));
            }
        }
    }
    let mut compared = variant.runs as u64 * variant.epochs;
    for workers in OTHER_WORKERS.into_iter().filter(|&workers| workers != spec.workers) {
        let other = spec.clone().workers(workers);
        let found = match loader.open(&other, data).and_then(|mut epochs| digest(&mut *epochs, 0)) {
            Err(why) if why.is_skip() => continue,
            found => found?.1,
        };
        if Some(&found) != expected.first() {
            return Err(Error::new(format!(
                "with {workers} workers epoch 0 has the digest {found:032x}, with {} another: the number of \
                 workers changes the bytes or their order",
                spec.workers
            )));
        }
        compared += 1;
    }
    Ok(compared)
}

/// Numbers of workers over which the first epoch is compared.
const OTHER_WORKERS: [usize; 3] = [0, 1, 2];

/// Returns the number of elements of an epoch, and the hash of all its bytes in the order of delivery.
fn digest(epochs: &mut dyn Epochs, epoch: u64) -> Result<(usize, u128)> {
    keep_order(epochs)?;
    let (mut elements, mut hash) = (0, Xxh3::new());
    for_each_batch(epochs, epoch, &mut |batch| {
        elements += batch.elements();
        for field in 0..batch.kinds().len() {
            hash.update(batch.bytes(field));
        }
    })?;
    Ok((elements, hash.digest128()))
}

#[cfg(test)]
mod tests {
    use weighbridge::{Budget, FieldKind, Purpose, Settings};

    use super::*;
    use crate::adapters::native::{Reference, ReferenceFused};

    const SMALL: RepeatCounts = RepeatCounts { runs: 2, epochs: 2, elements: ELEMENTS };

    fn run(loader: &mut dyn Loader) -> Result<()> {
        let mut bencher = Bencher::new(Settings::new(Purpose::Smoke, Budget::SMOKE));
        determinism(&mut bencher, loader, SMALL, 0)
    }

    /// The reference with something changed on the way out.
    struct ChangedLoader {
        opened: u64,
        change: fn(opened: u64, epoch: u64, real: &mut dyn Epochs) -> Result<()>,
        reference: Reference,
    }

    impl ChangedLoader {
        fn new(change: fn(u64, u64, &mut dyn Epochs) -> Result<()>) -> Self {
            Self { opened: 0, change, reference: Reference }
        }
    }

    struct ChangedEpochs<'a> {
        opened: u64,
        change: fn(u64, u64, &mut dyn Epochs) -> Result<()>,
        real: Box<dyn Epochs + 'a>,
    }

    impl Loader for ChangedLoader {
        fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
            self.opened += 1;
            let real = self.reference.open(spec, data)?;
            Ok(Box::new(ChangedEpochs { opened: self.opened, change: self.change, real }))
        }
    }

    impl Epochs for ChangedEpochs<'_> {
        fn begin(&mut self, epoch: u64) -> Result<()> {
            (self.change)(self.opened, epoch, &mut *self.real)
        }

        fn advance(&mut self) -> Result<bool> {
            self.real.advance()
        }

        fn batch(&self) -> &dyn Batch {
            self.real.batch()
        }

        fn executed(&self) -> ExecutedWork {
            self.real.executed()
        }
    }

    #[test]
    fn the_reference_loaders_repeat_themselves() {
        run(&mut Reference).unwrap();
        run(&mut ReferenceFused).unwrap();
    }

    #[test]
    fn another_run_with_other_draws_fails() {
        let said =
            run(&mut ChangedLoader::new(|opened, epoch, real| real.begin(100 * opened + epoch))).unwrap_err();
        assert!(said.to_string().contains("does not repeat itself") && !said.is_skip(), "{said}");
    }

    #[test]
    fn workers_that_change_the_bytes_fail() {
        // The pipelines that are opened third and later are those with other numbers of workers.
        let other = |opened, epoch, real: &mut dyn Epochs| real.begin(if opened > 3 { 77 } else { epoch });
        let said = run(&mut ChangedLoader::new(other)).unwrap_err();
        assert!(said.to_string().contains("the number of workers changes"), "{said}");
    }

    #[test]
    fn epochs_that_are_all_alike_fail() {
        let said = run(&mut ChangedLoader::new(|_, _, real| real.begin(0))).unwrap_err();
        assert!(said.to_string().contains("epochs 0 and 1 have the same bytes"), "{said}");
    }

    #[test]
    fn an_epoch_that_lacks_elements_fails() {
        let late = |_, epoch, real: &mut dyn Epochs| {
            real.begin(epoch)?;
            real.advance().map(drop)
        };
        let said = run(&mut ChangedLoader::new(late)).unwrap_err();
        assert!(said.to_string().contains("has 64 elements instead of 128"), "{said}");
    }

    #[test]
    fn an_image_stays_an_image() {
        let output: Vec<FieldKind> = pipeline(SMALL).output().unwrap();
        assert_eq!((output[0].dtype, &*output[0].shape), (weighbridge::Dtype::U8, &[64, 64, 3][..]));
    }
}
