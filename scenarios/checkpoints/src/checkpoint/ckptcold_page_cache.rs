//! CKPT-COLD: a state loaded from a page cache, and from the disk.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use weighbridge::Requirements;
use weighbridge::prelude::*;
use weighbridge_data::Cache;

use super::inventory::Inventory;
use super::looks::LookedState;
use super::medium::Medium;
use super::proof::{Proof, prove};
use super::rounds::SaveRounds;
use super::watched::ProcessWatch;
use crate::contract::{Checkpointer, Checkpoints, SaveOptions, SaveWaiter};
use crate::workload::State;

/// A load with the checkpoint's files in the page cache, and with none of them there.
///
/// What does a restart cost, on the machine that has just saved and on another one? `warm` loads files that
/// are in the page cache, `cold` files that were dropped from it before each load. Cold is proven: the
/// processes of the system must have read at least nine tenths of the checkpoint's bytes from the disk, or
/// the case fails.
///
/// Timed: the load, until the state is in memory of the process that is its own and was read once, as in
/// CKPT-1. Not timed: saving, dropping
/// pages, letting a loaded state go. The work report and the proof are those of CKPT-1.
#[scenario(id = "CKPT-COLD", category = "Checkpoints", sets = ["checkpoint"], equivalence = exact,
    needs = needs, describe = describe)]
fn cold(
    bencher: &mut Bencher,
    checkpointer: &mut dyn Checkpointer,
    #[sweep(
        default = State::MB_268, tiny = State::MB_16, large = State::GB_1, huge = State::GB_4
    )]
    variant: State,
    #[sweep(all, warm = PageCache::Warm, cold = PageCache::Cold)] page_cache: PageCache,
) -> Result<()> {
    let state = if bencher.is_smoke() { State::SMALL } else { variant };
    let data = Arc::new(state.open(&Cache::from_env())?);
    let place = Medium::Disk.place(bencher, 3 * state.bytes())?;
    let mut checkpoints =
        bencher.open(|| checkpointer.open(&SaveOptions::whole(SaveWaiter::Blocking), &data))?;
    checkpoints.executed().check_platform(bencher.platform())?;
    bencher.work(checkpoints.executed().report(&data, checkpoints.entry_point()));
    bencher.bytes(state.bytes() as usize);
    let looked = LookedState { data: &data, onto: None };
    let rounds = SaveRounds::new(bencher, &mut *checkpoints, place.path(), looked);
    let (watched, expected) = (RefCell::new(None), Cell::new(0));
    let least = Cell::new(f64::INFINITY);
    let drop_pages = |checkpoint: &Path, checkpoints: &dyn Checkpoints| {
        if page_cache == PageCache::Cold {
            let inventory = Inventory::of(checkpoint)?;
            forget(&inventory)?;
            expected.set(inventory.bytes);
            *watched.borrow_mut() = Some(ProcessWatch::begin(checkpoints.processes()));
        }
        Ok(())
    };
    let look = || {
        let Some(watched) = watched.take() else { return Ok(()) };
        let read =
            watched.end().read.ok_or_else(|| skip("the system does not tell what was read from a disk"))?;
        let share = read as f64 / expected.get() as f64;
        least.set(least.get().min(share));
        if share < COLD {
            let (read, bytes) = (read / 1_000_000, expected.get() / 1_000_000);
            return Err(Error::new(format!(
                "of {bytes} MB that are in the checkpoint, {read} MB were read from the disk: \
                 the page cache was not cold"
            )));
        }
        Ok(())
    };
    let saved = rounds.load(&drop_pages, &look)?;
    if page_cache == PageCache::Cold {
        bencher.metric("disk_read_share", least.get(), Unit::RATIO, Direction::Information);
    }
    saved.inventory.tell(bencher);
    drop(checkpoints);
    let mut anew = checkpointer.open(&SaveOptions::whole(SaveWaiter::Blocking), &data)?;
    prove(bencher, &mut *anew, saved.proof(Proof::whole(&data)), &saved.directory)
}

/// The share of a checkpoint's bytes that a cold load reads from the disk at least.
const COLD: f64 = 0.9;

/// Drops the pages of files from the page cache. They are on the disk already: what is not there yet would
/// stay.
fn forget(checkpoint: &Inventory) -> Result<()> {
    for path in &checkpoint.files {
        let file = File::open(path)?;
        file.sync_all()?;
        posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)
            .map_err(|error| Error::new(format!("{} stays in the page cache: {error}", path.display())))?;
    }
    Ok(())
}

/// The memory that a point needs, for the plan.
fn needs(variant: &State, _: &PageCache) -> Requirements {
    variant.needs()
}

/// Describes what a point does, for listings.
fn describe(variant: &State, page_cache: &PageCache) -> String {
    let cache = match page_cache {
        PageCache::Warm => "warm",
        PageCache::Cold => "cold",
    };
    format!("load of {}, {cache}", variant.describe())
}

/// The place of a checkpoint's files when it is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageCache {
    /// In the page cache.
    Warm,
    /// On the disk alone.
    Cold,
}
