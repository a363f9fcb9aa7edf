//! Traits of an element: a few numbers that say what it looks like, for work whose draws differ.
//!
//! Two systems that crop, mirror and blur with generators of their own deliver other bytes. What must agree
//! is how the elements are spread: the mean and the deviation, over all elements of an epoch, of each trait.
//! A trait is chosen for what it sees that the others do not: a mirror that is left out, a window that is too
//! wide, a nearest neighbour.

use std::collections::BTreeMap;

use super::kept::wide;
use super::{Dtype, FieldCopy, ItemCopy, Moments};

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
const NAMES: [&str; 10] = [
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

/// By field and trait (`image: mean`), over elements.
pub type Traits = BTreeMap<String, Moments>;

/// Adds the traits of every element of an item. The bytes of its fields were checked.
pub(super) fn add(traits: &mut Traits, item: &ItemCopy) {
    for field in &item.fields {
        let shape = FieldShape::of(&field.shape);
        let numbers = numbers(field);
        let row = numbers.len() / item.elements.max(1);
        for element in numbers.chunks_exact(row.max(1)) {
            for (name, value) in NAMES.iter().zip(shape.traits(element)) {
                let Some(value) = value else { continue };
                traits.entry(format!("{}: {name}", field.name)).or_insert(Moments::NONE).add(value);
            }
        }
    }
}

/// An element as rows, columns and channels.
#[derive(Clone, Copy)]
struct FieldShape {
    rows: usize,
    columns: usize,
    channels: usize,
    coloured: bool,
}

impl FieldShape {
    fn of(shape: &[usize]) -> Self {
        let (rows, columns, channels) = match *shape {
            [] => (1, 1, 1),
            [numbers] => (1, numbers, 1),
            [rows, columns, ref rest @ ..] => (rows, columns, rest.iter().product()),
        };
        let coloured = shape.len() == 3 && (2..=CHANNELS).contains(&channels);
        Self { rows, columns, channels, coloured }
    }

    /// The traits of one element, those that its shape has.
    fn traits(self, x: &[f32]) -> [Option<f64>; NAMES.len()] {
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

/// The numbers of a field as `f32`, which holds what traits need of every type.
fn numbers(field: &FieldCopy) -> Vec<f32> {
    macro_rules! numbers {
        ($type:ty) => {
            field.bytes.as_chunks().0.iter().map(|bytes| <$type>::from_le_bytes(*bytes) as f32).collect()
        };
    }
    match field.dtype {
        Dtype::U8 => numbers!(u8),
        Dtype::I32 => numbers!(i32),
        Dtype::I64 => numbers!(i64),
        Dtype::BF16 => field.bytes.as_chunks().0.iter().map(|bytes| wide(*bytes)).collect(),
        Dtype::F32 => numbers!(f32),
        Dtype::F64 => numbers!(f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(shape: &[usize], numbers: &[f32]) -> BTreeMap<String, f64> {
        let bytes = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let field = FieldCopy { name: "x".into(), dtype: Dtype::F32, shape: shape.to_vec(), bytes };
        let mut traits = Traits::default();
        add(&mut traits, &ItemCopy { elements: 1, fields: vec![field] });
        traits.into_iter().map(|(name, moments)| (name[3..].to_owned(), moments.mean())).collect()
    }

    /// Two rows of three pixels, two channels.
    const IMAGE: [f32; 12] = [0.0, 1.0, 2.0, 3.0, 8.0, 5.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

    #[test]
    fn each_trait_of_an_image_is_what_it_is_said_to_be() {
        let found = of(&[2, 3, 2], &IMAGE);
        let near = |name: &str, value: f64| assert!((found[name] - value).abs() < 1e-6, "{name}: {found:?}");
        assert_eq!(found.len(), NAMES.len() - 1, "two rows have no bend");
        near("mean", 25.0 / 12.0);
        near("right over left", 6.0 / 2.0); // 6.5 - 0.5 in the first row, nothing in the second
        near("bottom over top", 1.0 - 19.0 / 6.0);
        near("step across", (2.0 + 2.0 + 6.0 + 2.0) / 8.0);
        near("step down", (1.0 + 0.0 + 1.0 + 2.0 + 7.0 + 4.0) / 6.0);
        near("bend across", (4.0 + 0.0) / 4.0);
        near("colour", (1.0 + 1.0 + 3.0) / 6.0);
        near("last over first", (1.0 + 1.0 - 3.0) / 6.0);
        assert!(of(&[2, 3, 2], &IMAGE.map(|x| 3.0 * x))["deviation"] > 2.9 * found["deviation"]);
    }

    #[test]
    fn a_mirror_an_exchange_of_channels_and_a_nearest_neighbour_each_show_in_a_trait() {
        let found = of(&[2, 3, 2], &IMAGE);
        let mirrored: Vec<f32> = IMAGE
            .chunks(6)
            .flat_map(|row| row.chunks(2).rev().flatten().copied().collect::<Vec<_>>())
            .collect();
        assert!((of(&[2, 3, 2], &mirrored)["right over left"] + found["right over left"]).abs() < 1e-6);
        let exchanged: Vec<f32> = IMAGE.chunks(2).flat_map(|pixel| [pixel[1], pixel[0]]).collect();
        assert!((of(&[2, 3, 2], &exchanged)["last over first"] + found["last over first"]).abs() < 1e-6);
        let smooth: Vec<f32> = (0..8).map(|x| x as f32).collect();
        let stairs: Vec<f32> = (0..8).map(|x| (x / 2 * 2) as f32).collect();
        let bend = |x: &[f32]| of(&[1, 8, 1], x)["bend across"];
        assert!(bend(&smooth) < 1e-6 && bend(&stairs) > 1.9);
    }

    #[test]
    fn what_a_shape_has_not_is_left_out() {
        assert_eq!(of(&[], &[2.0]).into_keys().collect::<Vec<_>>(), ["deviation", "mean"]);
        let row = of(&[3], &[1.0, 2.0, 4.0]);
        assert!(
            row.contains_key("bend across") && !row.contains_key("step down") && !row.contains_key("colour")
        );
        assert!(!of(&[2, 2, 2, 2], &[1.0; 16]).contains_key("colour"), "a volume has no channels");
    }
}
