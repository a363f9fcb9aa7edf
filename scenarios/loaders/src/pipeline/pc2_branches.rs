//! PC-2: two branches and their merge.

use std::sync::Arc;

use weighbridge::prelude::*;

use crate::contract::load_in_order;
use crate::prelude::*;

/// Float images through two branches, one shifted and one with noise, merged by their mean.
///
/// What does a graph cost that is not a line? Each image goes into `RandomBrightness` and into
/// `GaussianNoise`, each with draws of its own, and what comes out is the mean of both.
///
/// Timed: fetching the rows, both branches, the merge, putting the batch together. Not timed: making and
/// mapping the data, opening the pipeline. The work report must show both branches and
/// `2 branches merged by their mean`, and `image` as `f32`.
///
/// After the stream, outside the clock, the first batches are made once more with the branches delivered as
/// views: every merged number must be the mean of the two, bit by bit, or the scenario fails.
#[scenario(id = "PC-2", category = "Pipeline complexity", sets = ["canonical", "tpu"], equivalence = exact,
    workload = workload)]
fn branches(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(default = Images::floats(50_000, 64, 64), tiny = Images::floats(640, 64, 64))] variant: Images,
    #[sweep(0)] workers: usize,
) -> Result<()> {
    let spec = workload(&variant, &workers);
    let (spec, data) = load_in_order(bencher, loader, &spec)?;
    let compared = compare(loader, &spec, &data)?;
    bencher.metric("compared_numbers", compared as f64, Unit::COUNT, Direction::Information);
    Ok(())
}

/// Returns the pipeline of a point of the sweep.
fn workload(variant: &Images, workers: &usize) -> PipelineSpec {
    pipeline(variant).workers(*workers)
}

fn pipeline(variant: &Images) -> PipelineSpec {
    PipelineSpec::images(variant).branch(&[RandomBrightness]).branch(&[GaussianNoise])
}

/// Compares merged batches with the means of their views; gives how many numbers were looked at.
fn compare(loader: &mut dyn Loader, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<usize> {
    let mut first = |spec: &PipelineSpec, fields: usize| -> Result<Vec<Vec<u8>>> {
        let mut epochs = loader.open(spec, data)?;
        epochs.begin(0)?;
        let mut bytes = vec![Vec::new(); fields];
        epochs.pass(4, &mut |batch| {
            for (field, bytes) in bytes.iter_mut().enumerate() {
                bytes.extend_from_slice(batch.bytes(field));
            }
        })?;
        Ok(bytes)
    };
    let merged = first(spec, 1)?;
    let views = first(&spec.clone().merge(Merge::Views), 2)?;
    let numbers =
        |bytes: &[u8]| -> Vec<f32> { bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect() };
    let (merged, one, other) = (numbers(&merged[0]), numbers(&views[0]), numbers(&views[1]));
    let mean = one.iter().zip(&other).map(|(x, y)| (x + y) / 2.0);
    match merged.iter().zip(mean).position(|(found, mean)| found.to_bits() != mean.to_bits()) {
        None if merged.len() == one.len() => Ok(merged.len()),
        place => {
            Err(Error::new(format!("the merge is not the mean of its branches: number {place:?} differs")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::changed_loader::{ChangedLoader, bencher};

    fn run(change: fn(&mut PipelineSpec)) -> Result<()> {
        branches(&mut bencher(), &mut ChangedLoader::new(change), Images::floats(160, 8, 16), 0)
    }

    #[test]
    fn a_merge_that_is_not_the_mean_fails() {
        run(|_| {}).unwrap();
        let other_draws =
            |spec: &mut PipelineSpec| spec.seed += u64::from(spec.structure.merge == Merge::Mean);
        assert!(run(other_draws).unwrap_err().to_string().contains("not the mean of its branches"));
    }
}
