//! `bencher.load`: a loader's epochs as a stream that the harness can time.

use std::hint::black_box;
use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;
use weighbridge::{
    Bencher, Direction, ExpectedEpoch, Field, Item, ItemBytes, Result, See, Source, Unit, skip,
};
use weighbridge_data::{Batch, Cache, DataSet, Epochs, cut};

use super::deliver::{check_platform, deliver};
use super::lives::live;
use crate::contract::{Loader, experiments};
use crate::workload::{Destination, PipelineSpec};

/// Batches that a smoke run has.
const SMOKE_BATCHES: usize = 2;

/// Adds `load` to the bencher.
pub trait Load {
    /// Runs a pipeline through a loader: makes the data, opens the pipeline, times its batches, hands in the
    /// work report.
    ///
    /// Timed: from the request for a batch until it is ready where the pipeline is to deliver it. Not timed:
    /// making and mapping the data, opening the pipeline, going back to the start of the epoch. A smoke run
    /// cuts the data to two batches.
    ///
    /// # Errors
    /// What is impossible in the pipeline; what the loader declines (a skip) or says; batches that are to be
    /// on a device in a run for the host (a skip), or that are not where they were asked for; what the stream
    /// says.
    fn load(&self, loader: &mut dyn Loader, spec: &PipelineSpec) -> Result<()>;
}

impl Load for Bencher {
    fn load(&self, loader: &mut dyn Loader, spec: &PipelineSpec) -> Result<()> {
        let (spec, data) = open_data(self, spec)?;
        live(self, loader, &spec, &data)?;
        let epochs = self.open(|| deliver(loader.open(&spec, &data)?, &spec))?;
        load_and_close(self, epochs, &spec, &data)?;
        experiment_if_asked(self, loader, &spec, &data)
    }
}

/// As [`Load::load`], for a scenario that compares batches place by place: a pipeline that hands them out in
/// any order is declined before anything is measured. Gives the pipeline as it was run, and its data, for
/// what follows.
///
/// # Errors
/// As [`Load::load`] and [`keep_order`].
pub fn load_in_order(
    bencher: &Bencher,
    loader: &mut dyn Loader,
    spec: &PipelineSpec,
) -> Result<(PipelineSpec, Arc<DataSet>)> {
    let (spec, data) = open_data(bencher, spec)?;
    live(bencher, loader, &spec, &data)?;
    let epochs = bencher.open(|| deliver(loader.open(&spec, &data)?, &spec))?;
    keep_order(&*epochs)?;
    load_and_close(bencher, epochs, &spec, &data)?;
    experiment_if_asked(bencher, loader, &spec, &data)?;
    Ok((spec, data))
}

fn experiment_if_asked(
    bencher: &Bencher,
    loader: &mut dyn Loader,
    spec: &PipelineSpec,
    data: &Arc<DataSet>,
) -> Result<()> {
    if bencher.is_smoke() || !experiments::asked()? {
        return Ok(());
    }
    if spec.source.elements <= spec.batch_size.saturating_mul(experiments::BATCHES) {
        return experiments::experiment(bencher, loader, spec, data);
    }
    let (spec, data) = open_data(bencher, &spec.clone().cut_to(experiments::BATCHES))?;
    experiments::experiment(bencher, loader, &spec, &data)
}

fn load_and_close(
    bencher: &Bencher,
    mut epochs: Box<dyn Epochs + '_>,
    spec: &PipelineSpec,
    data: &DataSet,
) -> Result<()> {
    load_epochs(bencher, &mut *epochs, spec, data)?;
    if let Some(took) = epochs.close()? {
        bencher.metric("tear_down", took.as_secs_f64(), Unit::SECONDS, Direction::Lower);
    }
    Ok(())
}

/// Times the batches of an open pipeline, as [`Load::load`] does, and hands in its work report. A pipeline in
/// another process times itself. Elements are counted by the specification.
///
/// # Errors
/// What the stream says; what is impossible in the pipeline.
pub fn load_epochs(
    bencher: &Bencher,
    epochs: &mut dyn Epochs,
    spec: &PipelineSpec,
    data: &DataSet,
) -> Result<()> {
    bencher.work(epochs.executed().report(data, epochs.entry_point()));
    // Epoch 0 begins with an empty cache, and no other epoch does.
    let epoch = if spec.structure.cache { 0 } else { bencher.epoch() };
    let on_device = spec.destination == Destination::Device;
    stream_epochs(bencher, epochs, epoch, spec.expected()?, on_device, data)
}

