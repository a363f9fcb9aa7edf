//! What continuous integration does of the peers: the light ones, where they can be had in time.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::step::{CiOutcome, tool};
use crate::place::Place;
use crate::programs::cargo;

/// Peers that are well under a gigabyte together.
const LIGHT: [&str; 5] = ["numpy", "grain", "spdl", "deeplake", "lance"];
/// How long installing them may take.
const LIMIT: Duration = Duration::from_mins(5);
/// How often an end is looked for.
const LOOK: Duration = Duration::from_millis(50);
/// The environment of what checks the worker itself.
const TOOLS: &str = "tools";

/// The step as one would type it.
pub(super) fn shown() -> String {
    format!(
        "cargo catalogue peers install {}, ruff, pytest, cargo catalogue peers check, \
         cargo test of what must not see them  # in five minutes, else left out",
        LIGHT.join(" ")
    )
}

/// Installs the light peers in five minutes, checks the worker's package, and the peers on the gate set. Then
/// the tests that must not see them are run where they would. What could not be installed in time is said and
/// is no failure.
pub(super) fn light(place: &Place) -> Result<CiOutcome> {
    if !Command::new("uv").arg("--version").stdout(Stdio::null()).status().is_ok_and(|ended| ended.success())
    {
        return Ok(CiOutcome::LeftOut("`uv` is not on the search path".to_owned()));
    }
    // As they lie among a user's data.
    let user = place.data.join("peers");
    let home = user.join("weighbridge").join("peers");
    let of_peers = |action: &str| {
        let mut command = tool(place, "cargo-catalogue", &["peers", "--home"])?;
        command.arg(&home).arg(action).args(LIGHT);
        Ok::<_, anyhow::Error>(command)
    };
    let install = of_peers("install")?; // the program is not built in the time of the installation
    let end = Instant::now() + LIMIT;
    let package = place.root.join("scenarios").join("python");
    let tools = home.join(TOOLS).join("venv");
    let lines = [install, environment(&tools), packages(&tools, &package)];
    let mut is_reachable = false; // once something was installed, what fails is ours
    for mut line in lines {
        match before(&mut line, end)? {
            Some(ended) if ended.success() => is_reachable = true,
            Some(ended) if is_reachable => {
                return Ok(CiOutcome::Failed(format!("found a command that fails: {line:?}: {ended}")));
            }
            _ => {
                let why = "the light peers cannot be installed here within five minutes";
                return Ok(CiOutcome::LeftOut(why.to_owned()));
            }
        }
    }
    if let failed @ CiOutcome::Failed(_) = worker(&tools.join("bin"), &package, &home)? {
        return Ok(failed);
    }
    let checked = of_peers("check")?.args(["--set", "gate"]).status().context("failed to start cargo")?;
    if !checked.success() {
        return Ok(CiOutcome::Failed("found peers that break".to_owned()));
    }
    unseen(place, &user, &home)
}

/// Makes an environment for what checks the worker.
fn environment(tools: &Path) -> Command {
    let mut uv = uv(&["venv", "--clear", "--python", ">=3.11,<3.14"]);
    uv.arg(tools);
    uv
}

/// Installs what the requirement file says, and nothing else.
fn packages(tools: &Path, package: &Path) -> Command {
    let mut uv = uv(&["pip", "sync", "--require-hashes", "--python"]);
    uv.arg(tools.join("bin").join("python")).arg(package.join("requirements").join(format!("{TOOLS}.txt")));
    uv
}

fn uv(words: &[&str]) -> Command {
    let mut uv = Command::new("uv");
    // Nothing of an environment that happens to be active may be taken for ours.
    uv.arg("--quiet").args(words).env_remove("VIRTUAL_ENV").env_remove("CONDA_PREFIX").stdin(Stdio::null());
    uv
}

/// Runs a command with all that it starts; `None` where it was ended since its time was up.
fn before(command: &mut Command, end: Instant) -> Result<Option<ExitStatus>> {
    let failed = || format!("failed to start `{}`", command.get_program().display());
    let failed = failed();
    let mut child = command.process_group(0).spawn().context(failed)?;
    loop {
        if let Some(ended) = child.try_wait()? {
            return Ok(Some(ended));
        }
        if Instant::now() >= end {
            killpg(Pid::from_raw(child.id() as i32), Signal::SIGKILL).context("failed to end it")?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(LOOK);
    }
}

/// Runs tests of the workspace that go through all adapters, where they would find the light peers: among the
/// user's data, and where the variable says. The step `test` runs them where nothing is installed; the result
/// must be the same.
fn unseen(place: &Place, user: &Path, home: &Path) -> Result<CiOutcome> {
    // Both at once and of the whole workspace, as the step `test` built them: else their features are others,
    // and all is compiled again. What is on the pages is run by that step, and starts the same programs in
    // the same way.
    let words = "test --workspace --test conformance --test docs -- --skip every_command_on_a_page";
    let mut cargo = cargo(&place.root, &place.target);
    cargo.args(words.split(' ')).env("XDG_DATA_HOME", user).env("WEIGHBRIDGE_PEERS", home);
    Ok(if cargo.status().context("failed to start cargo")?.success() {
        CiOutcome::Passed
    } else {
        CiOutcome::Failed("found tests that fail where peers are installed".to_owned())
    })
}

/// The worker's own checks and tests.
fn worker(tools: &Path, package: &Path, home: &Path) -> Result<CiOutcome> {
    let lines: [(&str, &[&str]); 2] = [
        ("ruff", &["check", "--no-cache", "."]),
        ("python", &["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]),
    ];
    for (program, arguments) in lines {
        let mut command = Command::new::<PathBuf>(tools.join(program));
        command.current_dir(package).args(arguments).env("WEIGHBRIDGE_PEERS", home);
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
    fn what_takes_too_long_is_ended_with_all_that_it_has_started() {
        let sh = |script: &str| {
            let mut sh = Command::new("sh");
            sh.args(["-c", script]);
            sh
        };
        let later = Instant::now() + Duration::from_mins(1);
        assert!(before(&mut sh("exit 0"), later).expect("started").is_some_and(|ended| ended.success()));
        assert!(before(&mut sh("exit 2"), later).expect("started").is_some_and(|ended| !ended.success()));
        assert_eq!(before(&mut sh("sleep 600; true"), Instant::now()).expect("started"), None);
    }

    #[test]
    fn the_tools_of_the_worker_are_locked() {
        let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/python");
        let tools = std::fs::read_to_string(package.join("requirements/tools.txt")).expect("it is committed");
        assert!(["numpy==", "pytest==", "ruff=="].iter().all(|pin| tools.contains(pin)), "{tools}");
    }
}
