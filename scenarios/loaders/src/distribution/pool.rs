//! Workers that each drive a pipeline of their own, in step: threads, or processes that a thread each speaks
//! to.
//!
//! A step hands every worker the order to advance and waits for all answers: a batch is there when the last
//! part of it is. Between steps nobody is asked to run ahead, as in a training step that ends in a collective
//! operation. A process keeps what it makes until the clock has stopped.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, Scope, ThreadId};
use std::time::Instant;

use weighbridge::{Count, Error, Item, ItemBytes, ItemCopy, ResourceUse, Result, See, Source};
use weighbridge_data::ranks::blame;
use weighbridge_data::{Batch, Epochs};
use xxhash_rust::xxh3::Xxh3;

/// The workers. They end when it is dropped.
pub struct WorkerPool {
    members: Vec<Member>,
    /// The word for one of them in an error.
    noun: &'static str,
    /// `true` if their pipelines are in processes of their own.
    apart: bool,
    epoch: u64,
    /// Elements and bytes of the current step.
    current: Count,
}

struct Member {
    orders: Sender<PoolOrder>,
    answers: Receiver<(Instant, Result<PoolAnswer>)>,
    band: Band,
}

/// A part of every element: the `index`-th of `of` equal runs of its bytes, field by field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Band {
    /// The index of the part, from 0.
    pub index: usize,
    /// The number of parts.
    pub of: usize,
}

enum PoolOrder {
    /// Go to before the first batch of an epoch.
    Begin(u64),
    /// Make the next batch.
    Advance,
    /// Copy the current part.
    Keep,
    /// Say what the process of the pipeline has used.
    Use,
    /// Go through the rest of the epoch without waiting for anybody, and hash every element.
    Finish,
}

enum PoolAnswer {
    Begun,
    /// Elements and bytes of the part; `None` at the end of the shard.
    Advanced(Option<Count>),
    Kept(ItemCopy),
    Used(ResourceUse),
    Finished(WorkerEpoch),
}

/// The work of one worker in an epoch, as it saw it.
#[derive(Clone, Debug)]
pub(super) struct WorkerEpoch {
    pub(super) site: Site,
    /// The instants at which it asked for its first batch, and had its last.
    pub(super) start: Instant,
    pub(super) end: Instant,
    /// A hash of its part of every element, in the order of delivery.
    pub(super) hashes: Vec<u128>,
}

/// Who made the batches of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Site {
    /// A thread of this process.
    Thread(ThreadId),
    /// Another process.
    Process(u32),
}

impl WorkerPool {
    /// One thread for each pipeline, which delivers this band of every element.
    ///
    /// # Errors
    /// A thread that cannot be started.
    pub fn start<'scope, 'env>(
        scope: &'scope Scope<'scope, 'env>,
        noun: &'static str,
        pipelines: Vec<(Box<dyn Epochs + Send + 'scope>, Band)>,
    ) -> Result<Self> {
        let mut members = Vec::new();
        let mut apart = false;
        for (index, (mut epochs, band)) in pipelines.into_iter().enumerate() {
            apart |= epochs.rank().is_some();
            let (orders, to_do) = channel();
            let (done, answers) = channel();
            let work = move || PoolWorker::new(epochs, band).serve(&to_do, &done);
            let started = Builder::new().name(format!("shard-{index}")).spawn_scoped(scope, work);
            started.map_err(|error| Error::new(format!("failed to start {noun} {index}: {error}")))?;
            members.push(Member { orders, answers, band });
        }
        Ok(Self { members, noun, apart, epoch: 0, current: Count::default() })
    }

    /// Gives all workers an order before any answer is waited for, and waits for all answers: where one
    /// failed, others may have failed for that alone.
    fn ask(&self, order: fn(&Self) -> PoolOrder) -> Result<Vec<PoolAnswer>> {
        let gone = |index: usize| Error::new(format!("{} {index} ended early: it panicked", self.noun));
        for (index, member) in self.members.iter().enumerate() {
            member.orders.send(order(self)).map_err(|_| gone(index))?;
        }
        let mut answers = Vec::with_capacity(self.members.len());
        for (index, member) in self.members.iter().enumerate() {
            answers.push(member.answers.recv().map_err(|_| gone(index))?);
        }
        blame(self.noun, answers)
    }

    /// Goes through an epoch in step, and looks at nothing.
    pub(super) fn go_through(&mut self, epoch: u64) -> Result<()> {
        self.epoch = epoch;
        self.rewind()?;
        while self.next()? {}
        Ok(())
    }

    /// Goes through an epoch with all workers at once: nobody goes on from its first batch before all have
    /// one, and from there on each runs freely.
    pub(super) fn run_epoch(&mut self, epoch: u64) -> Result<Vec<WorkerEpoch>> {
        self.epoch = epoch;
        self.rewind()?;
        self.next()?;
        let finished = self.ask(|_| PoolOrder::Finish)?.into_iter().map(|answer| match answer {
            PoolAnswer::Finished(epoch) => epoch,
            _ => unreachable!("an order has its own answer"),
        });
        Ok(finished.collect())
    }
}

impl Source for WorkerPool {
    fn rewind(&mut self) -> Result<()> {
        self.ask(|pool| PoolOrder::Begin(pool.epoch)).map(drop)
    }

