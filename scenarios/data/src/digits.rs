//! Handwritten digits: 1,797 of 8 by 8 points from 0 to 16. They are the test set of the UCI repository's
//! "Optical Recognition of Handwritten Digits" (Alpaydin and Kaynak 1998, doi:10.24432/C50P49, CC BY 4.0),
//! and lie in `digits.bin`: for each its points, row by row, and the digit, a byte each.
//!
//! They are dealt out for a training: first its samples, pass after pass over those that are learned from,
//! each pass in an order of its own; then those that were held out.

use rand_pcg::Pcg64;
use weighbridge::{Dtype, Error, FieldKind, Result};

use super::DataSpec;
use super::bounded_numbers::below;

/// The number of digits.
pub const DIGITS: usize = 1_797;

/// Points of each.
const POINTS: usize = 64;

/// All of them.
const SET: &[[u8; POINTS + 1]] = include_bytes!("digits.bin").as_chunks().0;

const _: () = assert!(SET.len() == DIGITS);

/// The fields of `spec`, the first of which is the points (from 0 to 1, each as often in succession as fill
/// its shape), and the second the digit.
///
/// # Errors
/// Shapes that digits do not fill; nothing left to learn from.
pub(super) fn read(spec: &DataSpec, seed: u64, held_out: usize) -> Result<Vec<Vec<u8>>> {
    let channels = match spec.kinds().collect::<Vec<_>>()[..] {
        [FieldKind { dtype: Dtype::F32, shape: points, .. }, FieldKind { dtype: Dtype::I32, shape, .. }]
            if shape.is_empty() =>
        {
            match points[..] {
                [POINTS] => 1,
                [8, 8, channels] => channels,
                _ => 0,
            }
        }
        _ => 0,
    };
    if channels == 0 {
        return Err(Error::new(
            "digits are vectors of 64 numbers or images of 8 by 8 points, with one label each",
        ));
    }
    if held_out >= DIGITS.min(spec.elements) {
        return Err(Error::new(format!(
            "{held_out} of {DIGITS} digits are to be held out: nothing is left to learn from"
        )));
    }
    let mut order: Vec<usize> = (0..DIGITS).collect();
    let mut random = Pcg64::new(u128::from(seed), 0);
    shuffle(&mut order, &mut random);
    let (kept_back, learned) = order.split_at_mut(held_out);
    let mut dealt = Vec::with_capacity(spec.elements);
    while dealt.len() < spec.elements - held_out {
        shuffle(learned, &mut random);
        dealt.extend(learned.iter().take(spec.elements - held_out - dealt.len()));
    }
    dealt.extend(kept_back.iter());
    let points = |digit: &usize| {
        let (points, _) = SET[*digit].split_at(POINTS);
        points
            .iter()
            .flat_map(move |point| std::iter::repeat_n((f32::from(*point) / 16.0).to_le_bytes(), channels))
            .flatten()
    };
    let label = |digit: &usize| i32::from(SET[*digit][POINTS]).to_le_bytes();
    Ok(vec![dealt.iter().flat_map(points).collect(), dealt.iter().flat_map(label).collect()])
}

/// Fisher and Yates' shuffle.
fn shuffle(numbers: &mut [usize], random: &mut Pcg64) {
    for last in (1..numbers.len()).rev() {
        numbers.swap(last, below(random, last as u32 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cache, Origin};

    fn dealt(elements: usize, held_out: usize, shape: Vec<usize>) -> Result<crate::DataSet> {
        let spec = DataSpec::normal("input", elements, shape)
            .with("label", Dtype::I32, &[], crate::FieldValues::Below(10))
            .read_from(Origin::Digits { seed: 7, held_out });
        let place = tempfile::tempdir().unwrap();
        Cache::at(place.path()).open(&spec)
    }

    /// The repository says how often each digit is there.
    #[test]
    fn each_digit_is_there_as_often_as_is_published() {
        let often = (0..10u8).map(|digit| SET.iter().filter(|row| row[POINTS] == digit).count());
        assert_eq!(often.collect::<Vec<_>>(), [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]);
        assert!(SET.iter().all(|row| row[..POINTS].iter().all(|point| *point <= 16)));
    }

    fn singles(set: &crate::DataSet, element: usize) -> Vec<f32> {
        set.rows(0, element..element + 1).as_chunks().0.iter().map(|&four| f32::from_le_bytes(four)).collect()
    }

    #[test]
    fn what_is_held_out_is_never_learned_from_and_a_pass_has_each_of_the_others_once() {
        let (held_out, learned) = (297, 1_500);
        let set = dealt(2 * learned + held_out, held_out, vec![64]).unwrap();
        let rows = |range: std::ops::Range<usize>| -> Vec<Vec<u8>> {
            let mut rows: Vec<_> = range.map(|at| set.rows(0, at..at + 1).to_vec()).collect();
            rows.sort();
            rows
        };
        let (first, second, kept) =
            (rows(0..learned), rows(learned..2 * learned), rows(2 * learned..2 * learned + held_out));
        assert_eq!(first, second);
        assert_ne!(set.rows(0, 0..1), set.rows(0, learned..learned + 1), "in another order");
        assert!(kept.iter().all(|row| first.binary_search(row).is_err()));
        let labels: Vec<i32> =
            set.rows(1, 0..learned).as_chunks().0.iter().map(|&four| i32::from_le_bytes(four)).collect();
        assert!((0..10).all(|digit| labels.iter().filter(|&&label| label == digit).count() > 120));
    }

    #[test]
    fn an_image_has_each_point_in_all_channels() {
        let (flat, image) = (dealt(20, 10, vec![64]).unwrap(), dealt(20, 10, vec![8, 8, 3]).unwrap());
        let (flat, image) = (singles(&flat, 3), singles(&image, 3));
        assert!(
            image
                .chunks(3)
                .zip(flat)
                .all(|(three, one)| three.iter().all(|&point| point.to_bits() == one.to_bits()))
        );
        assert!(image.iter().all(|point| (0.0..=1.0).contains(point)) && image.contains(&1.0));
    }

    #[test]
    fn what_digits_do_not_fill_or_leaves_none_to_learn_from_is_refused() {
        let said = |elements, held_out, shape| dealt(elements, held_out, shape).unwrap_err().to_string();
        assert!(said(20, 10, vec![65]).contains("vectors of 64 numbers or images of 8 by 8"));
        assert!(said(5_000, 1_797, vec![64]).contains("1797 of 1797 digits are to be held out"));
    }
}
