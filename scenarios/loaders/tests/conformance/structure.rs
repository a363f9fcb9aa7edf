//! What is not a step on one element: branches, mixing, mixtures, caching, regrouping, held to the page.

use weighbridge::ItemCopy;
use weighbridge_data::{DataSet, DataSpec, FieldValues};
use weighbridge_loaders::workload::{Merge, MixRule, PipelineSpec, Transform};

use crate::oracle::{Address, exp, ln64, oracle};
use crate::{data, epoch, rows, takers};

fn images() -> PipelineSpec {
    PipelineSpec::new(DataSpec::images(23, 9, 3), 5).map(Transform::Normalize)
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)).collect()
}

/// Looks at an epoch: loader, batches, data, number.
type Check<'a> = dyn Fn(&str, &[ItemCopy], &DataSet, u64) + 'a;

/// Runs a pipeline through every loader, with workers and without, and hands each epoch to `check`.
fn through_all(spec: &PipelineSpec, check: &Check<'_>) {
    let (_place, data) = data(spec);
    for (name, mut loader) in takers(spec, &data) {
        for workers in [0, 2] {
            let spec = spec.clone().workers(workers);
            let mut epochs = loader.open(&spec, &data).unwrap();
            if !epochs.in_order() {
                continue;
            }
            for number in [0, 1] {
                check(name, &epoch(&mut *epochs, number), &data, number);
            }
        }
    }
}

/// One branch as a list of its own, at the positions that it has: what stands before it is passed by.
fn way(branches: &[Vec<Transform>], number: usize) -> PipelineSpec {
    let before = branches[..number].iter().flatten();
    let spec = before.fold(images(), |spec, &transform| spec.sometimes(0.0, transform));
    branches[number].iter().fold(spec, |spec, &transform| spec.map(transform))
}

#[test]
fn branches_have_draws_of_their_own_and_are_merged_by_their_mean_or_delivered_as_views() {
    let branches = [
        vec![Transform::RandomBrightness, Transform::Clip],
        vec![Transform::GaussianNoise],
        vec![Transform::RandomBrightness],
    ];
    let spec = branches.iter().fold(images(), |spec, branch| spec.branch(branch));
    let (spec, seed) = (spec.seed(9), 9);
    let ways = |data: &DataSet, number: u64, element: usize| -> Vec<Vec<f32>> {
        let way = |branch| oracle(&way(&branches, branch).seed(seed), data, element, number);
        (0..3).map(|branch| floats(&way(branch)[0].bytes(243))).collect()
    };
    through_all(&spec, &|name, batches, data, number| {
        let found = floats(&rows(batches, 0));
        for element in 0..23 {
            let ways = ways(data, number, element);
            for (index, x) in found[element * 243..][..243].iter().enumerate() {
                let mean = ((ways[0][index] + ways[1][index]) + ways[2][index]) / 3.0;
                assert_eq!(x.to_bits(), mean.to_bits(), "{name}");
            }
        }
    });
    through_all(&spec.merge(Merge::Views), &|name, batches, data, number| {
        for view in 0..3 {
            assert_eq!(batches[0].fields[view].name, format!("image_{}", view + 1));
            let expected: Vec<f32> =
                (0..23).flat_map(|element| ways(data, number, element)[view].clone()).collect();
            assert_eq!(floats(&rows(batches, view)), expected, "{name}");
        }
    });
}

fn beta(draw: &Address, alpha: f64) -> f64 {
    for k in 0..64 {
        let power = |n| exp(ln64(draw.unit(n) + 2.0_f64.powi(-54)) / alpha);
        let (x, y) = (power(2 * k), power(2 * k + 1));
        if 0.0 < x + y && x + y <= 1.0 {
            return x / (x + y);
        }
    }
    0.5
}

#[test]
fn mixup_and_cutmix_mix_each_element_with_its_partner() {
    let alpha = 0.4;
    let (_place, plain) = data(&images());
    let before = |element: usize, number| floats(&oracle(&images(), &plain, element, number)[0].bytes(243));
    for (mixing, cuts) in [(MixRule::MixUp { alpha }, false), (MixRule::CutMix { alpha }, true)] {
        let differs = std::cell::Cell::new(false);
        through_all(&images().mix(mixing), &|name, batches, _, number| {
            let mut first = 0;
            for batch in batches {
                let n = batch.elements;
                let draw = Address::new(42, number, first as u64, 1 << 33);
                let lambda = beta(&draw, alpha);
                let side = (9.0 * (1.0 - lambda).sqrt()).floor() as i64;
                let inside = |at: usize, n| {
                    let start = draw.below(n, 9) as i64 - side / 2;
                    (start..start + side).contains(&(at as i64))
                };
                for (element, found) in floats(&batch.fields[0].bytes).chunks(243).enumerate() {
                    let (own, other) =
                        (before(first + element, number), before(first + n - 1 - element, number));
                    let (a, c) = (lambda as f32, 1.0 - lambda as f32);
                    for (index, x) in found.iter().enumerate() {
                        let expected = match cuts {
                            true if inside(index / 27, 128) && inside(index / 3 % 9, 129) => other[index],
                            true => own[index],
                            false => a * own[index] + c * other[index],
                        };
                        assert_eq!(
                            x.to_bits(),
                            expected.to_bits(),
                            "{name}, {mixing}, element {element} of {n}"
                        );
                        differs.set(differs.get() || x.to_bits() != own[index].to_bits());
                    }
                }
                first += n;
            }
        });
        assert!(differs.get(), "{mixing} mixed nothing");
    }
}

