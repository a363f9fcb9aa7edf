//! Images brought to another size while a data set is made.

/// Bilinear, with the centres of pixels at half-integers and edges repeated; in `f32`, rounded to the nearest
/// byte (ties away from zero). The same size is a copy. `from` is height by width by 3.
pub(super) fn resize(from: &[u8], height: usize, width: usize, side: usize) -> Vec<u8> {
    if (height, width) == (side, side) {
        return from.to_vec();
    }
    let axis = |length: usize| -> Vec<(usize, usize, f32)> {
        let scale = length as f32 / side as f32;
        let place = |index: usize| {
            let at = ((index as f32 + 0.5) * scale - 0.5).clamp(0.0, (length - 1) as f32);
            let low = at as usize;
            (low, (low + 1).min(length - 1), at - low as f32)
        };
        (0..side).map(place).collect()
    };
    let (rows, columns) = (axis(height), axis(width));
    let mut to = Vec::with_capacity(side * side * 3);
    for &(top, bottom, down) in &rows {
        for &(left, right, across) in &columns {
            for channel in 0..3 {
                let at = |row: usize, column: usize| f32::from(from[(row * width + column) * 3 + channel]);
                let above = at(top, left) + (at(top, right) - at(top, left)) * across;
                let below = at(bottom, left) + (at(bottom, right) - at(bottom, left)) * across;
                to.push((above + (below - above) * down).round() as u8);
            }
        }
    }
    to
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_size_is_a_copy_and_one_colour_stays() {
        let image: Vec<u8> = (0..27).collect();
        assert_eq!(resize(&image, 3, 3, 3), image);
        assert!(resize(&[7; 5 * 4 * 3], 5, 4, 9).iter().all(|&byte| byte == 7));
    }

    #[test]
    fn twice_the_size_lies_between_the_pixels() {
        // One row of two pixels, 0 and 100, to two rows of four... of two: centres at 0.25 and 0.75 of the
        // source.
        let found = resize(&[0, 0, 0, 100, 100, 100, 0, 0, 0, 100, 100, 100], 2, 2, 4);
        let row: Vec<u8> = found[..12].iter().step_by(3).copied().collect();
        assert_eq!(row, [0, 25, 75, 100]);
    }

    #[test]
    fn half_the_size_is_the_mean_of_two_by_two() {
        let image: Vec<u8> = [0, 40, 80, 120].iter().flat_map(|&x| [x; 3]).collect();
        assert_eq!(resize(&image, 2, 2, 1), [60; 3]);
    }
}
