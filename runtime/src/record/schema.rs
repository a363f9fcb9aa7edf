//! The form in which records are kept: JSON in a versioned envelope.
//!
//! Every file is `{"schema": 5, "kind": "case", "digest": "...", "record": {...}}`. A reader refuses a newer schema,
//! lifts an older one step by step, and says of a damaged file where the damage lies: by line and column where it is no
//! JSON, else by the path to the part that does not fit.
//!
//! The digest is of the text of the record: it tells what a bad disk or a slip of the hand has changed. It has no key, so
//! it is no proof against whoever means to deceive; who edits on purpose has it worked out anew ([`redigest`]).
//!
//! Migrations work on JSON values, one function per step from a schema to the next. So a version is one entry
//! in [`STEPS`] and the types of the crate stay single, where private twins of every type would have to be
//! kept for every version. What a step does is tested against a file of the version that it lifts.

use std::fmt;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_128;

use super::check::{JournalEntry, RoundEntry};
use super::{Baseline, CaseRecord, RunManifest};
use crate::json::{Reader, Tree};

/// The schema that this version writes, and the newest that it reads.
pub const SCHEMA: u64 = 5;

/// The first schema whose files have a digest.
const DIGESTED: u64 = 4;

/// What lifts older files, oldest first.
const STEPS: &[Migration] = &[
    Migration { from: 1, lift: findings },
    Migration { from: 2, lift: caveats },
    Migration { from: 3, lift: digests },
    Migration { from: 4, lift: words },
];

/// From 1 to 2: what takes a rank away is a finding. Evidence there is none of, and so nothing to judge again.
fn findings(kind: DocumentKind, mut record: Value) -> Result<Value, String> {
    let lift = |case: &mut Value| {
        let Some(what) = case["agreement"]["differs"].as_array() else { return };
        let words: Vec<&str> = what.iter().filter_map(Value::as_str).collect();
        let detail = words.join("; ");
        case["findings"] = json!([{
            "rule": "same-work", "severity": "fail", "repeats": [0], "detail": detail, "remedy": ""
        }]);
    };
    match kind {
        DocumentKind::Case => lift(&mut record),
        DocumentKind::Baseline => record["cases"].as_array_mut().into_iter().flatten().for_each(lift),
        DocumentKind::Run | DocumentKind::Repeat | DocumentKind::Round => {}
    }
    Ok(record)
}

/// From 2 to 3: what a record warned of is a finding.
fn caveats(kind: DocumentKind, mut case: Value) -> Result<Value, String> {
    let Some(warnings) = case["warnings"].as_array().filter(|_| kind == DocumentKind::Case) else {
        return Ok(case);
    };
    let of = |warning: &Value| json!({ "rule": "note", "severity": "caveat", "repeats": [], "detail": warning, "remedy": "" });
    let mut all = case["findings"].as_array().cloned().unwrap_or_default();
    all.extend(warnings.iter().map(of));
    case["findings"] = Value::Array(all);
    Ok(case)
}

/// From 3 to 4: a file has a digest, and one that had none says so for good; every column of processes is there.
fn digests(kind: DocumentKind, mut record: Value) -> Result<Value, String> {
    match kind {
        DocumentKind::Run | DocumentKind::Baseline => {
            if let Some(fields) = record.as_object_mut() {
                fields.insert(UNDIGESTED.to_owned(), Value::Bool(true));
                fields.get_mut("environment").into_iter().for_each(moved);
            }
            if let (DocumentKind::Baseline, Some(moment)) =
                (kind, record.pointer_mut("/environment/moment").and_then(Value::as_object_mut))
            {
                moment.remove("host"); // it may be committed
            }
            record.get_mut("cases").and_then(Value::as_array_mut).into_iter().flatten().for_each(columns);
        }
        DocumentKind::Case => columns(&mut record),
        DocumentKind::Repeat | DocumentKind::Round => {}
    }
    Ok(record)
}

