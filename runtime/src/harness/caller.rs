//! The command of cargo that this bench program was started by.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use nix::unistd::Pid;

use super::called_targets::{called_targets, crate_name};
use super::targets::Targets;
use crate::ranks;

/// The process that this one was started by; of a rank that another process of this program has started, the
/// one that has started that.
fn first_parent() -> Pid {
    let parent = nix::unistd::getppid();
    let is_local =
        ranks::detect(&|name| std::env::var(name).ok()).ok().flatten().is_some_and(|seat| seat.is_local());
    if !is_local {
        return parent;
    }
    let stat = std::fs::read_to_string(format!("/proc/{parent}/stat")).unwrap_or_default();
    let above =
        stat.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().nth(1)?.parse().ok());
    above.map_or(parent, Pid::from_raw)
}

/// The cargo command that runs bench targets one after the other.
pub(super) struct Caller {
    /// Its number and when it was started, so that no other has the same.
    pub(super) id: String,
    /// Its words, and the folder in which it was called; `None` where the system does not tell.
    call: Option<(Vec<String>, PathBuf)>,
}

impl Caller {
    /// The one that started this process; `None` where that was no cargo.
    pub(super) fn of_this_process() -> Option<Self> {
        let number = first_parent();
        let folder = Path::new("/proc").join(number.to_string());
        let Ok(line) = std::fs::read(folder.join("cmdline")) else {
            // Nothing is told of other processes here: cargo sets this for what it runs.
            std::env::var_os("CARGO")?;
            return Some(Self { id: number.to_string(), call: None });
        };
        let words: Vec<String> =
            line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        let program = Path::new(words.first()?).file_name()?.to_str()?.to_owned();
        if program != "cargo" {
            return None;
        }
        let stat = std::fs::read_to_string(folder.join("stat")).unwrap_or_default();
        let begun = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().nth(19));
        let id = format!("{number} {}", begun.unwrap_or_default());
        let folder = std::fs::read_link(folder.join("cwd")).unwrap_or_default();
        Some(Self { id, call: Some((words, folder)) })
    }

    /// The bench targets that it runs, each as `package/target`; `None` where they may be of packages that
    /// nobody here knows. `package` lies in `directory`.
    pub(super) fn targets(&self, package: &str, directory: &Path) -> Option<BTreeSet<String>> {
        let Some((words, folder)) = &self.call else {
            let own = Targets::of(directory).benches;
            return Some(own.iter().map(|name| format!("{package}/{}", crate_name(name))).collect());
        };
        called_targets(words, folder)
    }

    /// The folder that paths on its command line are below: cargo starts a bench in its package's. `None`
    /// where that is not known.
    pub(super) fn folder(&self) -> Option<PathBuf> {
        let of_shell = || std::env::var_os("PWD").map(PathBuf::from).filter(|folder| folder.is_absolute());
        match &self.call {
            Some((_, folder)) => Some(folder.clone()).filter(|folder| folder.is_absolute()),
            None => of_shell(),
        }
    }
}