/// Times an epoch that holds what is `expected`: where it runs, or as the stream that is made of it here. A
/// worker that was measured has left the data set as it was.
///
/// # Errors
/// What the pipeline says; what the stream says; a data set that the worker wrote to.
pub fn stream_epochs(
    bencher: &Bencher,
    epochs: &mut dyn Epochs,
    epoch: u64,
    expected: ExpectedEpoch,
    on_device: bool,
    data: &DataSet,
) -> Result<()> {
    if let Some(remote) = epochs.remote()? {
        bencher.stream_remote(remote, epoch)?;
        return data.check_unchanged();
    }
    bencher.stream(&mut EpochStream::over(epochs, epoch, expected, on_device, data))
}

/// The data of a pipeline, and the pipeline as it is run: over two batches alone in a smoke run, and over as
/// many as `WEIGHBRIDGE_CUT` says.
///
/// # Errors
/// What is impossible in the pipeline; a device that the run is not for (a skip); real data that are absent
/// (a skip) or malformed; a cache that cannot be written; a `WEIGHBRIDGE_CUT` that is no number.
pub fn open_data(bencher: &Bencher, spec: &PipelineSpec) -> Result<(PipelineSpec, Arc<DataSet>)> {
    spec.check()?;
    check_platform(bencher, spec)?;
    let cut = if bencher.is_smoke() { Some(SMOKE_BATCHES) } else { cut()? };
    let spec = cut.map_or_else(|| spec.clone(), |batches| spec.clone().cut_to(batches));
    let data = Cache::from_env().open(&spec.source)?;
    Ok((spec, Arc::new(data)))
}

/// Declines a pipeline whose batches come in any order, where they are to be compared place by place.
///
/// # Errors
/// A skip.
pub fn keep_order(epochs: &dyn Epochs) -> Result<()> {
    if epochs.in_order() {
        return Ok(());
    }
    Err(skip(format!(
        "its {} workers hand out batches in any order, and they are compared here place by place",
        epochs.executed().workers
    )))
}

/// One epoch of an open pipeline, again and again, as the harness times it.
pub struct EpochStream<'a> {
    epochs: &'a mut dyn Epochs,
    epoch: u64,
    expected: ExpectedEpoch,
    /// `true` if batches are delivered on a device, so that their bytes are not here.
    on_device: bool,
    /// The addresses of the data set in memory, one range for each field.
    input: Vec<Range<usize>>,
}

impl<'a> EpochStream<'a> {
    /// The stream of this epoch, of the pipeline that was opened with this specification over this data.
    ///
    /// # Errors
    /// What is impossible in the pipeline.
    pub fn new(epochs: &'a mut dyn Epochs, epoch: u64, spec: &PipelineSpec, data: &DataSet) -> Result<Self> {
        let on_device = spec.destination == Destination::Device;
        Ok(Self::over(epochs, epoch, spec.expected()?, on_device, data))
    }

    /// The stream of this epoch, which holds what is `expected`, over this data.
    pub(super) fn over(
        epochs: &'a mut dyn Epochs,
        epoch: u64,
        expected: ExpectedEpoch,
        on_device: bool,
        data: &DataSet,
    ) -> Self {
        let expected = ExpectedEpoch { in_order: epochs.in_order(), ..expected };
        let fields: Vec<&[u8]> =
            (0..data.kinds().count()).map(|field| data.rows(field, 0..data.elements())).collect();
        if fields.iter().map(|field| field.len()).sum::<usize>() <= SMALL {
            // An epoch of it is over before its pages are mapped: the first one would be no measure of the
            // others.
            black_box(fields.iter().copied().flatten().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)));
        }
        let addresses = |field: &&[u8]| {
            let of = field.as_ptr_range();
            of.start as usize..of.end as usize
        };
        Self { epochs, epoch, expected, on_device, input: fields.iter().map(addresses).collect() }
    }
}

/// A data set of so many bytes is read once before the first epoch is timed.
const SMALL: usize = 16 << 20;

impl Source for EpochStream<'_> {
    fn rewind(&mut self) -> Result<()> {
        self.epochs.begin(self.epoch)
    }

    fn next(&mut self) -> Result<bool> {
        self.epochs.advance()
    }

    fn ready(&mut self) -> Result<()> {
        self.epochs.ready()
    }

    fn look(&mut self, see: &mut See<'_>) -> Result<()> {
        show_where(self.epochs.batch(), self.on_device, see);
        Ok(())
    }

    fn expected(&self) -> Option<ExpectedEpoch> {
        Some(self.expected)
    }

    fn input(&self) -> Vec<Range<usize>> {
        self.input.clone()
    }

    fn whole_pass(&self) -> bool {
        self.epochs.whole_pass()
    }

    fn pass(&mut self, items: u64, see: &mut See<'_>) -> Result<u64> {
        let on_device = self.on_device;
        self.epochs.pass(items, &mut |batch| show_where(batch, on_device, see))
    }
}

