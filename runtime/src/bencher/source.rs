//! Where streamed items come from.

use super::{Kept, Result, Used};

/// What one item held. Real elements only, never padding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Elements (records, rows, images) in the item.
    pub elements: u64,
    /// Bytes in the item.
    pub bytes: u64,
}

/// A cursor over items (batches): it holds the current one inside, so that buffers can be reused.
///
/// The harness times from each call of [`Source::next`] to the return of [`Source::ready`]; everything else is
/// outside the clock.
pub trait Source {
    /// Goes back to before the first item of the same epoch: the items that follow are the same again.
    ///
    /// # Errors
    /// What the system under test says; the repeat fails with it.
    fn rewind(&mut self) -> Result<()>;

    /// Moves to the next item and says what it holds; `None` at the end of the epoch.
    ///
    /// # Errors
    /// As [`Source::rewind`].
    fn next(&mut self) -> Result<Option<Count>>;

    /// Returns when the current item's bytes are ready where they were promised.
    ///
    /// # Errors
    /// As [`Source::rewind`].
    fn ready(&mut self) -> Result<()> {
        Ok(())
    }

    /// A copy of the current item, for verification.
    ///
    /// # Errors
    /// As [`Source::rewind`].
    fn keep(&mut self) -> Result<Kept>;

    /// What all processes that make the items beside this one have used since some moment, with their descendants: asked
    /// at both ends of each window of items, outside the clock, and added to what this one used. `None` where there are none,
    /// which is so of every source with whole passes.
    ///
    /// # Errors
    /// As [`Source::rewind`].
    fn used_elsewhere(&mut self) -> Result<Option<Used>> {
        Ok(None)
    }

    /// Whether this source runs whole passes in one call ([`Source::pass`]) and has no latency of an item.
    fn whole_pass(&self) -> bool {
        false
    }

    /// Goes through up to `items` items in one call from the current position and hands each to `each`, with a way
    /// to copy it. Returns how many there were: fewer than `items` at the end of the epoch.
    ///
    /// # Errors
    /// As [`Source::rewind`].
    fn pass(&mut self, items: u64, each: &mut Each<'_>) -> Result<u64> {
        let _ = (items, each);
        Err(super::Error::new("this source has no whole passes: `whole_pass` and `pass` go together"))
    }
}

/// What a whole pass calls with each item: what it holds, and a way to copy it.
pub type Each<'a> = dyn FnMut(Count, &dyn Fn() -> Kept) + 'a;
