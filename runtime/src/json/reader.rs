//! The deserializer that every type is read through.

use std::borrow::Cow;
use std::mem;

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use serde_json::{Error, Number};

use super::too_deep;
use super::tree::Tree;

/// A value that is about to be read into a type. A type is told its value in the form that it asks for, and
/// no other.
pub(crate) struct Reader<'a>(pub(crate) Tree<'a>);

/// Reads a document.
///
/// # Errors
/// Where it is no JSON, with line and column; where it does not fit the type, with the path to the part that
/// does not.
pub(crate) fn read<T: DeserializeOwned>(text: &[u8]) -> Result<T, Error> {
    T::deserialize(Reader(Tree::of(text)?))
}

/// Reads settings. TOML becomes a tree of values first, so that no type is read in a second way.
///
/// # Errors
/// Where it is no TOML, with its line; where it does not fit the type, with the path to the part that does
/// not.
pub(crate) fn from_toml<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    if let Some(line) = too_deep(text) {
        return Err(format!("nested too deeply at line {line}"));
    }
    let tree = basic_toml::from_str(text).map_err(|error| error.to_string())?;
    T::deserialize(Reader(tree)).map_err(|error| error.to_string())
}

/// The error that something else belongs here.
#[cold]
fn expected(what: &str, found: &Tree<'_>) -> Error {
    let found = match found {
        Tree::Null => "null",
        Tree::Bool(_) => "a boolean",
        Tree::Number(number) => return Error::custom(format_args!("expected {what}, found {number}")),
        Tree::Text(text) => return Error::custom(format_args!("expected {what}, found `{text}`")),
        Tree::Array(_) => "an array",
        Tree::Object(_) => "an object",
    };
    Error::custom(format_args!("expected {what}, found {found}"))
}

/// The error, with the name of the part that it is in before it.
#[cold]
fn within(part: &str, error: Error) -> Error {
    Error::custom(format_args!("{part}: {error}"))
}

// What is here does not depend on the type that is read. It stays out of what is made for each type: inlined
// there, it would be optimised some hundred times.
impl<'a> Reader<'a> {
    fn number(&self) -> Option<&Number> {
        if let Tree::Number(number) = &self.0 { Some(number) } else { None }
    }

    #[inline(never)]
    fn unsigned(self) -> Result<u64, Error> {
        let number = self.number().and_then(Number::as_u64);
        number.ok_or_else(|| expected("a whole number of at least 0", &self.0))
    }

    #[inline(never)]
    fn signed(self) -> Result<i64, Error> {
        self.number().and_then(Number::as_i64).ok_or_else(|| expected("a whole number", &self.0))
    }

    #[inline(never)]
    fn float(self) -> Result<f64, Error> {
        self.number().and_then(Number::as_f64).ok_or_else(|| expected("a number", &self.0))
    }

    #[inline(never)]
    fn name(self) -> Result<Cow<'a, str>, Error> {
        match self.0 {
            Tree::Text(text) => Ok(text),
            other => Err(expected("a text", &other)),
        }
    }

    #[inline(never)]
    fn text(self) -> Result<String, Error> {
        self.name().map(Cow::into_owned)
    }

    #[inline(never)]
    fn elements(self) -> Result<Elements<'a>, Error> {
        match self.0 {
            Tree::Array(values) => Ok(Elements { at: 0, rest: values.into_iter() }),
            other => Err(expected("an array", &other)),
        }
    }

    #[inline(never)]
    fn entries(self) -> Result<Entries<'a>, Error> {
        match self.0 {
            Tree::Object(entries) => {
                Ok(Entries { rest: entries.into_iter(), key: Cow::Borrowed(""), value: Tree::Null })
            }
            other => Err(expected("an object", &other)),
        }
    }

    /// A variant alone is a text, one with content an object of one entry.
    #[inline(never)]
    fn variant(self) -> Result<Variant<'a>, Error> {
        match self.0 {
            Tree::Text(name) => Ok(Variant { name, content: Tree::Null }),
            Tree::Object(entries) if entries.len() == 1 => {
                let one = entries.into_iter().next();
                one.map(|(name, content)| Variant { name, content })
                    .ok_or_else(|| Error::custom("an object is empty"))
            }
            other => Err(expected("a variant", &other)),
        }
    }
}

/// Methods of the deserializer that hand a visitor what a method of the reader gives.
macro_rules! hand_on {
    ($($method:ident: $part:ident -> $visit:ident;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            visitor.$visit(self.$part()?)
        }
    )*};
}

impl<'de> Deserializer<'de> for Reader<'_> {
    type Error = Error;

    hand_on! {
        deserialize_u8: unsigned -> visit_u64;
        deserialize_u16: unsigned -> visit_u64;
        deserialize_u32: unsigned -> visit_u64;
        deserialize_u64: unsigned -> visit_u64;
        deserialize_i8: signed -> visit_i64;
        deserialize_i16: signed -> visit_i64;
        deserialize_i32: signed -> visit_i64;
        deserialize_i64: signed -> visit_i64;
        deserialize_f32: float -> visit_f64;
        deserialize_f64: float -> visit_f64;
        deserialize_str: text -> visit_string;
        deserialize_string: text -> visit_string;
        deserialize_map: entries -> visit_map;
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("a type must say what it is read from"))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Tree::Bool(truth) => visitor.visit_bool(truth),
            other => Err(expected("true or false", &other)),
        }
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_str(&self.name()?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if matches!(self.0, Tree::Null) { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let mut elements = self.elements()?;
        let sequence = visitor.visit_seq(&mut elements)?;
        elements.end()?;
        Ok(sequence)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_map(self.entries()?)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(self.variant()?)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! { i128 u128 char bytes byte_buf unit unit_struct tuple_struct }
}

/// The rest of an array.
struct Elements<'a> {
    at: usize,
    rest: std::vec::IntoIter<Tree<'a>>,
}

