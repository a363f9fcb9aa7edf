//! The duels that are stored.

use anyhow::Result;
use weighbridge::data::{Comparison, Duels, read_file};

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
        let read = read_file(&file).map_err(anyhow::Error::from);
        match read.and_then(|text| Ok(serde_json::from_slice::<Comparison>(&text)?)) {
            Ok(comparison) => Some(comparison),
            Err(error) => {
                remarks.push(format!("warning: passed over `{}`: {error}", file.display()));
                None
            }
        }
    }))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use std::process::Command;

    use super::*;
    use crate::fixtures::home;

    #[test]
    fn a_pipe_that_is_named_like_a_duel_is_passed_over() {
        let home = home();
        let folder = home.place.layout.duels();
        fs::create_dir_all(&folder).expect("writable");
        let made = Command::new("mkfifo").arg(folder.join("20260101-000000-000000.json")).status();
        assert!(made.expect("there is `mkfifo`").success());
        let mut remarks = Vec::new();
        assert_eq!(newest_first(&home.place, &mut remarks).expect("listed").count(), 0);
        assert!(remarks[0].ends_with("it is no file"), "{remarks:?}");
    }
}
