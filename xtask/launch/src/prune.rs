//! Removing the folders of old launches.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use weighbridge::data::{PrunePolicy, RunId};

use crate::error::{LaunchError, Result};
use crate::folder::LaunchFolder;

/// A launch that has not ended is taken for one that is still under way this long after its last change.
const MAY_STILL_RUN: Duration = Duration::from_hours(24);

/// Removes folders of launches below a shared folder, by the rules for runs. Spares launches that may be
/// under way, links, and whatever else lies there. Returns the launches with the bytes that they had on disk.
///
/// # Errors
/// Those of the file system.
pub fn prune(shared: &Path, keep: PrunePolicy, now: SystemTime) -> Result<Vec<(RunId, u64)>> {
    let all = LaunchFolder::all(shared);
    let listed = match fs::read_dir(&all) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        _ if all.is_symlink() => {
            let why = format!("{} is a link, and nothing is removed through one", all.display());
            return Err(LaunchError::Usage(why));
        }
        listed => listed.map_err(LaunchError::io("list", &all))?,
    };
    let mut found: Vec<(RunId, PathBuf)> = Vec::new();
    for entry in listed {
        let entry = entry.map_err(LaunchError::io("list", &all))?;
        let id = entry.file_name().to_string_lossy().parse::<RunId>();
        if let Ok(id) = id
            && entry.file_type().is_ok_and(|kind| kind.is_dir())
        {
            found.push((id, entry.path()));
        }
    }
    found.sort_by(|one, other| other.1.cmp(&one.1)); // their names begin with the time
    let mut removed = Vec::new();
    for (at, (id, folder)) in found.into_iter().enumerate() {
        let of = LaunchFolder::at(folder.clone());
        let age = age(&of, now);
        let may_run = !of.summary().is_file() && age < MAY_STILL_RUN;
        let superfluous = keep.newest.is_some_and(|most| at >= most);
        if may_run || !superfluous && keep.within.is_none_or(|within| age <= within) {
            continue;
        }
        let bytes = room(&folder);
        fs::remove_dir_all(&folder).map_err(LaunchError::io("remove", &folder))?;
        removed.push((id, bytes));
    }
    Ok(removed)
}

/// The time since a launch has ended, or since something was written into its folder.
fn age(of: &LaunchFolder, now: SystemTime) -> Duration {
    let changed = |path: &Path| fs::metadata(path).and_then(|found| found.modified()).ok();
    let last = changed(&of.summary()).or_else(|| changed(of.root()));
    last.and_then(|last| now.duration_since(last).ok()).unwrap_or_default()
}

/// The bytes that a folder and all below it have on disk.
fn room(path: &Path) -> u64 {
    const BLOCK: u64 = 512; // whatever the file system's own is
    let Ok(found) = fs::symlink_metadata(path) else { return 0 };
    let below = found.is_dir().then(|| fs::read_dir(path).into_iter().flatten().flatten());
    let below = below.into_iter().flatten().map(|entry| room(&entry.path())).sum::<u64>();
    found.blocks() * BLOCK + below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_launches_go_with_their_bytes_and_one_that_is_under_way_stays_as_does_what_is_no_launch() {
        let shared = tempfile::tempdir().unwrap();
        let all = LaunchFolder::all(shared.path());
        let made = |name: &str, has_ended: bool| {
            let folder = all.join(name);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("spec.json"), vec![7; 1 << 16]).unwrap();
            if has_ended {
                fs::write(folder.join("summary.json"), "{}").unwrap();
            }
        };
        let ids = ["20260101-000000-000001", "20260102-000000-000001", "20260103-000000-000001"];
        made(ids[0], true);
        made(ids[1], false);
        made(ids[2], true);
        made("theirs", true);
        let keep = |newest| PrunePolicy { newest, within: None };
        assert!(prune(shared.path(), PrunePolicy::default(), SystemTime::now()).unwrap().is_empty());
        let removed = prune(shared.path(), keep(Some(1)), SystemTime::now()).unwrap();
        assert_eq!(removed.len(), 1, "{removed:?}");
        assert_eq!(removed[0].0.to_string(), ids[0]);
        assert!(removed[0].1 >= 1 << 16, "{removed:?}");
        let late = SystemTime::now() + 2 * MAY_STILL_RUN;
        assert_eq!(prune(shared.path(), keep(Some(0)), late).unwrap().len(), 2);
        assert!(all.join("theirs").is_dir());
        assert!(prune(&shared.path().join("nowhere"), keep(Some(0)), late).unwrap().is_empty());
    }
}
