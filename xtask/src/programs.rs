//! Bench programs: building them, and finding the executables that cargo made.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use weighbridge_launch::output_within;

use crate::build_options::BuildOptions;
use crate::place::suite_of;
use crate::toolchain::Toolchain;

/// Has cargo say what it builds.
pub(crate) const MESSAGES: &str = "--message-format=json-render-diagnostics";

/// A bench target that was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltProgram {
    /// `<package>/<bench target>`.
    pub suite: String,
    /// The bench target, as cargo calls it.
    pub target: String,
    /// The executable.
    pub path: PathBuf,
    /// Its package's directory, where cargo runs it.
    pub directory: PathBuf,
}

/// Builds the bench targets of a workspace as `cargo bench` does, and gives those that are built on
/// weighbridge.
///
/// # Errors
/// When cargo cannot build them; what it says went to stderr.
pub fn build(root: &Path) -> Result<Vec<BuiltProgram>> {
    build_by(cargo(root), root, &BuildOptions::default())
}

/// The same by this cargo, which is called in `root`, with these options.
pub(crate) fn build_by(mut cargo: Command, root: &Path, options: &BuildOptions) -> Result<Vec<BuiltProgram>> {
    cargo.args(["bench", "--no-run", MESSAGES]);
    options.apply(&mut cargo);
    cargo.stdin(Stdio::null()).stderr(Stdio::inherit());
    let built = cargo.output().context("failed to start cargo")?;
    if !built.status.success() {
        bail!("the bench targets of `{}` do not build: {}", root.display(), built.status);
    }
    let found = executables(&String::from_utf8_lossy(&built.stdout));
    Ok(found.into_iter().filter(|program| is_ours(&program.path)).collect())
}

/// Cargo in the directory of a workspace or of a package.
pub fn cargo(directory: &Path) -> Command {
    Toolchain::default().cargo(directory)
}

/// The bench executables that cargo's messages name.
pub(crate) fn executables(messages: &str) -> Vec<BuiltProgram> {
    let mut found = Vec::new();
    for line in messages.lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        let target = &message["target"];
        let is_bench =
            target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "bench"));
        let (Some(path), Some(name), Some(manifest)) =
            (message["executable"].as_str(), target["name"].as_str(), message["manifest_path"].as_str())
        else {
            continue;
        };
        if !is_bench {
            continue;
        }
        let directory = Path::new(manifest).parent().unwrap_or(Path::new("/")).to_owned();
        let package = message["package_id"].as_str().map(package).unwrap_or_default();
        let (suite, target) = (suite_of(package, name), name.to_owned());
        found.push(BuiltProgram { suite, target, path: path.into(), directory });
    }
    found
}

/// The package's name in an id: `path+file:///w/crate#0.1.0`, `path+file:///w/dir#name@0.1.0`.
fn package(id: &str) -> &str {
    let (place, version) = id.rsplit_once('#').unwrap_or((id, ""));
    match version.split_once('@') {
        Some((name, _)) => name,
        None => place.rsplit('/').next().unwrap_or(place),
    }
}

/// Returns whether a bench program is built on weighbridge: others share the folder.
fn is_ours(program: &Path) -> bool {
    let asked = output_within(Command::new(program).arg("--version"), Duration::from_mins(1));
    asked.is_ok_and(|said| said.status.success() && said.stdout.starts_with(b"weighbridge "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executables_of_bench_targets_are_found_among_cargos_messages() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","package_id":"path+file:///w/toy#0.1.0","#,
            r#""manifest_path":"/w/toy/Cargo.toml","target":{"kind":["lib"],"name":"toy"},"#,
            r#""executable":null}"#,
            "\n",
            r#"{"reason":"compiler-artifact","package_id":"path+file:///w/dir#toy-suite@0.1.0","#,
            r#""manifest_path":"/w/dir/Cargo.toml","target":{"kind":["bench"],"name":"very-fast"},"#,
            r#""executable":"/t/release/deps/fast-1"}"#,
            "\nno json\n",
            r#"{"reason":"build-finished","success":true}"#,
            "\n",
        );
        let expected = BuiltProgram {
            suite: "toy-suite/very_fast".into(),
            target: "very-fast".into(),
            path: "/t/release/deps/fast-1".into(),
            directory: "/w/dir".into(),
        };
        assert_eq!(executables(messages), [expected]);
        assert_eq!(package("path+file:///w/toy#0.1.0"), "toy");
    }
}
