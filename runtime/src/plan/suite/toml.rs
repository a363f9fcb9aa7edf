//! TOML as nodes.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::node::{Mistake, Node, Position, TableKey, Value};
use super::toml_places::{Places, places};
use crate::json::too_deep;

/// The nodes of a text.
///
/// # Errors
/// What is no TOML, with its place.
pub(super) fn read(text: &str) -> Result<Node, Mistake> {
    if let Some(line) = too_deep(text) {
        let place = Some(Position { line, column: 1 });
        return Err(Mistake { place, what: "nested too deeply".to_owned() });
    }
    let plain: UnplacedValue = basic_toml::from_str(text).map_err(|error| {
        let place = error.line_col().map(|(line, column)| Position { line: line + 1, column: column + 1 });
        let what = error.to_string();
        let what = what.rsplit_once(" at line ").map_or(what.as_str(), |(what, _)| what);
        Mistake { place, what: what.to_owned() }
    })?;
    Ok(placed(plain, "", Position { line: 1, column: 1 }, &places(text)))
}

/// The values with their places; where one was not found, its table's or list's is the nearest.
fn placed(plain: UnplacedValue, path: &str, around: Position, places: &Places) -> Node {
    let place = places.values.get(path).copied().unwrap_or(around);
    let value = match plain {
        UnplacedValue::Scalar(value) => value,
        UnplacedValue::List(items) => {
            let item = |(at, item)| placed(item, &format!("{path}[{at}]"), place, places);
            Value::List(items.into_iter().enumerate().map(item).collect())
        }
        UnplacedValue::Table(entries) => Value::Table(
            entries
                .into_iter()
                .map(|(name, value)| {
                    let path = format!("{path}.{name}");
                    let place = places.keys.get(&path).copied().unwrap_or(place);
                    (TableKey { name, place }, placed(value, &path, place, places))
                })
                .collect(),
        ),
    };
    Node { value, place }
}

/// A value without its place.
enum UnplacedValue {
    Scalar(Value),
    List(Vec<UnplacedValue>),
    Table(Vec<(String, UnplacedValue)>),
}

impl<'de> Deserialize<'de> for UnplacedValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TomlVisitor)
    }
}

struct TomlVisitor;

impl<'de> Visitor<'de> for TomlVisitor {
    type Value = UnplacedValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, flag: bool) -> Result<UnplacedValue, E> {
        Ok(UnplacedValue::Scalar(Value::Flag(flag)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<UnplacedValue, E> {
        Ok(UnplacedValue::Scalar(Value::Whole(number)))
    }

    fn visit_f64<E>(self, number: f64) -> Result<UnplacedValue, E> {
        Ok(UnplacedValue::Scalar(Value::Number(number)))
    }

    fn visit_str<E>(self, text: &str) -> Result<UnplacedValue, E> {
        Ok(UnplacedValue::Scalar(Value::Text(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<UnplacedValue, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(UnplacedValue::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<UnplacedValue, A::Error> {
        let mut table = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            table.push(entry);
        }
        Ok(UnplacedValue::Table(table))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_and_value_has_its_place_however_the_table_is_written() {
        let text = "name = 'a' # [no.table]\n\n[[list]]\nkey = \
            { one = 1, \"two\" = [\n  2, # two\n  { deep = 'x]' },\n] }\n\
                    [[list]]\n[list.inner]\n  a.b = '''\n]'''\nlast = 3\n";
        let root = read(text).unwrap();
        let mut found = Vec::new();
        walk(&root, &mut found);
        assert_eq!(
            found,
            [
                "name 1:1=1:8",
                "list 3:3=3:3",
                "key 4:1=4:7",
                "one 4:9=4:15",
                "two 4:18=4:26",
                "deep 6:5=6:12",
                "inner 9:7=9:7",
                "a 10:3=10:3",
                "b 10:5=10:9",
                "last 12:1=12:8",
            ]
        );
    }

    fn walk(node: &Node, found: &mut Vec<String>) {
        match &node.value {
            Value::List(items) => items.iter().for_each(|item| walk(item, found)),
            Value::Table(entries) => {
                for (key, value) in entries {
                    let [at, of] =
                        [key.place, value.place].map(|place| format!("{}:{}", place.line, place.column));
                    found.push(format!("{} {at}={of}", key.name));
                    walk(value, found);
                }
            }
            _ => {}
        }
    }

    #[test]
    fn what_is_no_toml_is_told_with_its_place() {
        let told = read("name = 'a'\nrepeats = = 3\n").unwrap_err().to_string();
        assert!(told.starts_with("line 2, column 11: "), "{told}");
        let told = read("name = 'a'\nname = 'b'\n").unwrap_err().to_string();
        assert!(told.contains("duplicate key") && told.starts_with("line "), "{told}");
    }
}
