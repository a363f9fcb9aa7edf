//! PR-1: an epoch that is broken off, saved, and gone on with.

use std::sync::Arc;

use weighbridge::prelude::*;
use xxhash_rust::xxh3::Xxh3;

use crate::contract::{for_each_batch, open_data};
use crate::prelude::*;

/// Save the place in an epoch, restore it elsewhere, and go on with the same bytes.
///
/// What does a checkpoint of the input pipeline cost, and is it true? The timed stream is the pipeline's
/// throughput, as it is between two checkpoints. After it, in every repeat, a pipeline is broken off after
/// its first batch, in the middle and before its last batch; each time its place is saved, written to a file
/// and synced; then the pipeline is dropped, another is opened, and the file is read and restored. Everything
/// it delivers from there on, hashed in order, must be what a pipeline delivers that was never broken off.
/// The older suite took `checkpoint` and iterated.
///
/// Timed: in the stream, fetching the rows, the transform, putting the batch together; in the blocks `save`
/// and `restore`, those two alone, with the file. Not timed: making and mapping the data, opening pipelines,
/// the comparison. The work report must show `Normalize`; the metrics are the size of a checkpoint, the
/// blocks' times, and the wait for the first batch after a restore.
#[scenario(id = "PR-1", category = "Production", sets = ["canonical", "tpu"], equivalence = exact,
    workload = workload)]
fn checkpoint(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(
        small = SavedPlace { elements: 10_000, batch_size: 64, shape: &[32, 32, 3] },
        medium = SavedPlace { elements: 5_000, batch_size: 64, shape: &[64, 64, 3] },
        large = SavedPlace { elements: 500, batch_size: 4, shape: &[64, 64, 64] },
        tiny = SavedPlace { elements: 640, batch_size: 64, shape: &[32, 32, 3] }
    )]
    variant: SavedPlace,
    #[sweep(0)] workers: usize,
) -> Result<()> {
    let spec = workload(&variant, &workers).seed(bencher.seed());
    bencher.load(loader, &spec)?;
    go_on(bencher, loader, &spec)
}

/// Returns the pipeline of a point of the sweep.
fn workload(variant: &SavedPlace, workers: &usize) -> PipelineSpec {
    variant.pipeline().workers(*workers)
}

/// The data that are iterated over: elements, batch size, and the shape of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedPlace {
    elements: usize,
    batch_size: usize,
    shape: &'static [usize],
}

impl SavedPlace {
    fn pipeline(self) -> PipelineSpec {
        let name = if self.shape == [64, 64, 64] { "volume" } else { "image" };
        PipelineSpec::new(DataSpec::normal(name, self.elements, self.shape.to_vec()), self.batch_size)
            .map(Normalize)
    }
}

/// Breaks epochs off, goes on with them elsewhere, and compares.
fn go_on(bencher: &Bencher, loader: &mut dyn Loader, spec: &PipelineSpec) -> Result<()> {
    let (spec, data) = open_data(bencher, spec)?;
    let whole = uninterrupted(loader, &spec, &data)?;
    let last = whole.len() - 1;
    let mut places = vec![1, whole.len() / 2, last];
    places.retain(|place| (1..=last).contains(place));
    places.dedup();
    if places.is_empty() {
        return Err(Error::new("the epoch has one batch: it cannot be broken off in the middle"));
    }
    let file = bencher.scratch()?.join("place");
    for place in places {
        let bytes = save(bencher, loader, &spec, &data, place, &file)?;
        bencher.metric("checkpoint size", bytes as f64, Unit::BYTES, Direction::Lower);
        restore(bencher, loader, &spec, &data, place, &file, &whole)?;
    }
    Ok(())
}

