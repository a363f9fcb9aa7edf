//! How workers are laid out: along one axis or two.

use std::fmt;
use std::str::FromStr;

use weighbridge::{Error, FieldKind, Result};

use crate::workload::{PipelineSpec, Shard};

/// A grid of workers. The first axis divides the elements, the second the first axis of every element (the
/// rows of an image): what a mesh with two axes is for when one element is too much for one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mesh {
    /// Workers along the elements.
    pub shards: usize,
    /// Workers along the rows of each element; 1 in a mesh with one axis.
    pub bands: usize,
}

/// The work of one worker.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MeshPlace {
    /// Its pipeline: over its shard, in its share of the batch.
    pub(super) spec: PipelineSpec,
    /// The index of its band of every element, and the number of bands.
    pub(super) band: usize,
    pub(super) bands: usize,
}

impl Mesh {
    /// A mesh with one axis.
    pub const fn line(workers: usize) -> Self {
        Self { shards: workers, bands: 1 }
    }

    /// A mesh with two axes.
    pub const fn grid(shards: usize, bands: usize) -> Self {
        Self { shards, bands }
    }

    /// Returns the number of workers.
    pub const fn workers(self) -> usize {
        self.shards * self.bands
    }

    /// Returns the part of a pipeline that each worker does, row by row of the mesh.
    ///
    /// # Errors
    /// A mesh without workers; one that does not divide the batch, the elements or the rows of a field: the
    /// parameter is named.
    pub(super) fn places(self, spec: &PipelineSpec) -> Result<Vec<MeshPlace>> {
        let Self { shards, bands } = self;
        let refuse = |what: String| Err(Error::new(format!("`mesh` {self} {what}")));
        if self.workers() == 0 {
            return refuse("has no workers: every axis is at least 1".into());
        }
        if !spec.batch_size.is_multiple_of(shards) {
            return refuse(format!("does not divide `batch_size` {}", spec.batch_size));
        }
        let undivided = |field: &FieldKind| {
            bands > 1 && field.shape.first().is_none_or(|rows| !rows.is_multiple_of(bands))
        };
        if let Some(field) = spec.output()?.into_iter().find(undivided) {
            let (name, shape) = (field.name, field.shape);
            return refuse(format!("does not divide the first axis of `{name}` {shape:?} into {bands}"));
        }
        let mut places = Vec::with_capacity(self.workers());
        for index in 0..shards {
            let spec = PipelineSpec { batch_size: spec.batch_size / shards, ..spec.clone() };
            let spec = spec.shard(Shard { index, count: shards });
            spec.check()?;
            places.extend((0..bands).map(|band| MeshPlace { spec: spec.clone(), band, bands }));
        }
        Ok(places)
    }
}

impl fmt::Display for Mesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bands {
            1 => write!(f, "{}", self.shards),
            bands => write!(f, "{}x{bands}", self.shards),
        }
    }
}

impl FromStr for Mesh {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || {
            format!("`{text}` is no mesh; write how many workers there are along each axis, as in 4 or 2x2")
        };
        let (shards, bands) = text.split_once('x').unwrap_or((text, "1"));
        let count = |text: &str| text.parse::<usize>().ok().filter(|count| (1..=256).contains(count));
        Ok(Self { shards: count(shards).ok_or_else(bad)?, bands: count(bands).ok_or_else(bad)? })
    }
}

#[cfg(test)]
mod tests {
    use weighbridge_data::DataSpec;

    use super::*;

    fn spec() -> PipelineSpec {
        PipelineSpec::new(DataSpec::normal("image", 100, vec![6, 4, 3]), 12)
    }

    #[test]
    fn every_worker_has_its_shard_its_band_and_its_share_of_the_batch() {
        let places = Mesh::grid(3, 2).places(&spec()).unwrap();
        assert_eq!(places.len(), 6);
        assert_eq!((places[3].spec.shard, places[3].band), (Shard { index: 1, count: 3 }, 1));
        assert!(places.iter().all(|place| place.spec.batch_size == 4 && place.bands == 2));
    }

    #[test]
    fn a_mesh_that_does_not_divide_is_refused_with_the_parameter_named() {
        let said = |mesh: Mesh, spec: PipelineSpec| mesh.places(&spec).unwrap_err().to_string();
        assert!(said(Mesh::line(5), spec()).contains("`mesh` 5 does not divide `batch_size` 12"));
        assert!(
            said(Mesh::grid(1, 4), spec())
                .contains("`mesh` 1x4 does not divide the first axis of `image` [6, 4, 3]")
        );
        assert!(said(Mesh::line(0), spec()).contains("has no workers"));
        assert!(said(Mesh::line(12), PipelineSpec { batch_size: 12, ..spec().cut_to(0) }).contains("empty"));
    }

    #[test]
    fn a_mesh_is_read_as_it_is_written() {
        for text in ["1", "8", "2x4"] {
            assert_eq!(text.parse::<Mesh>().unwrap().to_string(), text);
        }
        for bad in ["", "0", "2x0", "x", "2x2x2", "-1", "1000"] {
            assert!(bad.parse::<Mesh>().unwrap_err().contains("as in 4 or 2x2"), "{bad}");
        }
    }
}
