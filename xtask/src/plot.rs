//! Small plots out of characters.

/// Eight heights.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The same for a terminal that has letters alone.
const LETTERS: [char; 8] = ['_', '.', ',', '-', '~', '=', '+', '#'];

/// The characters that plots are drawn with, and the bounds of their values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plot {
    /// The value of the lowest height, and of all below it.
    pub(crate) low: f64,
    /// The value of the highest height, and of all above it.
    pub(crate) high: f64,
    /// Letters alone.
    pub(crate) ascii: bool,
}

impl Plot {
    /// One character for each value. Where all heights are one, the lowest is drawn.
    pub(crate) fn line(&self, values: &[f64]) -> String {
        let heights = if self.ascii { LETTERS } else { BLOCKS };
        values
            .iter()
            .map(|value| {
                let share = (value - self.low) / (self.high - self.low);
                // Not a number, where nothing is between the bounds, becomes 0.
                heights[((share * 8.0) as usize).min(7)]
            })
            .collect()
    }

    /// A bar as long as a share of `width`; what is not nothing has a character at least.
    pub(crate) fn bar(&self, share: f64, width: usize) -> String {
        let length = if share > 0.0 { ((share * width as f64).round() as usize).clamp(1, width) } else { 0 };
        (if self.ascii { "#" } else { "█" }).repeat(length)
    }
}

/// The values cut into at most `width` stretches of one length, the last perhaps shorter: where each begins
/// and ends.
pub(crate) fn stretches(count: usize, width: usize) -> impl Iterator<Item = (usize, usize)> {
    let length = count.div_ceil(width).max(1);
    (0..count).step_by(length).map(move |start| (start, (start + length).min(count)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_height_for_each_value_and_bounds_hold_what_is_beyond_them() {
        let plot = Plot { low: 1.0, high: 2.0, ascii: false };
        assert_eq!(plot.line(&[0.5, 1.0, 1.5, 2.0, 9.0]), "▁▁▅██");
        assert_eq!(Plot { ascii: true, ..plot }.line(&[0.5, 1.0, 1.5, 2.0, 9.0]), "__~##");
        assert_eq!(Plot { high: 1.0, ..plot }.line(&[1.0, 1.0]), "▁▁");
        assert_eq!(plot.line(&[]), "");
    }

    #[test]
    fn what_is_not_nothing_has_a_bar() {
        let plot = Plot { low: 0.0, high: 1.0, ascii: true };
        assert_eq!(plot.bar(0.0, 10), "");
        assert_eq!(plot.bar(0.001, 10), "#");
        assert_eq!(plot.bar(0.5, 10), "#####");
        assert_eq!(plot.bar(1.0, 10), "##########");
    }

    #[test]
    fn stretches_cover_every_value_once() {
        let all = |count, width| stretches(count, width).collect::<Vec<_>>();
        assert_eq!(all(0, 4), []);
        assert_eq!(all(3, 4), [(0, 1), (1, 2), (2, 3)]);
        assert_eq!(all(10, 4), [(0, 3), (3, 6), (6, 9), (9, 10)]);
    }
}
