//! `peers check`: does each import, and does it do equal work, variant by variant?

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::Result;
use weighbridge::data::Exit;
use weighbridge_python::Peer;

use crate::coverage::{reason, sign};
use crate::dry::{self, Coverage, DryRun, Verification};
use weighbridge_xtask::command_output::{CommandOutput, say};
use weighbridge_xtask::place::Place;
use weighbridge_xtask::table::Table;

/// Variables that keep frameworks quiet, off the network and on the processor while they are imported.
const QUIET: [(&str, &str); 7] = [
    ("OMP_NUM_THREADS", "1"),
    ("JAX_PLATFORMS", "cpu"),
    ("CUDA_VISIBLE_DEVICES", ""),
    ("TF_CPP_MIN_LOG_LEVEL", "2"),
    ("HF_HUB_OFFLINE", "1"),
    ("RAY_USAGE_STATS_ENABLED", "0"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
];

pub(super) fn run(
    peers: &[&Peer],
    scenarios: &[String],
    set: &str,
    home: &Path,
    place: &Place,
) -> Result<CommandOutput> {
    let mut said = CommandOutput::fine("");
    let mut table =
        Table::new(["name", "version", "import>", "yes>", "other>", "no>", "broke>", "not tried>"]);
    let mut usable = Vec::new();
    for peer in peers {
        if let Some(why) = peer.missing(home) {
            said.remarks.push(format!("{}: {why}", peer.name));
            said.exit = said.exit.or(Exit::NothingToJudge);
            continue;
        }
        say(&format!("importing {}", peer.module));
        match import(peer, home) {
            Ok(seconds) => usable.push((peer, seconds)),
            Err(why) => {
                said.remarks.push(format!("error: {}: `import {}` fails: {why}", peer.name, peer.module));
                said.exit = Exit::Failed;
            }
        }
    }
    let names: Vec<&str> = usable.iter().map(|(peer, _)| peer.name).collect();
    let coverage = if names.is_empty() {
        Coverage::new()
    } else {
        dry::run(place, DryRun { adapters: &names, scenarios, set, home: Some(home) })?
    };
    let mut reasons = String::new();
    for (peer, seconds) in usable {
        let covered = coverage.get(peer.name).cloned().unwrap_or_default();
        let of = |wanted: &str| {
            covered.variants.values().filter(|standing| sign(standing) == wanted).count().to_string()
        };
        let version = covered.version.clone().unwrap_or_default();
        let counts = ["yes", "other", "no", "broke", "."].map(of);
        table.row([peer.name.to_owned(), version, format!("{seconds:.1} s")].into_iter().chain(counts));
        for (variant, standing) in &covered.variants {
            if let Some(why) = reason(standing) {
                reasons.push_str(&format!("{}: {variant}: {}: {why}\n", peer.name, word(standing)));
            }
        }
        let is_failed = |standing: &Verification| matches!(standing, Verification::Failed(_));
        if covered.variants.is_empty() || covered.variants.values().any(is_failed) {
            said.exit = Exit::Failed;
        }
    }
    if !table.is_empty() {
        said.text = format!("{}\n{reasons}", table.text());
    }
    Ok(said)
}

fn word(standing: &Verification) -> &'static str {
    match standing {
        Verification::Verified => "verified",
        Verification::Unequal(_) => "unequal",
        Verification::Declined(_) => "declined",
        Verification::Failed(_) => "failed",
        Verification::Skipped(_) => "not tried",
    }
}

/// Returns the seconds that importing it takes, or the last line that it wrote to stderr.
fn import(peer: &Peer, home: &Path) -> Result<f64, String> {
    let start = Instant::now();
    let mut command = Command::new(peer.python(home));
    command.args(["-I", "-c", &format!("import {}", peer.module)]).envs(QUIET);
    let ended = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    if ended.status.success() {
        return Ok(start.elapsed().as_secs_f64());
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    Err(said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it says nothing").to_owned())
}

#[cfg(test)]
mod tests {
    use weighbridge_python as python;

    use super::*;
    use crate::fixtures::home;

    #[test]
    fn what_is_not_installed_is_said_with_the_command_and_nothing_is_run() {
        let (peers, home) = (tempfile::tempdir().expect("a folder"), home());
        let grain = python::find("grain").expect("known");
        let said = run(&[grain], &[], "all", peers.path(), &home.place).expect("said");
        assert_eq!(said.exit, Exit::NothingToJudge);
        assert_eq!(said.remarks, ["Google Grain: not installed: cargo catalogue peers install grain"]);
        assert_eq!(said.text, "");
    }
}
