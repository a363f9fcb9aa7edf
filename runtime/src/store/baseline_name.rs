//! The name of a baseline.

use std::fmt;
use std::str::FromStr;

use super::StoreError;
use crate::record::Environment;

/// The name of a baseline: letters, digits, `.`, `_`, `-`, and `/` between parts as in a branch's name; no
/// part begins with `.`. No file's name has a `/` from it, so a path can never pass for one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BaselineName(String);

impl FromStr for BaselineName {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        let letters =
            |part: &str| part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
        let is_part = |part: &str| letters(part) && !part.is_empty() && !part.starts_with('.');
        if text.split('/').all(is_part) && text.len() <= LONGEST {
            Ok(Self(text.to_owned()))
        } else {
            Err(StoreError::BadName(text.to_owned()))
        }
    }
}

impl BaselineName {
    /// The text that stands for the commit in the place of a name.
    pub const OF_COMMIT: &str = "@commit";

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name in that of a file: `@`, which no name has, stands for `/`.
    pub(super) fn in_file(&self) -> String {
        self.0.replace('/', "@")
    }

    /// The name that a file's name stands for.
    pub(super) fn of_file(stem: &str) -> String {
        stem.replace('@', "/")
    }

    /// A name as it was typed. [`BaselineName::OF_COMMIT`] is the id of the commit that the environment has,
    /// with `-dirty` where files differ from it, and `unknown` where there is none.
    ///
    /// # Errors
    /// A text that is no name.
    pub fn typed(text: &str, environment: &Environment) -> Result<Self, StoreError> {
        if text != Self::OF_COMMIT {
            return text.parse();
        }
        let fact = |name: &str| environment.software.get(name).map(String::as_str);
        let dirty = if fact("working tree") == Some("dirty") { "-dirty" } else { "" };
        fact("commit").map_or_else(|| "unknown".to_owned(), |id| format!("{id}{dirty}")).parse()
    }
}

impl fmt::Display for BaselineName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The longest name.
const LONGEST: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_baseline_may_be_called_as_the_commit_is() {
        let called = |facts: &[(&str, &str)], text: &str| {
            let mut environment = Environment::default();
            environment.software.extend(facts.iter().map(|(name, fact)| ((*name).into(), (*fact).into())));
            BaselineName::typed(text, &environment).map(|name| name.to_string())
        };
        assert_eq!(called(&[("commit", "0a1b"), ("working tree", "clean")], "@commit").unwrap(), "0a1b");
        assert_eq!(
            called(&[("commit", "0a1b"), ("working tree", "dirty")], "@commit").unwrap(),
            "0a1b-dirty"
        );
        assert_eq!(called(&[], "@commit").unwrap(), "unknown");
        assert_eq!(called(&[("commit", "0a1b")], "main").unwrap(), "main");
        assert!(called(&[("commit", "0a1b")], "@comit").is_err());
    }

    #[test]
    fn a_baseline_may_be_called_as_a_branch_is_and_lies_in_one_file() {
        let name: BaselineName = "feature/x".parse().unwrap();
        assert_eq!((name.as_str(), &*name.in_file()), ("feature/x", "feature@x"));
        assert_eq!(BaselineName::of_file("feature@x"), "feature/x");
        for wrong in ["/x", "x/", "a//b", "../x", "a/.b", "a@b", ""] {
            assert!(wrong.parse::<BaselineName>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_of_baselines_are_no_paths() {
        for good in ["main", "v1.2", "a-b_c", "2026"] {
            assert_eq!(good.parse::<BaselineName>().unwrap().to_string(), good);
        }
        for bad in ["", ".", "..", ".main", "a//b", "../main", "a b", "ü", "a\\b", &"x".repeat(101)] {
            assert!(bad.parse::<BaselineName>().is_err(), "{bad}");
        }
    }
}
