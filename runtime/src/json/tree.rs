//! The tree of values that a document becomes before it is read into a type.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

/// A value, whose texts are those of the document where they need no change. An object has few entries and
/// each is looked at once, in their order: a list of them takes a small part of the memory, and of the time,
/// of a map.
#[derive(Debug)]
pub(crate) enum Tree<'a> {
    Null,
    Bool(bool),
    Number(Number),
    Text(Cow<'a, str>),
    Array(Vec<Tree<'a>>),
    Object(Vec<(Cow<'a, str>, Tree<'a>)>),
}

/// The most parts that a document may have: elements and entries, wherever they are nested. A tree of so many
/// takes half a gigabyte, and a repeat of a fast stream has a third of them. Of shorter documents any may be
/// read.
const MOST_PARTS: usize = 1 << 24;

impl<'a> Tree<'a> {
    /// The tree of a document that somebody else may have written.
    ///
    /// # Errors
    /// Where it is no JSON, with line and column; that it has more parts than can be kept.
    pub(crate) fn of(document: &'a [u8]) -> Result<Self, serde_json::Error> {
        if has_more_parts(document, MOST_PARTS) {
            let said = format_args!("it has more than {MOST_PARTS} parts");
            return Err(serde::de::Error::custom(said));
        }
        serde_json::from_slice(document)
    }
}

/// Tells whether a document has more parts than that, by the marks that stand before each: one in a text
/// counts too.
fn has_more_parts(document: &[u8], most: usize) -> bool {
    document.len() > most && document.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count() > most
}

impl<'de> Deserialize<'de> for Tree<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Grower)
    }
}

/// Makes a tree of what a deserializer finds.
struct Grower;

impl<'de> Visitor<'de> for Grower {
    type Value = Tree<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Tree<'de>, E> {
        Ok(Tree::Null)
    }

    fn visit_none<E>(self) -> Result<Tree<'de>, E> {
        Ok(Tree::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree<'de>, D::Error> {
        Tree::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree<'de>, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree<'de>, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree<'de>, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree<'de>, E> {
        Ok(Number::from_f64(value).map_or(Tree::Null, Tree::Number))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Tree<'de>, E> {
        Ok(Tree::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree<'de>, E> {
        Ok(Tree::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_string<E>(self, value: String) -> Result<Tree<'de>, E> {
        Ok(Tree::Text(Cow::Owned(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Tree<'de>, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = array.next_element()? {
            elements.push(element);
        }
        Ok(Tree::Array(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Tree<'de>, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = object.next_key()? {
            // A key is a text: what it was borrowed from is the document, or a text of its own.
            let key = match key {
                Tree::Text(key) => key,
                other => return Err(serde::de::Error::custom(format_args!("{other:?} is no name"))),
            };
            entries.push((key, object.next_value()?));
        }
        Ok(Tree::Object(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_of_too_many_parts_is_refused_before_there_is_a_tree_of_it() {
        for (document, parts) in [("[1,2,3]", 3), (r#"{"a":1,"b":[]}"#, 3), ("[[[[]]]]", 4)] {
            assert!(!has_more_parts(document.as_bytes(), parts), "{document}");
            assert!(has_more_parts(document.as_bytes(), parts - 1), "{document}");
        }
        let many = format!("[{}0]", "0,".repeat(MOST_PARTS));
        let refused = Tree::of(many.as_bytes()).unwrap_err().to_string();
        assert_eq!(refused, "it has more than 16777216 parts");
    }
}
