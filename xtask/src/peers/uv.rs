//! `uv`, which makes the environments.

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::stop;

/// Lines of its output that are worth showing when it fails.
const TAIL: usize = 15;

/// The program, as it was found.
#[derive(Clone, Debug)]
pub(super) struct Uv {
    program: PathBuf,
    /// When it is ended.
    until: Option<Instant>,
}

/// How often an end is looked for: far more often than people would notice.
const LOOK: Duration = Duration::from_millis(20);

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
        Self { program: program.into(), until: None }
    }

    /// The same, ended when this time is up.
    pub(super) fn until(self, end: Instant) -> Self {
        Self { until: Some(end), ..self }
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
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let failed = || format!("failed to start `{}`", self.program.display());
        let mut child = command.spawn().with_context(failed)?;
        let mut stderr = child.stderr.take().context("its stderr is a pipe")?;
        let said = std::thread::spawn(move || {
            let mut said = Vec::new();
            drop(stderr.read_to_end(&mut said)); // what was read is what there is to show
            String::from_utf8_lossy(&said).into_owned()
        });
        let status = loop {
            if let Some(status) = child.try_wait().with_context(failed)? {
                break status;
            }
            if self.until.is_some_and(|end| Instant::now() >= end) {
                child.kill().and_then(|()| child.wait()).context("failed to end uv")?;
                return Ok(Err("uv was ended: its time was up".to_owned()));
            }
            std::thread::sleep(LOOK);
        };
        if status.success() {
            return Ok(Ok(()));
        }
        let said = said.join().unwrap_or_default();
        Ok(Err(format!("uv ended with {status}\n{}", tail(&said))))
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
    fn what_fails_says_the_end_of_its_output_and_what_takes_too_long_is_ended() {
        let (shell, here) = (Uv::at("/bin/sh"), Path::new("/"));
        assert_eq!(shell.run(here, ["-c", "echo fine >&2"]).expect("started"), Ok(()));
        let why = shell.run(here, ["-c", "echo no such package >&2; exit 2"]).expect("started");
        assert!(why.is_err_and(|why| why.contains("exit status: 2") && why.contains("  no such package\n")));
        let ended = shell.until(Instant::now()).run(here, ["-c", "exec sleep 600"]).expect("started");
        assert!(ended.is_err_and(|why| why.contains("time was up")));
        assert!(Uv::at("/nowhere/uv").run(here, ["x"]).is_err());
    }

    #[test]
    fn of_a_long_output_the_end_is_shown() {
        let text: String = (0..40).map(|line| format!("line {line}\n\n")).collect();
        let shown = tail(&text);
        assert!(shown.starts_with("  line 25\n") && shown.ends_with("  line 39\n"), "{shown}");
    }
}
