//! Bench targets that a command of cargo runs, over all packages that it is for.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

/// The part that is read of `cargo metadata`.
#[derive(Debug, Deserialize)]
pub(super) struct Metadata {
    packages: Vec<CargoPackage>,
    workspace_default_members: Vec<String>,
    workspace_root: PathBuf,
    pub(super) target_directory: PathBuf,
}

impl Metadata {
    /// Asks this cargo.
    ///
    /// # Errors
    /// That it cannot be started, or what it says instead.
    pub(super) fn said_by(cargo: &mut Command) -> io::Result<Self> {
        cargo.args(["metadata", "--no-deps", "--format-version", "1"]).stdin(Stdio::null());
        let said = cargo.output()?;
        serde_json::from_slice(&said.stdout).map_err(|_| {
            let why = String::from_utf8_lossy(&said.stderr).trim().to_owned();
            io::Error::other(format!("cargo does not tell of its workspace: {why}"))
        })
    }
}

#[derive(Debug, Deserialize)]
struct CargoPackage {
    id: String,
    name: String,
    manifest_path: PathBuf,
    targets: Vec<CargoTarget>,
}

#[derive(Debug, Deserialize)]
struct CargoTarget {
    name: String,
    kind: Vec<String>,
    #[serde(default, rename = "required-features")]
    features: Vec<String>,
}

/// The packages and targets that a command of cargo names.
#[derive(Debug, Default, PartialEq)]
struct Selection {
    packages: Vec<String>,
    benches: Vec<String>,
    excluded: Vec<String>,
    manifest: Option<PathBuf>,
    whole_workspace: bool,
    has_features: bool,
}

/// The bench targets that `words`, called in `folder`, runs, each as `package/target`; `None` where that
/// cannot be told.
pub(super) fn called_targets(words: &[String], folder: &Path) -> Option<BTreeSet<String>> {
    let selection = Selection::of(words)?;
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let manifest = selection.manifest.as_ref().map(|manifest| folder.join(manifest));
    if let Some(manifest) = &manifest {
        command.arg("--manifest-path").arg(manifest);
    }
    let metadata = Metadata::said_by(command.current_dir(folder)).ok()?;
    let manifest = manifest.or_else(|| {
        folder.ancestors().map(|folder| folder.join("Cargo.toml")).find(|manifest| manifest.is_file())
    });
    targets(&selection, &metadata, &manifest?)
}

/// The same of what cargo says of the workspace, where `manifest` is the one that the command is for.
fn targets(selection: &Selection, metadata: &Metadata, manifest: &Path) -> Option<BTreeSet<String>> {
    let is_root = metadata.workspace_root.join("Cargo.toml") == manifest;
    let is_meant = |package: &&CargoPackage| {
        if selection.whole_workspace {
            !selection.excluded.contains(&package.name)
        } else if !selection.packages.is_empty() {
            selection.packages.contains(&package.name)
        } else if is_root {
            metadata.workspace_default_members.contains(&package.id)
        } else {
            package.manifest_path == manifest
        }
    };
    let mut targets = BTreeSet::new();
    for package in metadata.packages.iter().filter(is_meant) {
        let is_run = |target: &&CargoTarget| {
            target.kind.iter().any(|kind| kind == "bench")
                && (selection.benches.is_empty() || selection.benches.contains(&target.name))
                && (selection.has_features || target.features.is_empty())
        };
        let named = package.targets.iter().filter(is_run);
        targets.extend(named.map(|target| format!("{}/{}", package.name, crate_name(&target.name))));
    }
    (!targets.is_empty()).then_some(targets)
}

