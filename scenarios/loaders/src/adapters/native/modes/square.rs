//! Square pictures, which `compiled` and `fused` are written for.

use weighbridge_data::Normalisation;

/// The constants of `Normalize`, and the sides and channels of an element, for the list that is written out.
pub(super) struct ImageSquare {
    pub(super) constants: Normalisation,
    pub(super) side: usize,
    pub(super) channels: usize,
}

/// Returns the row and the column at which a pixel was before so many quarter turns, counterclockwise.
#[inline]
pub(super) fn before_turns(turns: u64, side: usize, row: usize, column: usize) -> (usize, usize) {
    let last = side - 1;
    match turns {
        0 => (row, column),
        1 => (column, last - row),
        2 => (last - row, last - column),
        _ => (last - column, row),
    }
}
