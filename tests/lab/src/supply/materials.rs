//! The packages that the product is made of: those of Rust by the lock file, those of Python by the pinned
//! requirements.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, PackageId};
use serde::Deserialize;

/// The packages of a product.
#[derive(Debug)]
pub(super) struct Materials {
    /// Of Rust, by name and version.
    pub(super) crates: Vec<Crate>,
    /// Of Python, by name and version, with the frameworks that need it.
    pub(super) python: BTreeMap<(String, String), BTreeSet<String>>,
}

/// A package of Rust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Crate {
    pub(super) name: String,
    pub(super) version: String,
    /// As its author writes it.
    pub(super) licence: Option<String>,
    /// The place that it comes from; `None` for one of the workspace.
    pub(super) source: Option<String>,
    /// The SHA-256 of its archive.
    pub(super) checksum: Option<String>,
    /// What it needs, by positions in the list.
    pub(super) needs: Vec<usize>,
}

#[derive(Deserialize)]
struct LockFile {
    package: Vec<LockedPackage>,
}

#[derive(Deserialize)]
struct LockedPackage {
    name: String,
    version: String,
    checksum: Option<String>,
}

impl Materials {
    /// Those of the workspace at this root, as it is built by default.
    ///
    /// # Errors
    /// When cargo does not know it, or a file of it cannot be read.
    pub(super) fn of(root: &Path) -> Result<Self> {
        let mut asked = MetadataCommand::new();
        asked.current_dir(root).other_options(["--locked".to_owned()]);
        let metadata = asked.exec().context("failed to ask cargo for the packages")?;
        let lock = fs::read_to_string(root.join("Cargo.lock")).context("failed to read `Cargo.lock`")?;
        let lock: LockFile = toml::from_str(&lock).context("failed to read `Cargo.lock`")?;
        let checksums = lock.package.into_iter().map(|one| ((one.name, one.version), one.checksum));
        Ok(Self { crates: crates(&metadata, &checksums.collect())?, python: python(root)? })
    }
}

/// The packages that a build needs, and not those of tests alone.
fn crates(metadata: &Metadata, checksums: &HashMap<(String, String), Option<String>>) -> Result<Vec<Crate>> {
    let resolve = metadata.resolve.as_ref().context("cargo resolves nothing")?;
    let needs: HashMap<&PackageId, Vec<&PackageId>> = resolve
        .nodes
        .iter()
        .map(|node| {
            let built = node
                .deps
                .iter()
                .filter(|dep| dep.dep_kinds.iter().any(|kind| kind.kind != DependencyKind::Development));
            (&node.id, built.map(|dep| &dep.pkg).collect())
        })
        .collect();
    let mut reached: BTreeSet<&PackageId> = metadata.workspace_members.iter().collect();
    let mut next: Vec<&PackageId> = reached.iter().copied().collect();
    while let Some(id) = next.pop() {
        next.extend(needs[id].iter().copied().filter(|dep| reached.insert(dep)));
    }
    let mut packages: Vec<_> = metadata.packages.iter().filter(|one| reached.contains(&one.id)).collect();
    packages.sort_by(|a, b| (a.name.to_string(), &a.version).cmp(&(b.name.to_string(), &b.version)));
    let places: HashMap<&PackageId, usize> =
        packages.iter().zip(0..).map(|(one, at)| (&one.id, at)).collect();
    let of = |one: &&cargo_metadata::Package| {
        let key = (one.name.to_string(), one.version.to_string());
        Crate {
            licence: one.license.clone(),
            source: one.source.as_ref().map(|source| source.repr.clone()),
            checksum: checksums.get(&key).cloned().flatten(),
            needs: needs[&one.id].iter().filter_map(|id| places.get(id).copied()).collect(),
            name: key.0,
            version: key.1,
        }
    };
    Ok(packages.iter().map(of).collect())
}

/// The pinned packages of all frameworks of Python.
fn python(root: &Path) -> Result<BTreeMap<(String, String), BTreeSet<String>>> {
    let mut found: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
    let folder = root.join("scenarios/python/requirements");
    for entry in fs::read_dir(&folder).context("failed to list the requirements of Python")? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "txt") {
            continue;
        }
        let text =
            fs::read_to_string(&path).with_context(|| format!("failed to read `{}`", path.display()))?;
        let framework = path.file_stem().unwrap_or_default().to_string_lossy();
        for pinned in text.lines().filter_map(pin) {
            found.entry(pinned).or_default().insert(framework.clone().into_owned());
        }
    }
    Ok(found)
}

/// Name and version of a line that pins a package: `numpy==2.4.6 \`.
fn pin(line: &str) -> Option<(String, String)> {
    let (name, rest) = line.split_once("==").filter(|_| !line.starts_with([' ', '#']))?;
    let version = rest.split([' ', ';']).next()?;
    let name = name.split('[').next().unwrap_or(name);
    Some((name.to_owned(), version.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_pins_a_package_is_told_from_its_hashes() {
        let pinned = |name: &str, version: &str| Some((name.to_owned(), version.to_owned()));
        assert_eq!(pin(r"numpy==2.4.6 \"), pinned("numpy", "2.4.6"));
        assert_eq!(pin(r"jax[cpu]==0.9 ; python_version >= '3.11' \"), pinned("jax", "0.9"));
        assert_eq!(pin("    --hash=sha256:00 \\"), None);
        assert_eq!(pin("# numpy==1"), None);
    }
}