    fn next(&mut self) -> Result<bool> {
        let mut whole: Option<Count> = None;
        for (answer, member) in self.ask(|_| PoolOrder::Advance)?.into_iter().zip(&self.members) {
            let PoolAnswer::Advanced(Some(part)) = answer else { continue };
            let whole = whole.get_or_insert_default();
            whole.bytes += part.bytes;
            // Every band is of the same elements.
            whole.elements += if member.band.index == 0 { part.elements } else { 0 };
        }
        self.current = whole.unwrap_or_default();
        Ok(whole.is_some())
    }

    /// The parts are with those who made them.
    fn look(&mut self, see: &mut See<'_>) -> Result<()> {
        let Count { elements, bytes } = self.current;
        see(&Item { elements, bytes: ItemBytes::Elsewhere { bytes, fetch: &|| self.keep() } });
        Ok(())
    }

    fn used_elsewhere(&mut self) -> Result<Option<ResourceUse>> {
        if !self.apart {
            return Ok(None);
        }
        let all = self.ask(|_| PoolOrder::Use)?.into_iter().map(|answer| match answer {
            PoolAnswer::Used(used) => used,
            _ => unreachable!("an order has its own answer"),
        });
        Ok(all.reduce(ResourceUse::with))
    }
}

impl WorkerPool {
    /// The parts put together again: bands side by side, shards one after the other.
    fn keep(&self) -> Result<ItemCopy> {
        let parts = self.ask(|_| PoolOrder::Keep)?.into_iter().map(|answer| match answer {
            PoolAnswer::Kept(part) => part,
            _ => unreachable!("an order has its own answer"),
        });
        let parts: Vec<ItemCopy> = parts.collect();
        let bands = self.members.first().map_or(1, |member| member.band.of);
        let mut whole: Option<ItemCopy> = None;
        for row in parts.chunks(bands).filter(|row| row[0].elements > 0) {
            let row = join(row);
            match &mut whole {
                None => whole = Some(row),
                Some(whole) => {
                    whole.elements += row.elements;
                    for (field, more) in whole.fields.iter_mut().zip(row.fields) {
                        field.bytes.extend(more.bytes);
                    }
                }
            }
        }
        whole.ok_or_else(|| Error::new("no worker has a batch"))
    }
}

/// The bands of the same elements as whole elements.
fn join(bands: &[ItemCopy]) -> ItemCopy {
    let mut whole = bands[0].clone();
    for (position, field) in whole.fields.iter_mut().enumerate() {
        if let Some(rows) = field.shape.first_mut() {
            *rows *= bands.len();
        }
        let part = field.bytes.len() / whole.elements.max(1);
        field.bytes.clear();
        for element in 0..whole.elements {
            for band in bands {
                field.bytes.extend(&band.fields[position].bytes[element * part..][..part]);
            }
        }
    }
    whole
}

/// The worker that runs on one thread.
struct PoolWorker<'a> {
    epochs: Box<dyn Epochs + Send + 'a>,
    band: Band,
    /// Its part of the current batch, where that is not the whole: one run of bytes for each field.
    tile: Vec<Vec<u8>>,
    elements: usize,
    first: Option<Instant>,
    hash: Xxh3,
}

