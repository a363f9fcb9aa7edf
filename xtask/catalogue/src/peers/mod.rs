//! `peers`: the Python frameworks that are compared: which there are, and what is installed of them.

mod calibrate;
mod check;
mod install;
mod list;
mod lock;
mod remove;
mod system;
mod uv;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use weighbridge_python::{self as python, LOADER, PEERS, Peer};

use self::uv::Uv;
use weighbridge_xtask::command_output::CommandOutput;
use weighbridge_xtask::place::Place;
use weighbridge_xtask::stop;

/// Arguments of `peers`.
#[derive(Debug, Args)]
pub(crate) struct PeersArgs {
    /// Directory that they are installed in [default: `weighbridge/peers` among the user's data].
    #[arg(long, global = true, value_name = "DIR", env = "WEIGHBRIDGE_PEERS", hide_env_values = true)]
    pub(crate) home: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) action: PeersAction,
}

/// The actions on Python frameworks.
#[derive(Debug, Subcommand)]
pub(crate) enum PeersAction {
    /// List all: name, tier, pinned version, whether it is installed, its size, what it supports.
    List,
    /// Install each into a virtual environment of its own, with `uv`.
    Install {
        #[command(flatten)]
        which: PeerChoice,
        /// The Python to take: 3.11, 3.12, 3.13, or 3.13t without a global lock [default: the first of them
        /// that is found].
        #[arg(long, value_name = "VERSION")]
        python: Option<String>,
        /// Install anew what is installed.
        #[arg(long)]
        again: bool,
    },
    /// Import each, and verify ten batches of every variant of every scenario: verified, unequal or declined.
    Check {
        /// Their exact or short names [default: what is installed].
        names: Vec<String>,
        /// All of them.
        #[arg(long)]
        all: bool,
        /// These scenarios alone.
        #[arg(long, value_name = "ID")]
        scenario: Vec<String>,
        /// Scenarios of this set.
        #[arg(long, value_name = "SET", default_value = "all")]
        set: String,
    },
    /// Hold what the harness says a batch of each costs against a loop by hand. Exit 3: a difference that
    /// nothing explains; 4: not installed; 5: one on which the rounds do not agree; 6: a case or a script
    /// failed.
    Calibrate {
        #[command(flatten)]
        which: PeerChoice,
        /// Number of times that each side is measured, in turns.
        #[arg(
            long,
            value_name = "N",
            default_value_t = 5,
            value_parser = clap::value_parser!(u32).range(1..=99)
        )]
        rounds: u32,
    },
    /// Remove the environments of these.
    Remove {
        #[command(flatten)]
        which: PeerChoice,
    },
    /// Write the requirement files anew, every package with its version and hashes.
    Lock {
        /// Those of these peers alone.
        names: Vec<String>,
        /// Take the newest versions, instead of keeping those that hold.
        #[arg(long)]
        upgrade: bool,
    },
}

/// The peers that are named, or all.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct PeerChoice {
    /// Their exact or short names.
    pub(crate) names: Vec<String>,
    /// All of them.
    #[arg(long)]
    pub(crate) all: bool,
}

/// The requirement file of what checks the worker itself.
const TOOLS: &str = "tools";

pub(crate) fn run(args: &PeersArgs, place: &Place) -> Result<CommandOutput> {
    let home = || home(args.home.clone());
    match &args.action {
        PeersAction::List => Ok(list::run(&home()?, place)),
        PeersAction::Install { which, python, again } => {
            install::run(&Uv::find()?, &environments(&chosen(which)?), python.as_deref(), *again, &home()?)
        }
        PeersAction::Check { names, all, scenario, set } => {
            let which = PeerChoice { names: names.clone(), all: *all || names.is_empty() };
            let (mut peers, home) = (chosen(&which)?, home()?);
            if names.is_empty() && !all {
                peers.retain(|peer| peer.missing(&home).is_none());
                if peers.is_empty() {
                    return Err(stop::nothing(
                        "nothing is installed: `cargo catalogue peers install NAME` does that",
                    ));
                }
            }
            check::run(&peers, scenario, set, &home, place)
        }
        PeersAction::Calibrate { which, rounds } => {
            let mut peers = chosen(which)?;
            // There is a loop by hand of what feeds batches alone.
            peers.retain(|peer| !which.all || peer.contract == LOADER);
            calibrate::run(&peers, *rounds, &home()?, place)
        }
        PeersAction::Remove { which } => remove::run(&environments(&chosen(which)?), &home()?),
        PeersAction::Lock { names, upgrade } => {
            let named: Vec<String> = names.iter().filter(|name| *name != TOOLS).cloned().collect();
            let which = PeerChoice { all: names.is_empty(), names: named };
            let peers = environments(&chosen(&which)?);
            let tools = (which.all || which.names.len() < names.len()).then_some(TOOLS);
            lock::run(peers.iter().map(|peer| peer.short).chain(tools), *upgrade)
        }
    }
}

fn home(named: Option<PathBuf>) -> Result<PathBuf> {
    let home = named.and_then(|path| std::path::absolute(path).ok()).or_else(python::home);
    home.ok_or_else(|| stop::usage("there is no home to install into: name a directory with --home"))
}

/// The peers that were named, in the order of the list.
fn chosen(which: &PeerChoice) -> Result<Vec<&'static Peer>> {
    for name in &which.names {
        if python::find(name).is_none() {
            let known = PEERS.iter().flat_map(|peer| [peer.name, peer.short]);
            return Err(stop::unknown("peer", name, known));
        }
    }
    let named = |peer: &&Peer| which.names.iter().any(|name| name == peer.name || name == peer.short);
    Ok(PEERS.iter().filter(|peer| which.all || named(peer)).collect())
}

/// The peers that the environments of these are called after, each once.
fn environments(peers: &[&'static Peer]) -> Vec<&'static Peer> {
    let is_wanted = |owner: &&Peer| {
        owner.environment == owner.short && peers.iter().any(|peer| peer.environment == owner.short)
    };
    PEERS.iter().filter(is_wanted).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn names(names: &[&str]) -> Result<Vec<&'static str>> {
        let which = PeerChoice { names: names.iter().map(|name| (*name).to_owned()).collect(), all: false };
        Ok(chosen(&which)?.iter().map(|peer| peer.short).collect())
    }

    #[test]
    fn peers_are_named_exactly_or_shortly_and_a_misspelt_one_gets_the_nearest() {
        assert_eq!(names(&["spdl", "Google Grain", "grain"]).expect("known"), ["grain", "spdl"]);
        let error = names(&["grian"]).expect_err("misspelt").to_string();
        assert_eq!(error, "there is no peer `grian`: did you mean `grain`?");
        let error = names(&["Google Grian"]).expect_err("misspelt").to_string();
        assert!(error.contains("did you mean `Google Grain`?"), "{error}");
    }

    #[test]
    fn two_peers_of_one_environment_are_installed_once() {
        let all = chosen(&PeerChoice { names: Vec::new(), all: true }).expect("all");
        let wanted: BTreeSet<&str> = all.iter().map(|peer| peer.environment).collect();
        let installed: Vec<&str> = environments(&all).iter().map(|peer| peer.short).collect();
        assert_eq!(installed.iter().copied().collect::<BTreeSet<_>>(), wanted);
        assert_eq!(installed.len(), wanted.len(), "{installed:?}");
        assert!(wanted.len() < all.len(), "no environment has two peers");
        let scan = python::find("datarax_scan").expect("known");
        assert_eq!(environments(&[scan]).iter().map(|peer| peer.short).collect::<Vec<_>>(), ["datarax"]);
    }
}
