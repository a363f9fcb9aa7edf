//! The serializer that every type is written through.

use std::fmt::Write as _;

use serde::ser::{
    Error as _, Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use serde_json::Error;

/// The text of a value: byte for byte what `serde_json::to_string` makes of it.
///
/// # Errors
/// What the value says of itself that cannot be written; a map whose keys are no texts and no numbers.
pub(crate) fn write<T: Serialize + ?Sized>(value: &T) -> Result<String, Error> {
    let mut text = String::new();
    value.serialize(Writer(&mut text))?;
    Ok(text)
}

/// The place of the next value in the text.
struct Writer<'a>(&'a mut String);

// As in the reader, what does not depend on the type that is written stays out of what is made for each type.
impl<'a> Writer<'a> {
    #[inline(never)]
    fn word(self, word: &str) {
        self.0.push_str(word);
    }

    #[inline(never)]
    fn unsigned(self, number: u64) {
        write!(self.0, "{number}").expect(FITS);
    }

    #[inline(never)]
    fn signed(self, number: i64) {
        write!(self.0, "{number}").expect(FITS);
    }

    #[inline(never)]
    fn text(self, text: &str) -> Result<(), Error> {
        self.0.push_str(&serde_json::to_string(text)?);
        Ok(())
    }

    /// Begins what has parts.
    #[inline(never)]
    fn begin(self, open: &str, close: &'static str) -> Parts<'a> {
        self.0.push_str(open);
        Parts { text: self.0, begun: false, close }
    }

    /// Begins a variant with parts.
    #[inline(never)]
    fn begin_variant(self, name: &str, open: &str, close: &'static str) -> Result<Parts<'a>, Error> {
        Writer(self.0).variant(name)?;
        Ok(self.begin(open, close))
    }

    /// The beginning of a variant with content.
    #[inline(never)]
    fn variant(self, name: &str) -> Result<(), Error> {
        self.0.push('{');
        Writer(self.0).text(name)?;
        self.0.push(':');
        Ok(())
    }
}

/// The reason why writing into a text cannot fail.
const FITS: &str = "a String takes all that is written";

/// Methods of the serializer that a method of the writer does.
macro_rules! hand_on {
    ($($method:ident($type:ty): $part:ident as $wide:ty;)*) => {$(
        fn $method(self, value: $type) -> Result<(), Error> {
            self.$part(<$wide>::from(value));
            Ok(())
        }
    )*};
}

impl<'a> Serializer for Writer<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Parts<'a>;
    type SerializeTuple = Parts<'a>;
    type SerializeTupleStruct = Parts<'a>;
    type SerializeTupleVariant = Parts<'a>;
    type SerializeMap = Parts<'a>;
    type SerializeStruct = Parts<'a>;
    type SerializeStructVariant = Parts<'a>;

    hand_on! {
        serialize_u8(u8): unsigned as u64;
        serialize_u16(u16): unsigned as u64;
        serialize_u32(u32): unsigned as u64;
        serialize_u64(u64): unsigned as u64;
        serialize_i8(i8): signed as i64;
        serialize_i16(i16): signed as i64;
        serialize_i32(i32): signed as i64;
        serialize_i64(i64): signed as i64;
    }

    fn serialize_bool(self, truth: bool) -> Result<(), Error> {
        self.word(if truth { "true" } else { "false" });
        Ok(())
    }

    fn serialize_f32(self, number: f32) -> Result<(), Error> {
        self.word(&serde_json::to_string(&number)?);
        Ok(())
    }

    fn serialize_f64(self, number: f64) -> Result<(), Error> {
        self.word(&serde_json::to_string(&number)?);
        Ok(())
    }

    fn serialize_char(self, character: char) -> Result<(), Error> {
        self.text(character.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, text: &str) -> Result<(), Error> {
        self.text(text)
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), Error> {
        bytes.serialize(self)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.word("null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, name: &'static str) -> Result<(), Error> {
        self.text(name)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        Writer(self.0).variant(name)?;
        value.serialize(Writer(self.0))?;
        self.word("}");
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Parts<'a>, Error> {
        Ok(self.begin("[", "]"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Parts<'a>, Error> {
        Ok(self.begin("[", "]"))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Parts<'a>, Error> {
        Ok(self.begin("[", "]"))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        _: usize,
    ) -> Result<Parts<'a>, Error> {
        self.begin_variant(name, "[", "]}")
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Parts<'a>, Error> {
        Ok(self.begin("{", "}"))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Parts<'a>, Error> {
        Ok(self.begin("{", "}"))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        _: usize,
    ) -> Result<Parts<'a>, Error> {
        self.begin_variant(name, "{", "}}")
    }
}

/// An array or an object that is being written.
struct Parts<'a> {
    text: &'a mut String,
    begun: bool,
    close: &'static str,
}

impl Parts<'_> {
    /// Returns the place of the next element or key, after a comma if it is not the first.
    #[inline(never)]
    fn next(&mut self) -> Writer<'_> {
        if self.begun {
            self.text.push(',');
        }
        self.begun = true;
        Writer(self.text)
    }