impl<'a> PoolWorker<'a> {
    fn new(epochs: Box<dyn Epochs + Send + 'a>, band: Band) -> Self {
        Self { epochs, band, tile: Vec::new(), elements: 0, first: None, hash: Xxh3::new() }
    }

    /// Does what it is told until nobody tells it any more.
    fn serve(mut self, orders: &Receiver<PoolOrder>, answers: &Sender<(Instant, Result<PoolAnswer>)>) {
        while let Ok(order) = orders.recv() {
            let answer = match order {
                PoolOrder::Begin(epoch) => self.begin(epoch).map(|()| PoolAnswer::Begun),
                PoolOrder::Advance => self.advance().map(PoolAnswer::Advanced),
                PoolOrder::Keep => self.keep().map(PoolAnswer::Kept),
                PoolOrder::Use => self.used().map(PoolAnswer::Used),
                PoolOrder::Finish => self.finish().map(PoolAnswer::Finished),
            };
            if answers.send((Instant::now(), answer)).is_err() {
                return;
            }
        }
    }

    fn begin(&mut self, epoch: u64) -> Result<()> {
        self.first = None;
        self.elements = 0;
        self.epochs.begin(epoch)
    }

    fn advance(&mut self) -> Result<Option<Count>> {
        self.first.get_or_insert_with(Instant::now);
        let Band { index, of } = self.band;
        if let Some(rank) = self.epochs.rank() {
            let part = rank.step(index, of)?;
            self.elements = part.map_or(0, |part| part.elements as usize);
            return Ok(part);
        }
        if !self.epochs.advance()? {
            self.elements = 0;
            return Ok(None);
        }
        self.epochs.ready()?;
        let batch = self.epochs.batch();
        self.elements = batch.elements();
        if of > 1 {
            self.band.cut(batch, &mut self.tile);
        }
        let bytes = batch.size() / of as u64;
        Ok(Some(Count { elements: self.elements as u64, bytes }))
    }

    /// Sees to it that the current batch is here; whether it was not.
    fn fetch(&mut self) -> Result<bool> {
        self.epochs.rank().map_or(Ok(false), |rank| rank.fetch().map(|()| true))
    }

    fn used(&mut self) -> Result<ResourceUse> {
        let Some(rank) = self.epochs.rank() else { return Ok(ResourceUse::default()) };
        rank.used()
    }

    fn keep(&mut self) -> Result<ItemCopy> {
        if self.elements == 0 {
            return Ok(ItemCopy::default()); // its shard has ended
        }
        let fetched = self.fetch()?;
        let batch = self.epochs.batch();
        if fetched && self.band.of > 1 {
            self.band.cut(batch, &mut self.tile);
        }
        let mut kept = batch.keep();
        for (position, field) in kept.fields.iter_mut().enumerate() {
            if self.band.of > 1 {
                field.bytes.clone_from(&self.tile[position]);
            }
            if let Some(rows) = field.shape.first_mut() {
                *rows /= self.band.of;
            }
        }
        Ok(kept)
    }

    fn finish(&mut self) -> Result<WorkerEpoch> {
        let mut hashes = Vec::new();
        let start = self.first.unwrap_or_else(Instant::now);
        while self.elements > 0 {
            self.fetch()?;
            self.band.hash(self.epochs.batch(), &mut self.hash, &mut hashes);
            self.advance()?;
        }
        let end = Instant::now();
        let process = self.epochs.rank().map(|rank| Site::Process(rank.process()));
        let site = process.unwrap_or_else(|| Site::Thread(std::thread::current().id()));
        Ok(WorkerEpoch { site, start, end, hashes })
    }
}

impl Band {
    /// The whole element.
    pub const WHOLE: Self = Self { index: 0, of: 1 };

    /// This part of every element of a field.
    fn parts(self, batch: &dyn Batch, field: usize) -> impl Iterator<Item = &[u8]> {
        let bytes = batch.bytes(field);
        let row = bytes.len() / batch.elements().max(1);
        let part = row / self.of;
        bytes.chunks_exact(row.max(1)).map(move |element| &element[self.index * part..][..part])
    }

    /// Copies this part of a batch: one run of bytes for each field.
    fn cut(self, batch: &dyn Batch, tile: &mut Vec<Vec<u8>>) {
        tile.resize_with(batch.kinds().len(), Vec::new);
        for (field, tile) in tile.iter_mut().enumerate() {
            tile.clear();
            for part in self.parts(batch, field) {
                tile.extend_from_slice(part);
            }
        }
    }

