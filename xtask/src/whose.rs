//! Whose runs are meant: several workspaces may share a data directory.

use std::collections::BTreeSet;

use weighbridge::data::{Environment, RunManifest};

use crate::place::Place;

/// The runs of this workspace among those of a data directory, in the same order, and remarks on the others.
/// Of a directory that was named, suites that this workspace has no run of are taken as they are: whoever
/// names it means what lies there.
pub(crate) fn ours(place: &Place, runs: Vec<RunManifest>) -> (Vec<RunManifest>, Vec<String>) {
    let here = Environment::of_workspace(&place.root).workspace();
    let is_ours = |run: &RunManifest| !here.is_other_than(&run.environment.workspace());
    let own: BTreeSet<String> = runs.iter().filter(|run| is_ours(run)).map(|run| run.suite.clone()).collect();
    let (mut meant, mut others) = (Vec::with_capacity(runs.len()), BTreeSet::new());
    for run in runs {
        if is_ours(&run) || place.is_data_named && !own.contains(&run.suite) {
            meant.push(run);
        } else {
            others.insert(format!(
                "note: passed over runs of {} of the workspace {}",
                run.suite,
                run.environment.workspace().name()
            ));
        }
    }
    (meant, others.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{home, plain};

    #[test]
    fn runs_of_another_workspace_are_taken_only_from_a_directory_that_was_named() {
        let mut place = home().place;
        std::fs::create_dir_all(&place.root).expect("writable");
        let of = |second, folder: &str| {
            let mut run = plain(second, 1.0e6, 2.0e6).manifest;
            run.environment.moment.insert("workspace".into(), folder.into());
            run
        };
        let root = std::fs::canonicalize(&place.root).expect("it is there").display().to_string();
        let mut taken = |is_data_named, runs: &[RunManifest]| {
            place.is_data_named = is_data_named;
            let (meant, told) = ours(&place, runs.to_vec());
            (meant.len(), told)
        };
        let told = vec!["note: passed over runs of toy/suite of the workspace /elsewhere".to_owned()];
        let (own, other) = (of(1_000, &root), of(2_000, "/elsewhere"));
        for is_data_named in [true, false] {
            assert_eq!(taken(is_data_named, &[other.clone(), own.clone()]), (1, told.clone()));
        }
        assert_eq!(taken(true, std::slice::from_ref(&other)), (1, Vec::new()));
        assert_eq!(taken(false, &[other]), (0, told));
    }
}
