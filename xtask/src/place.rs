//! Where a command works: the workspace and its data directory.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use weighbridge::data::{Baselines, Layout, Runs};
use weighbridge_launch::output_within;

use crate::baseline_path::KeptBaselines;

/// A workspace and its data directory, in which a command works.
#[derive(Clone, Debug)]
pub struct Place {
    /// The root of the workspace.
    pub root: PathBuf,
    /// The data directory.
    pub layout: Layout,
    /// True if the data directory was named, and is not the usual one.
    pub is_data_named: bool,
    /// The place of baselines, if they lie neither in the data directory nor in the workspace.
    pub(crate) kept: Option<KeptBaselines>,
    /// The bench targets of the workspace that a plain `cargo bench` builds.
    pub suites: Vec<BenchSuite>,
    /// The bench targets that need features, which plain `cargo bench` does not build.
    pub behind_features: Vec<BenchSuite>,
}

/// A bench target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BenchSuite {
    /// Its package.
    pub package: String,
    /// Its target.
    pub target: String,
    /// The features that it needs.
    pub features: Vec<String>,
}

impl Place {
    /// A place that is known, with no bench target in it.
    pub fn new(root: PathBuf, layout: Layout) -> Self {
        Self {
            layout: layout.with_workspace(&root),
            root,
            is_data_named: true,
            kept: None,
            suites: Vec::new(),
            behind_features: Vec::new(),
        }
    }

    /// The place of the current directory, as cargo sees it. `data` takes the place of the usual data
    /// directory. Where one with runs is named, there need be no workspace: those of commands and of servers
    /// belong to none.
    ///
    /// # Errors
    /// When cargo is not there, or the current directory is in no workspace.
    pub fn find(data: Option<&Path>) -> Result<Self> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut asked = Command::new(&cargo);
        asked.args(["metadata", "--no-deps", "--format-version", "1"]);
        // It waits for another cargo that fetches packages.
        let asked = output_within(&mut asked, Duration::from_mins(5));
        let asked =
            asked.with_context(|| format!("failed to ask `{}` for the workspace", cargo.display()))?;
        if !asked.status.success() {
            if let Some(data) = data.filter(|data| data.join("runs").is_dir()) {
                let here = std::env::current_dir().context("failed to find the current folder")?;
                let data = std::path::absolute(data).context("failed to find the data directory")?;
                return Ok(Self::new(here, Layout::new(data)));
            }
            let said = String::from_utf8_lossy(&asked.stderr);
            bail!("failed to find the workspace: `cargo metadata` says: {}", said.trim());
        }
        Self::from_metadata(&asked.stdout, data)
    }

    fn from_metadata(metadata: &[u8], data: Option<&Path>) -> Result<Self> {
        let metadata: Value = serde_json::from_slice(metadata).context("failed to read `cargo metadata`")?;
        // A bench target learns its directory at build time, and that is the build directory where the two
        // differ.
        let target = metadata["build_directory"].as_str().or_else(|| metadata["target_directory"].as_str());
        let target = target.context("`cargo metadata` names no target directory")?;
        let root = metadata["workspace_root"].as_str().context("`cargo metadata` names no workspace")?;
        // Absolute, since a bench target runs in its package's directory and not in this one.
        let layout = match data {
            Some(data) => {
                Layout::new(std::path::absolute(data).context("failed to find the data directory")?)
            }
            None => Layout::in_target(Path::new(target)),
        };
        let root = PathBuf::from(root);
        let (suites, behind_features) =
            suites(&metadata).into_iter().partition(|suite: &BenchSuite| suite.features.is_empty());
        let is_data_named = data.is_some();
        Ok(Self { is_data_named, suites, behind_features, ..Self::new(root, layout) })
    }

    /// The runs.
    pub fn runs(&self) -> Runs {
        Runs::new(self.layout.clone())
    }

    /// The baselines.
    pub fn baselines(&self) -> Baselines {
        match &self.kept {
            Some(kept) => kept.baselines(&self.layout),
            None => Baselines::new(self.layout.clone()),
        }
    }

    /// Returns whether a suite, as runs have it, is none of the bench targets of the workspace, where those
    /// are known.
    pub fn has_lost(&self, suite: &str) -> bool {
        let mut all = self.suites.iter().chain(&self.behind_features).peekable();
        all.peek().is_some() && !all.any(|one| one.suite() == suite)
    }

    /// The commands that make a baseline of this name.
    pub fn how_to_set(&self, name: &str) -> String {
        match &self.kept {
            Some(kept) => kept.how_to_set(name),
            None => format!(
                "`cargo bench -- --save-baseline {name}` or `{} baseline set {name}`",
                weighbridge::tool()
            ),
        }
    }
}

