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
