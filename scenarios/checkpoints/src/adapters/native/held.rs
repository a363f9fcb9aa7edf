//! A state that was loaded.

use weighbridge::{Error, ItemCopy, Result};

use super::owned::OwnedTensors;
use super::parts::MeshParts;
use crate::workload::Placement;

/// A loaded state.
pub(super) enum LoadedTensors {
    /// In one run of memory.
    Whole(OwnedTensors),
    /// In a run of memory for each device.
    Parts(MeshParts),
}

impl LoadedTensors {
    /// Keeps what was read, cut for devices where it is to be.
    pub(super) fn of(room: OwnedTensors, onto: Option<&Placement>, threads: usize) -> Result<Self> {
        Ok(match onto {
            None => Self::Whole(room),
            Some(onto) => Self::Parts(MeshParts::of(&room, onto, threads)?),
        })
    }

    /// A tensor, whole.
    pub(super) fn whole(&self, field: usize) -> ItemCopy {
        match self {
            Self::Whole(whole) => whole.kept(field),
            Self::Parts(parts) => parts.whole(field),
        }
    }

    /// Shows a tensor where it lies, or its part on a device.
    pub(super) fn view(&self, field: usize, device: Option<usize>, see: &mut dyn FnMut(&[u8])) -> Result<()> {
        match (self, device) {
            (Self::Whole(whole), None) => see(whole.tensor(field)),
            (Self::Parts(parts), None) => {
                parts.whole(field).fields.iter().for_each(|whole| see(&whole.bytes));
            }
            (Self::Parts(parts), Some(device)) => see(parts.part(field, device)?),
            (Self::Whole(_), Some(_)) => return Err(Error::new("nothing was loaded onto devices")),
        }
        Ok(())
    }

    /// Writes a byte all over the part of a tensor on a device.
    pub(super) fn fill(&mut self, field: usize, device: usize, byte: u8) -> Result<()> {
        match self {
            Self::Whole(_) => Err(Error::new("nothing was loaded onto devices")),
            Self::Parts(parts) => parts.fill(field, device, byte),
        }
    }

    /// The part of a tensor on a device.
    pub(super) fn part(&self, field: usize, device: usize) -> Result<ItemCopy> {
        match self {
            Self::Whole(_) => Err(Error::new("nothing was loaded onto devices")),
            Self::Parts(parts) => parts.kept(field, device),
        }
    }
}
