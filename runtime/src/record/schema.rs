//! The form in which records are kept: JSON in a versioned envelope.
//!
//! Every file is `{"schema": 3, "kind": "case", "record": {...}}`. A reader refuses a newer schema, lifts an
//! older one step by step, and says of a damaged file where the damage lies: by line and
//! column where it is no JSON, else by the path to the part that does not fit.
//!
//! Migrations work on JSON values, one function per step from a schema to the next. So a version is one entry
//! in [`STEPS`] and the types of the crate stay single, where private twins of every type would have to be
//! kept for every version. What a step does is tested against a file of the version that it lifts.

use std::fmt;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::json::{Reader, Tree};

/// The schema that this version writes, and the newest that it reads.
pub const SCHEMA: u64 = 3;

/// What lifts older files, oldest first.
const STEPS: &[Step] = &[Step { from: 1, lift: findings }, Step { from: 2, lift: caveats }];

/// From 1 to 2: what takes a rank away is a finding. Evidence there is none of, and so nothing to judge again.
fn findings(kind: Kind, mut record: Value) -> Result<Value, String> {
    let lift = |case: &mut Value| {
        let Some(what) = case["agreement"]["differs"].as_array() else { return };
        let words: Vec<&str> = what.iter().filter_map(Value::as_str).collect();
        let detail = words.join("; ");
        case["findings"] = json!([{
            "rule": "same-work", "severity": "fail", "repeats": [0], "detail": detail, "remedy": ""
        }]);
    };
    match kind {
        Kind::Case => lift(&mut record),
        Kind::Baseline => record["cases"].as_array_mut().into_iter().flatten().for_each(lift),
        Kind::Run | Kind::Repeat => {}
    }
    Ok(record)
}

/// From 2 to 3: what a record warned of is a finding.
fn caveats(kind: Kind, mut case: Value) -> Result<Value, String> {
    let Some(warnings) = case["warnings"].as_array().filter(|_| kind == Kind::Case) else { return Ok(case) };
    let of = |warning: &Value| json!({ "rule": "note", "severity": "caveat", "repeats": [], "detail": warning, "remedy": "" });
    let mut all = case["findings"].as_array().cloned().unwrap_or_default();
    all.extend(warnings.iter().map(of));
    case["findings"] = Value::Array(all);
    Ok(case)
}

/// One step of migration: lifts the record of a file of schema `from` to schema `from + 1`.
struct Step {
    from: u64,
    lift: fn(Kind, Value) -> Result<Value, String>,
}

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A run's manifest.
    Run,
    /// One repeat, as it was journalled.
    Repeat,
    /// One case, derived from its repeats.
    Case,
    /// A promoted run.
    Baseline,
}

/// A noun that is kept in a file of its own.
pub(crate) trait Filed: Serialize {
    /// What its file says it holds.
    const KIND: Kind;

    /// What is impossible about it, if anything is: a file may have been edited by hand.
    ///
    /// # Errors
    /// A sentence that names the impossible part.
    fn check(&self) -> Result<(), String>;
}

/// Why the content of a file is not taken.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// A newer version wrote it.
    #[error("it is of schema {found} and this version reads up to {SCHEMA}: upgrade weighbridge")]
    Newer {
        /// Its schema.
        found: u64,
    },
    /// A version wrote it that cannot be lifted.
    #[error("it is of schema {found}, which this version cannot lift to {SCHEMA}: {why}")]
    Older {
        /// Its schema.
        found: u64,
        /// What is in the way.
        why: String,
    },
    /// It holds something else.
    #[error("it holds a `{found}` where a `{expected}` belongs")]
    OtherKind {
        /// What it says it holds.
        found: String,
        /// What belongs there.
        expected: Kind,
    },
    /// It is no JSON of the form that it should have.
    #[error("it is truncated or was edited by hand: {0}")]
    Malformed(#[from] serde_json::Error),
    /// It has the right form and says what cannot be.
    #[error("it says what cannot be: {0}")]
    Impossible(String),
}