    /// Writes the name of a field and returns the place of its value.
    #[inline(never)]
    fn field(&mut self, name: &str) -> Result<Writer<'_>, Error> {
        self.next().text(name)?;
        Ok(self.value())
    }

    /// Writes the colon after a key and returns the place of its value.
    #[inline(never)]
    fn value(&mut self) -> Writer<'_> {
        self.text.push(':');
        Writer(self.text)
    }

    #[inline(never)]
    fn close(self) {
        self.text.push_str(self.close);
    }
}

/// Arrays of all kinds.
macro_rules! arrays {
    ($($trait:ident: $method:ident;)*) => {$(
        impl $trait for Parts<'_> {
            type Ok = ();
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                value.serialize(self.next())
            }

            fn end(self) -> Result<(), Error> {
                self.close();
                Ok(())
            }
        }
    )*};
}

arrays! {
    SerializeSeq: serialize_element;
    SerializeTuple: serialize_element;
    SerializeTupleStruct: serialize_field;
    SerializeTupleVariant: serialize_field;
}

/// Objects with named fields.
macro_rules! objects {
    ($($trait:ident)*) => {$(
        impl $trait for Parts<'_> {
            type Ok = ();
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), Error> {
                value.serialize(self.field(name)?)
            }

            fn end(self) -> Result<(), Error> {
                self.close();
                Ok(())
            }
        }
    )*};
}

objects! { SerializeStruct SerializeStructVariant }

impl SerializeMap for Parts<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        key.serialize(KeyWriter(self.next()))
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        value.serialize(self.value())
    }

    fn end(self) -> Result<(), Error> {
        self.close();
        Ok(())
    }
}

/// The place of a map's key: a text, or a number in quotes.
struct KeyWriter<'a>(Writer<'a>);

/// Keys that are numbers.
macro_rules! numbers {
    ($($method:ident($type:ty);)*) => {$(
        fn $method(self, number: $type) -> Result<(), Error> {
            self.0.word(&format!("\"{number}\""));
            Ok(())
        }
    )*};
}

/// Keys of kinds that no map of ours has.
macro_rules! refuse {
    ($($method:ident($($type:ty),*) -> $result:ty;)*) => {$(
        fn $method(self, $(_: $type),*) -> Result<$result, Error> {
            Err(no_key())
        }
    )*};
}

#[cold]
fn no_key() -> Error {
    Error::custom("a key must be a text or a whole number")
}

impl Serializer for KeyWriter<'_> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Impossible<(), Error>;
    type SerializeTuple = Impossible<(), Error>;
    type SerializeTupleStruct = Impossible<(), Error>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeMap = Impossible<(), Error>;
    type SerializeStruct = Impossible<(), Error>;
    type SerializeStructVariant = Impossible<(), Error>;

    numbers! {
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
    }

    fn serialize_str(self, text: &str) -> Result<(), Error> {
        self.0.text(text)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, name: &'static str) -> Result<(), Error> {
        self.0.text(name)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<(), Error> {
        Err(no_key())
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Error> {
        Err(no_key())
    }

    refuse! {
        serialize_bool(bool) -> ();
        serialize_f32(f32) -> ();
        serialize_f64(f64) -> ();
        serialize_char(char) -> ();
        serialize_bytes(&[u8]) -> ();
        serialize_none() -> ();
        serialize_unit() -> ();
        serialize_unit_struct(&'static str) -> ();
        serialize_seq(Option<usize>) -> Impossible<(), Error>;
        serialize_tuple(usize) -> Impossible<(), Error>;
        serialize_tuple_struct(&'static str, usize) -> Impossible<(), Error>;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Impossible<(), Error>;
        serialize_map(Option<usize>) -> Impossible<(), Error>;
        serialize_struct(&'static str, usize) -> Impossible<(), Error>;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Impossible<(), Error>;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Serialize;

    use super::*;

    #[derive(Serialize)]
    enum Toy {
        Unit,
        New(u8),
        Pair(i32, &'static str),
        Fields { wheels: Option<f64>, open: bool },
    }

    #[derive(Serialize)]
    struct Name(String);

    #[derive(Serialize)]
    struct Empty {}

    fn check<T: Serialize>(value: T) {
        assert_eq!(write(&value).unwrap(), serde_json::to_string(&value).unwrap());
    }

    #[test]
    fn every_form_is_written_as_serde_json_writes_it() {
        check([
            Toy::Unit,
            Toy::New(7),
            Toy::Pair(-3, "x\n\"\u{1}é"),
            Toy::Fields { wheels: None, open: true },
        ]);
        check([Toy::Fields { wheels: Some(-0.1), open: false }]);
        check((u64::MAX, i64::MIN, 1e300, 0.1_f32, f64::NAN, f64::INFINITY, 3.0, 'ß', (), Empty {}));
        check((Vec::<u8>::new(), vec![vec![1], vec![]], Some("x"), None::<u8>, Name("y".into())));
        check(BTreeMap::from([(3_u64, "three"), (20, "twenty")]));
        check(BTreeMap::from([("a\"b", BTreeMap::from([(-1_i32, None::<u8>)])), ("", BTreeMap::new())]));
    }

    #[test]
    fn a_key_that_is_no_text_is_refused() {
        assert!(write(&BTreeMap::from([((1, 2), 3)])).unwrap_err().to_string().contains("a key must be"));
    }
}
