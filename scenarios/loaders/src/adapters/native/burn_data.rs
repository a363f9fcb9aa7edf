//! `burn (data)`: the data loader of `burn`.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use burn_core::data::dataloader::batcher::Batcher;
use burn_core::data::dataloader::{DataLoader, DataLoaderBuilder, DataLoaderIterator};
use burn_core::data::dataset::{Dataset, DatasetError};
use burn_core::tensor::Device;
use weighbridge::{Availability, Delivery, Error, FieldKind, Result, adapter, skip};
use weighbridge_data::{Batch, DataSet, Draws, Epochs, ExecutedWork};

use super::buffer::{Buffers, Bytes};
use super::chain::{ElementBlock, Indices, Writing};
use super::input::Input;
use super::mixing::mix;
use crate::adapters::native::line;
use crate::adapters::native::line::{CompiledRoute, RouteRoom, RouteStyle};
use crate::contract::Loader;
use crate::workload::{Access, MixRule, PipelineSpec};

/// The version that `Cargo.toml` asks for; a test holds it to the lock file.
pub(super) const VERSION: &str = "0.22.1";

/// A loader as one writes it with `burn`: a `Dataset` that gives a row as an item of its own, a `Batcher`
/// that puts the items of a batch together and transforms them, and the `DataLoader` that burn builds from
/// both, with its own threads. The steps of a chain are those of the reference loaders; what differs is who
/// asks for rows and who runs the steps. Every batch is new memory, since a batcher gives its batch away. (A
/// batch stays plain numbers: making a tensor of it would be the consumer's part.)
///
/// `workers` is burn's `num_workers`: 0 is the consumer's own thread. Each of several workers has a
/// contiguous part of the data, and batches are handed out as they get ready, in any order, with up to 100 of
/// them waiting, which a plan's estimate of memory does not know.
///
/// It declines what needs more than one batch at a time or another order of rows (mixtures, caches,
/// regrouping), and to be driven from several threads, for which burn's iterator is not made.
#[derive(Default)]
pub struct BurnData {
    /// Of the pipeline that is open: its iterators borrow it.
    loader: Option<Arc<dyn DataLoader<Buffers>>>,
}

impl fmt::Debug for BurnData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BurnData")
    }
}

/// The data loader of `burn`: rows one by one, put together and transformed by a batcher.
#[adapter(name = "burn (data)", tier = 1, probe = version)]
impl Loader for BurnData {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        data.check_is(&spec.source)?;
        let batcher = PutTogether::new(spec, data)?;
        if let Some(what) = declined(spec) {
            return Err(skip(format!(
                "burn's batcher sees one batch, of rows in their order: {what} is not for it"
            )));
        }
        let (epoch, kinds) = (batcher.epoch.clone(), batcher.kinds.clone());
        let builder = DataLoaderBuilder::new(batcher).batch_size(spec.batch_size).num_workers(spec.workers);
        let loader = builder.set_device(Device::flex()).build(BurnRows::open(spec, data)?);
        let loader = &**self.loader.insert(loader);
        let (current, spec) = (Buffers::new(&kinds, 0), spec.clone());
        Ok(Box::new(BurnCursor { loader, iterator: None, ended: false, current, epoch, spec }))
    }
}

/// The version of burn that this build has.
pub fn version() -> Availability {
    Availability::Available { version: VERSION.into() }
}

/// Returns what of the pipeline a batcher cannot do, in words; `None` if it can do all of it.
fn declined(spec: &PipelineSpec) -> Option<String> {
    let structure = &spec.structure;
    let more = !structure.mixture.is_empty() || structure.cache || structure.rebatch.is_some();
    more.then(|| structure.capabilities().join(", "))
}

/// An item: one row of every field.
#[derive(Clone, Debug)]
struct BurnRow {
    element: usize,
    fields: Vec<Vec<u8>>,
}

/// The data set as burn sees it.
#[derive(Debug)]
struct BurnRows {
    from: BurnSource,
    /// The first element of the shard, and how many it has.
    first: usize,
    count: usize,
    fields: usize,
}

#[derive(Debug)]
enum BurnSource {
    Memory(Arc<DataSet>),
    /// Reading has a buffer, so one thread reads at a time.
    Files(Mutex<Input>),
}

impl BurnRows {
    fn open(spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Self> {
        let elements = spec.elements();
        Ok(Self {
            from: match spec.access {
                Access::Memory => BurnSource::Memory(data.clone()),
                _ => BurnSource::Files(Mutex::new(Input::open(spec, data)?)),
            },
            first: elements.start,
            count: elements.len(),
            fields: spec.source.fields.len(),
        })
    }
}

impl Dataset<BurnRow> for BurnRows {
    fn get(&self, index: usize) -> Result<BurnRow, DatasetError> {
        let element = self.first + index;
        let fields = match &self.from {
            BurnSource::Memory(data) => {
                Ok((0..self.fields).map(|field| data.rows(field, element..element + 1).to_vec()).collect())
            }
            BurnSource::Files(input) => {
                // A thread that panicked while reading left nothing behind that the next read would use.
                let mut input = input.lock().unwrap_or_else(PoisonError::into_inner);
                let mut row = |field| Ok(input.rows(field, element..element + 1)?.to_vec());
                (0..self.fields).map(&mut row).collect::<Result<_>>()
            }
        };
        let fields = fields.map_err(|error| DatasetError::new(std::io::Error::other(error.to_string())))?;
        Ok(BurnRow { element, fields })
    }

