//! Real data: which files, whether they changed, and how they are read.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use weighbridge::{Error, Result};
use xxhash_rust::xxh3::xxh3_64;

use super::root::unreadable;
use super::{DataSpec, Origin, cifar10, coco, criteo, digits, safetensors_files, text, wikitext};

/// The files of a real data set, in the order in which they are read.
pub(super) struct RealFiles {
    origin: Origin,
    paths: Vec<PathBuf>,
}

/// Finds the files of a real data set. Absent ones are a skip that says what to fetch and where to put it.
pub(super) fn find(origin: Origin, data_root: Option<&Path>) -> Result<RealFiles> {
    let paths = match origin {
        Origin::Text => text::find(data_root)?,
        Origin::Cifar10 => cifar10::find(data_root)?,
        Origin::Criteo => criteo::find(data_root)?,
        Origin::WikiText => wikitext::find(data_root)?,
        Origin::CocoCaptions { .. } => coco::find(data_root)?,
        Origin::Digits { .. } => Vec::new(), // they come with a crate
        Origin::Tensors { .. } => {
            return Err(Error::new("tensors are in files, which must be named to open them"));
        }
        Origin::Synthetic { .. } => unreachable!("synthetic data have no files"),
    };
    Ok(RealFiles { origin, paths })
}

/// A data set in files that are named.
pub(super) fn named(origin: Origin, paths: Vec<PathBuf>) -> RealFiles {
    RealFiles { origin, paths }
}

impl RealFiles {
    /// Tells one state of the files from another: paths, lengths, modification times.
    pub(super) fn fingerprint(&self) -> Result<String> {
        let state = |path: &PathBuf| {
            let facts = fs::metadata(path).map_err(|error| unreadable(path, &error))?;
            let modified = facts.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
            Ok(format!("{}\0{}\0{modified:?}\n", path.display(), facts.len()))
        };
        let seen: String = self.paths.iter().map(state).collect::<Result<_>>()?;
        let name = match self.origin {
            Origin::Text => "text".to_owned(),
            Origin::Cifar10 => "cifar10".to_owned(),
            Origin::Criteo => "criteo".to_owned(),
            Origin::WikiText => "wikitext".to_owned(),
            Origin::CocoCaptions { vocabulary } => format!("coco{vocabulary}"),
            Origin::Digits { seed, held_out } => format!("digits{seed}less{held_out}"),
            Origin::Tensors { digest: Some(digest) } => format!("weights{digest:016x}"),
            Origin::Tensors { digest: None } => "tensors".to_owned(),
            Origin::Synthetic { .. } => "synthetic".to_owned(),
        };
        Ok(format!("{name}-{:016x}", xxh3_64(seen.as_bytes())))
    }

    /// The bytes of every field.
    pub(super) fn read(&self, spec: &DataSpec) -> Result<Vec<Vec<u8>>> {
        let shape = &spec.fields[0].kind.shape;
        let field = match self.origin {
            Origin::Text => text::read(&self.paths, spec.elements, shape[0]),
            Origin::Cifar10 => cifar10::read(&self.paths, spec.elements, shape[0]),
            Origin::Criteo => return criteo::read(&self.paths[0], spec),
            Origin::WikiText => wikitext::read(&self.paths[0], spec.elements, shape[0]),
            Origin::CocoCaptions { vocabulary } => return coco::read(&self.paths, spec, vocabulary),
            Origin::Digits { seed, held_out } => return digits::read(spec, seed, held_out),
            Origin::Tensors { digest } => return safetensors_files::read(&self.paths, spec, digest),
            Origin::Synthetic { .. } => unreachable!("synthetic data have no files"),
        }?;
        Ok(vec![field])
    }
}
