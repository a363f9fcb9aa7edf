//! The folders around a repository, as far as what is built depends on them.
//!
//! A checkout lies in an image of them: the one of `/home/me/app` in `IMAGE/home/me/app`. Packages that its
//! manifests name by paths which lead out of it are links there, so that `../helper` leads to the same
//! package from both; so is the configuration of cargo and rustup that lies in folders above the repository.
//! All of it is as it is now, whatever the revision.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};
use toml::Table;

use super::verified::remove;
use crate::git::git;

/// Files and folders above a repository that change what is built in it.
const CONFIGURATION: [&str; 3] = [".cargo", "rust-toolchain", "rust-toolchain.toml"];

/// The packages around a repository that a revision of it depends on, by where they lie.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Around {
    /// Those that lie there.
    pub(super) packages: BTreeSet<PathBuf>,
    /// Folders where a package should lie and does not.
    pub(super) missing: Vec<PathBuf>,
}

/// The place of a folder in an image.
pub(super) fn image(image: &Path, folder: &Path) -> PathBuf {
    image.join(folder.strip_prefix("/").unwrap_or(folder))
}

/// Removes all that lies in an image beside the way down to the checkout: links are made anew, and nothing
/// else belongs there. A link on the way is none.
///
/// # Errors
/// When something cannot be removed.
pub(super) fn clear(image: &Path, checkout: &Path) -> Result<()> {
    let mut folder = image.to_owned();
    let way = checkout.strip_prefix(image).unwrap_or(Path::new("")).components();
    for next in std::iter::once(None).chain(way.map(Some)) {
        if let Some(next) = next {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                if entry.file_name() != next.as_os_str() {
                    remove(&entry.path())?;
                }
            }
            folder.push(next);
        }
        match fs::symlink_metadata(&folder) {
            Ok(there) if there.is_dir() => {}
            Ok(_) => return remove(&folder),
            Err(_) => return Ok(()),
        }
    }
    Ok(())
}

/// Links what lies around a repository into the image that its checkout lies in.
///
/// # Errors
/// Where a link cannot be made, or its place is taken.
pub(super) fn link(repository: &Path, checkout: &Path, into: &Path) -> Result<Around> {
    let mut around = Around::default();
    let mut wanted: Vec<PathBuf> = outward(repository, checkout)?;
    let mut seen = BTreeSet::new();
    while let Some(package) = wanted.pop() {
        if !seen.insert(package.clone()) {
            continue;
        }
        let Ok(manifest) = fs::read_to_string(package.join("Cargo.toml")) else {
            around.missing.push(package);
            continue;
        };
        let others = paths(&manifest).into_iter().map(|path| plain(&package.join(path)));
        wanted.extend(others.filter(|other| !other.starts_with(repository)));
        if let Some(folder) = apart(&package, repository) {
            renew(&image(into, &folder), &folder)?;
        }
        around.packages.insert(package);
    }
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    for above in repository.ancestors().skip(1) {
        // What lies above the checkout itself is found there, and cargo's home is found from everywhere.
        let is_found = into.starts_with(above) && above.parent().is_some();
        for name in CONFIGURATION {
            let there = above.join(name);
            if there.exists() && !is_found && home.as_ref() != Some(&there) {
                renew(&image(into, above).join(name), &there)?;
            }
        }
    }
    around.missing.sort();
    Ok(around)
}

/// The packages out of the repository that the manifests of a checkout name.
fn outward(repository: &Path, checkout: &Path) -> Result<Vec<PathBuf>> {
    let listed = git(checkout, &["ls-files", "-z", "--", "Cargo.toml", ":(glob)**/Cargo.toml"])?;
    let mut found = Vec::new();
    for manifest in listed.split('\0').filter(|path| !path.is_empty()) {
        let Ok(text) = fs::read_to_string(checkout.join(manifest)) else { continue };
        let folder = repository.join(manifest);
        let folder = folder.parent().unwrap_or(repository);
        found.extend(paths(&text).into_iter().map(|path| plain(&folder.join(path))));
    }
    found.retain(|path| !path.starts_with(repository));
    Ok(found)
}

/// The paths of dependencies in a manifest; none where it is no TOML, which the build will say.
fn paths(manifest: &str) -> Vec<String> {
    let mut found = Vec::new();
    if let Ok(manifest) = manifest.parse::<Table>() {
        collect(&manifest, &mut found);
    }
    found
}

fn collect(table: &Table, found: &mut Vec<String>) {
    for (key, value) in table {
        let Some(table) = value.as_table() else { continue };
        let dependencies = match key.as_str() {
            "patch" => table.values().filter_map(toml::Value::as_table).collect(),
            "replace" => vec![table],
            key if key.ends_with("dependencies") => vec![table],
            _ => {
                collect(table, found); // `target.*.dependencies`, `workspace.dependencies`
                continue;
            }
        };
        let entries = dependencies.into_iter().flat_map(Table::values);
        found.extend(entries.filter_map(|entry| Some(entry.get("path")?.as_str()?.to_owned())));
    }
}

/// The path without `.` and `..`, by its text alone.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

/// The outermost folder that has a package and not the repository; `None` where the package has both.
fn apart(package: &Path, repository: &Path) -> Option<PathBuf> {
    let folders: Vec<&Path> = package.ancestors().collect();
    folders.into_iter().rev().find(|folder| !repository.starts_with(folder)).map(Path::to_owned)
}

/// Makes a link, in the place of one that is there.
fn renew(place: &Path, leads_to: &Path) -> Result<()> {
    match fs::symlink_metadata(place) {
        Ok(there) if there.is_symlink() => {
            fs::remove_file(place).with_context(|| format!("failed to renew `{}`", place.display()))?;
        }
        Ok(_) => bail!("`{}` is in the place of a link: remove it", place.display()),
        Err(_) => {}
    }
    fs::create_dir_all(place.parent().unwrap_or(place))
        .and_then(|()| symlink(leads_to, place))
        .with_context(|| format!("failed to link `{}`", place.display()))
}
