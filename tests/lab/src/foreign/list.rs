//! The list of published crates whose bench files are tried.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// The text of the list.
const LIST: &str = include_str!("../../foreign/crates.toml");

/// A published crate.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForeignCrate {
    pub(crate) name: String,
    pub(crate) version: String,
    /// Its bench targets.
    pub(crate) benches: Vec<String>,
    /// Features that its benches need beside its own default.
    #[serde(default)]
    pub(crate) features: Vec<String>,
    /// True if its benches take minutes where what it depends on is not optimised.
    #[serde(default)]
    pub(crate) optimised: bool,
    /// Files that its benches read and that are not published with it: a text of ours stands in their place.
    #[serde(default)]
    pub(crate) texts: Vec<String>,
    /// The reasons why targets cannot work, by target.
    #[serde(default)]
    pub(crate) exceptions: BTreeMap<String, String>,
}

impl ForeignCrate {
    /// The folder of its sources.
    pub(crate) fn folder(&self) -> String {
        format!("{}-{}", self.name, self.version)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ForeignList {
    #[serde(rename = "crate")]
    crates: Vec<ForeignCrate>,
}

/// The crates of the list that have one of these names, or all.
///
/// # Errors
/// When the list cannot be read, and when no crate of a name is in it.
pub(crate) fn chosen(names: &[String]) -> Result<Vec<ForeignCrate>> {
    let ForeignList { mut crates } = toml::from_str(LIST).context("the list of foreign crates is damaged")?;
    for name in names {
        ensure!(
            crates.iter().any(|one| one.name == *name),
            "no crate `{name}` is in tests/lab/foreign/crates.toml"
        );
    }
    crates.retain(|one| names.is_empty() || names.contains(&one.name));
    Ok(crates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_each_target_once_and_a_reason_for_each_exception() {
        let crates = chosen(&[]).unwrap();
        let folders: std::collections::BTreeSet<String> = crates.iter().map(ForeignCrate::folder).collect();
        assert_eq!(folders.len(), crates.len(), "a crate is listed twice");
        let targets: usize = crates.iter().map(|one| one.benches.len()).sum();
        assert!(targets >= 140 && crates.len() >= 60, "{targets} targets of {} crates", crates.len());
        for one in crates {
            let mut benches = one.benches.clone();
            benches.sort_unstable();
            benches.dedup();
            assert_eq!(benches.len(), one.benches.len(), "{}", one.name);
            for (target, why) in &one.exceptions {
                assert!(one.benches.contains(target) && why.len() > 10, "{}: {target}: {why}", one.name);
            }
        }
    }

    #[test]
    fn a_crate_that_is_not_in_the_list_is_refused_by_name() {
        let error = chosen(&["itoaa".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("`itoaa`"), "{error}");
    }
}
