//! Is what was loaded what was saved? Looked at outside the clock, from the bytes of every tensor.

use std::ops::Range;
use std::path::Path;

use weighbridge::{Bencher, Dtype, Error, FieldCopy, FieldKind, ItemCopy, Result};
use weighbridge_data::DataSet;
use xxhash_rust::xxh3::xxh3_128;

use super::inventory::Inventory;
use super::spoil::spoil;
use super::stamp::FileStamp;
use crate::contract::Checkpoints;
use crate::workload::{Placement, StateChange};

/// The state that must be loaded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Proof<'a> {
    /// The state.
    data: &'a DataSet,
    /// The placement of its parts, if they must lie on devices.
    onto: Option<&'a Placement>,
    /// Its change since it was opened.
    change: Option<&'a StateChange>,
    /// The files as they were when their save was over.
    stamp: Option<&'a FileStamp>,
}

impl<'a> Proof<'a> {
    /// A state, wherever it lies.
    pub(super) fn whole(data: &'a DataSet) -> Self {
        Self { data, onto: None, change: None, stamp: None }
    }

    /// A state whose parts lie on devices.
    pub(super) fn onto(data: &'a DataSet, onto: &'a Placement) -> Self {
        Self { onto: Some(onto), ..Self::whole(data) }
    }

    /// The state with a change.
    pub(super) fn changed(self, change: &'a StateChange) -> Self {
        Self { change: Some(change), ..self }
    }

    /// A checkpoint whose files must be as they were.
    pub(super) fn stamped(self, stamp: &'a FileStamp) -> Self {
        Self { stamp: Some(stamp), ..self }
    }

    /// Makes the change of numbers of a tensor, or takes it back.
    fn change(&self, field: usize, kind: &FieldKind, numbers: &mut [u8]) {
        if let Some(change) = self.change {
            change.apply(field, kind.dtype.size(), numbers);
        }
    }
}

/// Proves a checkpoint that a measured save has written, and hands in the digests of all tensors as what was
/// delivered:
///
/// 1. What is loaded from it has the digests of the state, and each device has its part where it is loaded
///    onto devices. Its files are what they were when the save was over.
/// 2. Its files are then overwritten. What was loaded stays as it is, so it is memory that is owned: a
///    mapping would show it.
/// 3. What is loaded then is not the state: nothing was kept from before, and no digest is needed to see it.
///
/// # Errors
/// What is not so.
pub(super) fn prove(
    bencher: &Bencher,
    checkpoints: &mut dyn Checkpoints,
    proof: Proof<'_>,
    checkpoint: &Path,
) -> Result<()> {
    checkpoints.release()?;
    checkpoints.load(checkpoint)?;
    let digests = state(checkpoints, proof)?;
    proof.stamp.map_or(Ok(()), FileStamp::check)?;
    spoil(&Inventory::of(checkpoint)?)?;
    state(checkpoints, proof).map_err(|error| {
        Error::new(format!(
            "what was loaded changed when its files were overwritten ({error}): it is a view of them, \
             and no memory of its own"
        ))
    })?;
    checkpoints.release()?;
    // A system that notices the damage says so. One that does not has loaded something else.
    if checkpoints.load(checkpoint).is_ok() && state(checkpoints, proof).is_ok() {
        return Err(Error::new(
            "all files of the checkpoint were overwritten, and the state that was saved is loaded from them: \
             it was kept elsewhere",
        ));
    }
    let _ = checkpoints.release(); // there may be nothing
    proof.data.check_unchanged()?;
    deliver(bencher, &digests);
    Ok(())
}

/// Hands in the digests of all tensors as what was delivered.
pub(super) fn deliver(bencher: &Bencher, digests: &[[u8; 16]]) {
    let bytes = digests.concat();
    let field = FieldCopy { name: "digests".into(), dtype: Dtype::U8, shape: vec![bytes.len()], bytes };
    bencher.delivered(&ItemCopy { elements: 1, fields: vec![field] });
}

/// The digests of all tensors that were loaded, with their change taken back, which must be those of the
/// state.
///
/// # Errors
/// A tensor or a part of it with another name, type, shape or content.
pub(super) fn state(checkpoints: &mut dyn Checkpoints, proof: Proof<'_>) -> Result<Vec<[u8; 16]>> {
    let data = proof.data;
    let check = |(field, kind): (usize, &FieldKind)| {
        let wrong = |what: String| Error::new(format!("the tensor `{}` {what}", kind.name));
        let mut bytes = content(checkpoints.loaded(field)?, kind, &kind.shape).map_err(wrong)?;
        proof.change(field, kind, &mut bytes);
        let digest = xxh3_128(&bytes);
        if format!("{digest:032x}") != data.field_digest(field) {
            return Err(wrong("has not the bytes that were saved".into()));
        }
        let Some(onto) = proof.onto else { return Ok(digest.to_le_bytes()) };
        for device in 0..onto.devices() {
            let wrong = |what: String| wrong(format!("on device {device} {what}"));
            let part = onto.part(field, &kind.shape, device);
            let shape: Vec<usize> = part.iter().map(ExactSizeIterator::len).collect();
            let found = content(checkpoints.part(field, device)?, kind, &shape).map_err(wrong)?;
            let mut due = expected(data.rows(field, 0..1), kind.dtype.size(), &kind.shape, &part);
            proof.change(field, kind, &mut due);
            if found != due {
                return Err(wrong(format!("has not the numbers of {part:?}")));
            }
        }
        Ok(digest.to_le_bytes())
    };
    data.kinds().enumerate().map(check).collect()
}

/// The bytes of a tensor, or of a part of it, that has this shape; what it is instead, in words.
pub(super) fn content(kept: ItemCopy, kind: &FieldKind, shape: &[usize]) -> Result<Vec<u8>, String> {
    let [found] =
        <[FieldCopy; 1]>::try_from(kept.fields).map_err(|_| "came as none or several".to_owned())?;
    if (&*found.name, found.dtype, &*found.shape) != (&*kind.name, kind.dtype, shape) {
        return Err(format!("came as `{}`, {} {:?}", found.name, found.dtype.name(), found.shape));
    }
    Ok(found.bytes)
}

/// The bytes of a part of a tensor, number by number: nobody who cuts tensors has this from here.
pub(super) fn expected(tensor: &[u8], width: usize, shape: &[usize], part: &[Range<usize>]) -> Vec<u8> {
    places(shape, part).iter().flat_map(|place| &tensor[place * width..][..width]).copied().collect()
}

/// The positions of the numbers of a part among those of its tensor, in order.
pub(super) fn places(shape: &[usize], part: &[Range<usize>]) -> Vec<usize> {
    let mut places = vec![0];
    for (range, size) in part.iter().zip(shape) {
        places = places.iter().flat_map(|place| range.clone().map(move |at| place * size + at)).collect();
    }
    places
}