impl<'a> Elements<'a> {
    #[inline(never)]
    fn take(&mut self) -> Option<Reader<'a>> {
        let value = self.rest.next()?;
        self.at += 1;
        Some(Reader(value))
    }

    /// The error, with the place of the element that was taken last.
    #[cold]
    fn wrong(&self, error: Error) -> Error {
        within(&self.at.to_string(), error)
    }

    #[inline(never)]
    fn end(&self) -> Result<(), Error> {
        match self.rest.as_slice() {
            [] => Ok(()),
            [first, ..] => Err(expected("the end of the array", first)),
        }
    }
}

impl<'de> SeqAccess<'de> for &mut Elements<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        let Some(value) = self.take() else { return Ok(None) };
        match seed.deserialize(value) {
            Ok(element) => Ok(Some(element)),
            Err(error) => Err(self.wrong(error)),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// The rest of an object, and the entry whose key was read.
struct Entries<'a> {
    rest: std::vec::IntoIter<(Cow<'a, str>, Tree<'a>)>,
    key: Cow<'a, str>,
    value: Tree<'a>,
}

impl<'a> Entries<'a> {
    /// Goes on to the next entry, if there is one.
    #[inline(never)]
    fn go_on(&mut self) -> bool {
        let next = self.rest.next();
        let is_there = next.is_some();
        if let Some(entry) = next {
            (self.key, self.value) = entry;
        }
        is_there
    }

    #[inline(never)]
    fn take(&mut self) -> Reader<'a> {
        Reader(mem::replace(&mut self.value, Tree::Null))
    }

    /// The error, with the key of the entry.
    #[cold]
    fn wrong(&self, error: Error) -> Error {
        within(&self.key, error)
    }
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        if !self.go_on() {
            return Ok(None);
        }
        seed.deserialize(KeyReader(&self.key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        match seed.deserialize(self.take()) {
            Ok(value) => Ok(value),
            Err(error) => Err(self.wrong(error)),
        }
    }
}

/// The key of an entry: the name of a field, or a text. It stays where it is, since most are looked at once
/// and a file has many. No map of a record has keys of another kind.
struct KeyReader<'a>(&'a str);

impl<'de> Deserializer<'de> for KeyReader<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_str(self.0)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// A variant of an enum.
struct Variant<'a> {
    name: Cow<'a, str>,
    content: Tree<'a>,
}

impl<'de, 'a> EnumAccess<'de> for Variant<'a> {
    type Error = Error;
    type Variant = Reader<'a>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Reader<'a>), Error> {
        Ok((seed.deserialize(Reader(Tree::Text(self.name)))?, Reader(self.content)))
    }
}

impl<'de> VariantAccess<'de> for Reader<'_> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        if matches!(self.0, Tree::Null) {
            Ok(())
        } else {
            Err(expected("nothing beside the variant", &self.0))
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_map(self.entries()?)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    enum Toy {
        Unit,
        New(u8),
        Pair(i32, String),
        Fields { wheels: Option<f64>, open: bool },
    }

    fn check<T: DeserializeOwned + PartialEq + Debug>(text: &str, expected: T) {
        assert_eq!(read::<T>(text.as_bytes()).expect(text), expected);
    }

    fn refusal<T: DeserializeOwned + Debug>(text: &str) -> String {
        read::<T>(text.as_bytes()).expect_err(text).to_string()
    }

    #[test]
    fn every_form_that_is_written_is_read() {
        check(
            concat!(
                r#"["Unit", {"New": 7}, {"Pair": [-3, "x"]}, "#,
                r#"{"Fields": {"wheels": 3, "open": true, "more": []}}]"#
            ),
            vec![
                Toy::Unit,
                Toy::New(7),
                Toy::Pair(-3, "x".into()),
                Toy::Fields { wheels: Some(3.0), open: true },
            ],
        );
        check(r#"{"Fields": {"open": false}}"#, Toy::Fields { wheels: None, open: false });
        check("[[1, 2.5], [3, 4]]", vec![(1_u64, 2.5), (3, 4.0)]);
        check("18446744073709551615", u64::MAX);
    }

    #[test]
    fn what_does_not_fit_is_told_with_the_way_to_it() {
        assert_eq!(
            refusal::<Vec<Toy>>(r#"["Unit", {"New": "7"}]"#),
            "2: expected a whole number of at least 0, found `7`"
        );
        assert_eq!(
            refusal::<Toy>(r#"{"Fields": {"open": null}}"#),
            "open: expected true or false, found null"
        );
        assert_eq!(refusal::<Toy>(r#"{"Fields": {}}"#), "missing field `open`");
        assert_eq!(refusal::<(u8, u8)>("[1, 2, 3]"), "expected the end of the array, found 3");
        assert!(refusal::<Vec<u8>>("[256]").starts_with("1: invalid value"));
        assert!(refusal::<Toy>("\"Car\"").starts_with("unknown variant `Car`"));
        assert!(refusal::<Toy>("[1").contains("line 1 column 2"));
    }
}
