//! MM-2: pairs of audio and text.

use weighbridge::Dtype;
use weighbridge::prelude::*;
use weighbridge_data::{FieldValues, VOCABULARY};

use crate::prelude::*;

/// Waveforms of one second with 128 tokens each, untransformed.
///
/// What does it cost to iterate over long rows of floats beside short rows of tokens: the input of speech
/// models, 64 KB an element? (16,000 samples are a second at 16 kHz; `large` has five.)
///
/// Timed: fetching the rows of both fields, putting the batch together. Not timed: making and mapping the
/// data, opening the pipeline. The work report must show no transform, `waveform` as `f32` and `tokens` as
/// `i32`.
#[scenario(id = "MM-2", category = "Multimodal", equivalence = exact,
    workload = workload)]
fn audio_text(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(
        default = Audio::new(5_000, 16_000),
        tiny = Audio::new(400, 16_000),
        large = Audio::new(50_000, 80_000)
    )]
    variant: Audio,
    #[sweep(0)] workers: usize,
    #[sweep(implied, Destination::Host, Destination::Device)] delivery: Destination,
) -> Result<()> {
    bencher.load(loader, &workload(&variant, &workers, &delivery))
}

/// Returns the pipeline of a point of the sweep.
fn workload(variant: &Audio, workers: &usize, delivery: &Destination) -> PipelineSpec {
    pipeline(variant).workers(*workers).deliver(*delivery)
}

/// Waveforms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Audio {
    elements: usize,
    samples: usize,
}

impl Audio {
    /// This many, of so many samples, in batches of 16.
    pub const fn new(elements: usize, samples: usize) -> Self {
        Self { elements, samples }
    }
}

fn pipeline(variant: &Audio) -> PipelineSpec {
    let audio = DataSpec::normal("waveform", variant.elements, vec![variant.samples]);
    PipelineSpec::new(audio.with("tokens", Dtype::I32, &[128], FieldValues::Below(VOCABULARY)), 16)
}