/// The mark of a container is no fact of the machine any more, and the host's name none of the software.
fn moved(environment: &mut Value) {
    for (name, from, to) in [("container", "machine", "software"), ("host", "software", "moment")] {
        let Some(fact) =
            environment.get_mut(from).and_then(Value::as_object_mut).and_then(|of| of.remove(name))
        else {
            continue;
        };
        if let Some(facts) = environment.get_mut(to).and_then(Value::as_object_mut) {
            facts.insert(name.to_owned(), fact);
        }
    }
}

/// The field of a record that says that its file had no digest.
const UNDIGESTED: &str = "undigested";

/// Fills in the columns that versions before these had not yet.
fn columns(case: &mut Value) {
    let Some(columns) = case.get_mut("processes").and_then(Value::as_object_mut) else { return };
    let rows = columns.get("iterations").and_then(Value::as_array).map_or(0, Vec::len);
    let numbers = ["blocks", "block_iterations", "switched", "throttled", "faults", "elements", "bytes"];
    let three =
        [("wall", json!([0, 0, 0])), ("cpu", json!([0, 0, 0])), ("yardsticks", json!([null, null, null]))];
    for (name, nothing) in numbers.map(|name| (name, json!(0))).into_iter().chain(three) {
        columns.entry(name).or_insert_with(|| Value::Array(vec![nothing; rows]));
    }
}

/// From 4 to 5: fields have the names that the field of benchmarking has for them.
fn words(kind: DocumentKind, mut record: Value) -> Result<Value, String> {
    match kind {
        DocumentKind::Run => {
            record
                .get_mut("planned")
                .into_iter()
                .for_each(|planned| renamed(planned, &[("limits", "budget")]));
            record.get_mut("environment").into_iter().for_each(fake_device);
        }
        DocumentKind::Baseline => {
            record.get_mut("environment").into_iter().for_each(fake_device);
            record
                .get_mut("cases")
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
                .for_each(words_of_case);
        }
        DocumentKind::Case => words_of_case(&mut record),
        DocumentKind::Repeat => {
            record.pointer_mut("/repeat/outcome/measured").into_iter().for_each(words_of_repeat);
        }
        DocumentKind::Round => {} // there was none before
    }
    Ok(record)
}

/// Of a case, in a file of its own or in a baseline.
fn words_of_case(case: &mut Value) {
    renamed(case, &[("headline", "primary"), ("course", "stationarity"), ("ticket", "report")]);
    case.get_mut("stationarity").into_iter().for_each(stationarity);
    case.get_mut("work").into_iter().for_each(|work| renamed(work, &[("ticket", "report")]));
}

/// Of what a repeat measured.
fn words_of_repeat(measured: &mut Value) {
    renamed(measured, &[("seen", "observation")]);
    measured.get_mut("work").into_iter().for_each(|work| renamed(work, &[("ticket", "report")]));
    let Some(observation) = measured.get_mut("observation") else { return };
    renamed(observation, &[("course", "stationarity")]);
    observation.get_mut("stationarity").into_iter().for_each(stationarity);
    let Some(device) = observation.get_mut("device") else { return };
    renamed(device, &[("known", "allowed"), ("doubts", "caveats")]);
    device.get_mut("info").into_iter().for_each(|info| renamed(info, &[("stand_in", "fake")]));
}

/// The mark of a fake device among the facts of a machine.
fn fake_device(environment: &mut Value) {
    if let Some(machine) = environment.get_mut("machine") {
        renamed(machine, &[("gpu stand-in", "gpu fake")]);
    }
}

/// The word for how samples run.
fn stationarity(word: &mut Value) {
    let newer = match word.as_str() {
        Some("warming") => "warming-up",
        Some("slowing") => "drifting",
        _ => return,
    };
    *word = Value::from(newer);
}

