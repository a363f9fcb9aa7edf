//! A table whose keys are known: another key is a mistake with its place and the nearest of them.

use super::node::{Mistake, Node, TableKey};
use crate::plan::nearest;

/// The keys of a table that were looked up by name.
#[derive(Debug)]
pub struct Keys<'a> {
    of: String,
    at: &'a Node,
    entries: &'a [(TableKey, Node)],
}

impl<'a> Keys<'a> {
    /// The table `of` a file, which has no other keys than the known ones. If there is a list for what is
    /// ignored, unknown keys go there and are no mistake.
    ///
    /// # Errors
    /// When it is no table; an unknown key.
    pub fn of(
        of: &str,
        node: &'a Node,
        known: &[&str],
        ignored: Option<&mut Vec<Mistake>>,
    ) -> Result<Self, Mistake> {
        let entries = node.table(of)?;
        let mut unknown = entries.iter().filter(|(key, _)| !known.contains(&&*key.name)).map(|(key, _)| {
            let near = match nearest(&key.name, known.iter().copied()) {
                Some(name) => format!("; did you mean `{name}`?"),
                None => format!("; there is {}", known.join(", ")),
            };
            Mistake::at(key.place, format!("unknown key `{}` in {of}{near}", key.name))
        });
        match ignored {
            Some(ignored) => ignored.extend(unknown),
            None => unknown.next().map_or(Ok(()), Err)?,
        }
        Ok(Self { of: of.to_owned(), at: node, entries })
    }

    /// The value of a key, if it is there.
    pub fn get(&self, name: &str) -> Option<&'a Node> {
        self.entries.iter().find(|(key, _)| key.name == name).map(|(_, node)| node)
    }

    /// The value of a key that must be there.
    ///
    /// # Errors
    /// When it is not.
    pub fn required(&self, name: &str) -> Result<&'a Node, Mistake> {
        self.get(name)
            .ok_or_else(|| Mistake::at(self.at.place, format!("{} lacks the key `{name}`", self.of)))
    }

    /// The value of one of two keys that say the same, once or many times; a list of one where the first is
    /// there.
    ///
    /// # Errors
    /// When both are there.
    pub fn one_or_many(&self, one: &str, many: &str) -> Result<&'a [Node], Mistake> {
        match (self.get(one), self.get(many)) {
            (Some(_), Some(second)) => Err(Mistake::at(
                second.place,
                format!("`{one}` and `{many}` say the same: write one of them"),
            )),
            (Some(one), None) => Ok(std::slice::from_ref(one)),
            (None, Some(values)) => values.list(many),
            (None, None) => Ok(&[]),
        }
    }

    /// Refuses two keys of which one alone may be there.
    ///
    /// # Errors
    /// When both are there.
    pub fn not_both(&self, first: &str, second: &str) -> Result<(), Mistake> {
        match (self.get(first), self.get(second)) {
            (Some(_), Some(node)) => Err(Mistake::at(
                node.place,
                format!("`{first}` and `{second}` exclude each other in {}", self.of),
            )),
            _ => Ok(()),
        }
    }
}
