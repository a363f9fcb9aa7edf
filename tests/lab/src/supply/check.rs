//! Holds the packages of others against `.config/deny.toml`: by `cargo deny` where that is installed; else
//! licences, sources and duplicates here, and no advisories, of which it is said so.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde::Deserialize;
use spdx::{Expression, ParseMode};

use super::materials::{Crate, Materials};
use crate::place::Place;

/// What is run, as one would type it.
pub(crate) const SHOWN: &str = "cargo deny --config .config/deny.toml check";

/// The end of the check.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SupplyOutcome {
    Sound,
    /// Sound as far as was looked: what was not looked at, and why.
    Unadvised(String),
    /// What is wrong, as the end of a sentence.
    Wrong(String),
}

/// The part of the file that is read here.
#[derive(Debug, Deserialize)]
struct SupplyPolicy {
    licenses: Licences,
    bans: Bans,
}

#[derive(Debug, Deserialize)]
struct Licences {
    allow: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Bans {
    skip: Vec<Skipped>,
}

#[derive(Debug, Deserialize)]
struct Skipped {
    /// `name@version`, or a beginning of it.
    #[serde(rename = "crate")]
    package: String,
}

/// Checks the packages of a workspace.
///
/// # Errors
/// When cargo or the file cannot be asked.
pub(crate) fn check(place: &Place) -> Result<SupplyOutcome> {
    let file = policy_file(&place.root);
    let has_deny = Command::new("cargo-deny").arg("--version").stdin(Stdio::null()).output();
    if has_deny.is_ok_and(|ran| ran.status.success()) {
        return by_cargo_deny(place, &file);
    }
    let text = fs::read_to_string(&file).with_context(|| format!("failed to read `{}`", file.display()))?;
    let policy = toml::from_str(&text).with_context(|| format!("failed to read `{}`", file.display()))?;
    let wrong = wrongs(&Materials::of(&place.root)?.crates, &policy);
    Ok(match &wrong[..] {
        [] => SupplyOutcome::Unadvised(
            "there is no `cargo-deny`: licences, sources and duplicates were checked, and advisories were \
             not (`cargo install --locked cargo-deny`)"
                .to_owned(),
        ),
        wrong => SupplyOutcome::Wrong(format!("found: {}", wrong.join("; "))),
    })
}

fn policy_file(root: &Path) -> PathBuf {
    root.join(".config").join("deny.toml")
}

/// The same by the program of the field. Its data base of advisories may not be to be had.
fn by_cargo_deny(place: &Place, file: &Path) -> Result<SupplyOutcome> {
    let deny = |checks: &[&str]| {
        let mut command = Command::new("cargo-deny");
        command.current_dir(&place.root).arg("--config").arg(file).arg("check").args(checks);
        command.stdin(Stdio::null()).output().context("failed to start cargo-deny")
    };
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let rest = deny(&["bans", "licenses", "sources"])?;
    if !rest.status.success() {
        return Ok(SupplyOutcome::Wrong(format!("found:\n{}", said(&rest.stderr))));
    }
    let advisories = deny(&["advisories"])?;
    let why = said(&advisories.stderr);
    Ok(if advisories.status.success() {
        SupplyOutcome::Sound
    } else if is_out_of_reach(&why) {
        SupplyOutcome::Unadvised("advisories were not checked: their data base is not to be had".to_owned())
    } else {
        SupplyOutcome::Wrong(format!("found:\n{why}"))
    })
}

/// Tells whether `cargo deny` failed since it has no data base, and not for what is in it.
fn is_out_of_reach(why: &str) -> bool {
    ["failed to fetch advisory database", "unable to find repository", "failed to load advisory database"]
        .iter()
        .any(|words| why.contains(words))
}

/// What of these packages is not as the policy has it.
fn wrongs(crates: &[Crate], policy: &SupplyPolicy) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in crates.iter().filter(|one| one.source.is_some()) {
        let name = format!("{} {}", one.name, one.version);
        match one.licence.as_deref() {
            None => wrong.push(format!("{name} states no licence")),
            Some(licence) if is_allowed(licence, policy) => {}
            Some(licence) => {
                wrong.push(format!("{name} has the licence `{licence}`, which is not allowed"));
            }
        }
        if one.source.as_deref() != Some(CRATES_IO) {
            wrong.push(format!("{name} is not from crates.io"));
        }
        if !policy.bans.skip.iter().any(|skipped| skipped.is(one)) {
            versions.entry(&one.name).or_default().push(&one.version);
        }
    }
    let several = versions.into_iter().filter(|(_, versions)| versions.len() > 1);
    wrong.extend(several.map(|(name, versions)| format!("{name} is there as {}", versions.join(" and "))));
    wrong
}

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Tells whether one can take a package under licences that are allowed.
fn is_allowed(licence: &str, policy: &SupplyPolicy) -> bool {
    let allows = |id: spdx::LicenseId| policy.licenses.allow.iter().any(|allowed| allowed == id.name);
    Expression::parse_mode(licence, ParseMode::LAX).is_ok_and(|expression| {
        expression.evaluate(|asked| asked.addition.is_none() && asked.license.id().is_some_and(allows))
    })
}

