//! A file of any kind with the digest of what it holds now.

use serde::Deserialize;

use super::check::{JournalEntry, RoundEntry};
use super::schema::{Envelope, missing, read, seal};
use super::{Baseline, CaseRecord, DocumentKind, RunManifest, SchemaError};
use crate::json::Reader;

/// The same file with the digest of what it holds now: for a person who has edited it on purpose.
///
/// # Errors
/// As for reading it, its digest apart.
pub(crate) fn redigest(file: &[u8]) -> Result<Vec<u8>, SchemaError> {
    let envelope: Envelope<'_> = serde_json::from_slice(file)?;
    let record = envelope.record()?;
    let kinds = [
        DocumentKind::Run,
        DocumentKind::Repeat,
        DocumentKind::Round,
        DocumentKind::Case,
        DocumentKind::Baseline,
        DocumentKind::Duel,
        DocumentKind::Step,
        DocumentKind::Calibration,
    ];
    let kind = kinds.into_iter().find(|kind| envelope.kind.as_deref() == Some(kind.name()));
    let kind = kind.ok_or_else(|| missing("kind"))?;
    let sealed = seal(kind, record);
    match kind {
        DocumentKind::Run => read::<RunManifest>(&sealed).map(drop),
        DocumentKind::Repeat => read::<JournalEntry<'_>>(&sealed).map(drop),
        DocumentKind::Round => read::<RoundEntry<'_>>(&sealed).map(drop),
        DocumentKind::Case => read::<CaseRecord>(&sealed).map(drop),
        DocumentKind::Baseline => read::<Baseline>(&sealed).map(drop),
        // What these hold is known later in the flow: whoever reads them checks it.
        DocumentKind::Duel | DocumentKind::Step | DocumentKind::Calibration => {
            let tree = serde_json::from_str(record)?;
            AnyObject::deserialize(Reader(tree)).map(drop).map_err(SchemaError::from)
        }
    }?;
    Ok(sealed)
}

/// An object, whatever is in it.
#[derive(Deserialize)]
struct AnyObject {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_any_kind_that_is_no_object_is_refused_with_a_sentence() {
        for kind in ["run", "repeat", "round", "case", "baseline", "duel", "step", "calibration"] {
            for record in ["1", "null", "true", "\"x\"", "[]", "[1]"] {
                let file = format!(r#"{{"schema":1,"kind":"{kind}","digest":"","record":{record}}}"#);
                let error = redigest(file.as_bytes()).expect_err(&file).to_string();
                assert!(error.starts_with("it is truncated or was edited by hand: "), "{file}: {error}");
            }
            let deep = format!(r#"{{"schema":1,"kind":"{kind}","record":{}"#, "[".repeat(20_000));
            assert!(redigest(deep.as_bytes()).is_err());
        }
    }
}
