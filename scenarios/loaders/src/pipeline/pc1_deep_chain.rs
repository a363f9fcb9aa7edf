//! PC-1: the same rows through chains of 1 to 100 transforms.

use std::fmt;
use std::str::FromStr;

use weighbridge::prelude::*;

use crate::prelude::*;

/// Throughput against the depth of the chain: 1 to 100 transforms on the same rows.
///
/// What does one more transform cost: its arithmetic, another trip through memory, or the machinery around
/// it? The chain goes round `Normalize`, `Scale`, `Clip`, `Add`, `Multiply`, over 64 x 64 normal `f32`
/// numbers; `Normalize` subtracts and multiplies by the constants of the data set's columns, so all five do
/// work.
///
/// Timed: fetching the rows, every transform, putting the batch together. Not timed: making and mapping the
/// data, opening the pipeline. The work report must show as many transforms as the depth says; it alone can,
/// from depth 20 on: by then the chain has brought every number to 0.99, so the content of deeper batches is
/// the same.
///
/// `--param variant=tiny` runs depth 5 over 1,000 rows, for smoke runs. It is no label, so that a plain run
/// goes on with the seven depths; `--param variant=7` takes any other depth.
#[scenario(id = "PC-1", category = "Pipeline complexity", sets = ["canonical", "gate", "tpu"],
    equivalence = exact, workload = workload)]
fn deep_chain(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(
        all,
        depth_1 = Depth::new(1),
        depth_2 = Depth::new(2),
        depth_5 = Depth::new(5),
        depth_10 = Depth::new(10),
        depth_20 = Depth::new(20),
        depth_50 = Depth::new(50),
        depth_100 = Depth::new(100)
    )]
    variant: Depth,
    #[sweep(0)] workers: usize,
    #[sweep(implied, Destination::Host, Destination::Device)] delivery: Destination,
) -> Result<()> {
    bencher.load(loader, &workload(&variant, &workers, &delivery))
}

/// Returns the pipeline of a point of the sweep.
fn workload(variant: &Depth, workers: &usize, delivery: &Destination) -> PipelineSpec {
    variant.pipeline().workers(*workers).deliver(*delivery)
}

/// The number of transforms, and of the rows that they go over.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Depth {
    transforms: usize,
    rows: usize,
}

impl Depth {
    /// Rows of every depth that is a label.
    const ROWS: usize = 50_000;
    const TINY: Self = Self { transforms: 5, rows: 1_000 };

    const fn new(transforms: usize) -> Self {
        Self { transforms, rows: Self::ROWS }
    }

    fn pipeline(self) -> PipelineSpec {
        let rows = DataSpec::normal("data", self.rows, vec![64, 64]);
        let chain = [Normalize, Scale, Clip, Add, Multiply].into_iter().cycle().take(self.transforms);
        chain.fold(PipelineSpec::new(rows, 64), PipelineSpec::map)
    }
}

/// As records have it, `Depth(5)`: by this text they know that a label still means the same.
impl fmt::Debug for Depth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_tuple("Depth");
        text.field(&self.transforms);
        if self.rows != Self::ROWS {
            text.field(&self.rows);
        }
        text.finish()
    }
}

impl fmt::Display for Depth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::TINY { f.write_str("tiny") } else { write!(f, "{}", self.transforms) }
    }
}

impl FromStr for Depth {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "tiny" {
            return Ok(Self::TINY);
        }
        let depth = text.parse::<usize>().ok().filter(|depth| (1..=1_000).contains(depth));
        depth.map(Self::new).ok_or_else(|| format!("`{text}` is neither a depth from 1 to 1000 nor `tiny`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_is_as_deep_as_it_says() {
        for depth in [1, 2, 5, 10, 20, 50, 100] {
            assert_eq!(Depth::new(depth).pipeline().transforms.len(), depth);
        }
        assert_eq!(Depth::new(7).pipeline().transforms[5..], [Normalize, Scale]);
    }

    #[test]
    fn tiny_and_other_depths_are_read_back() {
        for text in ["tiny", "7", "1000"] {
            assert_eq!(text.parse::<Depth>().unwrap().to_string(), text);
        }
        assert!("0".parse::<Depth>().unwrap_err().contains("from 1 to 1000"));
        assert!(Depth::TINY.pipeline().needs().memory <= 64 << 20);
        assert_eq!(format!("{:?} {:?}", Depth::new(5), Depth::TINY), "Depth(5) Depth(5, 1000)");
    }
}
