//! Steps that move pixels: they work on bytes, whatever the type of number.

use weighbridge::FieldKind;
use weighbridge_data::Draw;

use crate::workload::Transform;

/// A step that moves the pixels of one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Move {
    what: Movement,
    rows: usize,
    row: usize,
    pixel: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Movement {
    Crop,
    Flip,
}

impl Move {
    /// The step for a transform over elements of this kind; `None` for one that moves nothing.
    pub(super) fn new(transform: Transform, kind: &FieldKind) -> Option<Self> {
        let what = match transform {
            Transform::RandomCrop => Movement::Crop,
            Transform::RandomFlip => Movement::Flip,
            _ => return None,
        };
        let [rows, columns, channels] = kind.shape[..] else { return None };
        let pixel = channels * kind.dtype.size();
        Some(Self { what, rows, row: columns * pixel, pixel })
    }

    /// From one element into another.
    pub(super) fn apply(self, from: &[u8], to: &mut [u8], draw: Draw) {
        match self.what {
            Movement::Crop => {
                let window = self.window(draw);
                let (filled, rest) = to.split_at_mut(window.rows * self.row);
                for (row, to) in filled.chunks_exact_mut(self.row).enumerate() {
                    let (kept, border) = to.split_at_mut(window.bytes);
                    kept.copy_from_slice(&from[window.start + row * self.row..][..window.bytes]);
                    border.fill(0);
                }
                rest.fill(0);
            }
            Movement::Flip => {
                to.copy_from_slice(from);
                self.apply_in_place(to, draw);
            }
        }
    }

    /// In place.
    pub(super) fn apply_in_place(self, element: &mut [u8], draw: Draw) {
        match self.what {
            Movement::Crop => {
                // Rows move towards the start, so going down never overwrites what is still to be moved.
                let window = self.window(draw);
                for row in 0..window.rows {
                    let (start, to) = (window.start + row * self.row, row * self.row);
                    element.copy_within(start..start + window.bytes, to);
                    element[to + window.bytes..to + self.row].fill(0);
                }
                element[window.rows * self.row..].fill(0);
            }
            Movement::Flip => {
                if draw.coin(0) {
                    for row in element.chunks_exact_mut(self.row) {
                        mirror(row, self.pixel);
                    }
                }
            }
        }
    }

    fn window(self, draw: Draw) -> Window {
        let columns = self.row / self.pixel;
        let (rows, kept) = (Transform::crop_window(self.rows), Transform::crop_window(columns));
        let (top, left) = corner(draw, self.rows, columns);
        Window { rows, bytes: kept * self.pixel, start: top * self.row + left * self.pixel }
    }
}

/// The upper left corner of `RandomCrop`'s window: its row and its column.
pub(in crate::adapters::native) fn corner(draw: Draw, rows: usize, columns: usize) -> (usize, usize) {
    let below = |number, whole: usize| draw.below(number, (whole - Transform::crop_window(whole) + 1) as u64);
    (below(0, rows) as usize, below(1, columns) as usize)
}

/// The window that a crop keeps: its rows, the bytes of each, and the offset of its first byte.
struct Window {
    rows: usize,
    bytes: usize,
    start: usize,
}

/// Turns the pixels of a row around. The usual sizes are spelled out, so that a pixel moves in one piece.
fn mirror(row: &mut [u8], pixel: usize) {
    match pixel {
        1 => row.reverse(),
        3 => row.as_chunks_mut::<3>().0.reverse(),
        4 => row.as_chunks_mut::<4>().0.reverse(),
        12 => row.as_chunks_mut::<12>().0.reverse(),
        _ => {
            row.reverse();
            row.chunks_exact_mut(pixel).for_each(<[u8]>::reverse);
        }
    }
}

#[cfg(test)]
mod tests {
    use weighbridge::Dtype;
    use weighbridge_data::Draws;

    use super::*;

    fn kind(rows: usize, columns: usize, channels: usize) -> FieldKind {
        FieldKind { name: "image".into(), dtype: Dtype::U8, shape: vec![rows, columns, channels] }
    }

    fn moved(step: Move, element: &[u8], draw: Draw) -> Vec<u8> {
        let mut to = vec![9; element.len()];
        step.apply(element, &mut to, draw);
        let mut in_place = element.to_vec();
        step.apply_in_place(&mut in_place, draw);
        assert_eq!(to, in_place);
        to
    }

    #[test]
    fn a_crop_moves_its_window_to_the_corner_and_fills_with_zeros() {
        let step = Move::new(Transform::RandomCrop, &kind(3, 4, 2)).unwrap();
        let element: Vec<u8> = (1..=24).collect();
        for index in 0..50 {
            let draw = Draws::new(42, 0).at(index, 0);
            let (top, left) = (draw.below(0, 2) as usize, draw.below(1, 2) as usize);
            let mut expected = Vec::new();
            for row in 0..3 {
                for column in 0..4 {
                    for channel in 0..2 {
                        let inside = row < 2 && column < 3; // floor(7 * 3 / 8) and floor(7 * 4 / 8)
                        let at = (top + row) * 8 + (left + column) * 2 + channel;
                        expected.push(if inside { element[at] } else { 0 });
                    }
                }
            }
            assert_eq!(moved(step, &element, draw), expected);
        }
    }

    #[test]
    fn a_flip_mirrors_rows_pixel_by_pixel_or_leaves_them() {
        for channels in [1, 2, 3, 4, 12] {
            let step = Move::new(Transform::RandomFlip, &kind(2, 3, channels)).unwrap();
            let element: Vec<u8> = (0..6 * channels as u8).collect();
            let pixels: Vec<&[u8]> = element.chunks(channels).collect();
            let mirrored = [2, 1, 0, 5, 4, 3].map(|pixel| pixels[pixel]).concat();
            let mut seen = [false; 2];
            for index in 0..50 {
                let draw = Draws::new(42, 0).at(index, 1);
                seen[usize::from(draw.coin(0))] = true;
                let expected = if draw.coin(0) { &mirrored } else { &element };
                assert_eq!(&moved(step, &element, draw), expected);
            }
            assert_eq!(seen, [true; 2]);
        }
    }
}
