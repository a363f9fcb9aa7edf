//! What the product is made of: other people's packages, what they may be, and a bill of them.

mod bill;
mod check;
mod materials;

use std::fs;

use anyhow::{Context, Result};

use crate::cli::Bill;
use crate::output::Output;
use crate::place::Place;

pub(crate) use check::{SHOWN, SupplyOutcome, check};

/// `bill`: the bill of materials, as `CycloneDX` has it in JSON.
pub(crate) fn run(args: &Bill, place: &Place) -> Result<Output> {
    let materials = materials::Materials::of(&place.root)?;
    let text = serde_json::to_string_pretty(&bill::bill(&materials))? + "\n";
    let Some(out) = &args.out else { return Ok(Output::fine(text)) };
    fs::write(out, text).with_context(|| format!("failed to write `{}`", out.display()))?;
    Ok(Output::fine(format!("{} is written\n", out.display())))
}
