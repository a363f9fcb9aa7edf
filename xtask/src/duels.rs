//! The duels that are stored.

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
    let duels = Duels::new(place.layout.clone());
    let ids = duels.ids()?;
    Ok(ids.into_iter().filter_map(move |id| match duels.read(&id) {
        Ok(comparison) => Some(comparison),
        Err(error) => {
            remarks.push(format!("warning: passed over a duel: {error}"));
            None
        }
    }))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use std::process::Command;

    use weighbridge::data::redigest;

    use super::*;
    use crate::fixtures::{self, home};

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

    #[test]
    fn a_duel_that_was_edited_or_has_no_digest_is_passed_over_by_name_until_its_digest_is_worked_out_anew() {
        let home = home();
        let duels = Duels::new(home.place.layout.clone());
        let comparison = fixtures::comparison(fixtures::row());
        let file = duels.write(&comparison.candidate, &comparison).expect("writable");
        let read = || {
            let mut remarks = Vec::new();
            let found: Vec<Comparison> = newest_first(&home.place, &mut remarks).expect("listed").collect();
            (found, remarks)
        };
        assert_eq!(read(), (vec![comparison.clone()], Vec::new()));
        let whole = fs::read_to_string(&file).expect("written");
        fs::write(&file, whole.replace("toy/suite", "toy/other")).expect("writable");
        let (found, remarks) = read();
        assert!(found.is_empty(), "{found:?}");
        let name = file.display().to_string();
        assert!(remarks[0].contains(&name) && remarks[0].contains("it was changed since"), "{remarks:?}");
        assert!(redigest(&file).expect("sound"));
        assert_eq!(read().0[0].suite, "toy/other");
        let bare = serde_json::to_vec(&comparison).expect("JSON");
        fs::write(&file, bare).expect("writable");
        let (found, remarks) = read();
        assert!(found.is_empty() && remarks[0].contains(&name), "{remarks:?}");
    }
}