#[derive(Serialize)]
struct Envelope<'a, R> {
    schema: u64,
    kind: Kind,
    record: &'a R,
}

/// The file that holds `record`.
///
/// # Errors
/// When the record says what cannot be (a value that is no number, for instance): what is written can be
/// read.
pub(crate) fn write<R: Filed>(record: &R) -> Result<Vec<u8>, SchemaError> {
    record.check().map_err(SchemaError::Impossible)?;
    let mut bytes = serde_json::to_vec(&Envelope { schema: SCHEMA, kind: R::KIND, record })?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// The record in a file.
///
/// # Errors
/// When the file is of a newer schema, holds something else, is damaged, or says what cannot be.
pub(crate) fn read<R: Filed + DeserializeOwned>(file: &[u8]) -> Result<R, SchemaError> {
    read_with(STEPS, file)
}

fn read_with<R: Filed + DeserializeOwned>(steps: &[Step], file: &[u8]) -> Result<R, SchemaError> {
    let record = R::deserialize(Reader(open(steps, file, R::KIND)?))?;
    record.check().map_err(SchemaError::Impossible)?;
    Ok(record)
}

/// What lies in the envelope, as a record of today's schema.
fn open<'a>(steps: &[Step], file: &'a [u8], expected: Kind) -> Result<Tree<'a>, SchemaError> {
    let mut envelope: Tree<'_> = serde_json::from_slice(file)?;
    let missing = |what: &str| serde_json::Error::custom(format_args!("its `{what}` is missing or wrong"));
    let schema = match envelope.take("schema") {
        Tree::Number(schema) => schema.as_u64(),
        _ => None,
    };
    let schema = schema.ok_or_else(|| missing("schema"))?;
    if schema > SCHEMA {
        return Err(SchemaError::Newer { found: schema });
    }
    let Tree::Text(kind) = envelope.take("kind") else { return Err(missing("kind").into()) };
    if kind != expected.name() {
        return Err(SchemaError::OtherKind { found: kind.into_owned(), expected });
    }
    if schema == SCHEMA {
        return Ok(envelope.take("record"));
    }
    let mut older: Value = serde_json::from_slice(file)?;
    Ok(Tree::deserialize(lift(steps, schema, expected, older["record"].take())?)?)
}

fn lift(steps: &[Step], found: u64, kind: Kind, record: Value) -> Result<Value, SchemaError> {
    (found..SCHEMA).try_fold(record, |record, at| {
        let older = |why| SchemaError::Older { found, why };
        let step = steps.iter().find(|step| step.from == at);
        let step = step.ok_or_else(|| older(format!("no step leads on from {at}")))?;
        (step.lift)(kind, record).map_err(older)
    })
}

impl Kind {
    /// The word that files use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Repeat => "repeat",
            Self::Case => "case",
            Self::Baseline => "baseline",
        }
    }
}

impl fmt::Display for Kind {
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

    impl Filed for Toy {
        const KIND: Kind = Kind::Case;
        fn check(&self) -> Result<(), String> {
            if self.weight.is_finite() { Ok(()) } else { Err(format!("weight {}", self.weight)) }
        }
    }

    /// What is said of a file.
    fn refusal(file: &str) -> String {
        read::<Toy>(file.as_bytes()).expect_err(file).to_string()
    }

    #[test]
    fn what_is_written_can_be_read() {
        let file = write(&Toy { weight: 2.5 }).expect("a finite weight");
        assert_eq!(
            String::from_utf8_lossy(&file),
            "{\"schema\":3,\"kind\":\"case\",\"record\":{\"weight\":2.5}}\n"
        );
        assert_eq!(read::<Toy>(&file).expect("just written"), Toy { weight: 2.5 });
    }

    #[test]
    fn what_could_not_be_read_is_not_written() {
        let error = write(&Toy { weight: f64::NAN }).expect_err("JSON has no NaN");
        assert_eq!(error.to_string(), "it says what cannot be: weight NaN");
    }