impl Skipped {
    fn is(&self, one: &Crate) -> bool {
        let (name, version) = self.package.split_once('@').unwrap_or((&self.package, ""));
        let rest = one.version.strip_prefix(version);
        name == one.name
            && rest.is_some_and(|rest| rest.is_empty() || version.is_empty() || rest.starts_with('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> SupplyPolicy {
        let text = "[licenses]\nallow = ['MIT', 'Zlib']\n[bans]\nskip = [{ crate = 'syn@2', reason = 'r' }]";
        toml::from_str(text).expect("TOML")
    }

    fn package(name: &str, version: &str, licence: Option<&str>) -> Crate {
        Crate {
            name: name.to_owned(),
            version: version.to_owned(),
            licence: licence.map(str::to_owned),
            source: Some(CRATES_IO.to_owned()),
            checksum: None,
            needs: Vec::new(),
        }
    }

    #[test]
    fn a_licence_counts_by_what_one_may_choose() {
        for (licence, expected) in [
            ("MIT OR Apache-2.0", true),
            ("GPL-3.0/MIT", true),
            ("MIT AND Zlib", true),
            ("MIT AND GPL-3.0", false),
            ("(GPL-3.0 OR Zlib) AND MIT", true),
            ("MIT WITH LLVM-exception", false),
            ("no licence at all", false),
        ] {
            assert_eq!(is_allowed(licence, &policy()), expected, "{licence}");
        }
    }

    #[test]
    fn a_licence_a_source_and_a_second_version_are_told_by_name() {
        let mut from_git = package("c", "1.0.0", Some("MIT"));
        from_git.source = Some("git+https://example.org/c".to_owned());
        let crates = [
            package("a", "1.0.0", Some("GPL-3.0")),
            package("b", "1.0.0", None),
            from_git,
            package("d", "1.0.0", Some("MIT")),
            package("d", "2.0.0", Some("MIT")),
            package("syn", "2.0.1", Some("MIT")),
            package("syn", "3.0.1", Some("MIT")),
        ];
        let expected = [
            "a 1.0.0 has the licence `GPL-3.0`, which is not allowed",
            "b 1.0.0 states no licence",
            "c 1.0.0 is not from crates.io",
            "d is there as 1.0.0 and 2.0.0",
        ];
        assert_eq!(wrongs(&crates, &policy()), expected);
        assert!(!policy().bans.skip[0].is(&package("syn", "20.0.1", None)));
    }

    #[test]
    fn this_workspace_is_as_its_policy_has_it() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let text = fs::read_to_string(policy_file(&root)).expect("text");
        let policy: SupplyPolicy = toml::from_str(&text).expect("TOML");
        let crates = Materials::of(&root).expect("cargo knows it").crates;
        assert!(crates.len() > 100, "{}", crates.len());
        assert_eq!(wrongs(&crates, &policy), Vec::<String>::new());
    }

    #[test]
    fn a_data_base_that_is_not_to_be_had_is_told_from_an_advisory() {
        assert!(is_out_of_reach("[ERROR] failed to fetch advisory database https://github.com/x"));
        assert!(!is_out_of_reach("error[unmaintained]: paste - no longer maintained"));
    }
}
