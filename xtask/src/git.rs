//! Questions to git.

use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use weighbridge_launch::output_within;

/// Commands of git that bring files, perhaps from afar: they take their time, and may ask at the terminal.
const BRINGS: &[&str] = &["checkout", "clone", "read-tree", "submodule", "worktree"];

/// Runs git in a folder, and returns what it says.
///
/// # Errors
/// Where it cannot be started, gives no answer in time, or ends with an error: with what it says of that.
pub(crate) fn git(folder: &Path, arguments: &[&str]) -> Result<String> {
    let asked = answered(Command::new("git").current_dir(folder), arguments)?;
    Ok(String::from_utf8_lossy(&asked.stdout).trim_end().to_owned())
}

/// Runs a prepared git with these arguments.
///
/// # Errors
/// As of [`git`].
pub(crate) fn answered(git: &mut Command, arguments: &[&str]) -> Result<Output> {
    let git = git.args(arguments).stdin(Stdio::null());
    let asked = if BRINGS.contains(&arguments[0]) {
        git.output()
    } else {
        output_within(git, Duration::from_mins(1))
    };
    fine(asked, arguments[0])
}

fn fine(asked: io::Result<Output>, asked_for: &str) -> Result<Output> {
    let asked = match asked {
        Err(error) if error.kind() == io::ErrorKind::TimedOut => {
            bail!("git {asked_for}: {error}: does it wait for a lock, or for a disk of the network?")
        }
        asked => asked.context("failed to start git")?,
    };
    if !asked.status.success() {
        bail!("git {asked_for}: {}", String::from_utf8_lossy(&asked.stderr).trim());
    }
    Ok(asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_git_that_never_answers_is_ended_and_named() {
        let mut hangs = Command::new("sh");
        hangs.args(["-c", "sleep 600; true"]);
        let error = fine(output_within(&mut hangs, Duration::ZERO), "log").unwrap_err().to_string();
        assert_eq!(
            error,
            "git log: no answer within 0 s: does it wait for a lock, or for a disk of the network?"
        );
    }
}