    #[test]
    fn a_newer_schema_is_refused_whatever_it_holds() {
        let said = refusal(r#"{"schema": 4, "kind": "pallet", "record": {"mass": [1]}, "more": true}"#);
        assert_eq!(said, "it is of schema 4 and this version reads up to 3: upgrade weighbridge");
    }

    #[test]
    fn another_kind_is_refused_by_name() {
        let said = refusal(r#"{"schema": 3, "kind": "baseline", "record": {"weight": 1.0}}"#);
        assert_eq!(said, "it holds a `baseline` where a `case` belongs");
    }

    #[test]
    fn damage_is_told_with_its_place() {
        let whole = "{\"schema\": 3, \"kind\": \"case\",\n \"record\": {\"weight\": 1.0}}";
        for cut in 0..whole.len() {
            let said = refusal(&whole[..cut]);
            assert!(
                said.contains("truncated or was edited by hand") && said.contains("line"),
                "{cut}: {said}"
            );
        }
        let said = refusal(&whole.replace("1.0", "null"));
        assert!(said.ends_with("weight: expected a number, found null"), "{said}");
        let said = refusal(&whole.replace("1.0", "NaN"));
        assert!(said.contains("line 2"), "{said}");
        let said = refusal(&whole.replace("\"schema\": 3", "\"schema\": -1"));
        assert!(said.contains("`schema`"), "{said}");
        assert!(refusal(&format!("{whole} {{}}")).contains("trailing"), "two documents in one file");
    }

    #[test]
    fn an_older_schema_is_lifted_step_by_step() {
        // A schema 0 that never was: it called the weight `mass` and gave it in grams.
        let weight = Step {
            from: 0,
            lift: |kind, mut record| {
                assert_eq!(kind, Kind::Case);
                let grams = record["mass"].as_f64().ok_or("no mass")?;
                record = serde_json::json!({ "weight": grams / 1000.0 });
                Ok(record)
            },
        };
        let as_it_is = |_, record| Ok(record);
        let steps = [weight, Step { from: 1, lift: as_it_is }, Step { from: 2, lift: as_it_is }];
        let old = br#"{"schema": 0, "kind": "case", "record": {"mass": 2500}}"#;
        assert_eq!(read_with::<Toy>(&steps, old).expect("lifted"), Toy { weight: 2.5 });

        let odd = br#"{"schema": 0, "kind": "case", "record": {}}"#;
        let said = read_with::<Toy>(&steps, odd).expect_err("nothing to lift").to_string();
        assert_eq!(said, "it is of schema 0, which this version cannot lift to 3: no mass");
        let said = read::<Toy>(old).expect_err("there is no step from 0").to_string();
        assert_eq!(said, "it is of schema 0, which this version cannot lift to 3: no step leads on from 0");
    }

    #[test]
    fn what_a_record_warned_of_before_warnings_were_findings_is_one() {
        let case = json!({ "findings": [{ "rule": "view" }], "warnings": ["short pass"] });
        let lifted = caveats(Kind::Case, case).unwrap();
        assert_eq!(
            (&lifted["findings"][0]["rule"], &lifted["findings"][1]["rule"]),
            (&json!("view"), &json!("note"))
        );
        assert_eq!(lifted["findings"][1]["detail"], "short pass");
        assert_eq!(caveats(Kind::Run, json!({ "id": 1 })).unwrap(), json!({ "id": 1 }));
    }

    #[test]
    fn what_took_a_rank_away_before_there_were_findings_is_one() {
        let case = json!({ "id": 1, "agreement": { "differs": ["elements: 2", "fields: x"] } });
        let lifted = findings(Kind::Case, case.clone()).unwrap();
        assert_eq!(lifted["findings"][0]["detail"], "elements: 2; fields: x");
        assert_eq!((&lifted["findings"][0]["rule"], &lifted["id"]), (&json!("same-work"), &json!(1)));
        let lifted = findings(Kind::Baseline, json!({ "cases": [{ "agreement": "agrees" }, case] })).unwrap();
        assert_eq!(lifted["cases"][0].get("findings"), None);
        assert_eq!(lifted["cases"][1]["findings"][0]["severity"], "fail");
    }
}
