//! A look at a loaded tensor while the clock runs.

use serde::{Deserialize, Serialize};

/// A tensor of what was loaded, or the part of it on a device, and the places that are looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookedPart {
    /// The position of the tensor.
    pub field: usize,
    /// The device; `None` for the whole tensor.
    pub device: Option<usize>,
    /// Bytes of a number.
    pub width: usize,
    /// The offsets in bytes of the numbers that are looked at.
    pub places: Vec<usize>,
    /// The offset in bytes of the first of the numbers, one of each page, whose lowest bytes are added up.
    pub first: usize,
    /// Bytes of the whole part.
    pub bytes: usize,
}

impl LookedPart {
    /// Bytes of a page: one of each is read.
    pub const PAGE: usize = 4096;

    /// The length in bytes of the sum that follows the numbers at the places.
    pub const SUM: usize = size_of::<u64>();

    /// The offsets in bytes of the numbers whose lowest bytes are added up.
    pub fn pages(&self) -> impl ExactSizeIterator<Item = usize> + use<> {
        (self.first..self.bytes).step_by(Self::PAGE)
    }

    /// Appends what is seen of the part's bytes: the numbers at the places, and the sum of a byte of each
    /// page, eight bytes wide, its lowest first. A place that is not there has no number.
    ///
    /// The sum is asked for since pages that nobody has read may be resident all the same: a kernel maps many
    /// of a file's at the first touch of one.
    pub fn read(&self, bytes: &[u8], seen: &mut Vec<u8>) {
        for place in &self.places {
            seen.extend_from_slice(bytes.get(*place..place + self.width).unwrap_or_default());
        }
        let pages = bytes.get(self.first..).unwrap_or_default().iter().step_by(Self::PAGE);
        let sum: u64 = pages.map(|byte| u64::from(*byte)).sum();
        seen.extend_from_slice(&sum.to_le_bytes());
    }
}
