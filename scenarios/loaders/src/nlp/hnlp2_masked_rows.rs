//! HNLP-2: many short rows with a mask.

use crate::prelude::*;
use weighbridge::prelude::*;

/// Token rows of 256 and 512, with a mask for attention.
///
/// What does a field cost that is made from another? It is the last step of preparing text; the tokens
/// themselves are there already, since none of the transforms reads text.
///
/// Timed: fetching the rows, the mask, putting the batch together. Not timed: making and mapping the data,
/// opening the pipeline. The work report must show `CreateAttentionMask`; `tokens` and `attention_mask`.
#[scenario(id = "HNLP-2", category = "Natural language", sets = ["heavy"], equivalence = exact,
    workload = workload)]
fn masked_rows(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(
        small = Tokens::new(100_000, 256, 128),
        tiny = Tokens::new(10_000, 256, 128),
        medium = Tokens::new(500_000, 512, 64)
    )]
    variant: Tokens,
    #[sweep(0)] workers: usize,
    #[sweep(implied, Destination::Host, Destination::Device)] delivery: Destination,
) -> Result<()> {
    bencher.load(loader, &workload(&variant, &workers, &delivery))
}

/// Returns the pipeline of a point of the sweep.
fn workload(variant: &Tokens, workers: &usize, delivery: &Destination) -> PipelineSpec {
    pipeline(variant).workers(*workers).deliver(*delivery)
}

fn pipeline(variant: &Tokens) -> PipelineSpec {
    PipelineSpec::tokens(variant).map(CreateAttentionMask)
}
