//! Gathering facts: each is known, or absent with its reason.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::path::Path;

/// A fact, or why it cannot be read.
pub(super) type Fact<T = String> = Result<T, String>;

/// The maps that facts go into.
pub(super) struct Facts<'a> {
    known: &'a mut BTreeMap<String, String>,
    absent: &'a mut BTreeMap<String, String>,
}

impl<'a> Facts<'a> {
    pub(super) fn new(
        known: &'a mut BTreeMap<String, String>,
        absent: &'a mut BTreeMap<String, String>,
    ) -> Self {
        Self { known, absent }
    }

    /// Puts a fact where it belongs. An empty value is absent: it would say nothing.
    pub(super) fn note<T: Display>(&mut self, what: &str, fact: Fact<T>) {
        let (facts, text) = match fact.map(|value| value.to_string()) {
            Ok(value) if value.trim().is_empty() => (&mut *self.absent, "empty".to_owned()),
            Ok(value) => (&mut *self.known, value),
            Err(why) => (&mut *self.absent, why),
        };
        facts.insert(what.to_owned(), text);
    }
}

/// The text of a small file, without the space around it.
pub(super) fn read(path: &Path) -> Fact {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text.trim().to_owned()),
        Err(error) => Err(format!("{} cannot be read: {error}", path.display())),
    }
}

/// An amount of memory or storage in whole GiB (MiB below 4 GiB), as people state it.
pub(super) fn gibibytes(bytes: u64) -> String {
    let (unit, name) = if bytes < 4 << 30 { (1 << 20, "MiB") } else { (1 << 30, "GiB") };
    format!("{} {name}", (bytes + unit / 2) / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_is_known_or_absent_with_its_reason() {
        let (mut known, mut absent) = (BTreeMap::new(), BTreeMap::new());
        let mut facts = Facts::new(&mut known, &mut absent);
        facts.note("cores", Ok(2));
        facts.note("turbo", Fact::<String>::Err("no such file".into()));
        facts.note("governor", Ok(" "));
        assert_eq!(known, BTreeMap::from([("cores".into(), "2".into())]));
        let expected = [("turbo".into(), "no such file".into()), ("governor".into(), "empty".into())];
        assert_eq!(absent, BTreeMap::from(expected));
    }

    #[test]
    fn amounts_are_rounded_as_people_state_them() {
        assert_eq!(gibibytes(25_261_000_000), "24 GiB");
        assert_eq!(gibibytes(512 << 20), "512 MiB");
    }
}
