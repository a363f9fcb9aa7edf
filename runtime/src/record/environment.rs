//! Where a run ran: the facts that change timings, and those that help to explain them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The fingerprint of the facts that change timings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MachineId(String);

/// Where a run ran. Facts that cannot be read are absent from the maps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// Facts that change timings: they make the [`MachineId`].
    pub machine: BTreeMap<String, String>,
    /// Facts of the software: kernel, libc, rustc, build profile and flags, crate versions, commit.
    pub software: BTreeMap<String, String>,
    /// Environment variables that may change what is measured.
    pub variables: BTreeMap<String, String>,
}

impl Environment {
    /// The fingerprint of the facts that change timings.
    pub fn machine_id(&self) -> MachineId {
        let facts: String = self.machine.iter().map(|(name, fact)| format!("{name}={fact}\n")).collect();
        MachineId(format!("{:016x}", xxhash_rust::xxh3::xxh3_64(facts.as_bytes())))
    }
}

impl std::fmt::Display for MachineId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
