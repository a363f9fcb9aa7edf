//! A run as somebody else may read it: no name of the machine or of its user, and no path.
//!
//! Every text of what was read is gone through, whoever wrote it: `open /home/jane/x.bin: denied` becomes
//! `open <path>: denied`. A name that an author gave a scenario stays, and so do figures, facts of the
//! processor, and the commit.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::view::{Detail, ViewMaterial};

/// The text that stands in the place of a path.
const PATH: &str = "<path>";
const HOST: &str = "<host>";
const USER: &str = "<user>";

/// Facts of the moment that tell whose machine and whose repository it is.
const OWN_FACTS: [&str; 4] = ["host", "workspace", "origin", "gpu uuid"];

/// The names that are left out, each with what stands in its place.
#[derive(Debug, Default)]
struct OwnNames(Vec<(String, &'static str)>);

/// Takes out of what was read whatever tells whose it is.
///
/// # Errors
/// When a record is no JSON, which none is that has been stored.
pub(super) fn without_own_names(material: &mut ViewMaterial) -> Result<()> {
    let names = OwnNames::of(material);
    names.clean(&mut material.run)?;
    for run in &mut material.past {
        names.clean(run)?;
    }
    for against in &mut material.against {
        against.title = names.without(&against.title);
        names.clean(&mut against.comparison)?;
        names.clean_details(&mut against.others);
    }
    names.clean_details(&mut material.details);
    let environments = material.past.iter_mut().chain([&mut material.run]);
    for environment in environments.map(|run| &mut run.manifest.environment) {
        for fact in OWN_FACTS {
            environment.moment.remove(fact);
        }
    }
    Ok(())
}

impl OwnNames {
    /// The hosts that the records name, and whoever makes the page; not where the suite is called so.
    fn of(material: &ViewMaterial) -> Self {
        let runs = material.past.iter().chain([&material.run]);
        let hosts: BTreeSet<String> =
            runs.filter_map(|run| run.manifest.environment.moment.get("host").cloned()).collect();
        let user = ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
        let user = user.filter(|user| user != "root" && !material.run.manifest.suite.contains(user.as_str()));
        let hosts = hosts.into_iter().map(|host| (host, HOST));
        let names = hosts.chain(user.map(|user| (user, USER)));
        Self(names.filter(|(name, _)| name.len() > 2).collect())
    }

    /// The text without those names, and without paths.
    fn without(&self, text: &str) -> String {
        let mut text = without_paths(text);
        for (name, instead) in &self.0 {
            text = replaced(&text, name, instead);
        }
        text
    }

    /// The same for every text of a record.
    fn clean<T: Serialize + DeserializeOwned>(&self, record: &mut T) -> Result<()> {
        let mut value = serde_json::to_value(&*record)?;
        self.clean_value(&mut value);
        *record = serde_json::from_value(value).context("a record cannot be read without its paths")?;
        Ok(())
    }

    fn clean_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.without(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.clean_value(value)),
            Value::Object(fields) => {
                let old = std::mem::take(fields).into_iter();
                *fields = old
                    .map(|(name, mut value)| {
                        self.clean_value(&mut value);
                        (self.without(&name), value)
                    })
                    .collect();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn clean_details(&self, details: &mut [Detail]) {
        let repeats = details.iter_mut().flat_map(|detail| &mut detail.repeats);
        for failure in repeats.filter_map(|repeat| repeat.failure.as_mut()) {
            *failure = self.without(failure);
        }
    }
}

/// The text with [`PATH`] in the place of each absolute path and each below a home.
fn without_paths(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let (mut rest, mut before) = (text, ' ');
    while let Some(letter) = rest.chars().next() {
        let can_begin = !is_of_word(before) || shown.ends_with("://");
        let length = if can_begin && is_path(rest) {
            shown.push_str(PATH);
            rest.find(|letter| ends_path(before, letter)).unwrap_or(rest.len())
        } else {
            shown.push(letter);
            letter.len_utf8()
        };
        before = rest[..length].chars().next_back().unwrap_or(' ');
        rest = &rest[length..];
    }
    shown
}

/// Returns whether a letter before a stroke makes it a part of a word, as in `elem/s`.
fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || "-_.)]>/*%~".contains(letter)
}

fn is_path(text: &str) -> bool {
    let below = text.strip_prefix('~').unwrap_or(text).strip_prefix('/');
    below.is_some_and(|name| {
        name.starts_with(|letter: char| letter.is_alphanumeric() || "._-@<".contains(letter))
    })
}

/// A path in quotes ends with them, any other where a word does.
fn ends_path(before: char, letter: char) -> bool {
    match before {
        '"' | '\'' | '`' => letter == before,
        _ => letter.is_whitespace() || "\"'`),;]}>|:".contains(letter),
    }
}

/// The text with another word in the place of one.
fn replaced(text: &str, word: &str, instead: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut from = 0;
    for (at, _) in text.match_indices(word) {
        let end = at + word.len();
        let is_within = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
        if is_within(text[..at].chars().next_back()) || is_within(text[end..].chars().next()) {
            continue;
        }
        shown.extend([&text[from..at], instead]);
        from = end;
    }
    shown + &text[from..]
}

#[cfg(test)]
mod tests {
    use weighbridge::data::{CaseStatus, FailureReason};

    use super::*;
    use crate::report::html::of;
    use crate::report::html::tests::material;
    use crate::view::View;

    #[test]
    fn a_path_is_left_out_and_what_only_has_a_stroke_stays() {
        for (text, expected) in [
            ("open /home/jane/x.bin: denied", "open <path>: denied"),
            ("`/home/jane/my files/x` is no folder", "`<path>` is no folder"),
            ("--data=/w/data -L/w", "--data=<path> -L/w"),
            ("LD_LIBRARY_PATH=/a/lib:/b/lib", "LD_LIBRARY_PATH=<path>:<path>"),
            ("path+file:///w/crate#0.1.0", "path+file://<path>"),
            ("~/venv/bin/python", "<path>"),
            ("at /w/src/x.rs:12:3", "at <path>:12:3"),
            ("8.00 M elem/s, and/or I/O", "8.00 M elem/s, and/or I/O"),
            ("https://example.org/page", "https://example.org/page"),
            ("CV-1/small/workers=0/Reference", "CV-1/small/workers=0/Reference"),
            ("1 / 2", "1 / 2"),
        ] {
            assert_eq!(without_paths(text), expected);
        }
    }

    #[test]
    fn a_name_is_left_out_as_a_word_and_not_within_one() {
        assert_eq!(replaced("anvil: jane@anvil, anvils", "anvil", HOST), "<host>: jane@<host>, anvils");
    }

    #[test]
    fn a_page_to_be_shared_has_neither_host_nor_path_wherever_they_stand() {
        let mut material = material(4);
        let manifest = &mut material.run.manifest;
        manifest.command = vec!["/home/jane/w/target/suite".into(), "--data=/srv/jane/data".into()];
        let moment = &mut manifest.environment.moment;
        moment.insert("host".into(), "anvil".into());
        moment.insert("workspace".into(), "/home/jane/w".into());
        moment.insert("origin".into(), "git.example.org/jane/w".into());
        manifest.environment.variables.insert("LD_PRELOAD".into(), "/opt/jane/x.so".into());
        manifest.environment.absent.insert("turbo".into(), "`/sys/jane` is not there".into());
        let why = "anvil cannot write /home/jane/w/x".to_owned();
        material.run.cases[0].status = CaseStatus::Failed(FailureReason::Unwritable(why.clone()));
        material.details[1].repeats[0].failure = Some(why);
        let whole = of(&View::of(&material));
        assert!(whole.contains("jane") && whole.contains("anvil"));
        without_own_names(&mut material).expect("records are JSON");
        let shared = of(&View::of(&material));
        for own in ["jane", "anvil", "/srv", "/opt", "/sys"] {
            assert!(
                !shared.contains(own),
                "{own}: {:?}",
                shared.split(own).next().map(|text| &text[text.len() - 80..])
            );
        }
        assert!(shared.contains("8.00 M elem/s"), "the figures are there");
    }
}
