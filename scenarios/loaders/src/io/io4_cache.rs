//! IO-4: the first epoch, and those that a cache spares.

use std::sync::Arc;

use weighbridge::prelude::*;
use weighbridge::{
    Budget, Costs, ExpectedEpoch, FileUse, ItemCopy, Remote, RemoteEpoch, RemoteRun, UnstoppedRequest,
};
use weighbridge_data::time_epoch;
use xxhash_rust::xxh3::Xxh3;

use crate::contract::{for_each_batch, load_epochs, open_data};
use crate::prelude::*;

/// An expensive transform and a cheap one, with a cache: the first epoch beside later ones.
///
/// What does a cache of finished batches bring? The case `first` streams the first epoch of a pipeline whose
/// cache is empty; `later` streams an epoch after a first one that was whole, so every batch is there. Both
/// have all records: nothing is measured over the warm-up's batches alone. The metric `cache_speedup`, of
/// `later`, is the time of the first epoch over the mean time of the two after it.
///
/// Timed: fetching the rows, both transforms and keeping the batch (`first`), or copying the batch that was
/// kept (`later`). Not timed: making and mapping the data, opening the pipeline, and for `later` the first
/// epoch and the comparison. The work report must show `ExpensiveTransform`, `CheapTransform` and `cache`.
///
/// In `later`, outside the clock, three epochs are hashed: they must have one digest and all elements, or the
/// scenario fails.
#[scenario(id = "IO-4", category = "Input and output", equivalence = exact, workload = workload)]
fn cache(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(default = Images::floats(5_000, 64, 64), tiny = Images::floats(320, 64, 64))] variant: Images,
    #[sweep(all, first = Epoch::First, later = Epoch::Later)] epoch: Epoch,
    #[sweep(0)] workers: usize,
) -> Result<()> {
    let spec = workload(&variant, &epoch, &workers);
    if epoch == Epoch::First {
        return bencher.load(loader, &spec); // every pass begins with epoch 0, and so with an empty cache
    }
    let (spec, data) = open_data(bencher, &spec)?;
    let mut epochs = bencher.open(|| loader.open(&spec, &data))?;
    let (cold, warm) = compare(&mut *epochs, &data)?;
    let remote = epochs.remote()?;
    let costs = remote.as_ref().map_or_else(Costs::default, |remote| remote.costs());
    let expected = remote.and_then(|remote| remote.expected());
    load_epochs(bencher, &mut Later { epochs, costs, expected }, &spec, &data)?;
    bencher.metric("cache_speedup", cold / warm, Unit::RATIO, Direction::Higher);
    Ok(())
}

/// Returns the pipeline of a point of the sweep.
fn workload(variant: &Images, _: &Epoch, workers: &usize) -> PipelineSpec {
    pipeline(variant).workers(*workers)
}

/// The epoch that is streamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Epoch {
    /// The one that fills the cache.
    First,
    /// One that the cache spares.
    Later,
}

fn pipeline(variant: &Images) -> PipelineSpec {
    PipelineSpec::images(variant).map(ExpensiveTransform).map(CheapTransform).cached()
}

/// Goes through three epochs twice: by the clock, and with a hash. Gives the seconds of the first epoch and
/// the mean of the others.
fn compare(epochs: &mut dyn Epochs, data: &Arc<DataSet>) -> Result<(f64, f64)> {
    let mut seconds = [0.0; 3];
    for (epoch, seconds) in (0..).zip(&mut seconds) {
        *seconds = time_epoch(epochs, epoch)?.as_secs_f64();
    }
    let mut digests = Vec::new();
    for epoch in 0..3 {
        let (mut hash, mut elements) = (Xxh3::new(), 0);
        for_each_batch(epochs, epoch, &mut |batch| {
            elements += batch.elements();
            hash.update(batch.bytes(0));
        })?;
        if elements != data.elements() {
            let all = data.elements();
            return Err(Error::new(format!("epoch {epoch} has {elements} elements instead of {all}")));
        }
        digests.push(hash.digest128());
    }
    if digests.iter().any(|digest| *digest != digests[0]) {
        return Err(Error::new(
            "the cache does not deliver the first epoch again: the epochs have different bytes",
        ));
    }
    Ok((seconds[0], f64::midpoint(seconds[1], seconds[2])))
}

