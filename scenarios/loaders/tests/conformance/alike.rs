//! Systems that work by operators and draws of their own: honest ones agree with the reference, and whoever
//! leaves a step out or does another in its place is refused, with the trait that shows it.

use weighbridge::data::{Agreement, Content, Work, WorkReport, agree};
use weighbridge::{ItemCopy, Workload};
use weighbridge_data::{DataSet, DataSpec};
use weighbridge_loaders::adapters::native::Reference;
use weighbridge_loaders::workload::{MixRule, Operators, PipelineSpec, Transform, Transform::*};

use crate::{batches, data};

const ELEMENTS: usize = 3_000;
const SIDE: usize = 20;

fn pipeline(transforms: &[Transform]) -> PipelineSpec {
    let images = PipelineSpec::new(DataSpec::images(ELEMENTS, SIDE, 3), 64);
    transforms.iter().fold(images, |spec, &transform| spec.map(transform)).operators(Operators::Own)
}

/// Returns the work that a verifying repeat hands over.
fn work(batches: &[ItemCopy], spec: &PipelineSpec) -> Work {
    let mut content = Content::default();
    for batch in batches {
        content.add_with_traits(batch).unwrap();
    }
    Work { report: WorkReport { transforms: spec.work(), ..WorkReport::default() }, content }
}

/// Returns the differences between the reference's work and batches that are handed over as a pipeline's.
fn said(asked: &PipelineSpec, reference: &Work, delivered: &[ItemCopy]) -> Vec<String> {
    match agree(&work(delivered, asked), reference, asked.agreement()) {
        Agreement::Agrees => Vec::new(),
        Agreement::Differs(what) => what,
        other => panic!("{other:?}"),
    }
}

/// An honest system: the same steps with other draws. And systems that do other steps under the same work
/// report: each must be refused for one of the traits that are named for it.
#[track_caller]
fn check(asked: &PipelineSpec, lies: &[(PipelineSpec, &str)]) {
    let (_place, data) = data(asked);
    let reference = work(&batches(&mut Reference, asked, &data), asked);
    let honest = batches(&mut Reference, &asked.clone().seed(7), &data);
    assert_eq!(said(asked, &reference, &honest), Vec::<String>::new(), "{}", asked.describe());
    for (lie, shows) in lies {
        let found = said(asked, &reference, &batches(&mut Reference, &lie.clone().seed(7), &data));
        assert!(
            found.iter().any(|what| what.contains(shows)),
            "{} for {}: {found:?}",
            lie.describe(),
            asked.describe()
        );
    }
}

const CHAIN: [Transform; 7] =
    [RandomResizedCrop, RandomFlip, ColorJitter, RandomGrayscale, GaussianBlur, RandomSolarize, Normalize];

#[test]
fn each_step_of_the_long_chain_that_is_left_out_is_refused() {
    let without =
        |step: Transform| pipeline(&CHAIN.into_iter().filter(|&other| other != step).collect::<Vec<_>>());
    let mut raw = pipeline(&CHAIN[..6]).map(CastToFloat32);
    raw.transforms.dedup();
    check(
        &pipeline(&CHAIN),
        &[
            (without(RandomResizedCrop), "bend"),
            (without(RandomFlip), "`image: right over left`"),
            (without(ColorJitter), "`image: mean`"),
            (without(RandomGrayscale), "`image: colour`"),
            (without(GaussianBlur), "bend"),
            (without(RandomSolarize), "`image: "),
            (raw, "`image: mean`"),
        ],
    );
}

#[test]
fn noise_shifts_and_factors_that_are_left_out_are_refused() {
    check(
        &pipeline(&[Normalize, GaussianNoise, RandomBrightness]),
        &[
            (pipeline(&[Normalize, RandomBrightness]), "step across"),
            (pipeline(&[Normalize, GaussianNoise]), "deviation of `image: mean`"),
            (pipeline(&[Normalize, GaussianNoise, RandomScale]), "`image: "),
        ],
    );
}

#[test]
fn resizing_and_mixing_that_are_left_out_are_refused() {
    check(&pipeline(&[MultiScaleResize, Normalize]), &[(pipeline(&[Normalize]), "bend")]);
    // Each batch has one draw, so there must be many.
    let images =
        PipelineSpec::new(DataSpec::images(4_800, SIDE, 3), 8).map(Normalize).operators(Operators::Own);
    check(&images.clone().mix(MixRule::MixUp { alpha: 0.4 }), &[(images, "`image: deviation`")]);
}

