//! Removing old runs, and what killed writers left.

use std::path::Path;
use std::time::{Duration, SystemTime};

use super::files::is_temporary;
use super::layout::directories_in;
use super::runs::names_or_none;
use super::{Error, Runs};
use crate::record::{RunId, RunManifest, RunStatus};

/// A run that has not ended is taken for one that still runs this long after its start.
const MAY_STILL_RUN: Duration = Duration::from_hours(24);
/// A file on its way to its place is taken for a leftover after this long.
const LEFTOVER: Duration = Duration::from_hours(1);

/// Which runs to keep. A run goes when either rule says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// The newest so many of each suite.
    pub newest: Option<usize>,
    /// Those that started within this time.
    pub within: Option<Duration>,
}

/// What was removed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// The runs.
    pub runs: Vec<RunId>,
    /// The leftovers of killed writers.
    pub leftovers: usize,
}

impl Runs {
    /// Removes runs and leftovers. Spares runs that may still be running, and what cannot be read: a person
    /// should see that first.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn prune(&self, keep: Keep, now: SystemTime) -> Result<Pruned, Error> {
        let runs = self.list()?.runs;
        let mut pruned = Pruned::default();
        for (at, run) in runs.iter().enumerate() {
            let newer = runs[..at].iter().filter(|newer| newer.suite == run.suite).count();
            let age = age(run, now);
            let superfluous = keep.newest.is_some_and(|most| newer >= most);
            let old = keep.within.is_some_and(|within| age > within);
            let may_run = run.status == RunStatus::Running && age < MAY_STILL_RUN;
            if (superfluous || old) && !may_run {
                self.remove(&run.id)?;
                pruned.runs.push(run.id.clone());
            } else {
                pruned.leftovers += self.sweep(&self.layout.run(&run.id), now)?;
                for directory in directories_in(&self.layout.run(&run.id)) {
                    pruned.leftovers += self.sweep(&directory, now)?;
                }
            }
        }
        pruned.leftovers += self.sweep(&self.layout.runs(), now)?;
        Ok(pruned)
    }

    /// Removes a run.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn remove(&self, run: &RunId) -> Result<(), Error> {
        let (path, dying) = (self.layout.run(run), self.layout.dying(run));
        self.files.rename(&path, &dying).map_err(Error::io("remove", &path))?;
        self.files.remove(&dying).map_err(Error::io("remove", &dying))
    }

    /// Removes what writers left in one directory when they were killed.
    fn sweep(&self, directory: &Path, now: SystemTime) -> Result<usize, Error> {
        let left = |name: &str| is_temporary(name) || name.starts_with(".new-") || name.starts_with(".old-");
        let mut leftovers = 0;
        for name in names_or_none(&*self.files, directory)?.iter().filter(|name| left(name)) {
            let path = directory.join(name);
            // One that vanishes meanwhile has found its place.
            let Ok(modified) = self.files.modified(&path) else { continue };
            if now.duration_since(modified).unwrap_or_default() > LEFTOVER {
                self.files.remove(&path).map_err(Error::io("remove", &path))?;
                leftovers += 1;
            }
        }
        Ok(leftovers)
    }
}

fn age(run: &RunManifest, now: SystemTime) -> Duration {
    let started = Duration::from_secs(run.started);
    now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().saturating_sub(started)
}