/// Gives fields of an object, where it has them, other names.
fn renamed(object: &mut Value, names: &[(&str, &str)]) {
    let Some(fields) = object.as_object_mut() else { return };
    for (older, newer) in names {
        if let Some(value) = fields.remove(*older) {
            fields.insert((*newer).to_owned(), value);
        }
    }
}

/// One step of migration: lifts the record of a file of schema `from` to schema `from + 1`.
struct Migration {
    from: u64,
    lift: fn(DocumentKind, Value) -> Result<Value, String>,
}

/// What a file holds.
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
}

/// A noun that is kept in a file of its own.
pub(crate) trait Filed: Serialize {
    /// What its file says it holds.
    const KIND: DocumentKind;

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
        expected: DocumentKind,
    },
    /// It is no JSON of the form that it should have.
    #[error("it is truncated or was edited by hand: {0}")]
    Malformed(#[from] serde_json::Error),
    /// It is of this schema and has no digest.
    #[error("it has no digest, and every file of its schema has one: {}", mend())]
    NoDigest,
    /// It is not what was written.
    #[error(
        "it was changed since it was written: its digest is {found} and that of its content {content}; {}",
        mend()
    )]
    OtherDigest {
        /// What it says.
        found: String,
        /// What it comes to.
        content: String,
    },
    /// It has the right form and says what cannot be.
    #[error("it says what cannot be: {0}")]
    Impossible(String),
}

/// What to do about a digest that does not fit.
fn mend() -> String {
    format!("if it was edited on purpose, `{} digest FILE` works its digest out anew", crate::tool::tool())
}

/// The digest of the text of a record: its 128-bit XXH3 hash in hexadecimal.
fn digest(record: &str) -> String {
    format!("{:032x}", xxh3_128(record.as_bytes()))
}

/// A file, apart from what its record says.
#[derive(Deserialize)]
struct Envelope<'a> {
    schema: Option<Value>,
    kind: Option<String>,
    digest: Option<String>,
    #[serde(borrow)]
    record: Option<&'a RawValue>,
}

impl<'a> Envelope<'a> {
    /// Its schema, which this version reads, and the text of its record.
    fn parts(&self) -> Result<(u64, &'a str), SchemaError> {
        let schema = self.schema.as_ref().and_then(Value::as_u64).ok_or_else(|| missing("schema"))?;
        if schema > SCHEMA {
            return Err(SchemaError::Newer { found: schema });
        }
        Ok((schema, self.record.ok_or_else(|| missing("record"))?.get()))
    }
}

fn missing(what: &str) -> serde_json::Error {
    serde_json::Error::custom(format_args!("its `{what}` is missing or wrong"))
}

/// The file that holds `record`.
///
/// # Errors
/// When the record says what cannot be (a value that is no number, for instance): what is written can be
/// read.
pub(crate) fn write<R: Filed>(record: &R) -> Result<Vec<u8>, SchemaError> {
    record.check().map_err(SchemaError::Impossible)?;
    Ok(seal(R::KIND, &serde_json::to_string(record)?))
}