    /// Adds a hash of this part of every element, all its fields together.
    pub(super) fn hash(self, batch: &dyn Batch, hash: &mut Xxh3, hashes: &mut Vec<u128>) {
        let mut fields: Vec<_> = (0..batch.kinds().len()).map(|field| self.parts(batch, field)).collect();
        for _ in 0..batch.elements() {
            hash.reset();
            fields.iter_mut().filter_map(Iterator::next).for_each(|part| hash.update(part));
            hashes.push(hash.digest128());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weighbridge_data::{Cache, DataSpec};

    use super::*;
    use crate::adapters::native::Reference;
    use crate::contract::Loader;
    use crate::distribution::Mesh;
    use crate::workload::{PipelineSpec, Transform};

    /// All batches of a mesh, put together.
    fn batches(mesh: Mesh, spec: &PipelineSpec) -> Vec<ItemCopy> {
        batches_of(mesh, spec, |epochs, _| epochs, |_| ())
    }

    /// The same of pipelines that `change` has changed, after a look at the pool.
    fn batches_of(
        mesh: Mesh,
        spec: &PipelineSpec,
        change: for<'a> fn(Box<dyn Epochs + Send + 'a>, usize) -> Box<dyn Epochs + Send + 'a>,
        look: impl FnOnce(&mut WorkerPool),
    ) -> Vec<ItemCopy> {
        let place = tempfile::tempdir().unwrap();
        let data = Arc::new(Cache::at(place.path()).open(&spec.source).unwrap());
        let places = mesh.places(spec).unwrap();
        let specs: Vec<PipelineSpec> = places.iter().map(|place| place.spec.clone()).collect();
        let mut loader = Reference;
        let pipelines = loader.open_many(&specs, &data).unwrap();
        let bands = places.iter().map(|place| Band { index: place.band, of: place.bands });
        std::thread::scope(|scope| {
            let pipelines = pipelines.into_iter().enumerate().map(|(index, epochs)| change(epochs, index));
            let mut pool = WorkerPool::start(scope, "worker", pipelines.zip(bands).collect()).unwrap();
            look(&mut pool);
            pool.rewind().unwrap();
            let mut kept = Vec::new();
            while pool.next().unwrap() {
                let count = pool.current;
                kept.push(pool.keep().unwrap());
                let bytes: usize = kept.last().unwrap().fields.iter().map(|field| field.bytes.len()).sum();
                let elements = kept.last().unwrap().elements as u64;
                assert_eq!((count.elements, count.bytes), (elements, bytes as u64));
            }
            kept
        })
    }

    fn elements(batches: &[ItemCopy]) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        for batch in batches {
            let field = &batch.fields[0];
            all.extend(field.bytes.chunks(field.bytes.len() / batch.elements).map(<[u8]>::to_vec));
        }
        all.sort();
        all
    }

    #[test]
    fn every_mesh_gives_the_elements_of_one_worker() {
        let spec = PipelineSpec::new(DataSpec::images(50, 8, 3), 12).map(Transform::RandomFlip);
        let alone = batches(Mesh::line(1), &spec);
        assert_eq!(alone[0].fields[0].shape, [8, 8, 3]);
        for mesh in [Mesh::line(3), Mesh::grid(1, 4), Mesh::grid(2, 2)] {
            let together = batches(mesh, &spec);
            assert_eq!(elements(&together), elements(&alone), "{mesh}");
            assert_eq!(together[0].fields[0].shape, [8, 8, 3]);
        }
    }