/// The digest of every batch of an epoch that is not broken off.
fn uninterrupted(loader: &mut dyn Loader, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Vec<u128>> {
    let mut digests = Vec::new();
    for_each_batch(&mut *loader.open(spec, data)?, EPOCH, &mut |batch| digests.push(digest(batch)))?;
    if digests.is_empty() {
        return Err(Error::new("the epoch has no batch"));
    }
    Ok(digests)
}

/// The epoch that is broken off: not the first, so that a place without its epoch would be seen.
const EPOCH: u64 = 1;

/// Goes to the place and saves it in a file; the file's size.
fn save(
    bencher: &Bencher,
    loader: &mut dyn Loader,
    spec: &PipelineSpec,
    data: &Arc<DataSet>,
    place: usize,
    file: &std::path::Path,
) -> Result<usize> {
    let mut epochs = loader.open(spec, data)?;
    epochs.begin(EPOCH)?;
    for _ in 0..place {
        if !epochs.advance()? {
            return Err(Error::new(format!("the epoch ended before its batch {place}")));
        }
        epochs.ready()?;
    }
    bencher.measure("save", || {
        let saved = epochs.save()?;
        let written = std::fs::File::create(file).and_then(|mut out| {
            std::io::Write::write_all(&mut out, &saved)?;
            out.sync_all()
        });
        written.map_err(|error| Error::new(format!("failed to write {}: {error}", file.display())))?;
        Ok(saved.len())
    })
}

/// Goes on from the file in a pipeline that knows nothing else, and compares all that follows.
fn restore(
    bencher: &Bencher,
    loader: &mut dyn Loader,
    spec: &PipelineSpec,
    data: &Arc<DataSet>,
    place: usize,
    file: &std::path::Path,
    whole: &[u128],
) -> Result<()> {
    let mut epochs = loader.open(spec, data)?;
    bencher.measure("restore", || {
        let saved = std::fs::read(file);
        let saved =
            saved.map_err(|error| Error::new(format!("failed to read {}: {error}", file.display())))?;
        epochs.restore(&saved)
    })?;
    let mut at = place;
    let mut more = bencher.measure("first batch after restore", || epochs.advance())?;
    while more {
        epochs.ready()?;
        let found = digest(epochs.batch());
        if whole.get(at) != Some(&found) {
            return Err(Error::new(format!(
                "restored after {place} batches, batch {at} has the digest {found:032x}, which is not that \
                 of the epoch that was not broken off: the restored pipeline goes on elsewhere"
            )));
        }
        at += 1;
        more = epochs.advance()?;
    }
    if at != whole.len() {
        let all = whole.len();
        return Err(Error::new(format!(
            "restored after {place} batches, the epoch ends after {at} of {all}"
        )));
    }
    Ok(())
}

fn digest(batch: &dyn Batch) -> u128 {
    let mut hash = Xxh3::new();
    for field in 0..batch.kinds().len() {
        hash.update(batch.bytes(field));
    }
    hash.digest128()
}

#[cfg(test)]
mod tests {
    use weighbridge::{Budget, Purpose, Settings};

    use super::*;
    use crate::adapters::native::{Reference, ReferenceFused};

    fn run(loader: &mut dyn Loader) -> Result<weighbridge::RepeatResult> {
        let place = tempfile::tempdir().unwrap();
        let settings =
            Settings { scratch: place.path().into(), ..Settings::new(Purpose::Measure, Budget::SMOKE) };
        let mut bencher = Bencher::new(settings);
        checkpoint(
            &mut bencher,
            loader,
            SavedPlace { elements: 640, batch_size: 64, shape: &[32, 32, 3] },
            0,
        )?;
        bencher.finish()
    }

    #[test]
    fn the_reference_loaders_go_on_with_the_same_bytes_and_say_what_it_cost() {
        let loaders: [&mut dyn Loader; 2] = [&mut Reference, &mut ReferenceFused];
        for loader in loaders {
            let seen = run(loader).unwrap().seen;
            let sizes: Vec<f64> = seen.custom.iter().map(|metric| metric.value).collect();
            assert_eq!(sizes, [40.0; 3]);
            for name in ["save", "restore", "first batch after restore"] {
                assert_eq!(seen.regions.iter().filter(|region| region.path == name).count(), 3, "{name}");
            }
        }
    }

    #[test]
    fn workers_go_on_in_the_middle_too() {
        let place = tempfile::tempdir().unwrap();
        let spec = PipelineSpec::new(DataSpec::images(100, 8, 3), 8).map(RandomFlip);
        let data = Arc::new(weighbridge_data::Cache::at(place.path()).open(&spec.source).unwrap());
        let mut loader = Reference;
        let whole = uninterrupted(&mut loader, &spec, &data).unwrap();
        for workers in [0, 1, 2, 3] {
            for at in 0..=whole.len() {
                let mut epochs = loader.open(&spec.clone().workers(workers), &data).unwrap();
                epochs.begin(EPOCH).unwrap();
                for _ in 0..at {
                    assert!(epochs.advance().unwrap());
                }
                let saved = epochs.save().unwrap();
                drop(epochs);
                let mut epochs = loader.open(&spec.clone().workers(3 - workers), &data).unwrap();
                epochs.restore(&saved).unwrap();
                let mut rest = Vec::new();
                while epochs.advance().unwrap() {
                    rest.push(digest(epochs.batch()));
                }
                assert_eq!(rest, whole[at..], "{workers} workers, after {at}");
            }
        }
    }

    /// The reference, restored somewhere else than it was told, or not at all.
    struct WrongSubject(Restore, Reference);

    type Restore = fn(&mut dyn Epochs, &[u8]) -> Result<()>;

    struct WrongEpochs<'a>(Restore, Box<dyn Epochs + 'a>);

    impl Loader for WrongSubject {
        fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
            Ok(Box::new(WrongEpochs(self.0, self.1.open(spec, data)?)))
        }
    }

    impl Epochs for WrongEpochs<'_> {
        fn begin(&mut self, epoch: u64) -> Result<()> {
            self.1.begin(epoch)
        }
        fn advance(&mut self) -> Result<bool> {
            self.1.advance()
        }
        fn batch(&self) -> &dyn Batch {
            self.1.batch()
        }
        fn save(&mut self) -> Result<Vec<u8>> {
            self.1.save()
        }
        fn restore(&mut self, saved: &[u8]) -> Result<()> {
            (self.0)(&mut *self.1, saved)
        }
        fn executed(&self) -> ExecutedWork {
            self.1.executed()
        }
    }

    #[test]
    fn a_pipeline_that_goes_on_elsewhere_fails() {
        let start = run(&mut WrongSubject(|epochs, _| epochs.begin(EPOCH), Reference)).unwrap_err();
        assert!(start.to_string().contains("goes on elsewhere"), "{start}");
        let late: Restore = |epochs, saved| {
            epochs.restore(saved)?;
            while epochs.advance()? {}
            Ok(())
        };
        let late = run(&mut WrongSubject(late, Reference));
        assert!(late.unwrap_err().to_string().contains("the epoch ends after 1 of 10"));
    }

    #[test]
    fn a_loader_that_cannot_save_is_a_skip() {
        let declines: Restore = |_, _| Err(weighbridge::skip("it cannot restore its place in an epoch"));
        let why = run(&mut WrongSubject(declines, Reference)).unwrap_err();
        assert!(why.is_skip(), "{why}");
    }
}
