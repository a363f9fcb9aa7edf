//! CV-3: images of a batch mixed with each other.

use weighbridge::prelude::*;

use crate::prelude::*;

/// Normalised images, mixed with each other batch by batch: `MixUp` and `CutMix`.
///
/// What does it cost to mix whole batches, which no transform of one element can do? Both ways are cases of
/// one run: `mixup` touches every number twice, `cutmix` moves rectangles. Each batch draws its share from
/// Beta(0.4, 0.4); image `i` of `n` is mixed with image `n - 1 - i`. The draw has an address, so a consumer
/// that mixes labels can make it again.
///
/// Timed: fetching the rows, the transform, the mixing, putting the batch together. Not timed: making and
/// mapping the data, opening the pipeline. The work report must show `Normalize`, then `MixUp` or `CutMix`
/// with its alpha, and `image` as `f32`.
///
/// In the suite that this one follows `CutMix` was never selected.
#[scenario(id = "CV-3", category = "Computer vision", filter = can_be_verified, workload = workload)]
fn batch_mixing(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(
        default = Images::new(5_000, 64, 128),
        tiny = Images::new(512, 64, 128),
        large = Images::new(50_000, 224, 128),
        small = Images::new(20_000, 32, 64),
        real_cifar10 = Images::cifar10_resized(5_000, 64, 128)
    )]
    variant: Images,
    #[sweep(all, mixup = MixRule::MixUp { alpha: 0.4 }, cutmix = MixRule::CutMix { alpha: 0.4 })]
    mixing: MixRule,
    #[sweep(0)] workers: usize,
    #[sweep(implied, Destination::Host, Destination::Device)] delivery: Destination,
    #[sweep(implied, Operators::Shared, Operators::Own)] operators: Operators,
) -> Result<()> {
    bencher.load(loader, &workload(&variant, &mixing, &workers, &delivery, &operators))
}

/// By operators of their own, `MixUp` of many batches alone. What `CutMix` moves shows in no trait of an
/// element; and each batch has one draw, so that of few batches nobody can say whether they were mixed.
fn can_be_verified(
    variant: &Images,
    mixing: &MixRule,
    _: &usize,
    _: &Destination,
    operators: &Operators,
) -> Result<(), String> {
    const LEAST: usize = 300;
    if *operators == Operators::Shared {
        return Ok(());
    }
    let spec = pipeline(variant, *mixing);
    let batches = spec.elements().len() / spec.batch_size;
    match mixing {
        MixRule::CutMix { .. } => {
            Err("operators own: whether CutMix was done shows in no trait of an element".to_owned())
        }
        MixRule::MixUp { .. } if batches < LEAST => Err(format!(
            "operators own: of {batches} batches nobody can say whether they were mixed, of {LEAST} one can"
        )),
        MixRule::MixUp { .. } => Ok(()),
    }
}

/// Returns the pipeline of a point of the sweep.
fn workload(
    variant: &Images,
    mixing: &MixRule,
    workers: &usize,
    delivery: &Destination,
    operators: &Operators,
) -> PipelineSpec {
    pipeline(variant, *mixing).workers(*workers).deliver(*delivery).operators(*operators)
}

fn pipeline(variant: &Images, mixing: MixRule) -> PipelineSpec {
    PipelineSpec::images(variant).map(Normalize).mix(mixing)
}
