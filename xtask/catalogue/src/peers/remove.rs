//! `peers remove`: the environments of these are removed; uv's cache is left alone.

use std::path::Path;

use anyhow::Result;
use weighbridge_python::{PEERS, Peer, PeerState};

use super::install;
use weighbridge_xtask::command_output::CommandOutput;

pub(super) fn run(peers: &[&Peer], home: &Path) -> Result<CommandOutput> {
    let mut said = CommandOutput::fine("");
    for owner in peers {
        let names = PEERS.iter().filter(|peer| peer.environment == owner.short).map(|peer| peer.name);
        let names = names.collect::<Vec<_>>().join(", ");
        let state = match owner.state(home) {
            PeerState::Absent => "it was not installed",
            PeerState::Installed(_) | PeerState::Broken(_) => {
                install::remove(&owner.folder(home))?;
                "removed"
            }
        };
        said.text.push_str(&format!("{names}: {state}\n"));
    }
    Ok(said)
}

#[cfg(test)]
mod tests {
    use weighbridge_python as python;

    use super::*;

    #[test]
    fn all_that_live_in_an_environment_are_named_and_nothing_else_is_touched() {
        let home = tempfile::tempdir().expect("a folder");
        let (datarax, grain) =
            (python::find("datarax").expect("known"), python::find("grain").expect("known"));
        for peer in [datarax, grain] {
            std::fs::create_dir_all(peer.folder(home.path())).expect("made");
        }
        let said = run(&[datarax], home.path()).expect("removed");
        assert_eq!(said.text, "Datarax, Datarax-scan: removed\n");
        assert!(!datarax.folder(home.path()).exists() && grain.folder(home.path()).exists());
        assert!(run(&[datarax], home.path()).expect("nothing to do").text.contains("was not installed"));
    }
}