/// A part of each picture, resized to the whole: at least this share of its area, by the nearest pixel or
/// between pixels.
fn cropped(data: &DataSet, least: f64, nearest: bool, mirror: bool) -> Vec<ItemCopy> {
    let mut state = 0x1234_5678_9abc_def0_u64;
    let mut unit = move || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        f64::from((state >> 33) as u32) / f64::from(1_u32 << 31)
    };
    let mut bytes = Vec::new();
    for image in data.rows(0, 0..ELEMENTS).chunks_exact(SIDE * SIDE * 3) {
        let (height, width) = loop {
            let area = (least + (1.0 - least) * unit()) * (SIDE * SIDE) as f64;
            let ratio = ((2.0 * unit() - 1.0) * (4.0_f64 / 3.0).ln()).exp();
            let sides = [(area / ratio).sqrt().round(), (area * ratio).sqrt().round()];
            if sides.iter().all(|&side| (1.0..=SIDE as f64).contains(&side)) {
                break (sides[0], sides[1]);
            }
        };
        let top = (unit() * (SIDE as f64 - height + 1.0)).floor();
        let left = (unit() * (SIDE as f64 - width + 1.0)).floor();
        let pixel = |i: f64, j: f64, k: usize| {
            let at = (top + i.clamp(0.0, height - 1.0)) * SIDE as f64 + left + j.clamp(0.0, width - 1.0);
            f64::from(image[at as usize * 3 + k])
        };
        for place in 0..SIDE * SIDE * 3 {
            let (row, column, channel) = (place / (3 * SIDE), place / 3 % SIDE, place % 3);
            let column = if mirror { SIDE - 1 - column } else { column };
            let i = (row as f64 + 0.5) * height / SIDE as f64 - 0.5;
            let j = (column as f64 + 0.5) * width / SIDE as f64 - 0.5;
            let value = if nearest {
                pixel(i.round(), j.round(), channel)
            } else {
                let (above, before) = (i.floor(), j.floor());
                let (s, t) = (i - above, j - before);
                let upper =
                    pixel(above, before, channel) * (1.0 - t) + pixel(above, before + 1.0, channel) * t;
                let lower = pixel(above + 1.0, before, channel) * (1.0 - t)
                    + pixel(above + 1.0, before + 1.0, channel) * t;
                (upper * (1.0 - s) + lower * s).round()
            };
            bytes.extend(((value / 255.0) as f32).to_le_bytes());
        }
    }
    let mut batch = batches(
        &mut Reference,
        &pipeline(&[Normalize]).cut_to(1),
        &self::data(&pipeline(&[Normalize]).cut_to(1)).1,
    )
    .remove(0);
    (batch.elements, batch.fields[0].bytes) = (ELEMENTS, bytes);
    vec![batch]
}

#[test]
fn an_operator_of_another_library_agrees_and_a_wrong_scale_a_nearest_pixel_and_a_mirror_are_refused() {
    let asked = pipeline(&[RandomResizedCrop, Normalize]);
    let (_place, data) = data(&asked);
    let reference = work(&batches(&mut Reference, &asked, &data), &asked);
    let found = |least, nearest, mirror| said(&asked, &reference, &cropped(&data, least, nearest, mirror));
    assert_eq!(found(0.08, false, false), Vec::<String>::new());
    for (what, shows) in [
        (found(0.5, false, false), "step across"),
        (found(0.08, true, false), "bend across"),
        (found(0.08, false, true), "`image: right over left`"),
    ] {
        assert!(what.iter().any(|what| what.contains(shows)), "{shows}: {what:?}");
    }
}

#[test]
fn a_tolerance_follows_from_the_steps_that_round() {
    let of = |transforms: &[Transform]| pipeline(transforms).agreement().to_string();
    assert_eq!(of(&[Normalize]), "alike(0.001)");
    assert_eq!(of(&[MultiScaleResize, Normalize]), format!("alike({})", 1.0 / 255.0));
    assert_eq!(of(&[Normalize, GaussianBlur]), "alike(0.001)", "floats are not rounded");
    assert_eq!(pipeline(&CHAIN).operators(Operators::Shared).agreement().to_string(), "exact");
}