#[test]
fn the_beta_draws_have_the_spread_of_the_distribution() {
    for alpha in [0.4, 1.0, 2.0] {
        let all: Vec<f64> =
            (0..4_000).map(|element| beta(&Address::new(1, 0, element, 1 << 33), alpha)).collect();
        let mean = all.iter().sum::<f64>() / 4e3;
        let variance = all.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 4e3;
        let expected = 1.0 / (4.0 * (2.0 * alpha + 1.0));
        assert!(
            (mean - 0.5).abs() < 0.04 && (variance / expected - 1.0).abs() < 0.12,
            "{alpha}: {mean} {variance}"
        );
    }
}

#[test]
fn a_mixture_takes_the_elements_of_its_parts_in_order_by_their_weights() {
    let weights = [3.0, 1.0, 0.0];
    let source =
        DataSpec::images(41, 4, 1).with("id", weighbridge::Dtype::I32, &[], FieldValues::Below(1 << 30));
    let spec = PipelineSpec::new(source, 4).map(Transform::RandomFlip).mixture(&weights);
    through_all(&spec, &|name, batches, data, number| {
        let mut next = [0; 3];
        let mut order = Vec::new();
        for place in 0..41 {
            let u = Address::new(42, number, place, 1 << 34).unit(0) * 4.0;
            let part = usize::from(u >= 3.0);
            let (start, end) = (part * 41 / 3, (part + 1) * 41 / 3);
            order.push(start + next[part] % (end - start));
            next[part] += 1;
        }
        assert!(next[0] > next[1] && next[1] > 0);
        let expected = |field: usize| -> Vec<u8> {
            order.iter().flat_map(|&element| oracle(&spec, data, element, number)[field].bytes(16)).collect()
        };
        assert_eq!(rows(batches, 0), expected(0), "{name}");
        assert_eq!(rows(batches, 1), expected(1), "{name}");
    });
}

#[test]
fn a_cache_delivers_the_first_epoch_again_and_forgets_it_at_epoch_0() {
    let spec = images().map(Transform::GaussianNoise);
    let (_place, data) = data(&spec);
    for (name, mut loader) in takers(&spec.clone().cached(), &data) {
        for workers in [0, 2] {
            let plain = spec.clone().workers(workers);
            let first = epoch(&mut *loader.open(&plain, &data).unwrap(), 0);
            let second = epoch(&mut *loader.open(&plain, &data).unwrap(), 1);
            let mut cached = loader.open(&plain.cached(), &data).unwrap();
            assert!(epoch(&mut *cached, 0) == first, "{name}");
            assert!(epoch(&mut *cached, 1) == first, "{name}");
            assert!(epoch(&mut *cached, 2) == first && first != second, "{name}");
            cached.begin(0).unwrap();
            assert!(epoch(&mut *cached, 1) == second, "{name}");
        }
    }
}

#[test]
fn regrouping_loses_nothing_and_changes_no_row() {
    for (size, expected) in [(2, vec![2; 11]), (5, vec![5; 4]), (7, vec![7, 7, 7]), (100, vec![])] {
        let plain = images().map(Transform::RandomCrop);
        let (_place, data) = data(&plain);
        for (name, mut loader) in takers(&plain.clone().rebatch(size), &data) {
            let all = rows(&epoch(&mut *loader.open(&plain, &data).unwrap(), 1), 0);
            let spec = plain.clone().rebatch(size);
            let batches = epoch(&mut *loader.open(&spec, &data).unwrap(), 1);
            let sizes: Vec<usize> = batches.iter().map(|batch| batch.elements).collect();
            assert_eq!(sizes[..sizes.len() - 1], expected, "{name}");
            assert_eq!(sizes.iter().sum::<usize>(), 23, "{name}");
            assert!(rows(&batches, 0) == all, "{name}");
        }
    }
}

#[test]
fn an_image_and_its_mask_move_together_and_the_mask_keeps_its_classes() {
    // A mask that says where its pixel was: wherever a pixel goes, its place in the mask must go too.
    let transforms = [Transform::RandomCrop, Transform::RandomFlip, Transform::AffineRotation];
    let source = DataSpec::images(30, 16, 1).with(
        "mask",
        weighbridge::Dtype::I32,
        &[16, 16, 1],
        FieldValues::Below(21),
    );
    for transform in transforms {
        let spec = PipelineSpec::new(source.clone(), 6).map(transform);
        through_all(&spec, &|name, batches, data, _| {
            let (image, mask) = (rows(batches, 0), rows(batches, 1));
            let mask: Vec<i32> = mask.as_chunks().0.iter().map(|four| i32::from_le_bytes(*four)).collect();
            let (from, masks) = (data.rows(0, 0..30), data.rows(1, 0..30));
            for element in 0..30 {
                let pairs = |pixels: &[u8], classes: &[i32]| {
                    let mut pairs: Vec<(u8, i32)> =
                        pixels.iter().copied().zip(classes.iter().copied()).collect();
                    pairs.sort_unstable();
                    pairs
                };
                let span = element * 256..(element + 1) * 256;
                let classes: Vec<i32> = masks[span.start * 4..span.end * 4]
                    .as_chunks()
                    .0
                    .iter()
                    .map(|four| i32::from_le_bytes(*four))
                    .collect();
                let there = pairs(&from[span.clone()], &classes);
                let here = pairs(&image[span.clone()], &mask[span]);
                assert!(
                    here.iter().all(|pair| *pair == (0, 0) || there.binary_search(pair).is_ok()),
                    "{name}"
                );
            }
        });
    }
    let spec = PipelineSpec::new(source, 6).map(Transform::RandomResizedCrop);
    through_all(&spec, &|name, batches, _, _| {
        let mask = rows(batches, 1);
        assert!(mask.as_chunks().0.iter().all(|four| (0..21).contains(&i32::from_le_bytes(*four))), "{name}");
    });
}
