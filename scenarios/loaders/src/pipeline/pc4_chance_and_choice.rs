//! PC-4: steps that only some elements go through.

use std::sync::Arc;

use weighbridge::prelude::*;

use crate::contract::load_in_order;
use crate::prelude::*;

/// Float images: a shift with probability 1/2, then either a shift or noise.
///
/// What does it cost when elements take different ways? Each image draws whether `RandomBrightness` is done,
/// then which of `RandomBrightness` and `GaussianNoise` follows.
///
/// Timed: fetching the rows, whichever transforms an image draws, putting the batch together. Not timed:
/// making and mapping the data, opening the pipeline. The work report must show three transforms with their
/// probabilities, and `image` as `f32`.
///
/// After the stream, outside the clock, the first step alone runs over up to 64 batches, and the images that
/// it changed are counted. The share must be 1/2 within six standard deviations of so many tosses, or the
/// scenario fails.
#[scenario(id = "PC-4", category = "Pipeline complexity", equivalence = exact,
    workload = workload)]
fn chance_and_choice(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(default = Images::floats(50_000, 64, 64), tiny = Images::floats(640, 64, 64))] variant: Images,
    #[sweep(0)] workers: usize,
) -> Result<()> {
    let (spec, data) = load_in_order(bencher, loader, &workload(&variant, &workers))?;
    let first = PipelineSpec { source: spec.source, ..first_step(&variant).workers(workers) };
    let share = observed(loader, &first, &data)?;
    bencher.metric("observed_probability", share, Unit::RATIO, Direction::Information);
    Ok(())
}

/// Returns the pipeline of a point of the sweep.
fn workload(variant: &Images, workers: &usize) -> PipelineSpec {
    pipeline(variant).workers(*workers)
}

/// The probability of the first step.
const PROBABILITY: f64 = 0.5;

fn pipeline(variant: &Images) -> PipelineSpec {
    first_step(variant).choose(&[RandomBrightness, GaussianNoise])
}

fn first_step(variant: &Images) -> PipelineSpec {
    PipelineSpec::images(variant).sometimes(PROBABILITY, RandomBrightness)
}

/// The share of images that the first step changes.
fn observed(loader: &mut dyn Loader, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<f64> {
    let mut epochs = loader.open(spec, data)?;
    epochs.begin(0)?;
    let (mut seen, mut changed) = (0, 0_usize);
    epochs.pass(64, &mut |batch| {
        let row = batch.bytes(0).len() / batch.elements().max(1);
        for found in batch.bytes(0).chunks_exact(row.max(1)) {
            changed += usize::from(found != data.rows(0, seen..seen + 1));
            seen += 1;
        }
    })?;
    let share = changed as f64 / seen.max(1) as f64;
    let deviation = (PROBABILITY * (1.0 - PROBABILITY) / seen.max(1) as f64).sqrt();
    if (share - PROBABILITY).abs() > 6.0 * deviation {
        return Err(Error::new(format!(
            "{changed} of {seen} images went through a step of probability {PROBABILITY}: that is no chance"
        )));
    }
    Ok(share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::changed_loader::{ChangedLoader, bencher};

    fn run(change: fn(&mut PipelineSpec)) -> Result<()> {
        chance_and_choice(&mut bencher(), &mut ChangedLoader::new(change), Images::floats(640, 8, 16), 0)
    }

    #[test]
    fn a_step_that_is_always_or_never_done_fails() {
        run(|_| {}).unwrap();
        for change in [(|spec| spec.structure.gates.clear()) as fn(&mut PipelineSpec), |spec| {
            spec.structure.gates[0].below = 0.0;
        }] {
            assert!(run(change).unwrap_err().to_string().contains("that is no chance"));
        }
    }
}
