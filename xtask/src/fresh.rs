//! A command in a fresh clone, with an empty cache of cargo: what somebody has who came a minute ago.
//!
//! The clone has the files that git tracks, as they are in the work tree: what a commit of them would have. What git ignores
//! and what was never added is missing. Crates are downloaded anew. No data set was made before, and no framework of Python
//! is installed.
//!
//! Nothing is compiled twice for it. Cargo takes what lies in the target directory if the sources have the same paths and
//! times. So the files keep their times, and the clone and empty folders are mounted over the workspace and over cargo's
//! cache, in a namespace that ends with the command. How the user has set cargo up, its registry above all, stays as it is.
//! So do the target directory and the data directory: what is shown is that nothing is needed that only the work tree or the
//! cache has. A user who may not mount uses the clone where it lies, with an empty target directory.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::place::Place;

/// A clone and an empty cache.
#[derive(Debug)]
pub(crate) struct Fresh {
    /// Where the workspace is.
    root: PathBuf,
    /// Where cargo keeps what it downloads.
    cargo_home: PathBuf,
    /// Folders that stay as they are: they hold what was built and what was measured.
    kept: Vec<PathBuf>,
    /// Where the clone and the empty folders are.
    folder: PathBuf,
}

/// How a program gets a namespace in which it may mount: root may as it is, and anybody may be root among users of their own,
/// unless the machine forbids it.
const WAYS: [&[&str]; 2] = [&["--mount"], &["--mount", "--map-root-user"]];

/// Mounts pairs of folders, the first of each over the second, enters the workspace and becomes the command.
const MOUNT: &str = r#"set -e
while [ "$1" != -- ]; do mount --rbind "$1" "$2"; shift 2; done
cd "$2"; shift 2; exec "$@""#;

impl Fresh {
    /// Makes both anew.
    pub(crate) fn make(place: &Place) -> Result<Self> {
        let fresh = Self::last(place)?;
        for made in [fresh.clone_of(), fresh.empty(), fresh.folder.join("target")] {
            match fs::remove_dir_all(&made) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error).with_context(|| format!("failed to remove `{}`", made.display()));
                }
                _ => {}
            }
        }
        for part in ["registry", "git"] {
            let folder = fresh.empty().join(part);
            fs::create_dir_all(&folder).with_context(|| format!("failed to make `{}`", folder.display()))?;
        }
        fresh.copy()?;
        Ok(fresh)
    }

    fn clone_of(&self) -> PathBuf {
        self.folder.join("clone")
    }

    fn empty(&self) -> PathBuf {
        self.folder.join("cargo")
    }

    /// Clones the repository, with the files as they are in the work tree.
    fn copy(&self) -> Result<()> {
        let clone = self.clone_of();
        let [from, to] = [&self.root, &clone].map(|path| path.as_os_str());
        git(&self.root, &["clone".as_ref(), "--quiet".as_ref(), "--no-checkout".as_ref(), from, to])?;
        git(&clone, &["reset".as_ref(), "--quiet".as_ref()])?;
        let tracked = git(&self.root, &["ls-files".as_ref(), "-z".as_ref()])?;
        for file in tracked.split('\0').filter(|file| !file.is_empty()) {
            let (from, to) = (self.root.join(file), clone.join(file));
            // One that was deleted and whose deletion is not committed.
            if !from.exists() {
                continue;
            }
            let failed = || format!("failed to copy `{}`", from.display());
            fs::create_dir_all(to.parent().with_context(failed)?).with_context(failed)?;
            fs::copy(&from, &to).with_context(failed)?;
            let time = fs::metadata(&from).and_then(|metadata| metadata.modified()).with_context(failed)?;
            let copy = fs::File::options().append(true).open(&to).with_context(failed)?;
            copy.set_modified(time).with_context(failed)?;
        }
        Ok(())
    }

    /// The program with these arguments, in the clone.
    pub(crate) fn command(&self, program: &Path, arguments: &[String]) -> Result<Command> {
        let is_granted = |way: &&&[&str]| {
            let mut tried = Command::new("unshare");
            tried.args(**way).args(["--", "mount", "-t", "tmpfs", "tmpfs"]).arg(&self.folder);
            tried.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            tried.status().is_ok_and(|status| status.success())
        };
        let mut command = match WAYS.iter().find(is_granted) {
            Some(way) => self.mounted(way, program, arguments)?,
            None => self.elsewhere(program, arguments)?,
        };
        self.as_their_user(&mut command);
        Ok(command)
    }

    /// The one that was made last.
    pub(crate) fn last(place: &Place) -> Result<Self> {
        let cargo_home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let cargo_home = cargo_home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
        Ok(Self {
            root: place.root.clone(),
            cargo_home: cargo_home.context("there is no home directory: set CARGO_HOME")?,
            kept: vec![place.target.clone(), place.layout.data().to_owned()],
            folder: place.layout.data().join("fresh"),
        })
    }

    /// Has a command find the data sets that were made here, and none that was made before; no framework is installed.
    pub(crate) fn as_their_user(&self, command: &mut Command) {
        for (variable, folder) in [("XDG_CACHE_HOME", "cache"), ("XDG_DATA_HOME", "data")] {
            command.env(variable, self.empty().join(folder));
        }
        command.env_remove("WEIGHBRIDGE_DATA_CACHE").env_remove("WEIGHBRIDGE_PEERS");
    }

    /// At the usual paths, where nobody else sees it.
    fn mounted(&self, way: &[&str], program: &Path, arguments: &[String]) -> Result<Command> {
        let mut command = Command::new("unshare");
        command.args(way).args(["--", "sh", "-c", MOUNT, "sh"]);
        for kept in &self.kept {
            // The clone covers none that lies elsewhere, and one inside another comes with it.
            let is_within = self.kept.iter().any(|other| other != kept && kept.starts_with(other));
            let Ok(inside) = kept.strip_prefix(&self.root) else { continue };
            if is_within {
                continue;
            }
            for folder in [kept, &self.clone_of().join(inside)] {
                fs::create_dir_all(folder)
                    .with_context(|| format!("failed to make `{}`", folder.display()))?;
            }
            command.arg(kept).arg(self.clone_of().join(inside));
        }
        for part in ["registry", "git"] {
            let usual = self.cargo_home.join(part);
            if usual.is_dir() {
                command.arg(self.empty().join(part)).arg(usual);
            }
        }
        command.args([&self.clone_of(), &self.root]).arg("--").arg(&self.root).arg(program).args(arguments);
        Ok(command)
    }

    /// At other paths, with another target directory. What the user has set for cargo holds here too.
    fn elsewhere(&self, program: &Path, arguments: &[String]) -> Result<Command> {
        for setting in ["config.toml", "config", "credentials.toml", "credentials"] {
            let (from, to) = (self.cargo_home.join(setting), self.empty().join(setting));
            if from.exists() && !to.exists() {
                symlink(&from, &to).with_context(|| format!("failed to link `{}`", from.display()))?;
            }
        }
        let mut command = Command::new(program);
        command.current_dir(self.clone_of()).args(arguments).env("CARGO_HOME", self.empty());
        command.env("CARGO_TARGET_DIR", self.folder.join("target"));
        Ok(command)
    }
}

