//! Is what was loaded what lies there? Looked at outside the clock, tensor by tensor and device by device.

use std::path::Path;

use weighbridge::{Bencher, Error, Result};

use super::super::inventory::Inventory;
use super::super::proof::{deliver, expected};
use super::super::spoil::spoil;
use super::CheckpointDigests;
use crate::contract::{LoadedTensor, StoredCheckpoint, TensorHeader};
use crate::workload::Placement;

/// The tensors that must be loaded.
#[derive(Clone, Copy, Debug)]
pub(in crate::checkpoint) struct StoredProof<'a> {
    /// Digests of the tensors; `None` where nothing says what they must be.
    pub(in crate::checkpoint) expected: Option<&'a CheckpointDigests>,
    /// The placement of their parts, if they must lie on devices.
    pub(in crate::checkpoint) onto: Option<&'a Placement>,
    /// The error for two devices that have one piece of memory, where that is looked for.
    pub(in crate::checkpoint) apart: Option<fn(String) -> Error>,
}

impl StoredProof<'_> {
    /// Proves what was loaded of a checkpoint whose files may be overwritten, and hands in the digests as
    /// what was delivered:
    ///
    /// 1. What the last timed load has left has the digests, and each device its part. Where devices are
    ///    apart, what is written to one is on no other.
    /// 2. What one more load gives is the same.
    /// 3. The files are then overwritten. What was loaded stays as it is, so it is memory that is owned.
    /// 4. What is loaded then is something else: nothing was kept from before.
    ///
    /// Of a checkpoint whose files are not to be overwritten, `None`, the last two are not shown.
    ///
    /// # Errors
    /// What is not so.
    pub(in crate::checkpoint) fn prove(
        self,
        bencher: &Bencher,
        stored: &mut dyn StoredCheckpoint,
        checkpoint: Option<&Path>,
    ) -> Result<CheckpointDigests> {
        let found = self.found(stored)?;
        if let Some(expected) = self.expected {
            expected.check(&found)?;
        }
        if let Some(wrong) = self.apart {
            self.written(stored, wrong)?;
        }
        stored.release()?;
        stored.load()?;
        found
            .check(&self.found(stored)?)
            .map_err(|error| Error::new(format!("two loads of one checkpoint gave two things: {error}")))?;
        let Some(checkpoint) = checkpoint else {
            deliver(bencher, &found.bytes());
            return Ok(found);
        };
        spoil(&Inventory::of(checkpoint)?)?;
        let same = self.found(stored).and_then(|after| found.check(&after));
        same.map_err(|error| {
            Error::new(format!(
                "what was loaded changed when its files were overwritten ({error}): \
                 it is a view of them, and no memory of its own"
            ))
        })?;
        stored.release()?;
        // A system that notices the damage says so. One that does not has loaded something else.
        if stored.load().is_ok() && self.found(stored).is_ok_and(|after| after == found) {
            return Err(Error::new(
                "all files of the checkpoint were overwritten, and what was in them before is loaded: \
                 it was kept elsewhere",
            ));
        }
        let _ = stored.release(); // there may be nothing
        deliver(bencher, &found.bytes());
        Ok(found)
    }

    /// Writes to every part of every device what no other gets, and finds that there and nothing else.
    fn written(self, stored: &mut dyn StoredCheckpoint, shared: fn(String) -> Error) -> Result<()> {
        let devices = self.onto.map_or(0, Placement::devices);
        for (at, TensorHeader { key, .. }) in stored.headers().to_vec().iter().enumerate() {
            let byte = |device: usize| 0xA0 ^ device as u8; // at most 64 devices are simulated
            for device in 0..devices {
                stored.fill(at, device, byte(device))?;
            }
            for device in 0..devices {
                let found = stored.part(at, device)?.bytes;
                let Some(wrong) = found.iter().find(|found| **found != byte(device)) else { continue };
                let is_anothers = (0..devices).any(|other| byte(other) == *wrong);
                let told = |what| format!("the tensor {key} on device {device} {what}");
                return Err(if is_anothers {
                    shared(told("changed with another device: they have one piece of memory"))
                } else {
                    Error::new(told("stays as it was when it is written to"))
                });
            }
        }
        Ok(())
    }

    /// The digests of what is loaded, of which each device has its part.
    fn found(self, stored: &mut dyn StoredCheckpoint) -> Result<CheckpointDigests> {
        let headers = stored.headers().to_vec();
        let mut found = CheckpointDigests::default();
        for (at, header) in headers.iter().enumerate() {
            let wrong = |what: String| Error::new(format!("the tensor {} {what}", header.key));
            let tensor = stored.loaded(at)?;
            is_of(&tensor, header, &header.shape).map_err(wrong)?;
            let onto =
                self.onto.into_iter().flat_map(|onto| (0..onto.devices()).map(move |device| (onto, device)));
            for (onto, device) in onto {
                let wrong = |what: String| wrong(format!("on device {device} {what}"));
                let part = onto.part(at, &header.shape, device);
                let shape: Vec<usize> = part.iter().map(ExactSizeIterator::len).collect();
                let there = stored.part(at, device)?;
                is_of(&there, header, &shape).map_err(wrong)?;
                if there.bytes != expected(&tensor.bytes, header.width(), &header.shape, &part) {
                    return Err(wrong(format!("has not the numbers of {part:?}")));
                }
            }
            found.add(tensor);
        }
        Ok(found)
    }
}

/// Checks that a tensor, or a part of it with this shape, is what its header says. The error says what it is
/// instead.
fn is_of(tensor: &LoadedTensor, header: &TensorHeader, shape: &[usize]) -> Result<(), String> {
    let TensorHeader { key, dtype, shape: found } = &tensor.header;
    if (key, dtype, &found[..]) != (&header.key, &header.dtype, shape) {
        return Err(format!(
            "came as {key}, {dtype} {found:?}, and the files say {} {shape:?}",
            header.dtype
        ));
    }
    let (bytes, due) = (tensor.bytes.len(), header.width() * shape.iter().product::<usize>());
    if bytes != due {
        return Err(format!("came with {bytes} bytes, and {due} are due"));
    }
    Ok(())
}
