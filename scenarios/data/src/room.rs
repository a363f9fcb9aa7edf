//! Room in the cache: it holds no more than its cap; what was used least recently goes first, what is in use
//! never.
//!
//! Whoever has a data set mapped holds a shared lock on its directory, so that a set goes only if nobody has
//! it. The directory's modification time says when it was used last. On a file system without locks nothing
//! goes: the cache is full then, and says so.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use weighbridge::{Error, Result};

use super::layout::{MANIFEST, aside};

/// The most that a cache holds when nobody says otherwise.
const DEFAULT: u64 = 16 << 30;

/// Age at which an unfinished data set was left by a process that was killed: nobody holds it, and for so
/// long nobody has written to it.
const LEFT_BEHIND: Duration = Duration::from_mins(10);

/// The most that a cache holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cap {
    Bytes(u64),
    /// As somebody wrote it; read when it is needed.
    Text(String),
}

impl Default for Cap {
    fn default() -> Self {
        Self::Bytes(DEFAULT)
    }
}

impl Cap {
    fn bytes(&self) -> Result<u64> {
        match self {
            Self::Bytes(bytes) => Ok(*bytes),
            Self::Text(text) => parse(text).ok_or_else(|| {
                Error::new(format!(
                    "the cap of the data cache is `{text}`: give a size such as 16GiB or 512MiB with \
                     --data-cache-cap or WEIGHBRIDGE_DATA_CACHE_CAP"
                ))
            }),
        }
    }
}

/// Reads `16GiB`, `512MiB`, `64KiB`; above 0.
fn parse(text: &str) -> Option<u64> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40)];
    let (number, shift) = units.iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, shift)))?;
    let bytes = number.trim().parse::<f64>().ok()? * (1_u64 << shift) as f64;
    (bytes >= 1.0 && bytes < u64::MAX as f64).then_some(bytes as u64)
}

