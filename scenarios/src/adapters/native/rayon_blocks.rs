//! `rayon`: each batch made by all threads of a pool at once, in blocks of elements.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use weighbridge::{Delivery, Error, Result, adapter};

use super::buffer::{Buffers, Bytes, row_bytes};
use super::chain::{self, Block, Chain, Writing};
use super::input::Input;
use super::place::Place;
use super::prefetch::Batches;
use crate::contract::{Batch, Epochs, Executed, Loader};
use crate::data::DataSet;
use crate::workload::{Draws, PipelineSpec};

/// A loader with `rayon`'s work stealing inside the batch: its elements are cut into blocks, four for each thread, and the
/// pool's threads run all transforms over one block after the other. Nothing is prepared ahead: the consumer waits for
/// the pool. The steps of a chain are those of the reference loaders; what differs is who runs them.
///
/// `workers` is the number of the pool's threads; with 0 there is no pool, and the consumer's own thread goes through the
/// blocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rayon;

/// Each batch made by all threads of a pool at once, in blocks of elements.
#[adapter(name = "rayon", tier = 1)]
impl Loader for Rayon {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        Ok(Box::new(Cursor::open(spec, data)?))
    }

    fn open_many(
        &mut self,
        specs: &[PipelineSpec],
        data: &Arc<DataSet>,
    ) -> Result<Vec<Box<dyn Epochs + Send + '_>>> {
        specs.iter().map(|spec| Ok(Box::new(Cursor::open(spec, data)?) as Box<dyn Epochs + Send>)).collect()
    }
}

/// Blocks for each thread: so many that the slowest block makes nobody wait long.
const BLOCKS: usize = 4;

/// A block's number, its rows, its room, and its staging.
type Piece<'a> = (usize, ((&'a [u8], &'a mut [u8]), &'a mut Bytes));

/// A cursor over batches that a pool makes.
struct Cursor {
    /// None: the consumer's own thread does the work.
    pool: Option<ThreadPool>,
    threads: usize,
    chains: Vec<Chain>,
    input: Input,
    /// Staging of one element for each block of a batch: blocks run side by side.
    staging: Vec<Vec<Bytes>>,
    batches: Batches,
    current: Buffers,
    epoch: u64,
    next: usize,
    spec: PipelineSpec,
}

impl Cursor {
    fn open(spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Self> {
        if data.elements() != spec.source.elements || !data.kinds().eq(spec.source.kinds()) {
            return Err(Error::new("the data set is not the one that the pipeline describes"));
        }
        let threads = spec.workers.max(1);
        // (`use_current_thread` would make a pool of the consumer's thread, but only once in its life.)
        let pool = (spec.workers > 0).then(|| {
            let builder =
                ThreadPoolBuilder::new().num_threads(threads).thread_name(|index| format!("rayon-{index}"));
            let failed = |error| Error::new(format!("failed to start a pool of {threads} threads: {error}"));
            builder.build().map_err(failed)
        });
        let chains = chain::compile(spec, data, Writing::Joined)?;
        let kinds: Arc<[_]> = chains.iter().map(|chain| chain.output.clone()).collect();
        let batches = Batches { all: spec.elements(), size: spec.batch_size };
        let staging = |chain: &Chain| (0..BLOCKS * threads).map(|_| Bytes::new(chain.staging(1))).collect();
        Ok(Self {
            pool: pool.transpose()?,
            threads,
            staging: chains.iter().map(staging).collect(),
            current: Buffers::new(&kinds, batches.size.min(batches.all.len())),
            input: Input::open(spec, data)?,
            chains,
            batches,
            epoch: 0,
            next: 0,
            spec: spec.clone(),
        })
    }

    fn make(&mut self, elements: Range<usize>) -> Result<()> {
        let draws = Draws::new(self.spec.seed, self.epoch);
        let per_block = elements.len().div_ceil(BLOCKS * self.threads).max(1);
        for (field, (chain, staging)) in self.chains.iter().zip(&mut self.staging).enumerate() {
            let from = self.input.rows(field, elements.clone())?;
            let to = self.current.first_mut(field, elements.len());
            let (source, output) = (from.len() / elements.len(), row_bytes(&chain.output));
            let first = elements.start;
            let make = |(index, ((from, to), staging)): Piece<'_>| {
                let block = Block { draws, first: first + index * per_block };
                chain.run_fused(block, from, staging.first_mut(chain.staging(1)), to);
            };
            let (source, output) = (per_block * source, per_block * output);
            match &self.pool {
                None => {
                    from.chunks(source).zip(to.chunks_mut(output)).zip(staging).enumerate().for_each(make);
                }
                Some(pool) => pool.install(|| {
                    from.par_chunks(source)
                        .zip(to.par_chunks_mut(output))
                        .zip(staging)
                        .enumerate()
                        .for_each(make);
                }),
            }
        }
        self.current.elements = elements.len();
        Ok(())
    }
}

impl Epochs for Cursor {
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
        Ok(Place { epoch: self.epoch, next: self.next as u64 }.save(&self.spec))
    }

    fn restore(&mut self, saved: &[u8]) -> Result<()> {
        let place = Place::restore(saved, &self.spec)?;
        (self.epoch, self.next) = (place.epoch, place.next as usize);
        Ok(())
    }

    fn executed(&self) -> Executed {
        Executed {
            transforms: self.spec.transforms.iter().map(ToString::to_string).collect(),
            ran_on: "cpu".into(),
            synchronised: "returns when ready".into(),
            delivery: Delivery::Owned, // a copy, the consumer's until it asks for the next one
            workers: self.spec.workers as u64,
        }
    }
}
