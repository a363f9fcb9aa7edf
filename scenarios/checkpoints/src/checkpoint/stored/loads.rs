//! Loads of a checkpoint that lies somewhere, measured again and again.

use std::cell::RefCell;
use std::path::Path;

use weighbridge::{Bencher, Result};

use super::super::first_failure::FirstFailure;
use super::super::inventory::Inventory;
use super::super::looks::{drawn, hold};
use super::super::lots::Lots;
use super::super::rounds::load_fault;
use super::super::watched::{MemoryGrowth, ProcessWatch};
use crate::contract::{LookedPart, StoredCheckpoint, TensorHeader};
use crate::workload::Placement;

/// A look at a load: the places, and what was there.
type StoredLook = (Vec<LookedPart>, Vec<u8>);

/// A checkpoint that is loaded.
struct StoredLoads<'a> {
    stored: RefCell<&'a mut dyn StoredCheckpoint>,
    onto: Option<&'a Placement>,
    /// Bytes of its tensors, as the files say.
    bytes: u64,
    /// Bytes of its files; `None` where they lie on no disk of this machine.
    files: Option<u64>,
    lots: Lots,
    failed: FirstFailure,
    watched: RefCell<Option<ProcessWatch>>,
    memory: MemoryGrowth,
    looks: RefCell<Vec<StoredLook>>,
}

/// The sizes that loads have shown.
#[derive(Clone, Copy, Debug)]
pub(in crate::checkpoint) struct LoadedBytes {
    /// Bytes of all tensors, as the files say.
    pub(in crate::checkpoint) tensors: u64,
    /// The most that was resident in a load beyond what was before the first, in bytes.
    pub(in crate::checkpoint) more_memory: Option<u64>,
}

/// Measures loads of the files in a directory, where they are on a disk of this machine. What was loaded is
/// looked at while the clock runs, the block `look` after the block `load`. It is let go before the next one,
/// outside the clock, and what the last one has loaded stays: every look must have seen numbers of that.
///
/// # Errors
/// What the system says; a load that has not brought the tensors when its time is over.
pub(in crate::checkpoint) fn measure(
    bencher: &Bencher,
    stored: &mut dyn StoredCheckpoint,
    directory: Option<&Path>,
    onto: Option<&Placement>,
) -> Result<LoadedBytes> {
    let loads = StoredLoads {
        bytes: stored.headers().iter().map(TensorHeader::bytes).sum(),
        files: directory.map(Inventory::of).transpose()?.map(|inventory| inventory.bytes),
        memory: MemoryGrowth::begin(&stored.processes()),
        stored: RefCell::new(stored),
        onto,
        lots: Lots::new(),
        failed: FirstFailure::default(),
        watched: RefCell::default(),
        looks: RefCell::default(),
    };
    let release = || {
        loads.try_to(|stored| stored.release());
        *loads.watched.borrow_mut() = Some(ProcessWatch::begin(loads.stored.borrow().processes()));
    };
    let load = |()| {
        let taken = loads.try_to(|stored| {
            bencher.measure("load", || stored.load())?;
            bencher.measure("look", || {
                let parts = loads.draw(stored.headers());
                let seen = stored.look(&parts)?;
                Ok((parts, seen))
            })
        });
        EndedStoredLoad(&loads, taken)
    };
    bencher.batched(release).at_once(1).iter(load);
    loads.failed.result()?;
    loads.check()?;
    Ok(LoadedBytes { tensors: loads.bytes, more_memory: loads.memory.most() })
}

impl StoredLoads<'_> {
    fn try_to<T>(&self, run: impl FnOnce(&mut dyn StoredCheckpoint) -> Result<T>) -> Option<T> {
        self.failed.try_to(|| run(&mut **self.stored.borrow_mut()))
    }

    /// Draws the places of a look.
    fn draw(&self, headers: &[TensorHeader]) -> Vec<LookedPart> {
        let devices = self.onto.map_or_else(|| vec![None], |onto| (0..onto.devices()).map(Some).collect());
        let mut parts = Vec::new();
        for device in devices {
            for (tensor, header) in headers.iter().enumerate() {
                let numbers = match (self.onto, device) {
                    (Some(onto), Some(device)) => {
                        onto.part(tensor, &header.shape, device).iter().map(ExactSizeIterator::len).product()
                    }
                    _ => header.shape.iter().product(),
                };
                parts.push(drawn(&self.lots, tensor, device, header.width(), numbers));
            }
        }
        parts
    }

    /// Notes what a load that has just ended has taken, and what was seen of it.
    fn ended(&self, taken: Option<StoredLook>) {
        let used = self.watched.take().map(|watched| {
            let used = watched.end();
            self.memory.add(&watched, &used);
            used
        });
        self.looks.borrow_mut().extend(taken);
        self.try_to(|_| {
            let fault = self.files.and_then(|files| load_fault(files, self.bytes, used));
            fault.map_or(Ok(()), weighbridge::remote::WorkFault::or_go_on)?;
            Ok(())
        });
    }

    /// Checks that every look has seen what the last load has left.
    fn check(&self) -> Result<()> {
        let (looks, mut stored) = (self.looks.borrow(), self.stored.borrow_mut());
        let mut rests: Vec<&[u8]> = looks.iter().map(|(_, seen)| &**seen).collect();
        for at in 0..looks.first().map_or(0, |(parts, _)| parts.len()) {
            let LookedPart { field, device, width, .. } = looks[0].0[at];
            let left = match device {
                None => stored.loaded(field)?,
                Some(device) => stored.part(field, device)?,
            };
            let number = |place: &usize| left.bytes.get(*place..place + width).unwrap_or_default().to_vec();
            for ((parts, _), rest) in looks.iter().zip(&mut rests) {
                *rest = hold(&parts[at], rest, number, || left.header.key.clone())?;
            }
        }
        Ok(())
    }
}

/// A load that has just ended: what is looked at comes when it is dropped, outside the clock.
struct EndedStoredLoad<'r, 'a>(&'r StoredLoads<'a>, Option<StoredLook>);

impl Drop for EndedStoredLoad<'_, '_> {
    fn drop(&mut self) {
        self.0.ended(self.1.take());
    }
}
