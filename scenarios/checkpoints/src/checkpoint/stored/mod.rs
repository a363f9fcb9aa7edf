//! Checkpoints that lie somewhere: how they are copied, which tensors they must have, and what is timed.

pub(super) mod copy;
mod digests;
mod loads;
mod proof;
#[cfg(test)]
mod tests;

use std::fmt;
use std::fs;
use std::path::Path;

use safetensors::serialize_to_file;
use safetensors::tensor::TensorView;
use weighbridge::{Dtype, Error, Result, skip};
use weighbridge_data::{DataSet, of_safetensors};

use crate::contract::{StoredCheckpoint, TensorHeader};
use crate::workload::{CutsFile, DeviceMesh, Placement, State, Tensor};

pub(super) use self::digests::CheckpointDigests;
pub(super) use self::loads::measure;
pub(super) use self::proof::StoredProof;

/// A rule that lays tensors on devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Each is cut as often as the mesh lets it.
    Spread,
    /// Each is whole on every device.
    Replicated,
    /// Devices that differ along the first axis alone have the same: the other axes cut as in `Spread`.
    Replicas,
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Spread => "spread",
            Self::Replicated => "replicated",
            Self::Replicas => "replicas",
        })
    }
}

/// The source of the layout of tensors on devices.
#[derive(Clone, Copy, Debug)]
pub(super) struct CutSource<'a> {
    /// A rule.
    pub(super) cut: Cut,
    /// A file over it.
    pub(super) file: Option<&'a CutsFile>,
}

impl From<Cut> for CutSource<'_> {
    fn from(cut: Cut) -> Self {
        Self { cut, file: None }
    }
}

/// Has a checkpoint loaded onto the devices of a mesh, where it is one.
///
/// # Errors
/// A skip where it cannot lie there, or the system has no devices. A file of cuts that does not fit the
/// tensors, or stands beside another rule than [`Cut::Spread`].
pub(super) fn place<'a>(
    stored: &mut dyn StoredCheckpoint,
    mesh: DeviceMesh,
    cutting: impl Into<CutSource<'a>>,
) -> Result<Option<Placement>> {
    let CutSource { cut, file } = cutting.into();
    if mesh == DeviceMesh::NONE {
        return Ok(None);
    }
    // The type is of no matter: a part is numbers of a shape.
    let tensor = |header: &TensorHeader| Tensor::array(header.dotted(), Dtype::F32, header.shape.clone());
    let mut tensors: Vec<Tensor> = stored.headers().iter().map(tensor).collect();
    match (file, cut) {
        (None, _) => {}
        (Some(file), Cut::Spread) => file.cut(&mut tensors).map_err(Error::new)?,
        (Some(_), cut) => return Err(skip(format!("cut={cut} beside a file of cuts: that says it all"))),
    }
    let state = State::Tensors { tensors, seed: 0 };
    mesh.holds(&state).map_err(skip)?;
    let onto = match cut {
        Cut::Spread if file.is_some() => Placement::as_written(mesh, &state),
        Cut::Spread => Placement::spread(mesh, &state),
        Cut::Replicated => Placement::as_written(mesh, &state),
        Cut::Replicas => {
            Placement { shardings: Placement::spread(mesh.of_a_replica(), &state).shardings, mesh }
        }
    };
    stored.place(&onto)?;
    Ok(Some(onto))
}

/// Writes a state as one file of safetensors.
///
/// # Errors
/// When it cannot be written.
pub(super) fn write_safetensors(data: &DataSet, directory: &Path) -> Result<()> {
    data.has_arrays_alone()?;
    fs::create_dir(directory)?;
    let told = |error: safetensors::SafeTensorError| Error::new(format!("safetensors: {error}"));
    let mut views = Vec::new();
    for (field, kind) in data.kinds().enumerate() {
        views.push((
            &kind.name,
            TensorView::new(of_safetensors(kind.dtype), kind.shape.clone(), data.rows(field, 0..1))
                .map_err(told)?,
        ));
    }
    serialize_to_file(views, None, &directory.join("model.safetensors")).map_err(told)
}
