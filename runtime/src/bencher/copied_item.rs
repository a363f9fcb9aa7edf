//! Copies of items at places that nobody can foresee.

use super::work_fault::are_shown;
use super::{Item, ItemCopy, Result, WorkFault};
use crate::stats::SplitMix64;

/// Of how many elements one batch of every later pass is copied: little enough to leave the caches as they
/// are.
const ROWS: u64 = 8;

/// The place of what is looked at, as far as it is known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SpotPlace {
    /// The item's place in its epoch.
    pub(super) at: Option<u64>,
    /// Its first element that is looked at.
    pub(super) first: u64,
    /// Its epoch, among those of the repeat.
    pub(super) epoch: Option<u64>,
}

/// A copy of an item, or of a few of its elements, with its place.
pub(super) struct CopiedItem {
    pub(super) place: SpotPlace,
    pub(super) kept: ItemCopy,
}

impl CopiedItem {
    /// A whole item, or a few elements of it from a drawn one on; `place` is that of its first element.
    pub(super) fn of(
        item: &Item<'_>,
        place: SpotPlace,
        random: &mut SplitMix64,
        whole: bool,
    ) -> Result<Self> {
        if whole {
            return Ok(Self { place, kept: item.copy(None)? });
        }
        let first = random.below(item.elements.saturating_sub(ROWS - 1).max(1));
        let kept = item.copy(Some((first as usize, ROWS as usize)))?;
        Ok(Self { place: SpotPlace { first, ..place }, kept })
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

/// Refuses a source that does not show the items that it says that it went through: nothing that follows
/// could be told apart from what it left out.
#[inline]
pub(super) fn check_shown(asked: u64, said: u64, shown: u64) -> Result<()> {
    if are_shown(asked, said, shown) {
        return Ok(());
    }
    Err(WorkFault::Items { asked, said, shown }.into())
}