/// What git says.
fn git(folder: &Path, arguments: &[&std::ffi::OsStr]) -> Result<String> {
    let asked = Command::new("git").current_dir(folder).args(arguments).stdin(Stdio::null()).output();
    let asked = asked.context("failed to start git")?;
    if !asked.status.success() {
        bail!("git {arguments:?} failed: {}", String::from_utf8_lossy(&asked.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&asked.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository with a file of each sort, and a cache with a crate in it.
    fn repository(place: &Path) -> Fresh {
        let root = place.join("root");
        let write = |file: &str, text: &str| {
            let file = place.join(file);
            fs::create_dir_all(file.parent().expect("it has one")).expect("made");
            fs::write(file, text).expect("written");
        };
        write("root/.gitignore", "ignored\ntarget\n");
        write("root/deep/tracked", "committed");
        write("root/ignored", "left behind");
        write("root/target/built", "");
        write("home/registry/crate", "");
        write("home/config.toml", "");
        let git = |arguments: &[&str]| {
            let known = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
            let arguments: Vec<_> = known.iter().chain(arguments).map(AsRef::as_ref).collect();
            super::git(&root, &arguments).expect("git does it");
        };
        git(&["init", "--quiet"]);
        git(&["add", "--all"]);
        git(&["commit", "--quiet", "--message", "all"]);
        write("root/deep/tracked", "changed since");
        write("root/never-added", "");
        let folder = root.join("target/data/fresh");
        let fresh = Fresh { kept: vec![root.join("target")], cargo_home: place.join("home"), folder, root };
        for part in ["registry", "git"] {
            fs::create_dir_all(fresh.empty().join(part)).expect("made");
        }
        fresh.copy().expect("cloned");
        fresh
    }

    /// What it says.
    fn said(command: &mut Command) -> String {
        let ran = command.output().expect("started");
        assert!(ran.status.success(), "{ran:?}");
        String::from_utf8_lossy(&ran.stdout).into_owned()
    }

    const LOOK: &str =
        "ls; cat deep/tracked; echo; ls \"$CARGO_HOME/registry\" \"$CARGO_HOME/config.toml\"; git status -s";

    #[test]
    fn a_fresh_clone_has_what_git_tracks_as_it_is_now_and_nothing_that_was_downloaded() {
        let place = tempfile::tempdir().expect("a folder");
        let fresh = repository(place.path());
        let sh = |script: &str| (Path::new("/bin/sh"), ["-c".to_owned(), script.to_owned()]);
        let (program, look) = sh(LOOK);
        let alone = said(&mut fresh.elsewhere(program, &look).expect("made"));
        let config = fresh.empty().join("config.toml");
        let registry = fresh.empty().join("registry");
        let expected = format!(
            "deep\nchanged since\n{}\n\n{}:\n M deep/tracked\n",
            config.display(),
            registry.display()
        );
        assert_eq!(alone, expected);
        let time =
            |root: &Path| fs::metadata(root.join("deep/tracked")).and_then(|file| file.modified()).ok();
        assert_eq!(time(&fresh.clone_of()), time(&fresh.root));
        if needs::mounting("true").is_none() {
            return;
        }
        let (program, look) = sh(&format!("pwd; ls target; {LOOK}"));
        let mut command = fresh.command(program, &look).expect("made");
        let there = said(command.env("CARGO_HOME", &fresh.cargo_home));
        let home = fresh.cargo_home.display();
        let root = fresh.root.display();
        let expected = format!(
            "{root}\nbuilt\ndata\ndeep\ntarget\nchanged since\n{home}/config.toml\n\n{home}/registry:\n M deep/tracked\n"
        );
        assert_eq!(there, expected);
        assert!(fresh.root.join("ignored").exists() && fresh.cargo_home.join("registry/crate").exists());
    }
}
