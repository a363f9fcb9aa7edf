//! Is what was loaded what was saved? Looked at outside the clock, from the bytes of every tensor.

use std::path::Path;

use weighbridge::{Bencher, Dtype, Error, Kept, KeptField, Result};
use xxhash_rust::xxh3::xxh3_128;

use super::inventory::Inventory;
use super::spoil::spoil;
use crate::contract::Checkpoints;
use crate::data::DataSet;

/// Proves a checkpoint that a measured save has written, and hands in the digests of all tensors as what was delivered:
///
/// 1. What is loaded from it has the digests of the state.
/// 2. Its files are then overwritten. What was loaded stays as it is, so it is memory that is owned: a mapping would show it.
/// 3. What is loaded then is not the state: nothing was kept from before, and no digest is needed to see it.
///
/// # Errors
/// What is not so.
pub(super) fn prove(
    bencher: &Bencher,
    checkpoints: &mut dyn Checkpoints,
    data: &DataSet,
    checkpoint: &Path,
) -> Result<()> {
    checkpoints.release()?;
    checkpoints.load(checkpoint)?;
    let digests = state(checkpoints, data)?;
    spoil(&Inventory::of(checkpoint)?)?;
    state(checkpoints, data).map_err(|error| {
        Error::new(format!(
            "what was loaded changed when its files were overwritten ({error}): it is a view of them, and no memory of its own"
        ))
    })?;
    checkpoints.release()?;
    // A system that notices the damage says so. One that does not has loaded something else.
    if checkpoints.load(checkpoint).is_ok() && state(checkpoints, data).is_ok() {
        return Err(Error::new(
            "all files of the checkpoint were overwritten, and the state that was saved is loaded from them: it was kept \
             elsewhere",
        ));
    }
    let _ = checkpoints.release(); // there may be nothing
    let bytes = digests.concat();
    let field = KeptField { name: "digests".into(), dtype: Dtype::U8, shape: vec![bytes.len()], bytes };
    bencher.delivered(&Kept { elements: 1, fields: vec![field] });
    Ok(())
}

/// The digests of all tensors that were loaded, which must be those of the state.
///
/// # Errors
/// A tensor of another name, type, shape or content.
pub(super) fn state(checkpoints: &mut dyn Checkpoints, data: &DataSet) -> Result<Vec<[u8; 16]>> {
    let check = |(field, kind): (usize, &weighbridge::FieldKind)| {
        let kept = checkpoints.loaded(field)?;
        let wrong = |what: String| Error::new(format!("the tensor `{}` {what}", kind.name));
        let [found] = &kept.fields[..] else { return Err(wrong("came as none or several".into())) };
        if (&found.name, found.dtype, &found.shape) != (&kind.name, kind.dtype, &kind.shape) {
            let (dtype, shape) = (found.dtype.name(), &found.shape);
            return Err(wrong(format!("came as `{}`, {dtype} {shape:?}", found.name)));
        }
        let digest = xxh3_128(&found.bytes);
        if format!("{digest:032x}") != data.field_digest(field) {
            return Err(wrong("has not the bytes that were saved".into()));
        }
        Ok(digest.to_le_bytes())
    };
    data.kinds().enumerate().map(check).collect()
}
