//! Copies of items at places that nobody can foresee.

use super::{Error, Item, ItemCopy, Result};
use crate::stats::SplitMix64;

/// Of how many elements one batch of every later pass is copied: little enough to leave the caches as they
/// are.
const ROWS: u64 = 8;

/// A copy of an item, or of a few of its elements, with its place.
pub(super) struct CopiedItem {
    /// The item's place in its epoch.
    pub(super) at: u64,
    /// Its first element that was copied.
    pub(super) first: u64,
    pub(super) kept: ItemCopy,
}

impl CopiedItem {
    /// A whole item, or a few elements of it from a drawn one on.
    pub(super) fn of(item: &Item<'_>, at: u64, random: &mut SplitMix64, whole: bool) -> Result<Self> {
        if whole {
            return Ok(Self { at, first: 0, kept: item.copy(None)? });
        }
        let first = random.below(item.elements.saturating_sub(ROWS - 1).max(1));
        Ok(Self { at, first, kept: item.copy(Some((first as usize, ROWS as usize)))? })
    }
}

/// Draws `count` different positions below `batches`, or all of them if there are fewer.
pub(super) fn draw(random: &mut SplitMix64, count: usize, batches: u64) -> Vec<u64> {
    let mut drawn = Vec::with_capacity(count);
    while (drawn.len() as u64) < (count as u64).min(batches) {
        let position = random.below(batches);
        if !drawn.contains(&position) {
            drawn.push(position);
        }
    }
    drawn
}

/// That a source does not show what it says that it has.
pub(super) fn unshown(said: u64, shown: u64) -> Error {
    let what = format!("the source says that it went through {said} items and showed {shown}");
    Error::of(super::ErrorKind::Work, what)
}

pub(super) fn miscounted(counted: u64, holds: u64) -> Error {
    let what = format!("the source counted {counted} elements in a batch that holds {holds}");
    Error::of(super::ErrorKind::Work, what)
}