/// The suite of a bench target, as its runs call it.
pub(crate) fn suite_of(package: &str, target: &str) -> String {
    format!("{package}/{}", target.replace('-', "_"))
}

/// The bench targets of all packages.
fn suites(metadata: &Value) -> Vec<BenchSuite> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut suites = Vec::new();
    for package in list(&metadata["packages"]) {
        for target in list(&package["targets"]) {
            let is_bench = list(&target["kind"]).iter().any(|kind| kind == "bench");
            let features = list(&target["required-features"]);
            let features: Vec<String> =
                features.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            let (Some(package), Some(target)) = (package["name"].as_str(), target["name"].as_str()) else {
                continue;
            };
            if is_bench {
                suites.push(BenchSuite { package: package.to_owned(), target: target.to_owned(), features });
            }
        }
    }
    suites
}

impl BenchSuite {
    /// Its name in runs.
    pub fn suite(&self) -> String {
        suite_of(&self.package, &self.target)
    }

    /// Lists the bench target with these arguments. It is built first, if need be.
    ///
    /// # Errors
    /// When it does not build, or does not list.
    pub fn list(&self, place: &Place, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(&place.root).args(["bench", "--quiet", "--package", &self.package]);
        if !self.features.is_empty() {
            command.args(["--features", &self.features.join(",")]);
        }
        command.args(["--bench", &self.target, "--", "--list"]).args(arguments);
        // What is listed is committed: it must not depend on which frameworks this machine has.
        command.env("WEIGHBRIDGE_PEERS", place.layout.data().join("no-peers"));
        let asked = command.output().with_context(|| format!("failed to start cargo for {self}"))?;
        if !asked.status.success() {
            bail!("failed to list {self}: {}", String::from_utf8_lossy(&asked.stderr).trim());
        }
        Ok(String::from_utf8_lossy(&asked.stdout).into_owned())
    }
}

impl std::fmt::Display for BenchSuite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.package, self.target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const METADATA: &[u8] =
        br#"{"workspace_root": "/w", "target_directory": "/t", "packages": [{"name": "p", "targets": [
        {"name": "su-ite", "kind": ["bench"]}, {"name": "p", "kind": ["lib"]},
        {"name": "overhead", "kind": ["bench"], "required-features": ["overhead"]}]}]}"#;

    #[test]
    fn data_lies_in_the_target_directory_unless_another_is_named() {
        let place = Place::from_metadata(METADATA, None).expect("sound");
        assert_eq!(place.layout.data(), Path::new("/t/weighbridge"));
        assert_eq!(place.layout.committed(), Some(PathBuf::from("/w/benches/baselines")));
        let place = Place::from_metadata(METADATA, Some(Path::new("/d"))).expect("sound");
        assert_eq!(place.layout.data(), Path::new("/d"));
    }

    #[test]
    fn suites_are_the_bench_targets_that_need_no_feature() {
        let place = Place::from_metadata(METADATA, None).expect("sound");
        let names = |suites: &[BenchSuite]| suites.iter().map(BenchSuite::to_string).collect::<Vec<_>>();
        assert_eq!(names(&place.suites), ["p/su-ite"]);
        assert_eq!(place.suites[0].suite(), "p/su_ite");
        assert!(place.has_lost("p/suite") && !place.has_lost("p/su_ite") && !place.has_lost("p/overhead"));
        assert_eq!(names(&place.behind_features), ["p/overhead"]);
        assert_eq!(place.behind_features[0].features, ["overhead"]);
    }
}
