//! One checkpoint of several processes: each has its part of the state, and all save and load together.

use std::path::Path;
use std::time::{Duration, Instant};

use weighbridge::data::median;
use weighbridge::worker::{CollectedMetric, CollectorAnswer};
use weighbridge::{Bencher, Direction, Error, FieldCopy, FieldKind, ItemCopy, Result, Unit};
use weighbridge_data::ranks::{ClosedTogether, at_once};
use weighbridge_data::{DataSet, ExecutedWork};

use super::operation::Operation;
use super::proof::{content, places};
use crate::contract::{Checkpoints, LookedPart};
use crate::workload::{Placement, StateChange};

/// The prefix of the name of each rank's metric.
const RANK: &str = "rank/";

/// A state that lies on the processes of a line: the device of the same number in the placement is each one's
/// own.
pub(super) struct RankedCheckpoints<'a> {
    ranks: ClosedTogether<Box<dyn Checkpoints + Send + 'a>>,
    placement: Placement,
    kinds: Vec<FieldKind>,
    /// Of each save, how long each rank took until it was complete there.
    saves: Vec<Vec<Duration>>,
    /// The same of each load.
    loads: Vec<Vec<Duration>>,
}

impl<'a> RankedCheckpoints<'a> {
    /// Takes ranks that have opened this state.
    ///
    /// # Errors
    /// Where they are fewer or more than the placement has devices.
    pub(super) fn new(
        ranks: Vec<Box<dyn Checkpoints + Send + 'a>>,
        placement: &Placement,
        data: &DataSet,
    ) -> Result<Self> {
        if ranks.len() != placement.devices() {
            let due = placement.devices();
            return Err(Error::new(format!("{due} ranks were asked for, and {} were opened", ranks.len())));
        }
        Ok(Self {
            ranks: ClosedTogether(ranks),
            placement: placement.clone(),
            kinds: data.kinds().cloned().collect(),
            saves: Vec::new(),
            loads: Vec::new(),
        })
    }

    /// Tells what loads have taken on each rank, or saves: the median, from the order until it is done there.
    pub(super) fn tell(&self, bencher: &Bencher, operation: Operation) {
        let (what, rounds) = match operation {
            Operation::Save | Operation::DurableSave => ("save", &self.saves),
            Operation::Load => ("load", &self.loads),
        };
        let of_rank = |rank: usize| {
            let times: Vec<f64> = rounds.iter().map(|round| round[rank].as_secs_f64()).collect();
            (!times.is_empty()).then(|| median(&times))
        };
        let values: Vec<Option<f64>> = (0..self.ranks.0.len()).map(of_rank).collect();
        bencher.rank_metric(&format!("{RANK}{what}"), &values, Unit::SECONDS, Direction::Lower);
    }

    /// Has every rank do something at the same time; how long each took.
    fn all(
        &mut self,
        what: impl Fn(&mut (dyn Checkpoints + Send + 'a)) -> Result<()> + Sync,
    ) -> Result<Vec<Duration>> {
        at_once(&mut self.ranks.0, |_, rank| {
            let begun = Instant::now();
            what(&mut **rank)?;
            Ok(begun.elapsed())
        })
    }
}

impl Checkpoints for RankedCheckpoints<'_> {
    fn change(&mut self, change: &StateChange) -> Result<()> {
        self.all(|rank| rank.change(change)).map(drop)
    }

    fn save(&mut self, directory: &Path, durable: bool) -> Result<()> {
        let took = self.all(|rank| rank.save(directory, durable))?;
        self.saves.push(took);
        Ok(())
    }

    fn wait(&mut self) -> Result<()> {
        let took = self.all(Checkpoints::wait)?;
        let saved = self.saves.last_mut().into_iter().flatten();
        saved.zip(took).for_each(|(saved, waited)| *saved += waited);
        Ok(())
    }

    fn load(&mut self, directory: &Path) -> Result<()> {
        let took = self.all(|rank| rank.load(directory))?;
        self.loads.push(took);
        Ok(())
    }

    /// The tensor, put together from the parts of all ranks.
    fn loaded(&mut self, field: usize) -> Result<ItemCopy> {
        let kind = self.kinds[field].clone();
        let width = kind.dtype.size();
        let mut bytes = vec![0; kind.shape.iter().product::<usize>() * width];
        for rank in 0..self.ranks.0.len() {
            let part = self.placement.part(field, &kind.shape, rank);
            let shape: Vec<usize> = part.iter().map(ExactSizeIterator::len).collect();
            let wrong =
                |what: String| Error::new(format!("the tensor `{}` on rank {rank} {what}", kind.name));
            let found = content(self.part(field, rank)?, &kind, &shape).map_err(wrong)?;
            for (place, number) in places(&kind.shape, &part).into_iter().zip(found.chunks_exact(width)) {
                bytes[place * width..][..width].copy_from_slice(number);
            }
        }
        let field = FieldCopy { name: kind.name, dtype: kind.dtype, shape: kind.shape, bytes };
        Ok(ItemCopy { elements: 1, fields: vec![field] })
    }

    fn part(&mut self, field: usize, device: usize) -> Result<ItemCopy> {
        match self.ranks.0.get_mut(device) {
            Some(rank) => rank.part(field, device),
            None => Err(Error::new(format!("there is no rank {device}"))),
        }
    }

    /// Every rank looks at its own parts at the same time: they are in the order of the ranks.
    fn look(&mut self, parts: &[LookedPart]) -> Result<Vec<u8>> {
        let looked = at_once(&mut self.ranks.0, |number, rank| {
            let own: Vec<LookedPart> =
                parts.iter().filter(|part| part.device == Some(number)).cloned().collect();
            rank.look(&own)
        })?;
        Ok(looked.concat())
    }

    fn release(&mut self) -> Result<()> {
        self.all(Checkpoints::release).map(drop)
    }

    fn collect(&mut self, on: bool) -> Result<CollectorAnswer> {
        Ok(of_ranks(at_once(&mut self.ranks.0, |_, rank| rank.collect(on))?))
    }

    fn collected(&mut self) -> Result<CollectorAnswer> {
        Ok(of_ranks(at_once(&mut self.ranks.0, |_, rank| rank.collected())?))
    }

    fn processes(&self) -> Vec<u32> {
        self.ranks.0.iter().flat_map(|rank| rank.processes()).collect()
    }

    fn executed(&self) -> ExecutedWork {
        ExecutedWork { workers: self.ranks.0.len() as u64, ..self.ranks.0[0].executed() }
    }

    fn entry_point(&self) -> Option<String> {
        self.ranks.0[0].entry_point()
    }
}

/// Joins what the collectors of each rank have found, each tag below the number of its rank:
/// `rank/1/6_io/file_reads_count`.
fn of_ranks(ranks: Vec<CollectorAnswer>) -> CollectorAnswer {
    let mut all = CollectorAnswer::default();
    for (rank, CollectorAnswer { metrics, cost, failed }) in ranks.into_iter().enumerate() {
        let named = |name: String| format!("rank/{rank}/{name}");
        all.metrics
            .extend(metrics.into_iter().map(|metric| CollectedMetric { tag: named(metric.tag), ..metric }));
        all.cost.extend(cost.into_iter().map(|(name, took)| (named(name), took)));
        all.failed.extend(failed.into_iter().map(|(name, why)| (named(name), why)));
    }
    all
}
