//! A program that knows nothing of this one: started with streams of its own, looked at, and ended with all
//! that it has started.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, SystemTime};

use super::{ChildPlace, end_tree, leftovers, orphans};

/// A running program and all below it. All of them are ended when this is dropped.
#[derive(Debug)]
pub struct Guest {
    child: Child,
    place: ChildPlace,
    since: SystemTime,
    status: Option<ExitStatus>,
    ended: bool,
}

impl Guest {
    /// Starts the command, whose streams are those that it says. All that comes from it carries a mark in its
    /// environment, and is found by that.
    ///
    /// # Errors
    /// There can be no process, or there is no such program.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        orphans::adopt_orphans();
        let (place, since) = (ChildPlace::new(Duration::MAX), leftovers::now());
        let child = command.envs(place.variables().into_iter().take(1)).spawn()?;
        Ok(Self { child, place, since, status: None, ended: false })
    }

    /// Its id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Tells how it has ended, if it has. What it has started may go on.
    ///
    /// # Errors
    /// The system does not say.
    pub fn status(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() {
            self.status = self.child.try_wait()?;
        }
        Ok(self.status)
    }

    /// The program, all below it, and what came from there and has this process for a parent now.
    pub fn members(&self) -> Vec<u32> {
        self.place.members(self.status.is_none().then(|| self.child.id()), None)
    }

    /// Ends it and all that it has started, wherever that has gone, and removes the shared memory that is
    /// left of it. How it has ended itself, and how many processes were ended.
    pub fn end(&mut self) -> (Option<ExitStatus>, usize) {
        let mut count = 0;
        if !self.ended {
            self.ended = true;
            let ended = end_tree(&|| self.members(), &mut |_| {});
            count = ended.len();
            if self.status.is_none() {
                let _ = self.child.kill(); // it may have ended by itself
                self.status = self.child.wait().ok();
            }
            leftovers::wait_for(&ended);
            orphans::reap();
            leftovers::remove_shared_memory(self.since);
        }
        (self.status, count)
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::process::Stdio;

    use super::*;
    use crate::process::state::ProcessState;

    #[test]
    fn what_a_program_has_started_ends_with_it_though_it_has_left_and_its_own_end_is_told() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let script =
            format!("(setsid sh -c 'echo $$ > {}; exec sleep 1000' &) ; exit 7", file.path().display());
        let mut guest = Guest::start(Command::new("sh").args(["-c", &script]).stdin(Stdio::null())).unwrap();
        let stray = loop {
            let text = std::fs::read_to_string(file.path()).unwrap();
            if let Ok(stray) = text.trim().parse::<u32>() {
                break stray;
            }
            std::thread::yield_now();
        };
        while guest.status().unwrap().is_none() {
            std::thread::yield_now();
        }
        assert!(guest.members().contains(&stray));
        let (status, count) = guest.end();
        assert_eq!((status.and_then(|status| status.code()), count), (Some(7), 1));
        assert!(ProcessState::of(stray).is_none_or(ProcessState::has_ended));
    }
}
