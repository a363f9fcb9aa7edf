//! Looks at what a load has brought, while its clock runs: drawn numbers of every tensor and one of each of
//! its pages, and whether they are those of the state.

use std::ops::Range;

use weighbridge::Result;
use weighbridge::remote::WorkFault;
use weighbridge_data::DataSet;

use super::lots::Lots;
use crate::contract::LookedPart;
use crate::workload::{Placement, StateChange};

/// So many numbers of each tensor, or of each part of one, are looked at.
pub(super) const NUMBERS: usize = 8;

/// A state that is looked at, and where it lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct LookedState<'a> {
    pub(super) data: &'a DataSet,
    /// The devices that have parts of it; `None` where it is whole.
    pub(super) onto: Option<&'a Placement>,
}

impl LookedState<'_> {
    /// Draws the places of a look: only when a load has ended, so that nobody is honest there alone.
    pub(super) fn draw(&self, lots: &Lots) -> Vec<LookedPart> {
        let mut parts = Vec::new();
        for device in self.devices() {
            for (field, kind) in self.data.kinds().enumerate() {
                let of = device.map_or_else(|| kind.shape.clone(), |device| shape(&self.part(field, device)));
                parts.push(drawn(lots, field, device, kind.dtype.size(), of.iter().product()));
            }
        }
        parts
    }

    /// The devices that are looked at, one after the other; once where there is none.
    fn devices(&self) -> Vec<Option<usize>> {
        self.onto.map_or_else(|| vec![None], |onto| (0..onto.devices()).map(Some).collect())
    }

    /// The part of a tensor on a device.
    fn part(&self, field: usize, device: usize) -> Vec<Range<usize>> {
        let kind = self.data.kinds().nth(field);
        match (self.onto, kind) {
            (Some(onto), Some(kind)) => onto.part(field, &kind.shape, device),
            _ => Vec::new(),
        }
    }

    /// Holds the numbers that were seen at places against a state with a change.
    ///
    /// # Errors
    /// A tensor whose numbers are others.
    pub(super) fn check(&self, change: &StateChange, parts: &[LookedPart], seen: &[u8]) -> Result<()> {
        self.check_by(parts, seen, |part, number| change.apply(part.field, part.width, number))
    }

    /// Holds the numbers that were seen at places against those of a state in which each has become another.
    ///
    /// # Errors
    /// A tensor whose numbers are others.
    pub(super) fn check_by(
        &self,
        parts: &[LookedPart],
        seen: &[u8],
        become_other: impl Fn(&LookedPart, &mut [u8]),
    ) -> Result<()> {
        let mut rest = seen;
        for part in parts {
            let row = self.data.rows(part.field, 0..1);
            let expected = |place: &usize| {
                let number = match part.device {
                    None => *place / part.width,
                    Some(device) => self.in_whole(part.field, device, *place / part.width),
                };
                let mut number = row[number * part.width..][..part.width].to_vec();
                become_other(part, &mut number);
                number
            };
            let name = || self.data.kinds().nth(part.field).map(|kind| kind.name.clone()).unwrap_or_default();
            rest = hold(part, rest, expected, name)?;
        }
        Ok(())
    }

    /// The position in a tensor of a number of its part on a device.
    fn in_whole(&self, field: usize, device: usize, number: usize) -> usize {
        let whole = self.data.kinds().nth(field).map(|kind| kind.shape.clone()).unwrap_or_default();
        let (mut number, mut place, mut stride) = (number, 0, 1);
        for (range, size) in self.part(field, device).iter().zip(&whole).rev() {
            place += (range.start + number % range.len()) * stride;
            number /= range.len();
            stride *= size;
        }
        place
    }
}

/// The sizes of a part.
fn shape(part: &[Range<usize>]) -> Vec<usize> {
    part.iter().map(ExactSizeIterator::len).collect()
}

/// A look at drawn places of a tensor with so many numbers, or of a part with so many.
pub(super) fn drawn(
    lots: &Lots,
    field: usize,
    device: Option<usize>,
    width: usize,
    numbers: usize,
) -> LookedPart {
    let places = (0..NUMBERS.min(numbers)).map(|_| lots.below(numbers) * width).collect();
    let first = lots.below(numbers.min(LookedPart::PAGE / width.max(1))) * width;
    LookedPart { field, device, width, places, first, bytes: numbers * width }
}

/// Holds what was seen of a part against the number that each of its places must have, and returns what was
/// seen of the parts after it.
///
/// # Errors
/// A tensor whose numbers are others.
pub(super) fn hold<'a>(
    part: &LookedPart,
    seen: &'a [u8],
    expected: impl Fn(&usize) -> Vec<u8>,
    name: impl FnOnce() -> String,
) -> Result<&'a [u8], WorkFault> {
    let (numbers, rest) = seen.split_at_checked(part.places.len() * part.width).unwrap_or((seen, &[]));
    let (sum, rest) = rest.split_at_checked(LookedPart::SUM).unwrap_or((rest, &[]));
    let mut found = numbers.chunks(part.width.max(1));
    let wrong = part.places.iter().filter(|place| found.next() != Some(&*expected(place))).count() as u64;
    let lowest = |place| expected(&place).first().copied().map_or(0, u64::from);
    let is_sum = sum == part.pages().map(lowest).sum::<u64>().to_le_bytes();
    if wrong == 0 && is_sum {
        return Ok(rest);
    }
    let looked = (part.places.len() + part.pages().len()) as u64;
    Err(WorkFault::Tensor { tensor: name(), looked, wrong: wrong.max(1) })
}