/// Holds a data set's directory, and notes that it is used now.
#[derive(Debug)]
pub(super) struct CacheLease(#[expect(dead_code, reason = "dropping it ends the lock")] File);

impl CacheLease {
    pub(super) fn new(directory: &Path) -> io::Result<Self> {
        let held = File::open(directory)?;
        let _ = held.lock_shared(); // without locks nothing is ever removed
        let _ = held.set_modified(SystemTime::now()); // someone else's cache: its order is theirs
        Ok(Self(held))
    }
}

/// A data set in the cache.
struct CacheEntry {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

/// Removes data sets until `wanted` more bytes fit below the cap. What lies at `replaced` will be replaced,
/// so it takes no room.
///
/// # Errors
/// A skip where that cannot be: the data alone are larger than the cap, or the rest is in use.
pub(super) fn make_room(cache: &Path, replaced: &Path, wanted: u64, cap: &Cap) -> Result<()> {
    let cap = cap.bytes()?;
    let mebibytes = |bytes: u64| bytes.div_ceil(1 << 20);
    let say = |why: &str| {
        weighbridge::skip(format!(
            "the data set needs {} MiB and the data cache {} holds {} MiB at most{why}: raise it with \
             --data-cache-cap or WEIGHBRIDGE_DATA_CACHE_CAP",
            mebibytes(wanted),
            cache.display(),
            mebibytes(cap)
        ))
    };
    if wanted > cap {
        return Err(say(""));
    }
    let mut sets = look(cache, replaced).map_err(|error| {
        Error::new(format!("failed to look through the data cache {}: {error}", cache.display()))
    })?;
    sets.sort_by_key(|set| set.used);
    let mut held: u64 = sets.iter().map(|set| set.bytes).sum();
    for set in &sets {
        if held + wanted <= cap {
            break;
        }
        if remove(cache, &set.path) {
            held -= set.bytes;
        }
    }
    if held + wanted <= cap {
        Ok(())
    } else {
        Err(say(&format!(", of which {} MiB are in use", mebibytes(held))))
    }
}

/// The data sets, but for `replaced`. What killed processes left behind is removed on the way.
fn look(cache: &Path, replaced: &Path) -> io::Result<Vec<CacheEntry>> {
    let mut sets = Vec::new();
    for entry in fs::read_dir(cache)? {
        let path = entry?.path();
        let Ok(facts) = fs::metadata(&path) else { continue }; // gone meanwhile
        if !facts.is_dir() || path == replaced {
            continue;
        }
        let used = facts.modified()?;
        let unfinished = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if unfinished && used.elapsed().is_ok_and(|age| age > LEFT_BEHIND) && newest(&path) > LEFT_BEHIND {
            let _ = fs::remove_dir_all(&path);
        } else if unfinished || path.join(MANIFEST).exists() {
            sets.push(CacheEntry { bytes: size(&path), used, path });
        }
    }
    Ok(sets)
}

/// Time since something was last written to a file of a directory.
fn newest(directory: &Path) -> Duration {
    let files = fs::read_dir(directory).into_iter().flatten().flatten();
    let ages = files.filter_map(|file| file.metadata().ok()?.modified().ok()?.elapsed().ok());
    ages.min().unwrap_or(Duration::MAX)
}

fn size(directory: &Path) -> u64 {
    let files = fs::read_dir(directory).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|facts| facts.len()).sum()
}

/// Removes a data set that nobody uses; whether it is gone.
fn remove(cache: &Path, path: &Path) -> bool {
    let unfinished = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    let Ok(held) = File::open(path) else { return !path.exists() };
    if unfinished || held.try_lock().is_err() {
        return false;
    }
    // Whoever opened the directory before this finds its files gone, and makes the data anew.
    let aside = aside(cache);
    fs::rename(path, &aside).and_then(|()| fs::remove_dir_all(&aside)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cache, DataSpec};

    const KIBIBYTE: u64 = 1 << 10;

    /// Data of 40 KB, told apart by their width.
    fn spec(features: usize) -> DataSpec {
        DataSpec::table(10_000 / features, features)
    }

    fn sets(place: &Path) -> usize {
        fs::read_dir(place).unwrap().filter(|entry| entry.as_ref().unwrap().path().is_dir()).count()
    }

    /// Makes the clock of the directories tell the order of use, however quick the test is.
    fn used_before(place: &Path, part: &str, seconds: u64) {
        for entry in fs::read_dir(place).unwrap() {
            let path = entry.unwrap().path();
            if path.display().to_string().contains(part) {
                let then = SystemTime::now() - Duration::from_secs(seconds);
                File::open(&path).unwrap().set_modified(then).unwrap();
            }
        }
    }

    fn holds(place: &Path, part: &str) -> bool {
        fs::read_dir(place).unwrap().any(|entry| entry.unwrap().path().display().to_string().contains(part))
    }

    #[test]
    fn what_was_used_least_recently_goes_first() {
        let place = tempfile::tempdir().unwrap();
        let cache = Cache::at(place.path()).capped(100 * KIBIBYTE);
        drop(cache.open(&spec(10)).unwrap());
        drop(cache.open(&spec(20)).unwrap());
        used_before(place.path(), "f32-20", 100);
        drop(cache.open(&spec(25)).unwrap());
        assert!(holds(place.path(), "f32-10") && holds(place.path(), "f32-25"));
        assert!(!holds(place.path(), "f32-20"), "the one that was used before the others is gone");
    }

    #[test]
    fn what_is_in_use_never_goes() {
        let place = tempfile::tempdir().unwrap();
        let cache = Cache::at(place.path()).capped(100 * KIBIBYTE);
        let (first, second) = (cache.open(&spec(10)).unwrap(), cache.open(&spec(20)).unwrap());
        let why = cache.open(&spec(25)).unwrap_err();
        assert!(why.is_skip() && why.to_string().contains("are in use"), "{why}");
        assert_eq!(sets(place.path()), 2);
        drop(first);
        cache.open(&spec(25)).unwrap();
        assert!(!holds(place.path(), "f32-10") && holds(place.path(), "f32-20"));
        drop(second);
    }

    #[test]
    fn data_larger_than_the_cap_are_a_skip_that_names_the_flag() {
        let place = tempfile::tempdir().unwrap();
        let why = Cache::at(place.path()).capped(KIBIBYTE).open(&spec(10)).unwrap_err();
        assert!(why.is_skip() && why.to_string().contains("--data-cache-cap"), "{why}");
        assert_eq!(sets(place.path()), 0);
    }

    #[test]
    fn what_a_killed_process_left_behind_is_removed() {
        let place = tempfile::tempdir().unwrap();
        let left = place.path().join(".making-1-0");
        fs::create_dir(&left).unwrap();
        fs::write(left.join("features.bin"), [0; 1_000]).unwrap();
        let long_ago = SystemTime::now() - 2 * LEFT_BEHIND;
        File::options().write(true).open(left.join("features.bin")).unwrap().set_modified(long_ago).unwrap();
        File::open(&left).unwrap().set_modified(long_ago).unwrap();
        Cache::at(place.path()).open(&spec(10)).unwrap();
        assert!(!left.exists());
    }

    #[test]
    fn a_cap_is_a_size_and_anything_else_is_named() {
        assert_eq!(parse("16GiB"), Some(DEFAULT));
        assert_eq!(parse("0.5MiB"), Some(512 * KIBIBYTE));
        for bad in ["", "16", "much", "0GiB", "-1GiB", "NaNGiB", "1e99GiB"] {
            let why = Cap::Text(bad.into()).bytes().unwrap_err().to_string();
            assert!(why.contains(&format!("is `{bad}`")) && why.contains("16GiB"), "{why}");
        }
    }
}
