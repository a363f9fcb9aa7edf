//! PC-1: the same rows through chains of 1 to 100 transforms.

use weighbridge::Needs;
use weighbridge::prelude::*;

use crate::prelude::*;

/// Throughput against the depth of the chain: 1 to 100 transforms on the same rows.
///
/// What does one more transform cost: its arithmetic, another trip through memory, or the machinery around it? The
/// chain goes round `Normalize`, `Scale`, `Clip`, `Add`, `Multiply`, over 64 x 64 normal `f32` numbers; `Normalize`
/// subtracts and multiplies by the constants of the data set's columns, so all five do work.
///
/// Timed: fetching the rows, every transform, putting the batch together. Not timed: making and mapping the data,
/// opening the pipeline. The ticket must show as many transforms as the depth says; it alone can, from depth 20 on: by then
/// the chain has brought every number to 0.99, so the content of deeper batches is the same.
#[scenario(id = "PC-1", category = "Pipeline complexity", sets = ["canonical", "gate", "tpu"], equivalence = exact,
    needs = needs, describe = describe)]
fn deep_chain(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(
        all,
        depth_1 = Depth(1),
        depth_2 = Depth(2),
        depth_5 = Depth(5),
        depth_10 = Depth(10),
        depth_20 = Depth(20),
        depth_50 = Depth(50),
        depth_100 = Depth(100)
    )]
    variant: Depth,
    #[sweep(0)] workers: usize,
) -> Result<()> {
    bencher.load(loader, &variant.pipeline().workers(workers))
}

/// What a point needs, for the plan.
fn needs(variant: &Depth, workers: &usize) -> Needs {
    variant.pipeline().workers(*workers).needs()
}

/// What a point does, for listings.
fn describe(variant: &Depth, workers: &usize) -> String {
    variant.pipeline().workers(*workers).describe()
}

/// How many transforms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Depth(pub usize);

impl Depth {
    fn pipeline(self) -> PipelineSpec {
        let rows = DataSpec::normal("data", 50_000, vec![64, 64]);
        let chain = [Normalize, Scale, Clip, Add, Multiply].into_iter().cycle().take(self.0);
        chain.fold(PipelineSpec::new(rows, 64), PipelineSpec::map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_is_as_deep_as_it_says() {
        for depth in [1, 2, 5, 10, 20, 50, 100] {
            assert_eq!(Depth(depth).pipeline().transforms.len(), depth);
        }
        assert_eq!(Depth(7).pipeline().transforms[5..], [Normalize, Scale]);
    }
}
