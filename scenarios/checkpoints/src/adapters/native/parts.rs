//! A state that was loaded onto devices: a run of memory for each, which holds its parts of all tensors.

use std::ops::Range;
use std::sync::Arc;
use std::thread;

use weighbridge::{Error, FieldCopy, ItemCopy, Result};

use super::layout::{StoredTensor, TensorLayout};
use super::owned::OwnedTensors;
use crate::workload::Placement;

/// Parts of a state.
#[derive(Debug)]
pub(super) struct MeshParts {
    layout: Arc<TensorLayout>,
    onto: Placement,
    /// For each device the parts of all tensors, in order.
    devices: Vec<Vec<Vec<u8>>>,
}

impl MeshParts {
    /// Cuts a state that lies whole in memory, on so many threads: each cuts for devices of its own.
    ///
    /// # Errors
    /// A part that a device cannot have: the state has other tensors than its placement is of, or a dimension
    /// does not divide.
    pub(super) fn of(state: &OwnedTensors, onto: &Placement, threads: usize) -> Result<Self> {
        let layout = state.layout().clone();
        for (field, tensor) in layout.tensors.iter().enumerate() {
            fits(onto, field, tensor)?;
        }
        let mut devices = vec![Vec::new(); onto.devices()];
        let each = devices.len().div_ceil(threads);
        thread::scope(|scope| {
            for (chunk, devices) in devices.chunks_mut(each).enumerate() {
                let layout = &layout;
                scope.spawn(move || {
                    for (at, device) in devices.iter_mut().enumerate() {
                        let cut = |(field, tensor): (usize, &StoredTensor)| {
                            let part = onto.part(field, &tensor.kind.shape, chunk * each + at);
                            let mut bytes = Vec::new();
                            let runs = TensorRuns::of(tensor, &part);
                            bytes.reserve_exact(runs.places.len() * runs.length);
                            for place in &runs.places {
                                bytes.extend_from_slice(&state.tensor(field)[*place..][..runs.length]);
                            }
                            bytes
                        };
                        *device = layout.tensors.iter().enumerate().map(cut).collect();
                    }
                });
            }
        });
        Ok(Self { layout, onto: onto.clone(), devices })
    }

    /// The bytes of the part of a tensor on a device.
    ///
    /// # Errors
    /// When there is no such device.
    pub(super) fn part(&self, field: usize, device: usize) -> Result<&[u8]> {
        let parts = self.devices.get(device).ok_or_else(|| {
            Error::new(format!("there is no device {device}: there are {}", self.devices.len()))
        })?;
        Ok(&parts[field])
    }

    /// The part of a tensor on a device, as content that can be verified.
    ///
    /// # Errors
    /// When there is no such device.
    pub(super) fn kept(&self, field: usize, device: usize) -> Result<ItemCopy> {
        let bytes = self.part(field, device)?.to_vec();
        let kind = &self.layout.tensors[field].kind;
        let part = self.onto.part(field, &kind.shape, device);
        let shape = part.iter().map(ExactSizeIterator::len).collect();
        Ok(kept(kind, shape, bytes))
    }

    /// Writes a byte all over the part of a tensor on a device.
    ///
    /// # Errors
    /// When there is no such device.
    pub(super) fn fill(&mut self, field: usize, device: usize, byte: u8) -> Result<()> {
        let devices = self.devices.len();
        let parts = self
            .devices
            .get_mut(device)
            .ok_or_else(|| Error::new(format!("there is no device {device}: there are {devices}")))?;
        parts[field].fill(byte);
        Ok(())
    }

    /// Puts the parts of some devices in the place of those that are here.
    pub(super) fn take(&mut self, mut other: Self, devices: Range<usize>) {
        self.devices[devices.clone()].swap_with_slice(&mut other.devices[devices]);
    }

    /// A tensor, put together from its parts.
    pub(super) fn whole(&self, field: usize) -> ItemCopy {
        let tensor = &self.layout.tensors[field];
        let mut bytes = vec![0; tensor.bytes];
        for (device, parts) in self.devices.iter().enumerate() {
            let runs = TensorRuns::of(tensor, &self.onto.part(field, &tensor.kind.shape, device));
            for (place, run) in runs.places.iter().zip(parts[field].chunks_exact(runs.length)) {
                bytes[*place..][..runs.length].copy_from_slice(run);
            }
        }
        kept(&tensor.kind, tensor.kind.shape.clone(), bytes)
    }
}

fn kept(kind: &weighbridge::FieldKind, shape: Vec<usize>, bytes: Vec<u8>) -> ItemCopy {
    let (name, dtype) = (kind.name.clone(), kind.dtype);
    ItemCopy { elements: 1, fields: vec![FieldCopy { name, dtype, shape, bytes }] }
}

/// Checks that every device can have its part of a tensor.
fn fits(onto: &Placement, field: usize, tensor: &StoredTensor) -> Result<()> {
    for (size, axes) in tensor.kind.shape.iter().zip(onto.shardings.get(field).into_iter().flatten()) {
        if onto.mesh.parts(axes).is_none_or(|parts| !size.is_multiple_of(parts)) {
            return Err(Error::new(format!(
                "`{}` cannot be loaded onto the mesh {}: its dimension of {size} cannot be cut along `{}`",
                tensor.kind.name,
                onto.mesh,
                axes.join("+")
            )));
        }
    }
    Ok(())
}

/// The places of a part in its tensor: runs of equal length, in order.
struct TensorRuns {
    /// The offset of each, in bytes.
    places: Vec<usize>,
    /// Bytes of each.
    length: usize,
}

impl TensorRuns {
    /// The fewest runs that a part has: what is not cut behind the last cut is in one run with it.
    fn of(tensor: &StoredTensor, part: &[Range<usize>]) -> Self {
        let shape = &tensor.kind.shape;
        let cut = (0..shape.len()).rev().find(|at| part[*at].len() != shape[*at]).unwrap_or(0);
        let (mut places, mut length) = (vec![0], tensor.kind.dtype.size());
        let mut stride = tensor.bytes;
        for (at, (range, size)) in part.iter().zip(shape).enumerate() {
            stride /= size;
            if at < cut {
                let each = |place: &usize| range.clone().map(|at| place + at * stride).collect::<Vec<_>>();
                places = places.iter().flat_map(each).collect();
            } else if at == cut {
                for place in &mut places {
                    *place += range.start * stride;
                }
                length = range.len() * stride;
            }
        }
        Self { places, length }
    }
}

#[cfg(test)]
mod tests {
    use weighbridge::{Dtype, FieldKind};

    use super::*;

    #[test]
    fn a_part_is_as_few_runs_as_it_can_be() {
        let tensor = |shape: &[usize]| {
            let kind = FieldKind { name: "a".into(), dtype: Dtype::U8, shape: shape.to_vec() };
            StoredTensor { kind, offset: 0, bytes: shape.iter().product() }
        };
        let runs = |shape: &[usize], part: &[Range<usize>]| {
            let TensorRuns { places, length } = TensorRuns::of(&tensor(shape), part);
            (places, length)
        };
        assert_eq!(runs(&[], &[]), (vec![0], 1));
        assert_eq!(runs(&[4, 3], &[0..4, 0..3]), (vec![0], 12), "all of it");
        assert_eq!(runs(&[4, 3], &[2..4, 0..3]), (vec![6], 6), "rows");
        assert_eq!(runs(&[2, 4], &[0..2, 2..4]), (vec![2, 6], 2), "columns");
        assert_eq!(runs(&[4, 2, 2], &[0..4, 1..2, 0..2]), (vec![2, 6, 10, 14], 2), "a dimension between");
    }
}
