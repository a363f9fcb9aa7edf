//! What is launched: written into the launch's folder, and read by every rank.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use weighbridge::data::Policy;

use crate::error::{LaunchError, Result};

/// The number of the form of this file.
pub(crate) const SPEC_SCHEMA: u32 = 1;

/// All that a rank must know, and all that the plan's digest is of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LaunchSpec {
    pub(crate) schema: u32,
    /// The id of the launch.
    pub(crate) launch: String,
    pub(crate) engine: String,
    pub(crate) nodes: u32,
    pub(crate) ranks: u32,
    /// The stages of measuring, in their order.
    pub(crate) stages: Vec<SpecStage>,
    /// Variables that every rank gets.
    pub(crate) env: BTreeMap<String, String>,
    /// Devices that each host is to have.
    pub(crate) gpus: Option<GpuRequest>,
    /// True if a host that is not like the others ends it; `None` where nobody looks.
    pub(crate) preflight: Option<bool>,
    /// Seconds that a rank is waited for.
    pub(crate) rank_patience: u64,
    /// Seconds between two signs of life.
    pub(crate) heartbeat: u64,
    /// Seconds after which ranks end themselves when nobody follows them; `None` where they are kept.
    pub(crate) orphaned_after: Option<u64>,
    /// The comparison, where both programs of the bundle are measured in turns.
    pub(crate) duel: Option<SpecDuel>,
    /// True if runs that were broken off are gone on with.
    pub(crate) is_resumed: bool,
    /// The digest of all that travels.
    pub(crate) bundle: String,
}

/// One stage of measuring.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SpecStage {
    pub(crate) name: String,
    /// Arguments of the bench program.
    pub(crate) args: Vec<String>,
}

/// A comparison that each rank makes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SpecDuel {
    /// `<package>/<bench target>`.
    pub(crate) suite: String,
    /// The baseline, for people.
    pub(crate) name: String,
    /// The gate.
    pub(crate) policy: Policy,
}

/// Devices that each host is to have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GpuRequest {
    /// Their kind, as the engine calls it.
    pub(crate) kind: Option<String>,
    pub(crate) count: u32,
}

impl LaunchSpec {
    /// Ranks of one host: the most that any has.
    pub(crate) fn ranks_per_node(&self) -> u32 {
        self.ranks.div_ceil(self.nodes)
    }

    /// The digest of the plan: the same for the same work, whatever the launch is called.
    pub(crate) fn digest(&self) -> String {
        let named = Self { launch: String::new(), is_resumed: false, ..self.clone() };
        let text = serde_json::to_string(&named).expect("a spec is text and numbers");
        short_digest(text.as_bytes())
    }

    /// Reads the spec of a launch.
    ///
    /// # Errors
    /// When it is not there, or of another version of this tool.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).map_err(LaunchError::io("read", path))?;
        let bad = |why: String| LaunchError::Content { path: path.to_owned(), why };
        let spec: Self = serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
        if spec.schema != SPEC_SCHEMA {
            return Err(bad(format!("it is of form {}, and this tool reads {SPEC_SCHEMA}", spec.schema)));
        }
        Ok(spec)
    }
}

/// The first sixteen digits of a SHA-256.
pub(crate) fn short_digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Four ranks on four hosts.
    pub(crate) fn four() -> LaunchSpec {
        LaunchSpec {
            schema: SPEC_SCHEMA,
            launch: "20261128-120000-00000a".into(),
            engine: "slurm".into(),
            nodes: 4,
            ranks: 4,
            stages: vec![SpecStage { name: "full".into(), args: vec!["--quick".into()] }],
            env: BTreeMap::new(),
            gpus: None,
            preflight: Some(true),
            rank_patience: 60,
            heartbeat: 5,
            orphaned_after: Some(600),
            duel: None,
            is_resumed: false,
            bundle: "0123456789abcdef".into(),
        }
    }

    #[test]
    fn the_digest_is_of_the_work_and_not_of_the_name() {
        let one = four();
        let same = LaunchSpec { launch: "20261128-120001-00000b".into(), ..four() };
        assert_eq!(one.digest(), same.digest());
        for other in [
            LaunchSpec { ranks: 8, ..four() },
            LaunchSpec { bundle: "fedcba9876543210".into(), ..four() },
            LaunchSpec { env: [("A".to_owned(), "1".to_owned())].into(), ..four() },
            LaunchSpec { gpus: Some(GpuRequest { kind: None, count: 1 }), ..four() },
        ] {
            assert_ne!(one.digest(), other.digest(), "{other:?}");
        }
    }

    #[test]
    fn a_spec_of_another_tool_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("spec.json");
        fs::write(&file, serde_json::to_string(&four()).unwrap()).unwrap();
        assert_eq!(LaunchSpec::read(&file).unwrap(), four());
        for (from, to) in [("\"schema\":1", "\"schema\":2"), ("\"nodes\":4", "\"nodes\":4,\"nodez\":4")] {
            let text = serde_json::to_string(&four()).unwrap().replacen(from, to, 1);
            fs::write(&file, text).unwrap();
            let error = LaunchSpec::read(&file).unwrap_err().to_string();
            assert!(error.contains("of form 2") || error.contains("nodez"), "{error}");
        }
    }

    #[test]
    fn hosts_that_do_not_divide_the_ranks_have_one_more() {
        assert_eq!(LaunchSpec { ranks: 5, ..four() }.ranks_per_node(), 2);
        assert_eq!(LaunchSpec { ranks: 8, ..four() }.ranks_per_node(), 2);
    }
}
