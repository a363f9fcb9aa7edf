//! Places of a sequence that lie on a grid, and the angles by which queries and keys are turned there
//! (rotary positions: Su and others 2021, along two axes).

use serde::{Deserialize, Serialize};

/// Places of a sequence that lie on a grid, row by row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RotaryGrid {
    /// The first of these places in the sequence.
    pub first: usize,
    /// Rows of the grid.
    pub rows: usize,
    /// Columns of the grid.
    pub columns: usize,
    /// The base of the angles: the greater it is, the slower the last pairs of numbers turn.
    pub base: f64,
}

impl RotaryGrid {
    /// Places of the grid.
    pub fn places(&self) -> usize {
        self.rows * self.columns
    }

    /// Refuses a grid that is none, or that goes over the end of a sequence.
    pub(super) fn check(&self, length: usize) -> Result<(), String> {
        let Self { first, rows, columns, base } = *self;
        if !(base.is_finite() && base > 0.0) {
            return Err(format!("`base` is {base}: it must be above 0"));
        }
        if self.places() == 0 || first + self.places() > length {
            return Err(format!("a grid of {rows}x{columns} from place {first} on, in {length} places"));
        }
        Ok(())
    }

    /// For each place of the grid the angle of each pair of neighbours in a head of `size` numbers: the first
    /// half of the pairs turns with the row, the other half with the column. The `j`-th pair of a half turns
    /// by the coordinate over `base` to the power of `4 j / size`.
    pub fn angles(&self, size: usize) -> Vec<Vec<f64>> {
        let along = |coordinate: usize| {
            let turn = move |pair: usize| coordinate as f64 / self.base.powf((4 * pair) as f64 / size as f64);
            (0..size / 4).map(turn)
        };
        let of_place =
            |place: usize| along(place / self.columns).chain(along(place % self.columns)).collect();
        (0..self.places()).map(of_place).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_half_of_the_pairs_turns_with_the_row_and_the_other_with_the_column() {
        let grid = RotaryGrid { first: 1, rows: 2, columns: 3, base: 100.0 };
        let angles = grid.angles(8);
        assert_eq!(angles.len(), 6);
        assert_eq!(angles[0], [0.0; 4]);
        // Place 5 lies in row 1 and column 2; the second pair of a half turns by a tenth of the first.
        for (found, due) in angles[5].iter().zip([1.0, 0.1, 2.0, 0.2]) {
            assert!((found - due).abs() < 1e-15, "{:?}", angles[5]);
        }
    }
}
