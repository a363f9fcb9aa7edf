//! CV-4: images resized to two resolutions.

use weighbridge::prelude::*;

use crate::prelude::*;

/// Images resized to half of each side and back to the whole, then normalised.
///
/// What does resizing cost, to more than one target in one pipeline: down to half of the resolution, and up
/// again? Both are bilinear, on `u8`, rounded to `u8` after each.
///
/// Timed: fetching the rows, both resizings, the cast, putting the batch together. Not timed: making and
/// mapping the data, opening the pipeline. The work report must show `MultiScaleResize`, `Normalize`, and
/// `image` as `f32`.
#[scenario(id = "CV-4", category = "Computer vision",
    workload = workload)]
fn multi_resolution(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(
        default = Images::new(2_000, 128, 64),
        tiny = Images::new(512, 48, 64),
        large = Images::new(50_000, 512, 64)
    )]
    variant: Images,
    #[sweep(0)] workers: usize,
    #[sweep(implied, Destination::Host, Destination::Device)] delivery: Destination,
    #[sweep(implied, Operators::Shared, Operators::Own)] operators: Operators,
) -> Result<()> {
    bencher.load(loader, &workload(&variant, &workers, &delivery, &operators))
}

/// Returns the pipeline of a point of the sweep.
fn workload(
    variant: &Images,
    workers: &usize,
    delivery: &Destination,
    operators: &Operators,
) -> PipelineSpec {
    pipeline(variant).workers(*workers).deliver(*delivery).operators(*operators)
}

fn pipeline(variant: &Images) -> PipelineSpec {
    PipelineSpec::images(variant).map(MultiScaleResize).map(Normalize)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weighbridge_data::Cache;

    use super::*;
    use crate::adapters::native::Reference;
    use crate::contract::for_each_batch;

    const SIDE: usize = 8;

    /// A pixel's neighbours along an axis and the weight of the second, where `from` pixels become `to`.
    fn neighbours(at: usize, from: usize, to: usize) -> (usize, usize, f64) {
        let place = ((at as f64 + 0.5) * from as f64 / to as f64 - 0.5).clamp(0.0, (from - 1) as f64);
        let first = place.floor() as usize;
        (first, (first + 1).min(from - 1), place - place.floor())
    }

    /// Bilinear, as the textbook has it: one channel of a square image.
    fn resized(image: &[f64], from: usize, to: usize) -> Vec<f64> {
        let mut made = Vec::new();
        for row in 0..to {
            let (up, down, below) = neighbours(row, from, to);
            for column in 0..to {
                let (left, right, beside) = neighbours(column, from, to);
                let along = |row: usize| {
                    image[row * from + left] * (1.0 - beside) + image[row * from + right] * beside
                };
                made.push((along(up) * (1.0 - below) + along(down) * below).round_ties_even());
            }
        }
        made
    }

    /// The elements of an epoch, byte by byte.
    fn delivered(spec: &PipelineSpec) -> Vec<u8> {
        let place = tempfile::tempdir().unwrap();
        let data = Arc::new(Cache::at(place.path()).open(&spec.source).unwrap());
        let mut bytes = Vec::new();
        let mut loader = Reference;
        let mut epochs = loader.open(spec, &data).unwrap();
        for_each_batch(&mut *epochs, 0, &mut |batch| bytes.extend_from_slice(batch.bytes(0))).unwrap();
        bytes
    }

    #[test]
    fn what_is_delivered_has_gone_through_half_of_the_resolution_and_back_to_the_whole() {
        let images = Images::new(6, SIDE, 4);
        assert_eq!(pipeline(&images).transforms, [MultiScaleResize, Normalize]);
        let before = delivered(&PipelineSpec::images(&images));
        let after = delivered(&PipelineSpec::images(&images).map(MultiScaleResize));
        assert_eq!(after.len(), before.len(), "the whole resolution");
        let length = SIDE * SIDE * 3;
        for (before, after) in before.chunks(length).zip(after.chunks(length)) {
            for channel in 0..3 {
                let one = |image: &[u8]| -> Vec<f64> {
                    image.iter().skip(channel).step_by(3).map(|pixel| f64::from(*pixel)).collect()
                };
                let half = resized(&one(before), SIDE, SIDE / 2);
                let whole = resized(&half, SIDE / 2, SIDE);
                let off = whole.iter().zip(one(after)).map(|(expected, found)| (expected - found).abs());
                assert!(off.fold(0.0, f64::max) <= 1.0, "halves are rounded to either side, and no more");
            }
        }
        let far = before.iter().zip(&after).filter(|(before, after)| before.abs_diff(**after) > 1).count();
        assert!(far > before.len() / 2, "drawn pixels do not survive a half resolution");
    }
}
