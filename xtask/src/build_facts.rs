//! Facts of how one side of a comparison is built, beside its source: a verdict names those that differ.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::Path;

use toml::{Table, Value};
use weighbridge::data::{Difference, EnvironmentChange, FactKind};

use crate::build_options::BuildOptions;
use crate::toolchain::Toolchain;

/// The tables of cargo's configuration by which programs come out otherwise.
const TABLES: [&str; 8] = ["build", "env", "host", "patch", "paths", "profile", "target", "unstable"];

/// Parts of keys whose values are nobody's business.
const SECRETS: [&str; 4] = ["credential", "password", "secret", "token"];

/// The most packages of other versions that are named one by one.
const PACKAGES: usize = 5;

/// The facts of one side, by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BuildFacts {
    facts: BTreeMap<String, String>,
    /// The versions of each package in the lock file.
    packages: BTreeMap<String, String>,
}

impl BuildFacts {
    /// Reads those of a workspace in the checkout of a repository that is built by this toolchain with these
    /// options.
    pub(crate) fn of(top: &Path, root: &Path, toolchain: &Toolchain, options: &BuildOptions) -> Self {
        let mut read = Self::default();
        read.facts.extend(options.facts().map(|(name, value)| (name.to_owned(), value)));
        read.facts.extend(toolchain.version(root).map(|version| ("rustc".to_owned(), version)));
        for folder in root.ancestors().take_while(|folder| folder.starts_with(top)) {
            for name in [".cargo/config", ".cargo/config.toml"] {
                let file = folder.join(name);
                let shown = file.strip_prefix(top).unwrap_or(&file).display().to_string();
                for (key, value) in table(&file).iter().filter(|(key, _)| TABLES.contains(&key.as_str())) {
                    flatten(key, value, &mut |key, value| {
                        read.facts.insert(format!("{key} in {shown}"), value);
                    });
                }
            }
        }
        if let Some(profiles) = table(&root.join("Cargo.toml")).get("profile") {
            flatten("profile", profiles, &mut |key, value| {
                read.facts.insert(format!("{key} in Cargo.toml"), value);
            });
        }
        let lock = table(&root.join("Cargo.lock"));
        for package in lock.get("package").and_then(Value::as_array).into_iter().flatten() {
            let text = |key| package.get(key).and_then(Value::as_str).unwrap_or("?").to_owned();
            let versions = read.packages.entry(text("name")).or_default();
            let version = text("version");
            *versions = if versions.is_empty() { version } else { format!("{versions} and {version}") };
        }
        read
    }

    /// The facts that are not those of this baseline.
    pub(crate) fn changes_since(&self, baseline: &Self) -> Vec<EnvironmentChange> {
        let mut changed = differences(&baseline.facts, &self.facts);
        let mut packages = differences(&baseline.packages, &self.packages);
        let more = packages.len().saturating_sub(PACKAGES);
        packages.truncate(PACKAGES);
        for package in &mut packages {
            package.what += " in Cargo.lock";
        }
        changed.extend(packages);
        if more > 0 {
            changed.push(Difference {
                what: format!("{more} more packages in Cargo.lock"),
                there: Some("their versions".to_owned()),
                here: Some("others".to_owned()),
            });
        }
        let kind = FactKind::Software;
        changed.into_iter().map(|difference| EnvironmentChange { kind, difference }).collect()
    }
}

fn differences(there: &BTreeMap<String, String>, here: &BTreeMap<String, String>) -> Vec<Difference> {
    let mut names: Vec<&String> = there.keys().chain(here.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let differ = names.into_iter().filter(|name| there.get(*name) != here.get(*name));
    differ
        .map(|name| Difference {
            what: name.clone(),
            here: here.get(name).cloned(),
            there: there.get(name).cloned(),
        })
        .collect()
}

/// A file of TOML; nothing where it is none, which the build will say.
fn table(file: &Path) -> Table {
    fs::read_to_string(file).ok().and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// Tells of each value below this one, by its keys.
fn flatten(key: &str, value: &Value, tell: &mut dyn FnMut(&str, String)) {
    match value {
        Value::Table(table) => {
            for (name, value) in table {
                flatten(&format!("{key}.{name}"), value, tell);
            }
        }
        value if SECRETS.iter().any(|part| key.to_lowercase().contains(part)) => {
            let mut hash = DefaultHasher::new();
            value.to_string().hash(&mut hash);
            tell(key, format!("not shown ({:08x})", hash.finish() as u32));
        }
        value => tell(key, value.to_string().split_whitespace().collect::<Vec<_>>().join(" ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told of a change from one set of files to another.
    fn told(before: &[(&str, &str)], after: &[(&str, &str)]) -> Vec<String> {
        let [before, after] = [before, after].map(|files| {
            let folder = tempfile::tempdir().expect("a folder");
            for (name, text) in files {
                let file = folder.path().join(name);
                fs::create_dir_all(file.parent().expect("a folder")).expect("writable");
                fs::write(file, text).expect("writable");
            }
            BuildFacts::of(folder.path(), folder.path(), &Toolchain::default(), &BuildOptions::default())
        });
        after.changes_since(&before).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn configuration_profiles_and_versions_that_differ_are_named_and_others_are_not() {
        let lock = |version| format!("[[package]]\nname = \"dep\"\nversion = \"{version}\"\n");
        let before = [
            ("Cargo.toml", "[package]\nname = \"a\"\n[profile.bench]\nlto = true\n"),
            ("Cargo.lock", &lock("1.0.0")),
            (".cargo/config.toml", "[alias]\nx = \"run\"\n[build]\nrustflags = [\"-C\", \"debuginfo=0\"]\n"),
        ];
        let after = [
            ("Cargo.toml", "[package]\nname = \"b\"\n"),
            ("Cargo.lock", &lock("1.0.1")),
            (
                ".cargo/config.toml",
                "[alias]\nx = \"test\"\n[build]\nrustflags = [\n  \"-C\",\n  \"debuginfo=0\",\n]\n\
                 [profile.bench]\nopt-level = 0\n[env]\nAPI_TOKEN = \"abc\"\n",
            ),
        ];
        let told = told(&before, &after);
        assert_eq!(told.len(), 4, "{told:?}");
        assert!(told[0].starts_with("env.API_TOKEN in .cargo/config.toml: not set -> not shown ("));
        assert_eq!(
            told[1..],
            [
                "profile.bench.lto in Cargo.toml: true -> not set",
                "profile.bench.opt-level in .cargo/config.toml: not set -> 0",
                "dep in Cargo.lock: 1.0.0 -> 1.0.1",
            ]
        );
    }

    #[test]
    fn many_packages_of_other_versions_are_counted_after_the_first() {
        let lock = |patch: usize| {
            let package = |at| format!("[[package]]\nname = \"p{at}\"\nversion = \"1.0.{patch}\"\n");
            (0..9).map(package).collect::<String>()
        };
        let told = told(&[("Cargo.lock", &lock(1))], &[("Cargo.lock", &lock(2))]);
        assert_eq!(told.len(), 6);
        assert_eq!(told[5], "4 more packages in Cargo.lock: their versions -> others");
    }
}