/// Epoch 1, whichever is begun: never the one that empties the cache.
struct Later<'a> {
    epochs: Box<dyn Epochs + 'a>,
    /// The costs of coming this far, if it runs in another process.
    costs: Costs,
    /// The expected content of an epoch, likewise.
    expected: Option<ExpectedEpoch>,
}

impl Epochs for Later<'_> {
    fn begin(&mut self, _epoch: u64) -> Result<()> {
        self.epochs.begin(1)
    }

    fn advance(&mut self) -> Result<bool> {
        self.epochs.advance()
    }

    fn ready(&mut self) -> Result<()> {
        self.epochs.ready()
    }

    fn batch(&self) -> &dyn Batch {
        self.epochs.batch()
    }

    fn whole_pass(&self) -> bool {
        self.epochs.whole_pass()
    }

    fn pass(&mut self, batches: u64, each: &mut dyn FnMut(&dyn Batch)) -> Result<u64> {
        self.epochs.pass(batches, each)
    }

    fn in_order(&self) -> bool {
        self.epochs.in_order()
    }

    fn executed(&self) -> ExecutedWork {
        self.epochs.executed()
    }

    fn entry_point(&self) -> Option<String> {
        self.epochs.entry_point()
    }

    fn remote(&mut self) -> Result<Option<&mut dyn Remote>> {
        Ok(if self.epochs.remote()?.is_some() { Some(self) } else { None })
    }
}

impl Later<'_> {
    /// The pipeline in its process.
    fn there(&mut self) -> Result<&mut dyn Remote> {
        self.epochs.remote()?.ok_or_else(|| Error::new("the pipeline no longer runs in another process"))
    }
}

impl Remote for Later<'_> {
    fn verify(&mut self, _epoch: u64, each: &mut dyn FnMut(ItemCopy) -> Result<()>) -> Result<()> {
        self.there()?.verify(1, each)
    }

    fn run(&mut self, _epoch: u64, budget: Budget) -> Result<RemoteRun> {
        self.there()?.run(1, budget)
    }

    fn time_epoch(&mut self, _epoch: u64, asked: UnstoppedRequest) -> Result<RemoteEpoch> {
        self.there()?.time_epoch(1, asked)
    }

    fn expected(&self) -> Option<ExpectedEpoch> {
        self.expected
    }

    /// A cache is memory that was made before, and is what this scenario measures.
    fn files(&self) -> Option<FileUse> {
        None
    }

    fn grown(&self) -> Option<u64> {
        None
    }

    fn costs(&self) -> Costs {
        self.costs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::changed_loader::{ChangedLoader, TimedReference, bencher, metrics};

    fn run(epoch: Epoch, change: fn(&mut PipelineSpec)) -> Result<()> {
        cache(&mut bencher(), &mut ChangedLoader::new(change), Images::floats(200, 8, 64), epoch, 0)
    }

    #[test]
    fn both_cases_run_and_epochs_that_differ_fail() {
        run(Epoch::First, |_| {}).unwrap();
        run(Epoch::Later, |_| {}).unwrap();
        let other = |spec: &mut PipelineSpec| {
            spec.structure.cache = false;
            spec.transforms.push(GaussianNoise);
        };
        assert!(run(Epoch::Later, other).unwrap_err().to_string().contains("different bytes"));
    }

    #[test]
    fn the_speed_up_is_the_first_epoch_over_the_mean_of_the_two_after_it() {
        let speed_up = |seconds| {
            let mut bencher = bencher();
            cache(
                &mut bencher,
                &mut TimedReference::new(seconds),
                Images::floats(200, 8, 64),
                Epoch::Later,
                0,
            )
            .unwrap();
            metrics(bencher).unwrap()
        };
        let told = |value: f64| [("cache_speedup".to_owned(), value)];
        assert_eq!(speed_up(|_, epoch| [8, 1, 3][epoch as usize]), told(4.0));
        assert_eq!(
            speed_up(|spec, _| if spec.structure.cache { 2 } else { 5 }),
            told(1.0),
            "all have a cache"
        );
    }
}