/// Fields of a batch that are shown without asking for memory.
const FIELDS: usize = 16;

/// Shows a batch on the host.
pub(super) fn show(batch: &dyn Batch, see: &mut See<'_>) {
    let elements = batch.elements() as u64;
    let kinds = batch.kinds().iter().enumerate();
    let fields: SmallVec<[Field<'_>; FIELDS]> =
        kinds.map(|(position, kind)| Field { kind, bytes: batch.bytes(position) }).collect();
    see(&Item { elements, bytes: ItemBytes::Here(&fields) });
}

/// Shows a batch where it was asked for: which that is the specification says, and not the batch.
fn show_where(batch: &dyn Batch, on_device: bool, see: &mut See<'_>) {
    if on_device {
        let bytes = ItemBytes::Elsewhere { bytes: batch.size(), fetch: &|| Ok(batch.keep()) };
        see(&Item { elements: batch.elements() as u64, bytes });
    } else {
        show(batch, see);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;
    use std::time::Duration;

    use weighbridge::{Budget, Purpose, Settings};
    use weighbridge_data::{DataSpec, ExecutedWork};

    use super::*;
    use crate::adapters::native::Reference;
    use crate::contract::changed_loader::bencher;

    /// The reference, with batches in any order; it is not to be begun.
    struct AnyOrder(Reference);

    struct Unordered<'a>(Box<dyn Epochs + 'a>);

    impl Loader for AnyOrder {
        fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
            Ok(Box::new(Unordered(self.0.open(spec, data)?)))
        }
    }

    impl Epochs for Unordered<'_> {
        fn begin(&mut self, _epoch: u64) -> Result<()> {
            panic!("something is measured that will be declined")
        }

        fn advance(&mut self) -> Result<bool> {
            self.0.advance()
        }

        fn batch(&self) -> &dyn Batch {
            self.0.batch()
        }

        fn in_order(&self) -> bool {
            false
        }

        fn executed(&self) -> ExecutedWork {
            self.0.executed()
        }
    }

    #[test]
    fn batches_in_any_order_are_declined_before_they_are_measured() {
        let spec = PipelineSpec::new(DataSpec::images(32, 8, 3), 8);
        let said = load_in_order(&bencher(), &mut AnyOrder(Reference), &spec).map(drop).unwrap_err();
        assert!(said.is_skip() && said.to_string().contains("in any order"), "{said}");
        let (run, data) = load_in_order(&bencher(), &mut Reference, &spec).unwrap();
        assert_eq!((run, data.elements()), (spec, 32));
    }

    /// The reference, which notes the numbers of the epochs that are begun.
    #[derive(Default)]
    struct NotingLoader(Reference, Rc<RefCell<Vec<u64>>>);

    struct NotedEpochs<'a>(Box<dyn Epochs + 'a>, Rc<RefCell<Vec<u64>>>);

    impl Loader for NotingLoader {
        fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
            Ok(Box::new(NotedEpochs(self.0.open(spec, data)?, self.1.clone())))
        }
    }

    impl Epochs for NotedEpochs<'_> {
        fn begin(&mut self, epoch: u64) -> Result<()> {
            self.1.borrow_mut().push(epoch);
            self.0.begin(epoch)
        }

        fn advance(&mut self) -> Result<bool> {
            self.0.advance()
        }

        fn batch(&self) -> &dyn Batch {
            self.0.batch()
        }

        fn executed(&self) -> ExecutedWork {
            self.0.executed()
        }
    }

    #[test]
    fn a_run_goes_through_an_epoch_of_its_own_number_and_a_cache_through_the_one_that_finds_it_empty() {
        let begun = |spec: PipelineSpec| {
            let budget = Budget { warmup: 0, batches: 2, min_time: Duration::ZERO, max_time: None };
            let bencher = Bencher::new(Settings { epoch: 77, ..Settings::new(Purpose::Measure, budget) });
            let mut loader = NotingLoader::default();
            bencher.load(&mut loader, &spec).unwrap();
            loader.1.take()
        };
        let spec = PipelineSpec::new(DataSpec::images(32, 8, 3), 8);
        assert_eq!(begun(spec.clone()), [77]);
        assert_eq!(begun(spec.cached()), [0]);
    }
}
