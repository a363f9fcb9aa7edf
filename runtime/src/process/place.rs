//! Where a measuring process and what it starts may leave things, and the mark that they are known by.

use std::ffi::OsString;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::mark::{MARK, carriers, of_group};
use super::orphans;
use super::trace::Trace;
use crate::device::{Platform, ProcessTree};

/// Holds the folder that is kept for the run.
const KEPT: &str = "WEIGHBRIDGE_KEPT";
/// Holds the milliseconds after which a worker that is silent is given up.
const SILENCE: &str = "WEIGHBRIDGE_SILENCE";
/// Holds the platform that was asked for.
const PLATFORM: &str = "WEIGHBRIDGE_PLATFORM";

/// The number of times that a folder is tried to be removed.
const TRIES: u32 = 20;

/// Between two tries.
const PAUSE: Duration = Duration::from_millis(5);

/// The time that a worker may be silent where nobody says.
const DEFAULT_SILENCE: Duration = Duration::from_mins(5);

/// The place of one measuring process. The parent makes it and cleans it up, the process finds it in its
/// environment.
#[derive(Clone, Debug)]
pub(crate) struct ChildPlace {
    mark: String,
    /// True if nobody else cleans it up.
    #[cfg_attr(not(feature = "worker"), expect(dead_code, reason = "asked for by workers"))]
    own: bool,
    #[cfg_attr(not(feature = "worker"), expect(dead_code, reason = "asked for by workers"))]
    kept: Option<PathBuf>,
    #[cfg_attr(not(feature = "worker"), expect(dead_code, reason = "asked for by workers"))]
    platform: Platform,
    #[cfg_attr(not(feature = "worker"), expect(dead_code, reason = "asked for by workers"))]
    trace: Option<Trace>,
    silence: Duration,
}

impl ChildPlace {
    /// A new place: a mark that no other process on this machine has, and how long what is started may be
    /// silent.
    pub(crate) fn new(silence: Duration) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        // Fresh from the operating system: process ids come again.
        let drawn = RandomState::new().hash_one(count) as u32;
        let mark = format!("{:x}-{drawn:x}", std::process::id());
        Self { mark, own: false, kept: None, platform: Platform::Cpu, trace: None, silence }
    }

    /// The place that this process was started with; in a process that nobody started so, one of its own.
    pub(crate) fn from_env() -> Self {
        let text = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let silence = text(SILENCE).and_then(|text| text.parse().ok());
        let silence = silence.map_or(DEFAULT_SILENCE, Duration::from_millis);
        let (own, mark) = match text(MARK) {
            Some(mark) => (false, mark),
            None => (true, Self::new(silence).mark),
        };
        let platform = text(PLATFORM).and_then(|name| Platform::named(&name)).unwrap_or_default();
        let kept = text(KEPT).map(PathBuf::from);
        Self { mark, own, kept, platform, trace: Trace::from_env(), silence }
    }

    /// The place with this mark.
    pub(super) fn marked_by(mark: String) -> Self {
        Self { mark, ..Self::new(DEFAULT_SILENCE) }
    }

    /// Its mark.
    pub(super) fn mark(&self) -> &str {
        &self.mark
    }

    /// The variables that hand it to a process.
    pub(crate) fn variables(&self) -> Vec<(&'static str, OsString)> {
        let silence = self.silence.as_millis().to_string();
        vec![(MARK, self.mark.clone().into()), (SILENCE, silence.into())]
    }

    /// The variable that tells processes of the folder that is kept for the run.
    pub(crate) fn keeping(folder: &Path) -> (String, String) {
        // What is started with it may be in another directory.
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        (KEPT.to_owned(), folder.display().to_string())
    }

    /// The variable that tells processes of the platform that was asked for.
    pub(crate) fn on(platform: Platform) -> (String, String) {
        (PLATFORM.to_owned(), platform.name().to_owned())
    }

    /// The folder for temporary files, also of all that was started from here. Its path is short: sockets lie
    /// in it, and the path of a socket has at most 107 bytes.
    pub(crate) fn temporary(&self) -> PathBuf {
        let own = self.mark.split('.').next().unwrap_or_default();
        std::env::temp_dir().join(format!("wb-{own}"))
    }

    /// The entry in the environment of all that comes from here.
    pub(super) fn entry(&self) -> String {
        format!("{MARK}={}", self.mark)
    }

    /// The process `root`, all below it, and what came from there and has this process for a parent now; also
    /// without its mark, where it was started `since` a moment, in ticks since the machine was started. The
    /// caller is not among them.
    pub(crate) fn members(&self, root: Option<u32>, since: Option<u64>) -> Vec<u32> {
        let mut roots = Vec::from_iter(root);
        roots.extend(orphans::from(&self.entry(), root, since));
        if !orphans::are_listed() {
            roots.extend(carriers(&self.entry()));
        }
        with_all_below(roots)
    }

    /// The process `root`, all below it and all of the group that it leads, and whatever else on this machine
    /// carries this mark. The caller is not among them.
    pub(super) fn members_anywhere(&self, root: Option<u32>) -> Vec<u32> {
        let mut roots = Vec::from_iter(root);
        roots.extend(root.into_iter().flat_map(of_group).filter(|process| *process != std::process::id()));
        roots.extend(carriers(&self.entry()));
        with_all_below(roots)
    }

    /// Removes the temporary folder.
    pub(crate) fn remove_temporary(&self) {
        // There only if something was started. Somebody who is just ending may remove a part of it at the
        // same time, and one of both then finds something gone and gives up.
        let folder = self.temporary();
        for _ in 0..TRIES {
            if fs::remove_dir_all(&folder).is_ok() || !folder.exists() {
                break;
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// The roots in their order, each with all below it.
fn with_all_below(roots: Vec<u32>) -> Vec<u32> {
    let mut all = Vec::new();
    for process in roots.into_iter().flat_map(|root| ProcessTree::below(root).processes()) {
        if process != std::process::id() && !all.contains(&process) {
            all.push(process);
        }
    }
    all
}

/// The part that is for workers.
#[cfg(feature = "worker")]
impl ChildPlace {
    /// The place of something that is started from here: its mark begins with this one's.
    pub(crate) fn within(&self, name: &str) -> Self {
        Self { mark: format!("{}.{name}", self.mark), ..self.clone() }
    }

    /// The time that what is started may be silent.
    pub(crate) fn silence(&self) -> Duration {
        self.silence
    }

    /// The folder that is kept for the run; where there is none, one that is not.
    pub(crate) fn kept(&self) -> PathBuf {
        self.kept.clone().unwrap_or_else(|| self.temporary().join("kept"))
    }

    /// The platform that was asked for.
    pub(crate) fn platform(&self) -> Platform {
        self.platform
    }

    /// The trace that is to be made.
    pub(crate) fn trace(&self) -> Option<&Trace> {
        self.trace.as_ref()
    }

    /// Removes the temporary folder, if nobody else does.
    pub(crate) fn remove_if_own(&self) {
        if self.own {
            self.remove_temporary();
        }
    }
}

#[cfg(all(test, feature = "worker"))]
mod tests {
    use super::*;

    #[test]
    fn marks_differ_and_what_is_started_from_a_place_shares_its_folder() {
        let (one, two) = (ChildPlace::new(DEFAULT_SILENCE), ChildPlace::new(DEFAULT_SILENCE));
        assert_ne!(one.mark, two.mark);
        let within = one.within("0");
        assert!(within.mark.starts_with(&one.mark));
        assert_eq!(within.temporary(), one.temporary());
        assert_ne!(one.temporary(), two.temporary());
    }
}
