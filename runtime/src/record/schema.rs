//! The form in which records are kept: JSON in a versioned envelope.
//!
//! Every file is `{"schema": 1, "kind": "case", "digest": "...", "record": {...}}`. A reader refuses a file
//! of another schema, and says of a damaged file where the damage lies: by line and column where it is no
//! JSON, else by the path to the part that does not fit.
//!
//! The digest is of the text of the record: it tells what a bad disk or a slip of the hand has changed. It
//! has no key, so it is no proof against whoever means to deceive; who edits on purpose has it worked out
//! anew ([`redigest`]).

use std::fmt;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use xxhash_rust::xxh3::xxh3_128;

use crate::json::{self, Reader, Tree};

/// The schema that this version writes and reads.
pub const SCHEMA: u64 = 1;

/// The kind of record that a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DocumentKind {
    /// A run's manifest.
    Run,
    /// One repeat, as it was journalled.
    Repeat,
    /// One round of a duel, as it was journalled.
    Round,
    /// One case, derived from its repeats.
    Case,
    /// A promoted run.
    Baseline,
    /// The result of a duel.
    Duel,
    /// A commit beside the one before it.
    Step,
    /// The error rates of duels on a machine.
    Calibration,
}

/// A noun that is kept in a file of its own.
pub trait Document: Serialize {
    /// The kind that its file names.
    const KIND: DocumentKind;

    /// Checks that it says nothing impossible: a file may have been edited by hand.
    ///
    /// # Errors
    /// A sentence that names the impossible part.
    fn check(&self) -> Result<(), String>;
}

/// The reason why the content of a file is not taken.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// Another version wrote it.
    #[error(
        "it is of schema {found} and this version reads schema {SCHEMA}: read it with the version that wrote \
         it, or measure anew"
    )]
    OtherSchema {
        /// Its schema.
        found: u64,
    },
    /// It holds something else.
    #[error("it holds a `{found}` where a `{expected}` belongs")]
    OtherKind {
        /// The kind that it names.
        found: String,
        /// The kind that belongs there.
        expected: DocumentKind,
    },
    /// It is no JSON of the form that it should have.
    #[error("it is truncated or was edited by hand: {0}")]
    Malformed(#[from] serde_json::Error),
    /// It has no digest.
    #[error("it has no digest, and every file has one: {}", mend())]
    NoDigest,
    /// It is not what was written.
    #[error(
        "it was changed since it was written: its digest is {found} and that of its content {content}; {}",
        mend()
    )]
    OtherDigest {
        /// The digest that it names.
        found: String,
        /// The digest of its content.
        content: String,
    },
    /// It has the right form and says what cannot be.
    #[error("it says what cannot be: {0}")]
    Impossible(String),
}

/// Advice about a digest that does not fit.
fn mend() -> String {
    format!(
        "if it was edited on purpose, `{} runs digest FILE` works its digest out anew",
        crate::tool::tool()
    )
}

/// The digest of the text of a record: its 128-bit XXH3 hash in hexadecimal.
fn digest(record: &str) -> String {
    format!("{:032x}", xxh3_128(record.as_bytes()))
}

/// A file, apart from what its record says.
#[derive(Deserialize)]
pub(super) struct Envelope<'a> {
    schema: Option<Value>,
    pub(super) kind: Option<String>,
    digest: Option<String>,
    #[serde(borrow)]
    record: Option<&'a RawValue>,
}

impl<'a> Envelope<'a> {
    /// The text of its record, where this version reads its schema.
    pub(super) fn record(&self) -> Result<&'a str, SchemaError> {
        match self.schema.as_ref().and_then(Value::as_u64) {
            Some(SCHEMA) => Ok(self.record.ok_or_else(|| missing("record"))?.get()),
            Some(found) => Err(SchemaError::OtherSchema { found }),
            None => Err(missing("schema").into()),
        }
    }
}

pub(super) fn missing(what: &str) -> serde_json::Error {
    serde_json::Error::custom(format_args!("its `{what}` is missing or wrong"))
}

/// The file that holds `record`.
///
/// # Errors
/// When the record says what cannot be (a value that is no number, for instance): what is written can be
/// read.
pub(crate) fn write<R: Document>(record: &R) -> Result<Vec<u8>, SchemaError> {
    record.check().map_err(SchemaError::Impossible)?;
    Ok(seal(R::KIND, &json::write(record)?))
}

/// The file that holds a record of this text.
pub(super) fn seal(kind: DocumentKind, record: &str) -> Vec<u8> {
    let (kind, digest) = (kind.name(), digest(record));
    let head = format!(r#"{{"schema":{SCHEMA},"kind":"{kind}","digest":"{digest}","record":"#);
    [head.as_bytes(), record.as_bytes(), b"}\n"].concat()
}

/// The file of this text with a digest that fits, whatever it says.
#[cfg(test)]
pub(crate) fn fitting(file: &str) -> String {
    let envelope: Envelope<'_> = serde_json::from_str(file).expect("JSON");
    let found = envelope.digest.expect("a digest");
    file.replace(&found, &digest(envelope.record.expect("a record").get()))
}

/// The record in a file.
///
/// # Errors
/// When the file is of another schema, holds something else, is damaged, is not what was written, or says
/// what cannot be.
pub(crate) fn read<R: Document + DeserializeOwned>(file: &[u8]) -> Result<R, SchemaError> {
    let record = R::deserialize(Reader(open(file, R::KIND)?))?;
    record.check().map_err(SchemaError::Impossible)?;
    Ok(record)
}

/// Returns the record in the envelope, after checks of its kind and its digest.
fn open(file: &[u8], expected: DocumentKind) -> Result<Tree<'_>, SchemaError> {
    let envelope: Envelope<'_> = serde_json::from_slice(file)?;
    let record = envelope.record()?;
    let kind = envelope.kind.ok_or_else(|| missing("kind"))?;
    if kind != expected.name() {
        return Err(SchemaError::OtherKind { found: kind, expected });
    }
    let (found, content) = (envelope.digest.ok_or(SchemaError::NoDigest)?, digest(record));
    if found != content {
        return Err(SchemaError::OtherDigest { found, content });
    }
    Ok(Tree::of(record.as_bytes())?)
}

