//! Signs of life: one small file a rank, written every few seconds by a thread that reads no clock of what is
//! measured and waits for no disk.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use super::names::PREFLIGHT;
use super::report::host;
use crate::folder::{LaunchFolder, RankFiles, read_json, write_json};

/// A sign of life of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Beat {
    /// Counts up: a file that stays as it is belongs to a rank that is gone.
    pub(crate) count: u64,
    pub(crate) host: String,
    pub(crate) stage: String,
    /// Bytes that the program has written.
    pub(crate) written: u64,
    /// True once its part of the stage is done, and it waits for the others.
    pub(crate) is_done: bool,
    /// The program's newest line.
    pub(crate) latest: String,
}

/// The thing that the rank is at.
#[derive(Clone, Debug, Default)]
struct AtWork {
    stage: String,
    is_done: bool,
    log: Option<PathBuf>,
    child: Option<u32>,
    /// The reason why the child was ended by the beat.
    ended: Option<String>,
}

/// The heart of a rank.
#[derive(Clone)]
pub(crate) struct Heart {
    at_work: Arc<Mutex<AtWork>>,
}

impl Heart {
    /// Begins to write signs of life.
    pub(crate) fn start(
        files: &RankFiles,
        folder: &LaunchFolder,
        rank: u32,
        every: Duration,
        orphaned_after: Option<Duration>,
    ) -> Self {
        let heart = Self { at_work: Arc::default() };
        heart.begin(PREFLIGHT, None);
        let (own, place, follower) = (heart.clone(), files.beat(rank), folder.follower());
        let begun = own.beat(0);
        drop(write_json(&place, &begun));
        thread::spawn(move || own.go_on(&place, &follower, every, orphaned_after));
        heart
    }

    /// A stage begins.
    pub(crate) fn begin(&self, stage: &str, log: Option<PathBuf>) {
        let mut at_work = self.lock();
        (at_work.stage, at_work.log, at_work.is_done) = (stage.to_owned(), log, false);
    }

    /// The part of this rank in the stage is done.
    pub(crate) fn done(&self) {
        self.lock().is_done = true;
    }

    /// The program of the stage runs, or has ended.
    pub(crate) fn has(&self, child: Option<u32>) {
        self.lock().child = child;
        // The wish for an end may have come before the program.
        if let (Some(why), true) = (self.ended(), child.is_some()) {
            self.end(&why);
        }
    }

    /// The reason why the program was ended, if it was.
    pub(crate) fn ended(&self) -> Option<String> {
        self.lock().ended.clone()
    }

    /// Ends the program, which hears of it as of a user's wish.
    pub(crate) fn end(&self, why: &str) {
        let mut at_work = self.lock();
        at_work.ended.get_or_insert_with(|| why.to_owned());
        if let Some(child) = at_work.child {
            // It may have ended meanwhile: it is waited for by the thread that started it.
            let _ = kill(Pid::from_raw(child as i32), Signal::SIGTERM);
        }
    }

    fn lock(&self) -> MutexGuard<'_, AtWork> {
        self.at_work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn beat(&self, count: u64) -> Beat {
        let AtWork { stage, log, is_done, .. } = self.lock().clone();
        let (written, latest) = log.and_then(|log| end_of(&log)).unwrap_or_default();
        Beat { count, host: host(), stage, written, is_done, latest }
    }

    fn go_on(&self, place: &Path, follower: &Path, every: Duration, orphaned_after: Option<Duration>) {
        let (mut count, mut followed, mut seen) = (0, Instant::now(), None);
        loop {
            thread::sleep(every);
            count += 1;
            // A disk that is full is told by the program's own end.
            drop(write_json(place, &self.beat(count)));
            let Some(limit) = orphaned_after else { continue };
            let now: Option<u64> = read_json(follower).ok().flatten();
            if now != seen {
                (followed, seen) = (Instant::now(), now);
            } else if followed.elapsed() > limit {
                self.end("nobody follows this launch any more");
            }
        }
    }
}

/// The length of a file, and its last line.
fn end_of(log: &Path) -> Option<(u64, String)> {
    let mut file = File::open(log).ok()?;
    let length = file.seek(SeekFrom::End(0)).ok()?;
    file.seek(SeekFrom::Start(length.saturating_sub(2_000))).ok()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    // A bar draws its line anew.
    let latest = text.split(['\n', '\r']).map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
    Some((length, weighbridge::data::without_secrets(latest)))
}

/// Knows for how long each rank has been silent, by its beats alone: no two clocks are compared.
#[derive(Debug)]
pub(crate) struct Silence {
    of: Vec<(Option<u64>, Instant)>,
}

impl Silence {
    pub(crate) fn new(ranks: u32) -> Self {
        Self { of: vec![(None, Instant::now()); ranks as usize] }
    }

    /// Notes the newest beat of a rank, and returns how long it has been the newest.
    pub(crate) fn hear(&mut self, rank: u32, beat: Option<u64>) -> Duration {
        let (last, since) = &mut self.of[rank as usize];
        if *last != beat {
            (*last, *since) = (beat, Instant::now());
        }
        since.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_line_is_the_last_one_that_says_something() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        assert_eq!(end_of(&log), None);
        for (text, latest) in [("", ""), ("one\ntwo\n\n", "two"), ("[#-] 1/2\r[##] 2/2\r", "[##] 2/2")] {
            std::fs::write(&log, text).unwrap();
            assert_eq!(end_of(&log), Some((text.len() as u64, latest.to_owned())));
        }
    }
}
