//! Cargo in the folder of a foreign crate, with an end to its patience.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::list::ForeignCrate;
use crate::programs::cargo;

/// The settings of compiling that are given where no figure is wanted: they halve the time.
const CHEAP: [(&str, &str); 6] = [
    ("CARGO_PROFILE_BENCH_OPT_LEVEL", "1"),
    ("CARGO_PROFILE_BENCH_DEBUG", "false"),
    ("CARGO_PROFILE_BENCH_LTO", "off"),
    ("CARGO_PROFILE_BENCH_CODEGEN_UNITS", "16"),
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "false"),
];

/// The same of what the crates depend on, where the time of compiling mostly goes.
const CHEAP_BELOW: &str = "profile.bench.package.\"*\".opt-level=0";

/// The way of building: as fast as it goes, or as the manifest has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Building {
    Cheap,
    AsWritten,
}

/// The copy of a crate, and where it is built.
#[derive(Clone, Debug)]
pub(super) struct ForeignCopy<'a> {
    pub(super) of: &'a ForeignCrate,
    pub(super) folder: PathBuf,
    pub(super) target: &'a Path,
    pub(super) building: Building,
}

/// The end of a command, and what it said.
#[derive(Debug)]
pub(super) struct CommandEnd {
    /// `None`: its time was over.
    pub(super) status: Option<ExitStatus>,
    pub(super) said: String,
}

impl CommandEnd {
    pub(super) fn is_fine(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// The reason of a failure in one line.
    pub(super) fn why(&self) -> String {
        let Some(status) = self.status else { return "it took longer than it may".to_owned() };
        let is_told = |line: &&str| {
            line.starts_with("error") || line.contains("panicked") || line.contains(" failed: ")
        };
        let told = self.said.lines().find(is_told).unwrap_or_default();
        format!("{status}: {}", told.trim())
    }
}

impl ForeignCopy<'_> {
    /// `cargo bench` of some targets, with what stands behind `--`.
    ///
    /// # Errors
    /// When cargo cannot be started.
    pub(super) fn bench(&self, benches: &[&str], words: &[&str], most: Duration) -> Result<CommandEnd> {
        let mut command = cargo(&self.folder, self.target);
        command.arg("bench").args(benches.iter().flat_map(|bench| ["--bench", bench]));
        if !self.of.features.is_empty() {
            command.args(["--features", &self.of.features.join(",")]);
        }
        if self.building == Building::Cheap {
            command.args(["--config", CHEAP_BELOW]).envs(CHEAP);
        }
        command.args(words).env("CRITERION_HOME", self.folder.join("criterion"));
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("WEIGHBRIDGE_") || text.starts_with("DIVAN_") {
                command.env_remove(&name);
            }
        }
        self.end(command, most)
    }

    fn end(&self, mut command: Command, most: Duration) -> Result<CommandEnd> {
        let path = self.folder.with_file_name(format!("{}.log", self.of.folder()));
        let log = File::create(&path).with_context(|| format!("failed to make {}", path.display()))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).process_group(0);
        let child = command.spawn().with_context(|| format!("failed to start {command:?}"))?;
        let status = wait(child, most)?;
        let said = fs::read(&path).with_context(|| format!("failed to read {}", path.display()))?;
        Ok(CommandEnd { status, said: String::from_utf8_lossy(&said).into_owned() })
    }
}

/// Waits for so long, then ends it with all that it started.
fn wait(mut child: Child, most: Duration) -> Result<Option<ExitStatus>> {
    let begun = Instant::now();
    while begun.elapsed() < most {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = killpg(Pid::from_raw(child.id() as i32), Signal::SIGKILL);
    child.wait()?;
    Ok(None)
}
