//! A look at a loaded tensor while the clock runs.

use std::hint::black_box;

use serde::Serialize;

/// A tensor of what was loaded, or the part of it on a device, and the places that are looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LookedPart {
    /// The position of the tensor.
    pub field: usize,
    /// The device; `None` for the whole tensor.
    pub device: Option<usize>,
    /// Bytes of a number.
    pub width: usize,
    /// The offsets in bytes of the numbers that are looked at.
    pub places: Vec<usize>,
}

/// Bytes of a page: one of each is read.
const PAGE: usize = 4096;

impl LookedPart {
    /// Reads a byte of each page, and adds the numbers at the places. A place that is not there has none.
    pub fn read(&self, bytes: &[u8], seen: &mut Vec<u8>) {
        black_box(bytes.iter().step_by(PAGE).fold(0_u8, |sum, byte| sum.wrapping_add(*byte)));
        for place in &self.places {
            seen.extend_from_slice(bytes.get(*place..place + self.width).unwrap_or_default());
        }
    }
}
