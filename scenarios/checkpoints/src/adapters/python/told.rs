//! The parts of requests that both an open checkpointer and an open checkpoint make.

use std::path::Path;

use serde::Serialize;
use weighbridge::{Error, Result};

use crate::workload::Placement;

/// The placement of a state, as a worker is told it.
#[derive(Debug, Serialize)]
pub(super) struct PlacementForm {
    /// The axes of the mesh with their sizes; none where the state is whole.
    mesh: Vec<(String, usize)>,
    /// For each tensor, the axes that each dimension is cut along.
    shardings: Vec<Vec<Vec<String>>>,
}

impl From<&Placement> for PlacementForm {
    fn from(placement: &Placement) -> Self {
        Self { mesh: placement.mesh.axes().to_vec(), shardings: placement.shardings.clone() }
    }
}

/// A path as JSON can say it.
pub(super) fn text(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| {
        Error::new(format!("the directory {} is no UTF-8: a worker cannot be told of it", path.display()))
    })
}

/// The collectors of a worker, in the order in which it starts them; it collects what it can.
pub(super) const COLLECTORS: &[&str] = &["tensorstore", "jax_monitoring", "jax_arrays"];
