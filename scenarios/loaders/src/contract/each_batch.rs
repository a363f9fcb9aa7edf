//! An epoch, batch by batch.

use weighbridge::Result;
use weighbridge_data::{Batch, Epochs};

/// Goes through one epoch in the way that the pipeline has, batch by batch or in one pass.
///
/// # Errors
/// What the pipeline says.
pub fn for_each_batch(epochs: &mut dyn Epochs, epoch: u64, each: &mut dyn FnMut(&dyn Batch)) -> Result<()> {
    epochs.begin(epoch)?;
    if epochs.whole_pass() {
        epochs.pass(u64::MAX, each)?;
        return Ok(());
    }
    while epochs.advance()? {
        epochs.ready()?;
        each(epochs.batch());
    }
    Ok(())
}