    fn len(&self) -> usize {
        self.count
    }
}

/// Puts the rows of a batch together and transforms them.
#[derive(Debug)]
struct PutTogether {
    lines: Vec<CompiledRoute>,
    kinds: Arc<[FieldKind]>,
    /// The position of the field that has the length of each row, where rows are padded.
    length_field: Option<usize>,
    mixing: Option<MixRule>,
    seed: u64,
    /// The epoch that the cursor is in: a batcher is shared by all epochs.
    epoch: Arc<AtomicU64>,
}

impl PutTogether {
    fn new(spec: &PipelineSpec, data: &DataSet) -> Result<Self> {
        let lines = line::compile(spec, data, Writing::Joined)?;
        Ok(Self {
            kinds: lines.iter().map(|line| line.output.clone()).collect(),
            length_field: line::length_field(&lines, data),
            lines,
            mixing: spec.structure.mixing,
            seed: spec.seed,
            epoch: Arc::default(),
        })
    }
}

impl Batcher<BurnRow, Buffers> for PutTogether {
    fn batch(&self, rows: Vec<BurnRow>, _device: &Device) -> Buffers {
        let draws = Draws::new(self.seed, self.epoch.load(Ordering::Relaxed));
        let elements: Vec<usize> = rows.iter().map(|row| row.element).collect();
        let length = |row: &BurnRow, field: usize| {
            row.fields[field].first_chunk().map_or(0, |bytes| i32::from_le_bytes(*bytes))
        };
        let lengths: Vec<i32> = self
            .length_field
            .map_or_else(Vec::new, |field| rows.iter().map(|row| length(row, field)).collect());
        let block = ElementBlock { draws, elements: Indices::Listed(&elements), lengths: &lengths };
        let mut batch = Buffers::new(&self.kinds, rows.len());
        for (field, line) in self.lines.iter().enumerate() {
            let row = rows.first().map_or(0, |row| row.fields[line.source].len());
            let mut stacked = Bytes::new(rows.len() * row);
            let from = stacked.first_mut(rows.len() * row);
            for (to, item) in from.chunks_exact_mut(row.max(1)).zip(&rows) {
                to.copy_from_slice(&item.fields[line.source]);
            }
            line.run(
                RouteStyle::Fused,
                block,
                from,
                row,
                &mut RouteRoom::default(),
                batch.first_mut(field, rows.len()),
            );
        }
        batch.elements = rows.len();
        line::shorten(&self.lines, &lengths, &mut batch);
        if let (Some(mixing), Some(first)) = (self.mixing, elements.first()) {
            mix(mixing, draws, *first, &mut batch);
        }
        batch
    }
}

/// A cursor over what burn's iterator gives.
struct BurnCursor<'a> {
    loader: &'a dyn DataLoader<Buffers>,
    /// Of this epoch: made with the first request, so that its cost falls into the first batch.
    iterator: Option<Box<dyn DataLoaderIterator<Buffers> + 'a>>,
    ended: bool,
    current: Buffers,
    epoch: Arc<AtomicU64>,
    spec: PipelineSpec,
}

impl Epochs for BurnCursor<'_> {
    fn begin(&mut self, epoch: u64) -> Result<()> {
        // What the workers still make for the iterator before goes nowhere, whatever its epoch.
        (self.iterator, self.ended) = (None, false);
        self.epoch.store(epoch, Ordering::Relaxed);
        Ok(())
    }

    fn advance(&mut self) -> Result<bool> {
        if self.ended {
            return Ok(false);
        }
        match self.iterator.get_or_insert_with(|| self.loader.iter()).next() {
            Some(Ok(batch)) => self.current = batch,
            Some(Err(error)) => return Err(Error::new(format!("burn's data loader failed: {error}"))),
            None => self.ended = true,
        }
        Ok(!self.ended)
    }

    fn batch(&self) -> &dyn Batch {
        &self.current
    }

    fn in_order(&self) -> bool {
        self.spec.workers <= 1
    }

    fn executed(&self) -> ExecutedWork {
        let order = if self.in_order() { "" } else { ", batches in any order" };
        ExecutedWork {
            synchronised: format!("returns when ready{order}"),
            ..ExecutedWork::ours(self.spec.work(), Delivery::Owned, self.spec.workers as u64)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_locked_one() {
        let lock = include_str!("../../../../../Cargo.lock");
        assert!(lock.contains(&format!("name = \"burn-core\"\nversion = \"{VERSION}\"\n")));
    }
}
