//! `uv`, which makes the environments.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use weighbridge_xtask::stop;

/// Lines of its output that are worth showing when it fails.
const TAIL: usize = 15;

/// The program, as it was found.
#[derive(Clone, Debug)]
pub(super) struct Uv {
    program: PathBuf,
}

impl Uv {
    /// The one on the search path.
    pub(super) fn find() -> Result<Self> {
        Self::find_on(std::env::var_os("PATH").as_deref())
    }

    fn find_on(path: Option<&OsStr>) -> Result<Self> {
        let folders = path.into_iter().flat_map(std::env::split_paths);
        let found = folders.map(|folder| folder.join("uv")).find(|program| program.is_file());
        found.map(Self::at).ok_or_else(|| {
            stop::usage(
                "`uv` is not on the search path: install it with `pip install uv` or `pipx install uv` \
                 (https://docs.astral.sh/uv/)",
            )
        })
    }

    /// The one that lies there.
    pub(super) fn at(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into() }
    }

    /// Runs it and waits. The inner error is the end of what it wrote.
    pub(super) fn run<T: AsRef<OsStr>>(
        &self,
        folder: &Path,
        arguments: impl IntoIterator<Item = T>,
    ) -> Result<Result<(), String>> {
        let mut command = Command::new(&self.program);
        command.current_dir(folder).args(arguments).stdin(Stdio::null());
        // Nothing of an environment that happens to be active may be taken for ours.
        command.env_remove("VIRTUAL_ENV").env_remove("CONDA_PREFIX").env("UV_NO_PROGRESS", "1");
        let ended =
            command.output().with_context(|| format!("failed to start `{}`", self.program.display()))?;
        if ended.status.success() {
            return Ok(Ok(()));
        }
        Ok(Err(format!("uv ended with {}\n{}", ended.status, tail(&String::from_utf8_lossy(&ended.stderr)))))
    }
}

/// The last lines.
fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let first = lines.len().saturating_sub(TAIL);
    lines[first..].iter().map(|line| format!("  {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_uv_the_message_says_how_to_install_it() {
        let place = tempfile::tempdir().expect("a folder");
        let error = Uv::find_on(Some(place.path().as_os_str())).expect_err("it is not there").to_string();
        assert!(error.contains("pip install uv"), "{error}");
        std::fs::write(place.path().join("uv"), "").expect("written");
        assert!(Uv::find_on(Some(place.path().as_os_str())).is_ok());
        assert!(Uv::find_on(None).is_err());
    }

    #[test]
    fn what_fails_says_the_end_of_its_output() {
        let (shell, here) = (Uv::at("/bin/sh"), Path::new("/"));
        assert_eq!(shell.run(here, ["-c", "echo fine >&2"]).expect("started"), Ok(()));
        let why = shell.run(here, ["-c", "echo no such package >&2; exit 2"]).expect("started");
        assert!(why.is_err_and(|why| why.contains("exit status: 2") && why.contains("  no such package\n")));
        assert!(Uv::at("/nowhere/uv").run(here, ["x"]).is_err());
    }

    #[test]
    fn of_a_long_output_the_end_is_shown() {
        let text: String = (0..40).map(|line| format!("line {line}\n\n")).collect();
        let shown = tail(&text);
        assert!(shown.starts_with("  line 25\n") && shown.ends_with("  line 39\n"), "{shown}");
    }
}
