//! AUG-2: the same shape of chain, with random transforms and without.

use weighbridge::prelude::*;
use weighbridge_data::time_epoch;

use crate::contract::open_data;
use crate::prelude::*;

/// Two chains of three transforms on the same images: one without draws, one with.
///
/// What does randomness cost beside arithmetic of the same depth? `deterministic` is `Normalize`, `Scale`,
/// `Clip`; `stochastic` is `Normalize`, `GaussianNoise`, `RandomScale`. Both are cases of one run. The metric
/// `stochastic_over_deterministic` is the ratio of the times of one epoch of each, through the same loader,
/// after the stream.
///
/// Timed: fetching the rows, all three transforms, putting the batch together. Not timed: making and mapping
/// the data, opening the pipeline, the two epochs of the ratio. The work report must show the three
/// transforms of the variant, and `image` as `f32`.
///
/// In the suite that this one follows only the deterministic half was run.
#[scenario(id = "AUG-2", category = "Augmentation", workload = workload)]
fn determinism_cost(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(all, deterministic = ChainForm::Deterministic, stochastic = ChainForm::Stochastic)]
    variant: ChainForm,
    #[sweep(default = Images::new(10_000, 64, 64), tiny = Images::new(1_000, 64, 64))] data: Images,
    #[sweep(0)] workers: usize,
    #[sweep(implied, Operators::Shared, Operators::Own)] operators: Operators,
) -> Result<()> {
    bencher.load(loader, &workload(&variant, &data, &workers, &operators))?;
    let mut seconds = |chain: ChainForm| {
        let (spec, rows) = open_data(bencher, &chain.pipeline(&data).workers(workers).operators(operators))?;
        Ok::<_, Error>(time_epoch(&mut *loader.open(&spec, &rows)?, 0)?.as_secs_f64())
    };
    let (without, with) = (seconds(ChainForm::Deterministic)?, seconds(ChainForm::Stochastic)?);
    bencher.metric("stochastic_over_deterministic", with / without, Unit::RATIO, Direction::Lower);
    Ok(())
}

/// Returns the pipeline of a point of the sweep.
fn workload(variant: &ChainForm, data: &Images, workers: &usize, operators: &Operators) -> PipelineSpec {
    variant.pipeline(data).workers(*workers).operators(*operators)
}

/// A chain of transforms, with draws or without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainForm {
    /// Without draws.
    Deterministic,
    /// With draws.
    Stochastic,
}

impl ChainForm {
    fn pipeline(self, data: &Images) -> PipelineSpec {
        let images = PipelineSpec::images(data).map(Normalize);
        match self {
            Self::Deterministic => images.map(Scale).map(Clip),
            Self::Stochastic => images.map(GaussianNoise).map(RandomScale),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::changed_loader::{TimedReference, bencher, metrics};

    #[test]
    fn both_of_the_pair_tell_the_time_with_draws_over_the_time_without() {
        for variant in [ChainForm::Deterministic, ChainForm::Stochastic] {
            let mut bencher = bencher();
            let seconds = |spec: &PipelineSpec, _| if spec.transforms.contains(&RandomScale) { 6 } else { 4 };
            let images = Images::new(200, 8, 64);
            determinism_cost(
                &mut bencher,
                &mut TimedReference::new(seconds),
                variant,
                images,
                0,
                Operators::Shared,
            )
            .unwrap();
            let told = [("stochastic_over_deterministic".to_owned(), 1.5)];
            assert_eq!(metrics(bencher).unwrap(), told, "{variant:?}");
        }
    }

    #[test]
    fn the_chains_differ_in_their_draws_alone() {
        let steps = |chain: ChainForm| chain.pipeline(&Images::new(200, 8, 64)).transforms;
        assert_eq!(steps(ChainForm::Deterministic), [Normalize, Scale, Clip]);
        assert_eq!(steps(ChainForm::Stochastic), [Normalize, GaussianNoise, RandomScale]);
    }
}
