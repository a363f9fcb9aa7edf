//! `peers list`: name, tier, pinned version, whether it is installed, its size, what it supports.

use std::fs;
use std::path::Path;

use weighbridge::data::{Unit, quantity};
use weighbridge_python::{Installation, PEERS, Peer, PeerState, SystemPackage};

use crate::coverage;
use weighbridge_xtask::command_output::CommandOutput;
use weighbridge_xtask::place::Place;
use weighbridge_xtask::table::Table;

pub(super) fn run(home: &Path, place: &Place) -> CommandOutput {
    let titles =
        ["name", "short", "tier>", "version", "installed", "size>", "supports", "needs of the system"];
    let mut table = Table::new(titles);
    let supported = coverage::supported(place);
    for peer in PEERS {
        let locked = fs::read(peer.requirement_file()).unwrap_or_default(); // a missing file has no version
        let version = pinned(peer, &String::from_utf8_lossy(&locked)).unwrap_or_default();
        let (state, size) = match peer.state(home) {
            PeerState::Installed(installed) => {
                let size = installed.size.map(|size| quantity::show(size as f64, &Unit::BYTES));
                (standing(&installed, &locked), size.unwrap_or_default())
            }
            PeerState::Absent => ("no".to_owned(), String::new()),
            PeerState::Broken(why) => (why, String::new()),
        };
        let supports = supported.get(peer.name).cloned().unwrap_or_else(|| "not known yet".to_owned());
        let tier = peer.tier.to_string();
        let needs = peer.system.iter().map(SystemPackage::package).collect::<Vec<_>>().join(" ");
        table.row([peer.name.to_owned(), peer.short.to_owned(), tier, version, state, size, supports, needs]);
    }
    let mut text = table.text();
    text.push_str(&format!(
        "\npeers lie in {}; `cargo catalogue peers install NAME` installs one, \
         and `cargo bench` finds it there\n",
        home.display()
    ));
    CommandOutput::fine(text)
}

/// Says whether it is what the requirement file says now.
fn standing(installed: &Installation, locked: &[u8]) -> String {
    if installed.requirements == Installation::hash(locked) {
        format!("yes, Python {}", installed.python)
    } else {
        format!("{}, made from another requirement file: install it again", installed.version)
    }
}

/// The version of its package in a requirement file.
fn pinned(peer: &Peer, requirements: &str) -> Option<String> {
    let version = requirements.lines().find_map(|line| {
        let (name, version) = line.split_once("==")?;
        let name = name.split('[').next().unwrap_or(name); // extras: `ray[data]`
        (name == peer.package).then_some(version)
    })?;
    Some(version.split([' ', ';', '\\']).next().unwrap_or(version).to_owned())
}

#[cfg(test)]
mod tests {
    use weighbridge_python as python;

    use super::*;
    use crate::fixtures::home;

    #[test]
    fn every_peer_is_listed_with_its_pinned_version_and_whether_it_is_installed() {
        let (peers, home) = (tempfile::tempdir().expect("a folder"), home());
        let text = run(peers.path(), &home.place).text;
        for peer in PEERS {
            assert!(text.contains(peer.name), "{text}");
        }
        let grain = text.lines().find(|line| line.starts_with("Google Grain")).expect("listed");
        assert!(grain.split_whitespace().any(|word| word == "no"), "{grain}");
        assert!(text.contains("libopencv-dev"), "{text}");
    }

    #[test]
    fn the_pinned_version_is_read_off_the_requirement_file() {
        let version = |short: &str, text: &str| pinned(python::find(short).expect("known"), text);
        let text =
            "# numpy==1\nnumpy==2.4.6 \\\n    --hash=sha256:00\nray[data]==2.60.0 ; python_version > '3'\n";
        assert_eq!(version("numpy", text).as_deref(), Some("2.4.6"));
        assert_eq!(version("ray", text).as_deref(), Some("2.60.0"));
        assert_eq!(version("grain", text), None);
    }

    #[test]
    fn an_environment_of_another_requirement_file_is_stale() {
        let installed =
            Installation::new(python::find("grain").expect("known"), "0.2".into(), "3.11.7".into(), b"old");
        assert_eq!(standing(&installed, b"old"), "yes, Python 3.11.7");
        assert!(standing(&installed, b"new").contains("install it again"));
    }
}
