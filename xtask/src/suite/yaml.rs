//! YAML as nodes.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};

use weighbridge::suite::{Mistake, Node, Position, TableKey, Value};

/// The nodes of a text.
///
/// # Errors
/// What is no YAML, with its place: two documents, a key that is there twice, an alias that would grow
/// without bound.
pub(super) fn read(text: &str) -> Result<Node, Mistake> {
    let read: Result<Spanned<PositionedValue>, _> = serde_saphyr::from_str(text);
    read.map(node).map_err(|error| {
        let whole = error.to_string();
        let first = whole.lines().next().unwrap_or_default();
        // `error: line 2 column 1: what`; the place is told in our own words.
        let what = error.location().and_then(|at| {
            first.split_once(&format!("line {} column {}: ", at.line(), at.column())).map(|(_, what)| what)
        });
        Mistake { place: error.location().map(place), what: what.unwrap_or(first).to_owned() }
    })
}

fn place(at: Location) -> Position {
    let whole = |number| usize::try_from(number).unwrap_or(usize::MAX);
    Position { line: whole(at.line()), column: whole(at.column()) }
}

fn node(spanned: Spanned<PositionedValue>) -> Node {
    Node { value: spanned.value.0, place: place(spanned.referenced) }
}

/// A value whose parts have their places.
struct PositionedValue(Value);

impl<'de> Deserialize<'de> for PositionedValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(YamlVisitor).map(Self)
    }
}

struct YamlVisitor;

impl<'de> Visitor<'de> for YamlVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Nothing)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Nothing)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Flag(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Whole(number))
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Value, E> {
        i64::try_from(number).map(Value::Whole).map_err(|_| E::custom(format!("{number} is too large")))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(node(item));
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut table = Vec::new();
        while let Some(key) = entries.next_key::<Spanned<String>>()? {
            let key = TableKey { place: place(key.referenced), name: key.value };
            table.push((key, node(entries.next_value()?)));
        }
        Ok(Value::Table(table))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_have_their_places_and_the_kinds_that_yaml_gives_them() {
        let root = read("a: [True, null, 2, 2.5, x]\nb:\n  - {c: 'd'}\n").unwrap();
        let entries = root.table("it").unwrap();
        let places =
            |(key, value): &(TableKey, Node)| [key.place, value.place].map(|at| (at.line, at.column));
        assert_eq!(entries.iter().map(places).collect::<Vec<_>>(), [[(1, 1), (1, 4)], [(2, 1), (3, 3)]]);
        let kinds: Vec<_> = entries[0].1.list("a").unwrap().iter().map(|node| node.value.clone()).collect();
        let text = Value::Text("x".to_owned());
        assert_eq!(kinds, [Value::Flag(true), Value::Nothing, Value::Whole(2), Value::Number(2.5), text]);
        let inner = &entries[1].1.list("b").unwrap()[0].table("c").unwrap()[0];
        assert_eq!(places(inner), [(3, 6), (3, 9)]);
    }

    #[test]
    fn what_is_no_yaml_is_told_with_its_place_and_in_one_line() {
        let told = |text| read(text).unwrap_err().to_string();
        assert!(
            told("name: x\nname: y\n").starts_with("line 2, column 1: duplicate mapping key"),
            "{}",
            told("name: x\nname: y\n")
        );
        let unclosed = told("a: 1\n b: 2\n");
        assert!(unclosed.starts_with("line 2, column ") && !unclosed.contains('\n'), "{unclosed}");
        assert!(told("a: 1\n---\nb: 2\n").starts_with("line "), "{}", told("a: 1\n---\nb: 2\n"));
    }
}
