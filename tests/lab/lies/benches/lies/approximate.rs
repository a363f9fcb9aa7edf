//! A scenario whose work need only agree roughly. Its liars are those of
//! [`later_passes`](crate::later_passes): zeros, and the same batch again.

use std::sync::Arc;

use weighbridge::prelude::*;
use weighbridge_data::{Batch, DataSet, Epochs};
use weighbridge_loaders::adapters::native::Reference;
use weighbridge_loaders::prelude::*;

use crate::copied::BatchCopy;
use crate::lie::{Lie, LyingPipeline};

/// Normalised images with a shift for each, within two in a hundred.
#[scenario(id = "APPROX-1", category = "Lies", equivalence = approx(0.02))]
fn approximate_images(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(small = Images::new(10_000, 32, 64))] variant: Images,
) -> Result<()> {
    bencher.load(loader, &PipelineSpec::images(&variant).map(Normalize).map(RandomBrightness))
}

/// Rounds the numbers of every batch to 11 bits, as a system that computes in half precision.
struct RoundedEpochs(BatchCopy);

impl Lie for RoundedEpochs {
    fn advance(&mut self, honest: &mut dyn Epochs) -> Result<bool> {
        let some = honest.advance()?;
        self.0.take(honest.batch());
        let kinds = honest.batch().kinds();
        for field in (0..kinds.len()).filter(|field| kinds[*field].dtype == weighbridge::Dtype::F32) {
            for number in self.0.field_mut(field).as_chunks_mut::<4>().0 {
                *number = (u32::from_le_bytes(*number) & 0xFFFF_E000).to_le_bytes();
            }
        }
        Ok(some)
    }

    fn bytes<'b>(&'b self, _honest: &'b dyn Batch, field: usize) -> &'b [u8] {
        self.0.bytes(field)
    }
}

#[derive(Default)]
struct HalfPrecision(Reference);

/// Honest where work need only agree roughly: numbers of half precision.
#[adapter(name = "half-precision", tier = 2)]
impl Loader for HalfPrecision {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        Ok(LyingPipeline::over(self.0.open(spec, data)?, RoundedEpochs(BatchCopy::default())))
    }
}