impl DocumentKind {
    /// The word that files use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Repeat => "repeat",
            Self::Round => "round",
            Self::Case => "case",
            Self::Baseline => "baseline",
            Self::Duel => "duel",
            Self::Step => "step",
            Self::Calibration => "calibration",
        }
    }
}

impl fmt::Display for DocumentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Toy {
        weight: f64,
    }

    impl Document for Toy {
        const KIND: DocumentKind = DocumentKind::Case;
        fn check(&self) -> Result<(), String> {
            if self.weight.is_finite() { Ok(()) } else { Err(format!("weight {}", self.weight)) }
        }
    }

    /// Returns the message with which a file is refused.
    fn refusal(file: &str) -> String {
        read::<Toy>(file.as_bytes()).expect_err(file).to_string()
    }

    #[test]
    fn what_is_written_can_be_read() {
        let file = write(&Toy { weight: 2.5 }).expect("a finite weight");
        let digest = digest(r#"{"weight":2.5}"#);
        assert_eq!(
            String::from_utf8_lossy(&file),
            format!(
                "{{\"schema\":1,\"kind\":\"case\",\"digest\":\"{digest}\",\"record\":{{\"weight\":2.5}}}}\n"
            )
        );
        assert_eq!(read::<Toy>(&file).expect("just written"), Toy { weight: 2.5 });
    }

    #[test]
    fn what_could_not_be_read_is_not_written() {
        let error = write(&Toy { weight: f64::NAN }).expect_err("JSON has no NaN");
        assert_eq!(error.to_string(), "it says what cannot be: weight NaN");
    }

    #[test]
    fn another_schema_is_refused_whatever_it_holds() {
        for other in [0, 2] {
            let said = refusal(&format!(
                r#"{{"schema": {other}, "kind": "pallet", "record": {{"mass": [1]}}, "more": true}}"#
            ));
            let start = format!("it is of schema {other} and this version reads schema 1: ");
            assert!(said.starts_with(&start) && said.ends_with("or measure anew"), "{said}");
        }
    }

    #[test]
    fn every_change_of_a_file_is_seen_and_one_without_a_digest_is_refused() {
        let file = String::from_utf8(write(&Toy { weight: 123.5 }).expect("a finite weight")).expect("text");
        let mut refused = 0;
        for at in 0..file.trim_end().len() {
            for other in ["0", "1", "9", "-", " ", "x", ""] {
                let edited = format!("{}{other}{}", &file[..at], &file[at + 1..]);
                // Blanks between the parts of the envelope say nothing.
                if let Ok(toy) = read::<Toy>(edited.as_bytes()) {
                    assert_eq!(toy, Toy { weight: 123.5 }, "{edited}");
                } else {
                    refused += 1;
                }
            }
        }
        assert!(refused > 6 * file.len(), "{refused}");
        let said = refusal(&file.replace("123.5", "12.35"));
        assert!(
            said.contains("it was changed since it was written") && said.contains("digest FILE"),
            "{said}"
        );
        let digest = file.split('"').nth(9).expect("a digest");
        let without = file.replace(&format!(r#""digest":"{digest}","#), "");
        assert!(refusal(&without).contains("it has no digest"), "{without}");
    }

    #[test]
    fn another_kind_is_refused_by_name() {
        let said = refusal(r#"{"schema": 1, "kind": "baseline", "record": {"weight": 1.0}}"#);
        assert_eq!(said, "it holds a `baseline` where a `case` belongs");
    }

    #[test]
    fn damage_is_told_with_its_place() {
        let whole = "{\"schema\": 1, \"kind\": \"case\",\n \"record\": {\"weight\": 1.0}}";
        for cut in 0..whole.len() {
            let said = refusal(&whole[..cut]);
            assert!(
                said.contains("truncated or was edited by hand") && said.contains("line"),
                "{cut}: {said}"
            );
        }
        let edited = String::from_utf8(seal(DocumentKind::Case, r#"{"weight": null}"#)).expect("text");
        let said = refusal(&edited);
        assert!(said.ends_with("weight: expected a number, found null"), "{said}");
        let said = refusal(&whole.replace("1.0", "NaN"));
        assert!(said.contains("line 2"), "{said}");
        let said = refusal(&whole.replace("\"schema\": 1", "\"schema\": -1"));
        assert!(said.contains("`schema`"), "{said}");
        assert!(refusal(&format!("{whole} {{}}")).contains("trailing"), "two documents in one file");
    }
}
