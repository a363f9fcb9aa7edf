//! AUG-3: the same rows through 1 to 12 random transforms.

use weighbridge::Dtype;
use weighbridge::prelude::*;
use weighbridge_data::FieldValues;

use crate::prelude::*;

/// Throughput against the depth of a random chain: 1, 3, 6 and 12 random transforms after `Normalize`.
///
/// What does one more random transform cost? The chain goes round `GaussianNoise`, `RandomBrightness`,
/// `RandomScale`, over 64 x 64 `u8` numbers. Each transform has draws of its own, since its place in the
/// chain is part of their address.
///
/// Timed: fetching the rows, every transform, putting the batch together. Not timed: making and mapping the
/// data, opening the pipeline. The work report must show as many random transforms as the depth says, and
/// `data` as `f32`.
#[scenario(id = "AUG-3", category = "Augmentation", workload = workload)]
fn stochastic_depth(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(
        all,
        depth_1 = StochasticDepth(1),
        depth_3 = StochasticDepth(3),
        depth_6 = StochasticDepth(6),
        depth_12 = StochasticDepth(12)
    )]
    variant: StochasticDepth,
    #[sweep(default = CountedRows(50_000), tiny = CountedRows(3_000))] data: CountedRows,
    #[sweep(0)] workers: usize,
    #[sweep(implied, Destination::Host, Destination::Device)] delivery: Destination,
    #[sweep(implied, Operators::Shared, Operators::Own)] operators: Operators,
) -> Result<()> {
    bencher.load(loader, &workload(&variant, &data, &workers, &delivery, &operators))
}

/// Returns the pipeline of a point of the sweep.
fn workload(
    variant: &StochasticDepth,
    data: &CountedRows,
    workers: &usize,
    delivery: &Destination,
    operators: &Operators,
) -> PipelineSpec {
    variant.pipeline(*data).workers(*workers).deliver(*delivery).operators(*operators)
}

/// The number of random transforms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StochasticDepth(pub usize);

/// The number of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedRows(pub usize);

impl StochasticDepth {
    fn pipeline(self, rows: CountedRows) -> PipelineSpec {
        let data = DataSpec::synthetic(rows.0, Vec::new()).with(
            "data",
            Dtype::U8,
            &[64, 64],
            FieldValues::Below(256),
        );
        let chain = [GaussianNoise, RandomBrightness, RandomScale].into_iter().cycle().take(self.0);
        chain.fold(PipelineSpec::new(data, 64).map(Normalize), PipelineSpec::map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_is_as_deep_as_it_says() {
        for depth in [1, 3, 6, 12] {
            assert_eq!(StochasticDepth(depth).pipeline(CountedRows(10)).transforms.len(), depth + 1);
        }
    }
}
