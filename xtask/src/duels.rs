//! The duels that are stored.

use std::fs;

use anyhow::Result;
use weighbridge::data::{Comparison, Duels};

use crate::place::Place;

/// All of them, the newest first. One that cannot be read is passed over, with a remark.
///
/// # Errors
/// When their folder cannot be listed.
pub(crate) fn newest_first<'a>(
    place: &Place,
    remarks: &'a mut Vec<String>,
) -> Result<impl Iterator<Item = Comparison> + 'a> {
    let layout = place.layout.clone();
    let ids = Duels::new(layout.clone()).ids()?;
    Ok(ids.into_iter().filter_map(move |id| {
        let file = layout.duel(&id);
        let read = fs::read(&file).map_err(anyhow::Error::from);
        match read.and_then(|text| Ok(serde_json::from_slice::<Comparison>(&text)?)) {
            Ok(comparison) => Some(comparison),
            Err(error) => {
                remarks.push(format!("warning: passed over `{}`: {error}", file.display()));
                None
            }
        }
    }))
}