    /// A pipeline that is as good as in another process: nothing is here before it is fetched.
    struct Apart<'a> {
        epochs: Box<dyn Epochs + Send + 'a>,
        process: u32,
        here: bool,
        ends: bool,
    }

    impl Epochs for Apart<'_> {
        fn begin(&mut self, epoch: u64) -> Result<()> {
            self.epochs.begin(epoch)
        }
        fn advance(&mut self) -> Result<bool> {
            unreachable!("a rank is stepped")
        }
        fn batch(&self) -> &dyn Batch {
            assert!(self.here, "what is looked at was fetched");
            self.epochs.batch()
        }
        fn executed(&self) -> weighbridge_data::ExecutedWork {
            self.epochs.executed()
        }
        fn rank(&mut self) -> Option<&mut dyn weighbridge_data::Rank> {
            Some(self)
        }
    }

    impl weighbridge_data::Rank for Apart<'_> {
        fn process(&self) -> u32 {
            self.process
        }
        fn step(&mut self, _index: usize, of: usize) -> Result<Option<Count>> {
            self.here = false;
            if self.ends {
                return Err(Error::of(weighbridge::ErrorKind::Exit(9), "the worker exited with code 9"));
            }
            let more = self.epochs.advance()?;
            let batch = self.epochs.batch();
            let count = || Count { elements: batch.elements() as u64, bytes: batch.size() / of as u64 };
            Ok(more.then(count))
        }
        fn fetch(&mut self) -> Result<()> {
            self.here = true;
            Ok(())
        }
        fn used(&mut self) -> Result<ResourceUse> {
            Ok(ResourceUse { cpu: Some(u64::from(self.process)), ..ResourceUse::default() })
        }
    }

    fn apart<'a>(epochs: Box<dyn Epochs + Send + 'a>, rank: usize) -> Box<dyn Epochs + Send + 'a> {
        Box::new(Apart { epochs, process: rank as u32, here: false, ends: false })
    }

    /// The third ends when it is to make a batch.
    fn ending<'a>(epochs: Box<dyn Epochs + Send + 'a>, rank: usize) -> Box<dyn Epochs + Send + 'a> {
        Box::new(Apart { epochs, process: rank as u32, here: false, ends: rank == 2 })
    }

    #[test]
    fn ranks_in_processes_give_what_threads_give_and_say_what_they_used() {
        let spec = PipelineSpec::new(DataSpec::images(50, 8, 3), 12).map(Transform::RandomFlip);
        for mesh in [Mesh::line(4), Mesh::grid(2, 2)] {
            let alone = batches_of(
                mesh,
                &spec,
                |epochs, _| epochs,
                |pool| assert_eq!(pool.used_elsewhere(), Ok(None)),
            );
            let together = batches_of(mesh, &spec, apart, |pool| {
                let run_epoch = pool.run_epoch(0).unwrap();
                assert_eq!(run_epoch[3].site, Site::Process(3));
                assert_eq!(run_epoch.iter().map(|epoch| epoch.hashes.len()).sum::<usize>(), 50 * mesh.bands);
                assert_eq!(pool.used_elsewhere().unwrap().unwrap().cpu, Some(1 + 2 + 3));
            });
            assert_eq!(together, alone, "{mesh}");
        }
    }

    #[test]
    fn a_rank_that_ends_is_told_by_its_number_and_the_kind_of_its_end() {
        let spec = PipelineSpec::new(DataSpec::images(50, 8, 3), 12);
        let mut told = None;
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            batches_of(Mesh::line(4), &spec, ending, |pool| told = pool.run_epoch(0).err());
        }))
        .unwrap_err();
        let told = told.unwrap();
        assert_eq!(told.kind(), &weighbridge::ErrorKind::Exit(9));
        assert_eq!(told.to_string(), "worker 2 of 4 (from 0): the worker exited with code 9");
    }

    #[test]
    fn a_worker_that_panics_is_told_and_nobody_waits_for_it() {
        struct Panics;
        impl Epochs for Panics {
            fn begin(&mut self, _epoch: u64) -> Result<()> {
                panic!("on purpose")
            }
            fn advance(&mut self) -> Result<bool> {
                Ok(false)
            }
            fn batch(&self) -> &dyn Batch {
                unreachable!("there is none")
            }
            fn executed(&self) -> weighbridge_data::ExecutedWork {
                unreachable!("nobody asks")
            }
        }
        let told = std::panic::catch_unwind(|| {
            std::thread::scope(|scope| {
                let mut pool =
                    WorkerPool::start(scope, "worker", vec![(Box::new(Panics) as Box<_>, Band::WHOLE)])
                        .unwrap();
                pool.rewind().unwrap_err().to_string()
            })
        });
        // The scope passes a panic on once all threads have ended; the error was there before.
        assert!(told.is_err() || told.is_ok_and(|said| said.contains("worker 0 ended early")));
    }
}
