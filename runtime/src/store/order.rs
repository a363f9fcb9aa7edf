//! The order of runs: a list of their own beside the clock, which may be set back or have been ahead.
//!
//! A run is entered when it is begun and again when it is taken up. Runs that are in no list, of before there
//! was one or put there by hand, go before all others, by their names.

use std::collections::HashMap;

use super::{Runs, StoreError};
use crate::record::RunId;

impl Runs {
    /// Enters a run as the newest.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn enter(&self, run: &RunId) -> Result<(), StoreError> {
        let path = self.layout.order();
        // It begins its line itself: the one before it may be torn.
        self.files.append(&path, format!("\n{run}").as_bytes()).map_err(StoreError::io("write", &path))
    }

    /// Runs in their order, the oldest first.
    pub(super) fn ordered(&self, mut runs: Vec<RunId>) -> Vec<RunId> {
        // A list that cannot be read is none: names tell nearly as much.
        let list = self.files.read(&self.layout.order()).unwrap_or_default();
        let list = String::from_utf8_lossy(&list);
        let places: HashMap<&str, usize> = list.lines().zip(0..).collect();
        runs.sort_by_cached_key(|run| (places.get(run.as_str()).copied(), run.clone()));
        runs
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::Layout;
    use super::super::fixtures::manifest;
    use super::*;

    #[test]
    fn runs_are_in_the_order_of_their_writing_and_those_of_no_list_go_before_by_name() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let runs = Runs::new(Layout::new(home.path()));
        let [older, old, ahead, back] = [1_000, 2_000, 9_000, 500].map(|second| manifest(second, 1));
        let ids = || runs.ids().expect("readable");
        for run in [&older, &old] {
            runs.create(run).expect("writable");
        }
        fs::remove_file(runs.layout().order()).expect("it is there");
        for run in [&ahead, &back] {
            runs.create(run).expect("writable");
        }
        let named = |runs: [&crate::record::RunManifest; 4]| runs.map(|run| run.id.clone());
        assert_eq!(ids(), named([&back, &ahead, &old, &older]));
        let listed: Vec<RunId> = runs.list().expect("readable").runs.into_iter().map(|run| run.id).collect();
        assert_eq!(listed, ids());

        runs.enter(&old.id).expect("writable");
        assert_eq!(ids(), named([&old, &back, &ahead, &older]), "it was taken up again");

        // A line that was cut off spoils no other.
        let list = fs::read_to_string(runs.layout().order()).expect("text");
        fs::write(runs.layout().order(), &list[..list.len() - 3]).expect("writable");
        runs.enter(&ahead.id).expect("writable");
        assert_eq!(ids(), named([&ahead, &back, &old, &older]));
    }
}
