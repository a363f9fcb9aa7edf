//! A comparison as one JSON document.

use anyhow::{Context, Result};
use serde_json::json;

use super::JudgedSuite;
use weighbridge::data::{Exit, visible_json};

/// The version of this document.
const SCHEMA: u32 = 1;

/// The whole comparison.
pub(super) fn of(name: &str, judged: &[JudgedSuite], exit: Exit) -> Result<String> {
    let suites: Vec<_> = judged
        .iter()
        .map(|one| {
            let mut suite =
                json!({ "comparison": one.comparison, "missing": one.missing, "exit": one.exit.code() });
            if let Some(fake) = &one.fake {
                suite["fake"] = json!(fake);
            }
            suite
        })
        .collect();
    let document = json!({ "schema": SCHEMA, "baseline": name, "suites": suites, "exit": exit.code() });
    let text = serde_json::to_string_pretty(&document).context("failed to put the comparison into JSON")?;
    Ok(visible_json(&format!("{text}\n")))
}
