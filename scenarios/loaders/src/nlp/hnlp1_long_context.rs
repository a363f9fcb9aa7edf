//! HNLP-1: long rows with their masks.

use crate::prelude::*;
use weighbridge::prelude::*;

/// Token rows of 2,048 and more, with a mask for attention and one for causality.
///
/// What does it cost to write large masks? The causal mask is a square for each element: 16 MiB at 2,048
/// tokens, a gibibyte a batch; at 8,192 tokens 8 GiB. The scenario is the speed of writing memory.
///
/// Timed: fetching the rows, both masks, putting the batch together. Not timed: making and mapping the data,
/// opening the pipeline. The work report must show `CreateAttentionMask`, `CausalMaskGeneration`; `tokens`,
/// `attention_mask`, `causal_mask`.
#[scenario(id = "HNLP-1", category = "Natural language", sets = ["heavy"], equivalence = exact,
    workload = workload)]
fn long_context(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(
        short_context = Tokens::new(100_000, 2_048, 64),
        tiny = Tokens::new(1_024, 128, 32),
        long_context = Tokens::new(1_000_000, 8_192, 32),
        real_text = Tokens::real_text(100_000, 2_048, 64),
        real_wikitext = Tokens::wikitext(100_000, 2_048, 64)
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
    PipelineSpec::tokens(variant).map(CreateAttentionMask).map(CausalMaskGeneration)
}
