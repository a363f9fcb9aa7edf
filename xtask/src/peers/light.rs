//! What continuous integration does of the peers: the light ones, where they can be had in time.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use weighbridge::data::Exit;
use weighbridge_scenarios::adapters::python::{Peer, find, requirements};

use super::uv::Uv;
use super::{check, install};
use crate::ci::{CiOutcome, passed_if};
use crate::place::Place;
use crate::said::Said;

/// Peers that are well under a gigabyte together.
const LIGHT: [&str; 5] = ["numpy", "grain", "spdl", "deeplake", "lance"];
/// How long installing them may take.
const LIMIT: Duration = Duration::from_mins(5);
/// The requirement file of what checks the worker itself.
pub(super) const TOOLS: &str = "tools";
/// The set that they are checked on.
const SET: &str = "gate";

/// Installs the light peers in five minutes, checks the worker's package, and the peers on the gate set. Then the tests that
/// must not see them are run where they would. What could not be installed in time is said and is no failure.
pub(crate) fn light(place: &Place) -> Result<CiOutcome> {
    let Ok(uv) = Uv::find() else {
        return Ok(CiOutcome::LeftOut("`uv` is not on the search path".to_owned()));
    };
    let uv = uv.until(Instant::now() + LIMIT);
    // As they lie among a user's data.
    let user = place.layout.data().join("user");
    let home = user.join("weighbridge").join("peers");
    let peers: Vec<&Peer> = LIGHT.iter().filter_map(|short| find(short)).collect();
    let installed = install::run(&uv, &peers, None, false, &home)?;
    let tools = home.join(TOOLS);
    let tools_installed = installed.exit == Exit::Fine && {
        install::remove(&tools)?;
        std::fs::create_dir_all(&tools).with_context(|| format!("failed to make `{}`", tools.display()))?;
        let made = install::environment(&uv, &tools, None, &requirements().join(format!("{TOOLS}.txt")));
        made.inspect_err(|error| eprintln!("{error:#}")).is_ok()
    };
    if !tools_installed {
        installed.print();
        return Ok(CiOutcome::LeftOut(
            "the light peers cannot be installed here within five minutes".to_owned(),
        ));
    }
    if let failed @ CiOutcome::Failed(_) = worker(&tools.join("venv").join("bin"), &home)? {
        return Ok(failed);
    }
    let said: Said = check::run(&peers, &[], SET, &home, place)?;
    said.print();
    if said.exit != Exit::Fine {
        return Ok(CiOutcome::Failed("found peers that break".to_owned()));
    }
    unseen(place, &user, &home)
}

/// Runs tests of the workspace that go through all adapters, where they would find the light peers: among the user's data, and
/// where the variable says. The step `test` runs them where nothing is installed; the result must be the same.
fn unseen(place: &Place, user: &Path, home: &Path) -> Result<CiOutcome> {
    // Both at once and of the whole workspace, as the step `test` built them: else their features are others, and all is
    // compiled again. What is on the pages is run by that step, and starts the same programs in the same way.
    let words = "test --workspace --test conformance --test docs -- --skip every_command_on_a_page";
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(&place.root).args(words.split(' '));
    cargo.env("XDG_DATA_HOME", user).env("WEIGHBRIDGE_PEERS", home);
    let ended = cargo.status().context("failed to start cargo")?;
    Ok(passed_if(ended.success(), "found tests that fail where peers are installed"))
}

/// The worker's own checks and tests.
fn worker(tools: &Path, home: &Path) -> Result<CiOutcome> {
    let package = requirements().join("..");
    let lines: [(&str, &[&str]); 2] = [
        ("ruff", &["check", "--no-cache", "."]),
        ("python", &["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]),
    ];
    for (program, arguments) in lines {
        let mut command = Command::new(tools.join(program));
        command.current_dir(&package).args(arguments).env("WEIGHBRIDGE_PEERS", home);
        let ended = command.env("PYTHONDONTWRITEBYTECODE", "1").status();
        let ended = ended.with_context(|| format!("failed to start {program}"))?;
        if !ended.success() {
            return Ok(CiOutcome::Failed(format!("failed: {program}: {ended}")));
        }
    }
    Ok(CiOutcome::Passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_light_peers_are_known_and_their_tools_are_locked() {
        assert!(LIGHT.iter().all(|short| find(short).is_some_and(|peer| peer.short == *short)));
        let tools =
            std::fs::read_to_string(requirements().join(format!("{TOOLS}.txt"))).expect("it is committed");
        assert!(["numpy==", "pytest==", "ruff=="].iter().all(|pin| tools.contains(pin)), "{tools}");
    }
}
