//! `peers install`: a virtual environment for each, made by `uv` from the requirement file.
//!
//! `installed.json` is removed first and written last, so an installation that was broken off never counts as
//! one; what was downloaded by then is in uv's cache, and the next try takes it from there.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use weighbridge::data::{Exit, Unit, quantity, replace_file};
use weighbridge_python::{FREE_THREADED, Installation, PYTHONS, Peer, PeerState, free_threaded};

use super::system;
use super::uv::Uv;
use weighbridge_xtask::command_output::{CommandOutput, say};
use weighbridge_xtask::stop;

pub(super) fn run(
    uv: &Uv,
    peers: &[&Peer],
    python: Option<&str>,
    again: bool,
    home: &Path,
) -> Result<CommandOutput> {
    let known = PYTHONS.into_iter().chain([FREE_THREADED]);
    if let Some(python) = python.filter(|python| !known.clone().any(|one| one == *python)) {
        return Err(stop::unknown("Python", python, known));
    }
    // Where the axis `python` looks for it.
    let home = &if python == Some(FREE_THREADED) { free_threaded(home) } else { home.to_owned() };
    let mut said = CommandOutput::fine("");
    for (at, peer) in peers.iter().enumerate() {
        say(&format!("[{}/{}] {}", at + 1, peers.len(), peer.name));
        let start = Instant::now();
        match one(uv, peer, python, again, home) {
            Ok(Some(installed)) => {
                let size = installed.size.map_or_else(String::new, |size| {
                    format!(", {}", quantity::show(size as f64, &Unit::BYTES))
                });
                say(&format!("  installed in {:.0} s", start.elapsed().as_secs_f64()));
                let Installation { version, python, .. } = installed;
                said.text
                    .push_str(&format!("{} {version} is installed (Python {python}{size})\n", peer.name));
            }
            Ok(None) => {
                say("  nothing to do");
                said.text.push_str(&format!("{} was installed already\n", peer.name));
            }
            Err(error) => {
                say("  failed");
                said.text.push_str(&format!("{} is not installed\n", peer.name));
                said.remarks.push(format!("error: {}: {error:#}", peer.name));
                said.exit = Exit::Failed;
            }
        }
    }
    said.text.push_str(&format!("peers lie in {}\n", home.display()));
    Ok(said)
}

/// Installs one; `None` when it is there as its requirement file says.
fn one(uv: &Uv, peer: &Peer, python: Option<&str>, again: bool, home: &Path) -> Result<Option<Installation>> {
    let file = peer.requirement_file();
    let requirements = fs::read(&file).with_context(|| format!("failed to read `{}`", file.display()))?;
    if !again
        && let PeerState::Installed(installed) = peer.state(home)
        && installed.requirements == Installation::hash(&requirements)
        && python
            .is_none_or(|python| installed.python.starts_with(&format!("{}.", python.trim_end_matches('t'))))
    {
        return Ok(None);
    }
    let missing = system::missing(peer, std::env::var_os("PATH").as_deref());
    if !missing.is_empty() {
        bail!("its source is built here, which needs of the system: apt-get install {}", missing.join(" "));
    }
    let folder = peer.folder(home);
    remove(&folder)?;
    fs::create_dir_all(&folder).with_context(|| format!("failed to make `{}`", folder.display()))?;
    environment(uv, &folder, python, &file)?;
    let (version, python) = versions(&peer.python(home), peer.package)?;
    let mut installed = Installation::new(peer, version, python, &requirements);
    installed.size = Some(size(&folder));
    replace_file(&peer.installed_file(home), &serde_json::to_vec(&installed)?)?;
    Ok(Some(installed))
}

/// Makes `venv` in a folder, with exactly the packages of a requirement file.
pub(super) fn environment(uv: &Uv, folder: &Path, python: Option<&str>, file: &Path) -> Result<()> {
    let range = format!(">={},<3.{}", PYTHONS[0], PYTHONS.len() + 11);
    let venv = folder.join("venv");
    let made = ["venv".as_ref(), "--python".as_ref(), python.unwrap_or(&range).as_ref(), venv.as_os_str()];
    uv.run(folder, made)?.map_err(anyhow::Error::msg).context("failed to make a virtual environment")?;
    let interpreter = venv.join("bin").join("python");
    let sync = ["pip".as_ref(), "sync".as_ref(), "--require-hashes".as_ref(), "--python".as_ref()];
    let sync = sync.into_iter().chain([interpreter.as_os_str(), file.as_os_str()]);
    uv.run(folder, sync)?.map_err(anyhow::Error::msg).context("failed to install its packages")
}

/// Removes an environment: first what says that it is one.
pub(super) fn remove(folder: &Path) -> Result<()> {
    for gone in [fs::remove_file(folder.join("installed.json")), fs::remove_dir_all(folder)] {
        match gone {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("failed to remove `{}`", folder.display()));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The framework's version and Python's, without importing the framework.
fn versions(python: &Path, package: &str) -> Result<(String, String)> {
    let program = "import platform, sys; from importlib.metadata import version; \
                   print(version(sys.argv[1]), platform.python_version())";
    let asked = Command::new(python).args(["-I", "-c", program, package]).stdin(Stdio::null()).output();
    let asked = asked.with_context(|| format!("failed to start `{}`", python.display()))?;
    let said = String::from_utf8_lossy(&asked.stdout);
    match said.split_whitespace().collect::<Vec<_>>()[..] {
        [version, python] => Ok((version.to_owned(), python.to_owned())),
        _ => bail!("failed to ask for its version: {}", String::from_utf8_lossy(&asked.stderr).trim()),
    }
}

/// Bytes of all files below a folder, as the disk holds them. What cannot be read counts nothing.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => size(&entry.path()),
            Ok(kind) if kind.is_file() => entry.metadata().map_or(0, |file| file.blocks() * 512),
            _ => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use weighbridge_python as python;

    use super::*;

    #[test]
    fn a_strange_python_is_a_mistake_before_anything_is_done() {
        let error = run(&Uv::at("/uv"), &[], Some("3.9"), false, Path::new("/nowhere"))
            .expect_err("refused")
            .to_string();
        assert!(error.contains("there is no Python `3.9`"), "{error}");
    }

    #[test]
    fn what_says_that_it_is_installed_is_written_whole_and_removed_with_the_rest() {
        let home = tempfile::tempdir().expect("a folder");
        let peer = python::find("grain").expect("known");
        let interpreter = peer.python(home.path());
        fs::create_dir_all(interpreter.parent().expect("it has one")).expect("made");
        fs::write(&interpreter, vec![0_u8; 10_000]).expect("written");
        let mut installed = Installation::new(peer, "1.0".into(), "3.11.7".into(), b"");
        installed.size = Some(size(&peer.folder(home.path())));
        assert!(installed.size >= Some(8_192), "{installed:?}");
        let text = serde_json::to_vec(&installed).expect("JSON");
        replace_file(&peer.installed_file(home.path()), &text).expect("written");
        assert_eq!(peer.state(home.path()), PeerState::Installed(installed));
        remove(&peer.folder(home.path())).expect("removed");
        remove(&peer.folder(home.path())).expect("nothing to remove is no fault");
        assert_eq!(peer.state(home.path()), PeerState::Absent);
    }
}
