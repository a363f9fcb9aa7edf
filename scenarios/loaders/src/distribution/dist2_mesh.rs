//! DIST-2: four workers in a line, or two by two.

use std::str::FromStr;

use weighbridge::Requirements;
use weighbridge::prelude::*;

use super::{Mesh, run};
use crate::prelude::*;

/// Four workers along one axis, or on two.
///
/// What does the second axis of a mesh cost? In a line of four each worker makes a quarter of a batch's
/// images. Two by two, the first axis halves the batch and the second halves the rows of every image: each
/// worker delivers a tile, the upper or the lower half of its images. A pipeline makes whole elements, so the
/// two workers of one shard do the same transforms and each cuts out its half; that is the price that is
/// seen.
///
/// Timed, not timed and proven: as in DIST-1; elements count once, not once per band, and every band of every
/// element is held against one pipeline's. The work report must show `Normalize`, four workers, and the mesh
/// that was used. The older suite took the shape of the mesh and ran on one device.
#[scenario(id = "DIST-2", category = "Distribution", equivalence = exact,
    ranks = "collective", filter = fits, needs = needs, describe = describe)]
fn mesh(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(
        mesh_1d = WorkerMesh::new(Mesh::line(4)),
        mesh_2d = WorkerMesh::new(Mesh::grid(2, 2)),
        tiny = WorkerMesh { mesh: Mesh::grid(2, 2), elements: 640 }
    )]
    variant: WorkerMesh,
) -> Result<()> {
    run::run(bencher, loader, &variant.pipeline(), variant.mesh)
}

/// Checks that the mesh divides the work of a point, for the plan.
fn fits(variant: &WorkerMesh) -> Result<(), String> {
    run::fits(&variant.pipeline(), variant.mesh)
}

/// Returns the requirements of a point, for the plan.
fn needs(variant: &WorkerMesh) -> Requirements {
    run::needs(&variant.pipeline(), variant.mesh)
}

/// Returns the description of a point, for listings.
fn describe(variant: &WorkerMesh) -> String {
    run::describe(&variant.pipeline(), variant.mesh)
}

/// A mesh of workers over so many elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerMesh {
    mesh: Mesh,
    elements: usize,
}

impl WorkerMesh {
    const fn new(mesh: Mesh) -> Self {
        Self { mesh, elements: 10_000 }
    }

    fn pipeline(self) -> PipelineSpec {
        PipelineSpec::new(DataSpec::normal("image", self.elements, vec![32, 32, 3]), 64).map(Normalize)
    }
}

impl FromStr for WorkerMesh {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map(Self::new)
    }
}

#[cfg(test)]
mod tests {
    use weighbridge::{Budget, Purpose, Settings};

    use super::*;
    use crate::adapters::native::Reference;

    #[test]
    fn the_mesh_that_is_recorded_is_the_one_that_was_used() {
        for (shape, shards, bands) in [(Mesh::line(4), 4.0, 1.0), (Mesh::grid(2, 2), 2.0, 2.0)] {
            let mut bencher = Bencher::new(Settings::new(Purpose::Smoke, Budget::SMOKE));
            mesh(&mut bencher, &mut Reference, WorkerMesh::new(shape)).unwrap();
            let done = bencher.finish().unwrap();
            let report = done.work.unwrap().report;
            assert_eq!((report.workers, &*report.ran_on), (4, &*format!("cpu, mesh {shape}")));
            let said = |name: &str| done.seen.custom.iter().find(|metric| metric.name == name).unwrap().value;
            assert_eq!((said("mesh/shards"), said("mesh/bands")), (shards, bands));
        }
    }

    #[test]
    fn a_mesh_that_does_not_divide_the_rows_is_refused_in_the_plan() {
        let why = fits(&"2x5".parse().unwrap()).unwrap_err();
        assert!(why.contains("`mesh` 2x5 does not divide the first axis of `image`"), "{why}");
    }
}