/// The file that holds a record of this text.
fn seal(kind: DocumentKind, record: &str) -> Vec<u8> {
    let (kind, digest) = (kind.name(), digest(record));
    let head = format!(r#"{{"schema":{SCHEMA},"kind":"{kind}","digest":"{digest}","record":"#);
    [head.as_bytes(), record.as_bytes(), b"}\n"].concat()
}

/// The same file with the digest of what it holds now, and of today's schema: for a person who has edited it on purpose.
/// A record of a schema without digests is no more marked as such.
///
/// # Errors
/// As for reading it, its digest apart.
pub(crate) fn redigest(file: &[u8]) -> Result<Vec<u8>, SchemaError> {
    let envelope: Envelope<'_> = serde_json::from_slice(file)?;
    let (schema, record) = envelope.parts()?;
    let kinds = [
        DocumentKind::Run,
        DocumentKind::Repeat,
        DocumentKind::Round,
        DocumentKind::Case,
        DocumentKind::Baseline,
    ];
    let kind = kinds.into_iter().find(|kind| envelope.kind.as_deref() == Some(kind.name()));
    let kind = kind.ok_or_else(|| missing("kind"))?;
    let mut record = record.to_owned();
    if schema < SCHEMA {
        let mut lifted = lift(STEPS, schema, kind, serde_json::from_str(&record)?)?;
        if let Some(fields) = lifted.as_object_mut() {
            fields.remove(UNDIGESTED);
        }
        record = lifted.to_string();
    }
    let sealed = seal(kind, &record);
    match kind {
        DocumentKind::Run => read::<RunManifest>(&sealed).map(drop),
        DocumentKind::Repeat => read::<JournalEntry<'_>>(&sealed).map(drop),
        DocumentKind::Round => read::<RoundEntry<'_>>(&sealed).map(drop),
        DocumentKind::Case => read::<CaseRecord>(&sealed).map(drop),
        DocumentKind::Baseline => read::<Baseline>(&sealed).map(drop),
    }?;
    Ok(sealed)
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
/// When the file is of a newer schema, holds something else, is damaged, is not what was written, or says what cannot be.
pub(crate) fn read<R: Filed + DeserializeOwned>(file: &[u8]) -> Result<R, SchemaError> {
    Ok(read_with(STEPS, file)?.0)
}

/// The same, and whether it was lifted from a schema that had no digest.
pub(crate) fn read_and_tell<R: Filed + DeserializeOwned>(file: &[u8]) -> Result<(R, bool), SchemaError> {
    read_with(STEPS, file)
}

fn read_with<R: Filed + DeserializeOwned>(
    steps: &[Migration],
    file: &[u8],
) -> Result<(R, bool), SchemaError> {
    let (tree, lifted) = open(steps, file, R::KIND)?;
    let record = R::deserialize(Reader(tree))?;
    record.check().map_err(SchemaError::Impossible)?;
    Ok((record, lifted))
}

/// What lies in the envelope, as a record of today's schema, and whether it was lifted from one without digests.
fn open<'a>(
    steps: &[Migration],
    file: &'a [u8],
    expected: DocumentKind,
) -> Result<(Tree<'a>, bool), SchemaError> {
    let envelope: Envelope<'a> = serde_json::from_slice(file)?;
    let (schema, record) = envelope.parts()?;
    let kind = envelope.kind.ok_or_else(|| missing("kind"))?;
    if kind != expected.name() {
        return Err(SchemaError::OtherKind { found: kind, expected });
    }
    let is_digested = schema >= DIGESTED;
    if is_digested {
        let (found, content) = (envelope.digest.ok_or(SchemaError::NoDigest)?, digest(record));
        if found != content {
            return Err(SchemaError::OtherDigest { found, content });
        }
    } else if envelope.digest.is_some() {
        let why = "it has a digest, which no file of that schema has".to_owned();
        return Err(SchemaError::Older { found: schema, why });
    }
    if schema == SCHEMA {
        return Ok((serde_json::from_str(record)?, false));
    }
    let lifted = lift(steps, schema, expected, serde_json::from_str(record)?)?;
    Ok((Tree::deserialize(lifted)?, !is_digested))
}

fn lift(steps: &[Migration], found: u64, kind: DocumentKind, record: Value) -> Result<Value, SchemaError> {
    (found..SCHEMA).try_fold(record, |record, at| {
        let older = |why| SchemaError::Older { found, why };
        let step = steps.iter().find(|step| step.from == at);
        let step = step.ok_or_else(|| older(format!("no step leads on from {at}")))?;
        (step.lift)(kind, record).map_err(older)
    })
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

    impl Filed for Toy {
        const KIND: DocumentKind = DocumentKind::Case;
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
        let digest = digest(r#"{"weight":2.5}"#);
        assert_eq!(
            String::from_utf8_lossy(&file),
            format!(
                "{{\"schema\":5,\"kind\":\"case\",\"digest\":\"{digest}\",\"record\":{{\"weight\":2.5}}}}\n"
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
    fn a_newer_schema_is_refused_whatever_it_holds() {
        let said = refusal(r#"{"schema": 6, "kind": "pallet", "record": {"mass": [1]}, "more": true}"#);
        assert_eq!(said, "it is of schema 6 and this version reads up to 5: upgrade weighbridge");
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
        let said = refusal(&file.replace("\"schema\":5", "\"schema\":3"));
        assert!(said.contains("it has a digest, which no file of that schema has"), "{said}");
    }

    #[test]
    fn what_was_written_before_there_were_digests_is_lifted_and_marked() {
        let case = json!({ "processes": { "iterations": [7, 8], "wall": [[1, 2, 3], [1, 2, 3]] } });
        let lifted =
            digests(DocumentKind::Baseline, json!({ "name": "main", "cases": [case.clone(), {}] })).unwrap();
        assert_eq!(lifted["undigested"], true);
        let columns = &lifted["cases"][0]["processes"];
        assert_eq!((&columns["faults"], &columns["wall"][1]), (&json!([0, 0]), &json!([1, 2, 3])));
        assert_eq!(columns["yardsticks"], json!([[null, null, null], [null, null, null]]));
        let environment = json!({
            "machine": { "turbo": "on", "container": "docker" }, "software": { "host": "web1" }, "moment": {}
        });
        let lifted = digests(DocumentKind::Run, json!({ "environment": environment })).unwrap();
        assert_eq!(
            lifted,
            json!({ "undigested": true, "environment": {
                "machine": { "turbo": "on" }, "software": { "container": "docker" }, "moment": { "host": "web1" }
            } })
        );
        assert_eq!(digests(DocumentKind::Case, case).unwrap()["processes"], *columns);
    }

    #[test]
    fn fields_of_schema_4_have_their_names_of_today_and_the_digest_of_then_must_fit() {
        let case = json!({
            "headline": "wall_time", "course": "warming", "work": { "ticket": { "ran_on": "cpu" }, "content": {} }
        });
        let lifted = words(DocumentKind::Case, case).unwrap();
        assert_eq!(
            lifted,
            json!({
                "primary": "wall_time", "stationarity": "warming-up",
                "work": { "report": { "ran_on": "cpu" }, "content": {} }
            })
        );
        let baseline = json!({
            "environment": { "machine": { "gpu stand-in": "Test GPU" } },
            "cases": [{ "headline": "loss", "ticket": null, "course": "slowing" }, { "course": "flat" }]
        });
        assert_eq!(
            words(DocumentKind::Baseline, baseline).unwrap(),
            json!({
                "environment": { "machine": { "gpu fake": "Test GPU" } },
                "cases": [
                    { "primary": "loss", "report": null, "stationarity": "drifting" }, { "stationarity": "flat" }
                ]
            })
        );
        let run = json!({ "planned": { "limits": { "warmup": 3 } }, "environment": {} });
        let planned = json!({ "planned": { "budget": { "warmup": 3 } }, "environment": {} });
        assert_eq!(words(DocumentKind::Run, run).unwrap(), planned);
        let device = json!({ "info": { "stand_in": true }, "known": [], "doubts": ["served"] });
        let measured = json!({ "seen": { "course": null, "device": device }, "work": null });
        let newer = json!({ "info": { "fake": true }, "allowed": [], "caveats": ["served"] });
        assert_eq!(
            words(DocumentKind::Repeat, json!({ "repeat": { "outcome": { "measured": measured } } }))
                .unwrap(),
            json!({ "repeat": { "outcome": { "measured": {
                "observation": { "stationarity": null, "device": newer }, "work": null
            } } } })
        );
        let failed = json!({ "repeat": { "outcome": { "failed": { "how": "panic" } } } });
        assert_eq!(words(DocumentKind::Repeat, failed.clone()).unwrap(), failed);

        let file = String::from_utf8(write(&Toy { weight: 2.5 }).expect("finite")).expect("text");
        let older = file.replace("\"schema\":5", "\"schema\":4");
        assert_eq!(
            read_and_tell::<Toy>(older.as_bytes()).expect("of a schema with digests"),
            (Toy { weight: 2.5 }, false)
        );
        assert!(refusal(&older.replace("2.5", "2.6")).contains("it was changed since it was written"));
    }

    #[test]
    fn another_kind_is_refused_by_name() {
        let said = refusal(r#"{"schema": 5, "kind": "baseline", "record": {"weight": 1.0}}"#);
        assert_eq!(said, "it holds a `baseline` where a `case` belongs");
    }

    #[test]
    fn damage_is_told_with_its_place() {
        let whole = "{\"schema\": 5, \"kind\": \"case\",\n \"record\": {\"weight\": 1.0}}";
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
        let said = refusal(&whole.replace("\"schema\": 5", "\"schema\": -1"));
        assert!(said.contains("`schema`"), "{said}");
        assert!(refusal(&format!("{whole} {{}}")).contains("trailing"), "two documents in one file");
    }

    #[test]
    fn an_older_schema_is_lifted_step_by_step() {
        // A schema 0 that never was: it called the weight `mass` and gave it in grams.
        let weight = Migration {
            from: 0,
            lift: |kind, mut record| {
                assert_eq!(kind, DocumentKind::Case);
                let grams = record["mass"].as_f64().ok_or("no mass")?;
                record = serde_json::json!({ "weight": grams / 1000.0 });
                Ok(record)
            },
        };
        let as_it_is = |_, record| Ok(record);
        let steps = [
            weight,
            Migration { from: 1, lift: as_it_is },
            Migration { from: 2, lift: as_it_is },
            Migration { from: 3, lift: as_it_is },
            Migration { from: 4, lift: as_it_is },
        ];
        let old = br#"{"schema": 0, "kind": "case", "record": {"mass": 2500}}"#;
        assert_eq!(read_with::<Toy>(&steps, old).expect("lifted"), (Toy { weight: 2.5 }, true));

        let odd = br#"{"schema": 0, "kind": "case", "record": {}}"#;
        let said = read_with::<Toy>(&steps, odd).expect_err("nothing to lift").to_string();
        assert_eq!(said, "it is of schema 0, which this version cannot lift to 5: no mass");
        let said = read::<Toy>(old).expect_err("there is no step from 0").to_string();
        assert_eq!(said, "it is of schema 0, which this version cannot lift to 5: no step leads on from 0");
    }

    #[test]
    fn what_a_record_warned_of_before_warnings_were_findings_is_one() {
        let case = json!({ "findings": [{ "rule": "view" }], "warnings": ["short pass"] });
        let lifted = caveats(DocumentKind::Case, case).unwrap();
        assert_eq!(
            (&lifted["findings"][0]["rule"], &lifted["findings"][1]["rule"]),
            (&json!("view"), &json!("note"))
        );
        assert_eq!(lifted["findings"][1]["detail"], "short pass");
        assert_eq!(caveats(DocumentKind::Run, json!({ "id": 1 })).unwrap(), json!({ "id": 1 }));
    }

    #[test]
    fn what_took_a_rank_away_before_there_were_findings_is_one() {
        let case = json!({ "id": 1, "agreement": { "differs": ["elements: 2", "fields: x"] } });
        let lifted = findings(DocumentKind::Case, case.clone()).unwrap();
        assert_eq!(lifted["findings"][0]["detail"], "elements: 2; fields: x");
        assert_eq!((&lifted["findings"][0]["rule"], &lifted["id"]), (&json!("same-work"), &json!(1)));
        let lifted =
            findings(DocumentKind::Baseline, json!({ "cases": [{ "agreement": "agrees" }, case] })).unwrap();
        assert_eq!(lifted["cases"][0].get("findings"), None);
        assert_eq!(lifted["cases"][1]["findings"][0]["severity"], "fail");
    }
}
