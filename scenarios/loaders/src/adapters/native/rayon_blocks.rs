//! `rayon`: each batch made by all threads of a pool at once, in blocks of elements.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use weighbridge::{Delivery, Error, Result, adapter, skip};
use weighbridge_data::{Batch, DataSet, Draws, Epochs, ExecutedWork};

use super::buffer::{Buffers, row_bytes};
use super::chain::{ElementBlock, Indices, Writing};
use super::input::Input;
use super::place::CopyPlace;
use super::prefetch::Batches;
use crate::adapters::native::line;
use crate::adapters::native::line::{CompiledRoute, RouteRoom, RouteStyle};
use crate::contract::Loader;
use crate::workload::PipelineSpec;

/// A loader with `rayon`'s work stealing inside the batch: its elements are cut into blocks, four for each
/// thread, and the pool's threads run all transforms over one block after the other. Nothing is prepared
/// ahead: the consumer waits for the pool. The steps of a chain are those of the reference loaders; what
/// differs is who runs them.
///
/// It declines what looks at a whole batch or at more than one: mixtures, mixing, caches, regrouping, dynamic
/// padding.
///
/// `workers` is the number of the pool's threads. With 0 there is no pool, and it declines: on one thread it
/// would be `Reference (fused)` under another name.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rayon;

/// Each batch made by all threads of a pool at once, in blocks of elements.
#[adapter(name = "rayon", tier = 1)]
impl Loader for Rayon {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        Ok(Box::new(BlockCursor::open(spec, data)?))
    }

    fn open_many(
        &mut self,
        specs: &[PipelineSpec],
        data: &Arc<DataSet>,
    ) -> Result<Vec<Box<dyn Epochs + Send + '_>>> {
        specs
            .iter()
            .map(|spec| Ok(Box::new(BlockCursor::open(spec, data)?) as Box<dyn Epochs + Send>))
            .collect()
    }
}

/// Blocks for each thread: so many that the slowest block makes nobody wait long.
const BLOCKS: usize = 4;

/// A block's number, its rows, where they go, and its room for work.
type BlockPiece<'a> = (usize, ((&'a [u8], &'a mut [u8]), &'a mut RouteRoom));

/// A cursor over batches that a pool makes.
struct BlockCursor {
    pool: ThreadPool,
    lines: Vec<CompiledRoute>,
    input: Input,
    /// Room for each block of a batch, by field: blocks run side by side.
    rooms: Vec<Vec<RouteRoom>>,
    batches: Batches,
    current: Buffers,
    epoch: u64,
    next: usize,
    spec: PipelineSpec,
}

impl BlockCursor {
    fn open(spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Self> {
        data.check_is(&spec.source)?;
        let lines = line::compile(spec, data, Writing::Joined)?;
        if let Some(what) = declined(spec, &lines) {
            return Err(skip(format!(
                "rayon makes elements one by one, in blocks of a batch: {what} is not for it"
            )));
        }
        let threads = spec.workers;
        if threads == 0 {
            return Err(skip("rayon is a pool of threads, and `workers` = 0 asks for none"));
        }
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|index| format!("rayon-{index}"))
            .build()
            .map_err(|error| Error::new(format!("failed to start a pool of {threads} threads: {error}")))?;
        let kinds: Arc<[_]> = lines.iter().map(|line| line.output.clone()).collect();
        let batches = Batches { all: spec.elements(), size: spec.batch_size };
        let rooms = |_: &CompiledRoute| (0..BLOCKS * threads).map(|_| RouteRoom::default()).collect();
        Ok(Self {
            pool,
            rooms: lines.iter().map(rooms).collect(),
            current: Buffers::new(&kinds, batches.size.min(batches.all.len())),
            input: Input::open(spec, data)?,
            lines,
            batches,
            epoch: 0,
            next: 0,
            spec: spec.clone(),
        })
    }

    fn make(&mut self, elements: Range<usize>) -> Result<()> {
        let draws = Draws::new(self.spec.seed, self.epoch);
        let per_block = elements.len().div_ceil(BLOCKS * self.spec.workers).max(1);
        for (field, (line, rooms)) in self.lines.iter().zip(&mut self.rooms).enumerate() {
            let from = self.input.rows(line.source, elements.clone())?;
            let to = self.current.first_mut(field, elements.len());
            let (source, output) = (from.len() / elements.len(), row_bytes(&line.output));
            let first = elements.start;
            let make = |(index, ((from, to), room)): BlockPiece<'_>| {
                let elements = Indices::From(first + index * per_block);
                let block = ElementBlock { draws, elements, lengths: &[] };
                line.run(RouteStyle::Fused, block, from, source, room, to);
            };
            let (of_block, to_block) = ((per_block * source).max(1), (per_block * output).max(1));
            self.pool.install(|| {
                from.par_chunks(of_block)
                    .zip(to.par_chunks_mut(to_block))
                    .zip(rooms)
                    .enumerate()
                    .for_each(make);
            });
        }
        self.current.elements = elements.len();
        Ok(())
    }
}

/// Returns what of the pipeline is not made element by element, in words; `None` if all of it is.
fn declined(spec: &PipelineSpec, lines: &[CompiledRoute]) -> Option<String> {
    let structure = &spec.structure;
    let whole = !structure.mixture.is_empty()
        || structure.mixing.is_some()
        || structure.cache
        || structure.rebatch.is_some();
    if whole {
        return Some(structure.capabilities().join(", "));
    }
    lines.iter().any(|line| line.is_padded).then(|| "dynamic padding".to_owned())
}

impl Epochs for BlockCursor {
    fn begin(&mut self, epoch: u64) -> Result<()> {
        (self.epoch, self.next) = (epoch, 0);
        Ok(())
    }

    fn advance(&mut self) -> Result<bool> {
        if self.next >= self.batches.count() {
            return Ok(false);
        }
        self.make(self.batches.elements(self.next))?;
        self.next += 1;
        Ok(true)
    }

    fn batch(&self) -> &dyn Batch {
        &self.current
    }

    fn save(&mut self) -> Result<Vec<u8>> {
        Ok(CopyPlace { epoch: self.epoch, next: self.next as u64 }.save(&self.spec))
    }

    fn restore(&mut self, saved: &[u8]) -> Result<()> {
        let place = CopyPlace::restore(saved, &self.spec)?;
        (self.epoch, self.next) = (place.epoch, place.next as usize);
        Ok(())
    }

    fn executed(&self) -> ExecutedWork {
        // A copy, the consumer's until it asks for the next one.
        ExecutedWork::ours(self.spec.work(), Delivery::Owned, self.spec.workers as u64)
    }
}

#[cfg(test)]
mod tests {
    use weighbridge_data::{Cache, DataSpec};

    use super::*;

    #[test]
    fn without_workers_there_is_no_pool_and_it_declines() {
        let place = tempfile::tempdir().unwrap();
        let spec = PipelineSpec::new(DataSpec::images(4, 8, 3), 2);
        let data = Arc::new(Cache::at(place.path()).open(&spec.source).unwrap());
        let said = Rayon.open(&spec.clone().workers(0), &data).map(drop).unwrap_err();
        assert!(said.is_skip() && said.to_string().contains("`workers` = 0"), "{said}");
        assert!(Rayon.open(&spec.workers(1), &data).is_ok());
    }
}
