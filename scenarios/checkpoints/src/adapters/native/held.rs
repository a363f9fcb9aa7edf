//! A state that was loaded.

use weighbridge::{Error, Kept, Result};

use super::owned::Owned;
use super::parts::MeshParts;
use crate::workload::Placement;

/// A loaded state.
pub(super) enum Held {
    /// In one run of memory.
    Whole(Owned),
    /// In a run of memory for each device.
    Parts(MeshParts),
}

impl Held {
    /// What was read, cut for devices where it is to be.
    pub(super) fn of(room: Owned, onto: Option<&Placement>, threads: usize) -> Result<Self> {
        Ok(match onto {
            None => Self::Whole(room),
            Some(onto) => Self::Parts(MeshParts::of(&room, onto, threads)?),
        })
    }

    /// A tensor, whole.
    pub(super) fn whole(&self, field: usize) -> Kept {
        match self {
            Self::Whole(whole) => whole.kept(field),
            Self::Parts(parts) => parts.whole(field),
        }
    }

    /// Writes a byte all over the part of a tensor on a device.
    pub(super) fn fill(&mut self, field: usize, device: usize, byte: u8) -> Result<()> {
        match self {
            Self::Whole(_) => Err(Error::new("nothing was loaded onto devices")),
            Self::Parts(parts) => parts.fill(field, device, byte),
        }
    }

    /// The part of a tensor on a device.
    pub(super) fn part(&self, field: usize, device: usize) -> Result<Kept> {
        match self {
            Self::Whole(_) => Err(Error::new("nothing was loaded onto devices")),
            Self::Parts(parts) => parts.kept(field, device),
        }
    }
}
