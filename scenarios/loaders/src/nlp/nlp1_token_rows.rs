//! NLP-1: rows of tokens, as they are.

use weighbridge::prelude::*;

use crate::prelude::*;

/// Fixed-length token rows to batches, untransformed.
///
/// What does iteration itself cost, when there is nothing to compute: the input of language-model
/// pretraining? A batch is 16 KiB, so the loop around it is most of what is seen.
///
/// Timed: fetching the rows and copying them into a batch. Views of the data set do not count as batches: the
/// consumer must be free to write. Not timed: making and mapping the data, reading and hashing real text,
/// opening the pipeline. The work report must show no transform, owned batches, and `tokens` as `i32`.
#[scenario(id = "NLP-1", category = "Natural language", sets = ["canonical", "gate", "tpu"],
    equivalence = exact, workload = workload)]
fn token_rows(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(
        small = Tokens::new(10_000, 128, 32),
        tiny = Tokens::new(1_000, 128, 32),
        medium = Tokens::new(100_000, 2_048, 16),
        real_text = Tokens::real_text(10_000, 128, 32),
        real_wikitext = Tokens::wikitext(10_000, 128, 32)
    )]
    variant: Tokens,
    #[sweep(0)] workers: usize,
    #[sweep(implied, Destination::Host, Destination::Device)] delivery: Destination,
    #[sweep(implied, FrameworkSetting::Best, FrameworkSetting::Default)] setting: FrameworkSetting,
) -> Result<()> {
    bencher.load(loader, &workload(&variant, &workers, &delivery, &setting))
}

/// Returns the pipeline of a point of the sweep.
fn workload(
    variant: &Tokens,
    workers: &usize,
    delivery: &Destination,
    setting: &FrameworkSetting,
) -> PipelineSpec {
    PipelineSpec::tokens(variant).workers(*workers).deliver(*delivery).setting(*setting)
}
