//! The fingerprint of a machine.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// Hexadecimal digits of a fingerprint.
const DIGITS: usize = 12;

/// The fingerprint of the facts that change timings: `m-3f9a2c41d0b7`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MachineId(String);

/// A text that is no machine id: the form is fixed, so a path can never pass for one.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no machine id: machine ids look like m-3f9a2c41d0b7")]
pub struct BadMachineId(String);

impl MachineId {
    /// The fingerprint of these facts. It depends on nothing else: XXH3 is the same on every machine and in
    /// every version.
    pub(super) fn of(facts: &BTreeMap<String, String>) -> Self {
        let mut text = Vec::new();
        for part in facts.iter().flat_map(|(name, value)| [name, value]) {
            text.extend_from_slice(part.as_bytes());
            text.push(0); // no fact holds it, so facts cannot run into each other
        }
        Self(format!("m-{:012x}", xxh3_64(&text) >> (64 - 4 * DIGITS)))
    }

    /// The id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for MachineId {
    type Err = BadMachineId;

    fn from_str(text: &str) -> Result<Self, BadMachineId> {
        let is_id = |digits: &str| {
            digits.len() == DIGITS && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        };
        match text.strip_prefix("m-") {
            Some(digits) if is_id(digits) => Ok(Self(text.to_owned())),
            _ => Err(BadMachineId(text.to_owned())),
        }
    }
}

impl TryFrom<String> for MachineId {
    type Error = BadMachineId;

    fn try_from(text: String) -> Result<Self, BadMachineId> {
        text.parse()
    }
}

impl From<MachineId> for String {
    fn from(id: MachineId) -> Self {
        id.0
    }
}

impl fmt::Display for MachineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(facts: &[(&str, &str)]) -> MachineId {
        MachineId::of(&facts.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect())
    }

    /// Pinned: a new version of this crate must find the baselines of an old one.
    #[test]
    fn the_id_of_given_facts_never_changes() {
        assert_eq!(id(&[("cpu model", "Example 9000"), ("memory", "16 GiB")]).as_str(), "m-408de9cc93b3");
    }

    #[test]
    fn any_changed_fact_changes_the_id() {
        let facts = id(&[("a", "1"), ("b", "2")]);
        for other in [id(&[("a", "1"), ("b", "3")]), id(&[("a", "1")]), id(&[("a", "1b"), ("", "2")])] {
            assert_ne!(facts, other);
        }
    }

    #[test]
    fn an_id_reads_back_and_a_path_is_none() {
        let facts = id(&[("a", "1")]);
        assert_eq!(facts.to_string().parse::<MachineId>().unwrap(), facts);
        for text in ["", "m-", "../m-3f9a2c41d0b7", "m-3f9a2c41d0b7/..", "m-3F9A2C41D0B7", "3f9a2c41d0b7"] {
            assert!(text.parse::<MachineId>().is_err(), "{text}");
        }
    }
}
