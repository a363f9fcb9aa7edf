//! Where streamed items come from, and how an item is shown.

use std::ops::Range;

use super::dtype::row_bytes;
use super::item_copy::check_bytes;
use super::{ExpectedEpoch, FieldCopy, FieldKind, ItemCopy, ResourceUse, Result};

/// The size of one item. Real elements only, never padding.
///
/// ```
/// let batch = weighbridge::Count { elements: 64, bytes: 64 * 32 * 32 * 3 };
/// assert_eq!(batch.bytes / batch.elements, 3_072);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Elements (records, rows, images) in the item.
    pub elements: u64,
    /// Bytes in the item.
    pub bytes: u64,
}

/// A cursor over items (batches): it holds the current one inside, so that buffers can be reused.
///
/// The harness times from each call of [`Source::next`] until it has looked at the item that [`Source::look`]
/// shows; everything else is outside the clock.
///
/// ```
/// use weighbridge::{Dtype, Field, FieldKind, Item, ItemBytes, Result, See, Source};
///
/// /// Batches of four bytes, each the number of its batch.
/// struct Batches {
///     kind: FieldKind,
///     current: u8,
///     batch: [u8; 4],
/// }
///
/// impl Source for Batches {
///     fn rewind(&mut self) -> Result<()> {
///         self.current = 0;
///         Ok(())
///     }
///
///     fn next(&mut self) -> Result<bool> {
///         self.current += 1;
///         self.batch.fill(self.current);
///         Ok(self.current <= 3)
///     }
///
///     fn look(&mut self, see: &mut See<'_>) -> Result<()> {
///         let fields = [Field { kind: &self.kind, bytes: &self.batch }];
///         see(&Item { elements: 4, bytes: ItemBytes::Here(&fields) });
///         Ok(())
///     }
/// }
///
/// let kind = FieldKind { name: "byte".to_owned(), dtype: Dtype::U8, shape: vec![] };
/// let mut batches = Batches { kind, current: 0, batch: [0; 4] };
/// let mut elements = 0;
/// while batches.next()? {
///     batches.look(&mut |item| elements += item.elements)?;
/// }
/// assert_eq!(elements, 12);
/// # Ok::<(), weighbridge::Error>(())
/// ```
pub trait Source {
    /// Goes back to before the first item of the same epoch: the items that follow are the same again.
    ///
    /// # Errors
    /// What the system under test says; the repeat fails with it.
    fn rewind(&mut self) -> Result<()>;

    /// Moves to the next item; `false` at the end of the epoch.
    ///
    /// # Errors
    /// As [`Source::rewind`].
    fn next(&mut self) -> Result<bool>;

    /// Returns when the current item's bytes are ready where they were promised.
    ///
    /// # Errors
    /// As [`Source::rewind`].
    fn ready(&mut self) -> Result<()> {
        Ok(())
    }

    /// Shows the current item, once, while the clock runs: the harness reads its lengths, touches its pages,
    /// and copies from the very same slices what it verifies.
    ///
    /// # Errors
    /// As [`Source::rewind`].
    fn look(&mut self, see: &mut See<'_>) -> Result<()>;

    /// The content of an epoch, as it follows from the specification of the work; `None` where it does not.
    /// Elements are counted by it, and not by what a subject says.
    fn expected(&self) -> Option<ExpectedEpoch> {
        None
    }

    /// The address ranges, in the memory of this process, of the data that items are made from: an item in
    /// there is a view of it. Empty where they are not known.
    fn input(&self) -> Vec<Range<usize>> {
        Vec::new()
    }

    /// The use of all processes that make the items beside this one, with their descendants, since some
    /// moment: asked at both ends of each window of items, outside the clock, and added to what this one
    /// used. `None` where there are none, which is so of every source with whole passes.
    ///
    /// # Errors
    /// As [`Source::rewind`].
    fn used_elsewhere(&mut self) -> Result<Option<ResourceUse>> {
        Ok(None)
    }

    /// Tells whether this source runs whole passes in one call ([`Source::pass`]) and has no latency of an
    /// item.
    fn whole_pass(&self) -> bool {
        false
    }

    /// Goes through up to `items` items in one call from the current position and shows each. Returns how
    /// many there were: fewer than `items` at the end of the epoch. What it returns and what it shows must
    /// agree.
    ///
    /// # Errors
    /// As [`Source::rewind`].
    fn pass(&mut self, items: u64, see: &mut See<'_>) -> Result<u64> {
        let _ = (items, see);
        Err(super::Error::new("this source has no whole passes: `whole_pass` and `pass` go together"))
    }
}

/// The function that an item is shown to.
pub type See<'a> = dyn FnMut(&Item<'_>) + 'a;

