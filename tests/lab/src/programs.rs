//! Programs that cargo builds for what is tried here.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use cargo_metadata::{Artifact, Message};

use crate::place::Place;

/// What cargo is to say of what it builds.
pub(crate) const MESSAGES: &str = "--message-format=json-render-diagnostics";

/// A program that was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BuiltProgram {
    /// Its target.
    pub(crate) target: String,
    /// The executable.
    pub(crate) path: PathBuf,
    /// Its package's directory, where cargo runs it.
    pub(crate) directory: PathBuf,
}

/// Builds by `cargo ARGUMENTS` in a directory, and gives the programs that come of it.
///
/// # Errors
/// When cargo cannot build them; what it says went to stderr.
pub(crate) fn build(directory: &Path, target: &Path, arguments: &[&str]) -> Result<Vec<BuiltProgram>> {
    build_as(directory, target, &[arguments, &[MESSAGES]].concat())
}

/// The same where the line has [`MESSAGES`], since something stands behind it.
///
/// # Errors
/// As [`build`].
pub(crate) fn build_as(directory: &Path, target: &Path, arguments: &[&str]) -> Result<Vec<BuiltProgram>> {
    let mut command = cargo(directory, target);
    command.args(arguments);
    let built =
        command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().context("failed to start cargo")?;
    if !built.status.success() {
        bail!("`cargo {}` in `{}` failed: {}", arguments.join(" "), directory.display(), built.status);
    }
    let messages: Vec<Message> = Message::parse_stream(&*built.stdout)
        .collect::<Result<_, _>>()
        .context("failed to read what cargo says")?;
    let artifacts = messages.into_iter().filter_map(|message| match message {
        Message::CompilerArtifact(artifact) => BuiltProgram::of(artifact),
        _ => None,
    });
    Ok(artifacts.collect())
}

/// Of these programs, the one of a target.
///
/// # Errors
/// When there is none.
pub(crate) fn of_target(programs: &[BuiltProgram], target: &str) -> Result<BuiltProgram> {
    let found = programs.iter().find(|program| program.target == target);
    found.cloned().with_context(|| format!("cargo built no `{target}`"))
}

/// Builds a program of the product as the product's tests have it, for a test of its own: alone, all below it
/// would have other features, and be built once more.
///
/// # Errors
/// When cargo cannot build it.
pub(crate) fn of_product(place: &Place, program: &str) -> Result<PathBuf> {
    let line = ["test", "--workspace", "--no-run", "--test", "program"];
    Ok(of_target(&build(&place.root, &place.target, &line)?, program)?.path)
}

impl BuiltProgram {
    fn of(artifact: Artifact) -> Option<Self> {
        Some(Self {
            path: artifact.executable?.into_std_path_buf(),
            directory: artifact.manifest_path.parent()?.as_std_path().to_owned(),
            target: artifact.target.name,
        })
    }
}

/// Cargo in a directory, with this target directory.
pub(crate) fn cargo(directory: &Path, target: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(directory).env("CARGO_TARGET_DIR", target);
    // What this process was built with is not what is built there.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}