impl Selection {
    /// Reads a command; `None` where it names something by a pattern.
    fn of(words: &[String]) -> Option<Self> {
        let mut selection = Self::default();
        let mut words = words.iter().take_while(|word| *word != "--");
        while let Some(word) = words.next() {
            let (flag, value) = match word.split_once('=') {
                Some((flag, value)) => (flag, Some(value.to_owned())),
                None if word.starts_with("-p") && word.len() > 2 => ("-p", Some(word[2..].to_owned())),
                None => (word.as_str(), None),
            };
            let mut value = || value.clone().or_else(|| words.next().cloned());
            match flag {
                "--workspace" | "--all" => selection.whole_workspace = true,
                "-F" | "--features" | "--all-features" => selection.has_features = true,
                "-p" | "--package" => selection.packages.push(package_name(&value()?)),
                "--exclude" => selection.excluded.push(package_name(&value()?)),
                "--bench" => selection.benches.push(value()?),
                "--manifest-path" => selection.manifest = Some(value()?.into()),
                _ => {}
            }
        }
        let mut names = selection.packages.iter().chain(&selection.excluded).chain(&selection.benches);
        names.all(|name| !name.contains(['*', '?', '['])).then_some(selection)
    }
}

/// A target's name as its crate is called.
pub(super) fn crate_name(target: &str) -> String {
    target.replace('-', "_")
}

/// The name in a package's specification: `name`, `name@1.2.3`, `path+file:///w/name#0.1.0`.
fn package_name(specification: &str) -> String {
    let name = match specification.rsplit_once('#') {
        Some((place, version)) if !version.contains('@') => place.rsplit('/').next().unwrap_or(place),
        Some((_, name)) => name,
        None => specification,
    };
    name.split('@').next().unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const METADATA: &str = r#"{"workspace_root": "/w", "target_directory": "/w/target",
        "workspace_default_members": ["1", "2"], "packages": [
        {"id": "1", "name": "one", "manifest_path": "/w/one/Cargo.toml", "targets": [
            {"name": "one", "kind": ["lib"]}, {"name": "fast", "kind": ["bench"]},
            {"name": "on-gpu", "kind": ["bench"], "required-features": ["gpu"]}]},
        {"id": "2", "name": "two", "manifest_path": "/w/two/Cargo.toml", "targets": [
            {"name": "hyphen-ated", "kind": ["bench"]}]},
        {"id": "3", "name": "three", "manifest_path": "/w/three/Cargo.toml", "targets": [
            {"name": "fast", "kind": ["bench"]}]}]}"#;

    fn called(line: &str, manifest: &str) -> String {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let metadata: Metadata = serde_json::from_str(METADATA).unwrap();
        let found = Selection::of(&words).and_then(|asked| targets(&asked, &metadata, Path::new(manifest)));
        found.map_or_else(|| "unknown".to_owned(), |found| found.into_iter().collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn cargo_runs_the_targets_of_the_packages_that_it_is_called_for() {
        for (line, manifest, expected) in [
            ("cargo bench -- --bench -p x", "/w/Cargo.toml", "one/fast two/hyphen_ated"),
            ("cargo bench", "/w/three/Cargo.toml", "three/fast"),
            ("cargo bench --all-features", "/w/one/Cargo.toml", "one/fast one/on_gpu"),
            ("cargo bench --workspace --exclude one", "/w/one/Cargo.toml", "three/fast two/hyphen_ated"),
            ("cargo bench -p one --package=three@0.1.0", "/w/Cargo.toml", "one/fast three/fast"),
            ("cargo bench -pone --bench fast", "/w/Cargo.toml", "one/fast"),
            ("cargo bench --workspace --bench=fast", "/w/Cargo.toml", "one/fast three/fast"),
            ("cargo bench -p t*", "/w/Cargo.toml", "unknown"),
            ("cargo bench", "/elsewhere/Cargo.toml", "unknown"),
        ] {
            assert_eq!(called(line, manifest), expected, "{line} in {manifest}");
        }
        assert_eq!(package_name("path+file:///w/name#0.1.0"), "name");
        assert_eq!(package_name("path+file:///w/folder#name@0.1.0"), "name");
    }
}
