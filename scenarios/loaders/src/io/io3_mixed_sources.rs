//! IO-3: one stream from two sources.

use std::collections::HashSet;

use weighbridge::Dtype;
use weighbridge::prelude::*;
use weighbridge_data::FieldValues;

use crate::contract::{for_each_batch, open_data};
use crate::prelude::*;

/// Two halves of a data set, mixed by equal weights.
///
/// What does it cost to draw a source for every element? Neighbours in a batch lie far apart in memory, and
/// rows are gathered one by one. A half that is used up begins again.
///
/// Timed: fetching the rows, the draws and the gathering, the transform, putting the batch together. Not
/// timed: making and mapping the data, opening the pipeline. The work report must show `Normalize` and
/// `mixture 1:1`, `image` as `f32`, `label` as `i32`.
///
/// After the stream, outside the clock, one epoch is looked at: labels are drawn from 2^30, so each tells
/// which half it is from. The metric `first_source_share` must be 1/2 within six standard
/// deviations of so many draws, and so must the share of neighbours that are of different sources, or the
/// scenario fails.
#[scenario(id = "IO-3", category = "Input and output", equivalence = exact,
    workload = workload)]
fn mixed_sources(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(default = Images::floats(5_000, 64, 64), tiny = Images::floats(640, 64, 64))] variant: Images,
    #[sweep(0)] workers: usize,
) -> Result<()> {
    let spec = workload(&variant, &workers);
    bencher.load(loader, &spec)?;
    let share = realised(bencher, loader, &spec)?;
    bencher.metric("first_source_share", share, Unit::RATIO, Direction::Information);
    Ok(())
}

/// Returns the pipeline of a point of the sweep.
fn workload(variant: &Images, workers: &usize) -> PipelineSpec {
    pipeline(variant).workers(*workers)
}

fn pipeline(variant: &Images) -> PipelineSpec {
    let mut spec = PipelineSpec::images(variant);
    spec.source = spec.source.with("label", Dtype::I32, &[1], FieldValues::Below(1 << 30));
    spec.map(Normalize).mixture(&[1.0, 1.0])
}

/// The share of elements of an epoch that come from the first half.
fn realised(bencher: &Bencher, loader: &mut dyn Loader, spec: &PipelineSpec) -> Result<f64> {
    let (spec, data) = open_data(bencher, spec)?;
    let elements = data.elements();
    let label = |bytes: &[u8]| bytes.to_vec();
    let first: HashSet<Vec<u8>> =
        (0..elements / 2).map(|element| label(data.rows(1, element..element + 1))).collect();
    let mut epochs = loader.open(&spec, &data)?;
    let (mut seen, mut of_first, mut switches, mut last) = (0_usize, 0_usize, 0_usize, None);
    for_each_batch(&mut *epochs, 0, &mut |batch| {
        for found in batch.bytes(1).chunks_exact(size_of::<i32>()) {
            seen += 1;
            let is_first = first.contains(found);
            of_first += usize::from(is_first);
            switches += usize::from(last.replace(is_first).is_some_and(|last| last != is_first));
        }
    })?;
    let share = of_first as f64 / seen.max(1) as f64;
    // Six standard deviations.
    let beyond = |share: f64| (share - 0.5).abs() > 3.0 / (seen.max(1) as f64).sqrt();
    // Half of all neighbours are of different sources; without mixing, one pair is.
    if beyond(share) || beyond(switches as f64 / seen.max(1) as f64) || seen != elements {
        return Err(Error::new(format!(
            "{of_first} of {seen} elements are from the first of two sources of equal weight, with \
             {switches} changes between them, and there should be {elements} elements"
        )));
    }
    Ok(share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::changed_loader::{ChangedLoader, bencher};

    fn run(change: fn(&mut PipelineSpec)) -> Result<()> {
        mixed_sources(&mut bencher(), &mut ChangedLoader::new(change), Images::floats(640, 8, 16), 0)
    }

    #[test]
    fn other_weights_and_no_mixing_fail() {
        run(|_| {}).unwrap();
        for change in [(|spec| spec.structure.mixture.clear()) as fn(&mut PipelineSpec), |spec| {
            spec.structure.mixture = vec![3.0, 1.0];
        }] {
            assert!(run(change).unwrap_err().to_string().contains("of two sources of equal weight"));
        }
    }
}