/// The current item, as it is shown.
#[derive(Clone, Copy)]
pub struct Item<'a> {
    /// The number of elements it has, as the subject says.
    pub elements: u64,
    /// The place where they are.
    pub bytes: ItemBytes<'a>,
}

/// The place where the bytes of an item are.
#[derive(Clone, Copy)]
pub enum ItemBytes<'a> {
    /// In the memory of this process, field by field.
    Here(&'a [Field<'a>]),
    /// On a device, or with those who made them: so many bytes, and a way to have them here.
    Elsewhere {
        /// Bytes of all fields.
        bytes: u64,
        /// Copies the item.
        fetch: &'a dyn Fn() -> Result<ItemCopy>,
    },
}

/// A field of an item.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// Its name, type and element shape.
    pub kind: &'a FieldKind,
    /// The numbers of all elements in order, little-endian.
    pub bytes: &'a [u8],
}

/// Bytes of a page: memory that was promised is there when a byte of its pages has been read.
const PAGE: usize = 4096;

/// Of an item one page in so many is read, and of the next item others: a batch as large as a cache is not
/// read through.
const PAGES: usize = 16;

impl Item<'_> {
    /// Sees to it that the bytes are there, and says how many: a byte of some pages is read, and which pages
    /// those are turns with the number of the item. Where they are elsewhere, their number is what is told.
    #[inline]
    pub(super) fn touch(&self, number: u64) -> u64 {
        match self.bytes {
            ItemBytes::Here(fields) => {
                let (mut size, mut sum) = (0, 0_u8);
                let from = number as usize % PAGES * PAGE;
                for field in fields {
                    size += field.bytes.len() as u64;
                    let pages = field.bytes.iter().skip(from).step_by(PAGE * PAGES);
                    for byte in pages.chain(field.bytes.first()).chain(field.bytes.last()) {
                        sum = sum.wrapping_add(*byte);
                    }
                }
                std::hint::black_box(sum);
                size
            }
            ItemBytes::Elsewhere { bytes, .. } => bytes,
        }
    }

    /// Tells whether the bytes of every field are those of so many elements. What is elsewhere is taken at
    /// its word here, and looked at when it is copied.
    #[inline]
    pub(super) fn holds(&self, elements: u64) -> bool {
        let whole = |field: &Field<'_>| {
            let row = row_bytes(field.kind.dtype, &field.kind.shape);
            row.and_then(|row| (row as u64).checked_mul(elements)) == Some(field.bytes.len() as u64)
        };
        self.elements == elements
            && match self.bytes {
                ItemBytes::Here(fields) => !fields.is_empty() && fields.iter().all(whole),
                ItemBytes::Elsewhere { .. } => true,
            }
    }

    /// The address of its first field; `None` where it is elsewhere.
    #[inline]
    pub(super) fn address(&self) -> Option<usize> {
        match self.bytes {
            ItemBytes::Here(fields) => Some(fields.first()?.bytes.as_ptr() as usize),
            ItemBytes::Elsewhere { .. } => None,
        }
    }

    /// Tells whether one of its fields lies within one of these ranges of addresses; `None` where that cannot
    /// be told.
    pub(super) fn lies_in(&self, ranges: &[Range<usize>]) -> Option<bool> {
        match self.bytes {
            ItemBytes::Here(fields) if !ranges.is_empty() => {
                let within = |field: &Field<'_>| {
                    let start = field.bytes.as_ptr() as usize;
                    !field.bytes.is_empty() && ranges.iter().any(|range| range.contains(&start))
                };
                Some(fields.iter().any(within))
            }
            _ => None,
        }
    }

    /// A copy of elements of it: `count` from `first` on, or all.
    ///
    /// # Errors
    /// As [`ItemCopy::check`]; what a fetch says.
    pub fn copy(&self, rows: Option<(usize, usize)>) -> Result<ItemCopy> {
        let (first, count) = rows.unwrap_or((0, usize::MAX));
        match self.bytes {
            ItemBytes::Elsewhere { fetch, .. } => fetch()?.rows(first, count),
            ItemBytes::Here(fields) => {
                let elements = self.elements as usize;
                let first = first.min(elements);
                let count = count.min(elements - first);
                let copy = |field: &Field<'_>| {
                    let FieldKind { name, dtype, shape } = field.kind;
                    let row = check_bytes(name, *dtype, shape, field.bytes.len(), elements)?;
                    let bytes = field.bytes[first * row..][..count * row].to_vec();
                    Ok(FieldCopy { name: name.clone(), dtype: *dtype, shape: shape.clone(), bytes })
                };
                let kept =
                    ItemCopy { elements: count, fields: fields.iter().map(copy).collect::<Result<_>>()? };
                kept.check()?; // elements without a field
                Ok(kept)
            }
        }
    }
}
