//! Traits of an element: a few numbers that say what it looks like.

/// The traits, in the order in which they are told: name, and what it sees. With `x[i][j][k]` for the number
/// in row `i`, column `j`, channel `k`.
///
/// | trait | of one element |
/// |---|---|
/// | `mean` | the mean of its numbers |
/// | `deviation` | their standard deviation |
/// | `right over left` | mean of the right half of the columns less that of the left half: a mirror |
/// | `bottom over top` | the same of rows: a turn, a window that is not placed at random |
/// | `step across` | mean of `abs(x[i][j+1] - x[i][j])`: blur, scale of a window, noise |
/// | `step down` | the same of rows |
/// | `bend across` | mean of `abs(x[i][j-1] - 2 x[i][j] + x[i][j+1])`: the interpolation |
/// | `bend down` | the same of rows |
/// | `colour` | mean over pixels of the greatest less the least channel: grey, saturation |
/// | `last over first` | mean of the last channel less that of the first: an exchange of channels |
pub const TRAITS: [&str; 10] = [
    "mean",
    "deviation",
    "right over left",
    "bottom over top",
    "step across",
    "step down",
    "bend across",
    "bend down",
    "colour",
    "last over first",
];

/// The most numbers on a last axis that are channels.
const CHANNELS: usize = 4;

/// An element as rows, columns and channels.
#[derive(Clone, Copy, Debug)]
pub struct ElementShape {
    rows: usize,
    columns: usize,
    channels: usize,
    coloured: bool,
}

impl ElementShape {
    /// That of an element of such a shape: the first two axes are rows and columns, all others channels.
    pub fn of(shape: &[usize]) -> Self {
        let (rows, columns, channels) = match *shape {
            [] => (1, 1, 1),
            [numbers] => (1, numbers, 1),
            [rows, columns, ref rest @ ..] => (rows, columns, rest.iter().product()),
        };
        let coloured = shape.len() == 3 && (2..=CHANNELS).contains(&channels);
        Self { rows, columns, channels, coloured }
    }

    /// The [`TRAITS`] of one element, those that its shape has.
    ///
    /// # Panics
    /// If it has fewer numbers than its shape.
    #[inline(never)]
    pub fn traits(self, x: &[f32]) -> [Option<f64>; TRAITS.len()] {
        let count = x.len() as f64;
        let mean = x.iter().map(|&x| f64::from(x)).sum::<f64>() / count;
        let squares = x.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / count;
        let line = self.columns * self.channels;
        let sides = (self.columns > 1).then(|| {
            let left = (self.columns / 2) * self.channels;
            let right = (self.columns - self.columns / 2) * self.channels;
            x.chunks_exact(line).map(|row| mean_of(&row[right..]) - mean_of(&row[..left])).sum::<f64>()
                / self.rows as f64
        });
        let ends = (self.rows > 1).then(|| {
            let (top, bottom) = ((self.rows / 2) * line, (self.rows - self.rows / 2) * line);
            mean_of(&x[bottom..]) - mean_of(&x[..top])
        });
        let across = |order: usize| {
            (self.columns > order).then(|| {
                let rows = x.chunks_exact(line).map(|row| differences(row, self.channels, order));
                rows.sum::<f64>() / (self.rows * (self.columns - order) * self.channels) as f64
            })
        };
        let down = |order: usize| {
            (self.rows > order).then(|| differences(x, line, order) / ((self.rows - order) * line) as f64)
        };
        let colour = self.coloured.then(|| {
            let spread = |pixel: &[f32]| {
                let most = pixel.iter().copied().fold(f32::MIN, f32::max);
                f64::from(most - pixel.iter().copied().fold(f32::MAX, f32::min))
            };
            x.chunks_exact(self.channels).map(spread).sum::<f64>() * self.channels as f64 / count
        });
        let exchange = self.coloured.then(|| {
            let last = |pixel: &[f32]| f64::from(pixel[self.channels - 1]) - f64::from(pixel[0]);
            x.chunks_exact(self.channels).map(last).sum::<f64>() * self.channels as f64 / count
        });
        let (step_across, step_down) = (across(1), down(1));
        [
            Some(mean),
            Some(squares.sqrt()),
            sides,
            ends,
            step_across,
            step_down,
            across(2),
            down(2),
            colour,
            exchange,
        ]
    }
}

fn mean_of(x: &[f32]) -> f64 {
    x.iter().map(|&x| f64::from(x)).sum::<f64>() / x.len() as f64
}

/// The sum of the absolute differences of first or second order between numbers that lie so far apart.
fn differences(x: &[f32], apart: usize, order: usize) -> f64 {
    let later = x.iter().zip(&x[apart..]);
    match order {
        1 => later.map(|(a, b)| f64::from((b - a).abs())).sum(),
        _ => later.zip(&x[2 * apart..]).map(|((a, b), c)| f64::from((a - 2.0 * b + c).abs())).sum(),
    }
}
