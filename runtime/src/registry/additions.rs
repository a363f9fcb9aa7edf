//! Entries that are known only once the program runs: benches that call a function to register themselves,
//! commands of a shell.

use std::sync::OnceLock;

use super::{AdapterEntry, ScenarioEntry};

/// Scenarios and adapters that were added, and whether they are all that there is.
#[derive(Debug)]
pub struct Additions {
    /// The scenarios.
    pub scenarios: Vec<ScenarioEntry>,
    /// The adapters.
    pub adapters: Vec<AdapterEntry>,
    /// True if what attributes registered is left aside: the program links it for another purpose.
    pub alone: bool,
}

static ADDED: OnceLock<Additions> = OnceLock::new();

/// Adds entries: once, before the harness starts. A child process is the same program and must add the same.
///
/// # Panics
/// When entries have been added before.
pub fn add(added: Additions) {
    assert!(ADDED.set(added).is_ok(), "entries are added once, before the harness starts");
}

/// All scenarios of this program.
pub(super) fn scenarios() -> impl Iterator<Item = &'static ScenarioEntry> {
    let added = ADDED.get();
    let written =
        inventory::iter::<ScenarioEntry>.into_iter().filter(move |_| added.is_none_or(|added| !added.alone));
    written.chain(added.into_iter().flat_map(|added| &added.scenarios))
}

/// All adapters of this program.
pub(super) fn adapters() -> impl Iterator<Item = &'static AdapterEntry> {
    let added = ADDED.get();
    let written =
        inventory::iter::<AdapterEntry>.into_iter().filter(move |_| added.is_none_or(|added| !added.alone));
    written.chain(added.into_iter().flat_map(|added| &added.adapters))
}
