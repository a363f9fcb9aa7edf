//! One child: started with a socket for its standard input, spoken to in frames, ended with all that it has
//! started.

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::state::ProcessState;
use super::{ChildPlace, Output, end_tree, leftovers, orphans};
use crate::device::ProcessTree;
use crate::json::{Frames, send};

/// The way in which a child is started.
#[derive(Debug)]
pub(crate) struct SpawnOptions<'a> {
    /// The longest that [`Subprocess::receive`] waits.
    pub(crate) look: Duration,
    /// The longest that the child may leave a message unread; for ever, where that is not said.
    pub(crate) patience: Option<Duration>,
    /// The longest frame that it may send, in bytes.
    pub(crate) longest: u32,
    /// True if it leads a process group of its own: Ctrl-C in the terminal does not reach it then.
    pub(crate) leads: bool,
    /// The place where its standard output and its standard error go.
    pub(crate) outputs: [&'a Output; 2],
}

/// Outcome of a wait for bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReceivedBytes {
    /// Some bytes.
    Bytes,
    /// Nothing, for as long as was waited.
    Silence,
    /// The child has closed its end, or has ended. A reset is an end with something unread.
    End,
}

/// A running child. It is ended when this is dropped.
#[derive(Debug)]
pub(crate) struct Subprocess {
    child: Child,
    socket: UnixStream,
    frames: Frames,
    /// Buffer that arriving bytes are read into: a fresh one for each message costs a step more than its
    /// message.
    buffer: Vec<u8>,
    place: ChildPlace,
    leads: bool,
    /// The time of its start, in ticks since the machine was started, where the system says.
    began: Option<u64>,
    /// Its end, once that has been asked for: its id may be another's from then on.
    status: Option<ExitStatus>,
    ended: bool,
}

impl Subprocess {
    /// Starts the command with one end of a socket pair as its standard input, at this place.
    ///
    /// # Errors
    /// When there can be no socket, process or thread, or no such program.
    pub(crate) fn spawn(
        command: &mut Command,
        place: ChildPlace,
        spawning: &SpawnOptions<'_>,
    ) -> io::Result<Self> {
        orphans::adopt_orphans();
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_read_timeout(Some(spawning.look))?;
        ours.set_write_timeout(spawning.patience)?;
        if spawning.leads {
            command.process_group(0);
        }
        let child = command
            .envs(place.variables())
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let began = ProcessState::of(child.id()).map(|state| state.started);
        let (frames, buffer) = (Frames::up_to(spawning.longest), vec![0; 64 << 10]);
        let mut own = Self {
            child,
            socket: ours,
            frames,
            buffer,
            place,
            leads: spawning.leads,
            began,
            status: None,
            ended: false,
        };
        let (stdout, stderr) = (own.child.stdout.take(), own.child.stderr.take());
        let [out, err] = spawning.outputs;
        out.drain(stdout.expect("it is piped"))?; // what has been started is ended where there is an error
        err.drain(stderr.expect("it is piped"))?;
        Ok(own)
    }

    /// Its id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The child and all below it.
    pub(crate) fn tree(&self) -> ProcessTree {
        ProcessTree::below(self.id())
    }

    /// The place where it may leave things.
    pub(crate) fn place(&self) -> &ChildPlace {
        &self.place
    }

    /// Sends a message.
    ///
    /// # Errors
    /// That it is left unread for too long. One to a child that has ended is none that counts: whoever
    /// listens next is told better.
    pub(crate) fn send(&mut self, message: &impl Serialize) -> io::Result<()> {
        self.frames.begin();
        send(&mut self.socket, message)
    }

    /// The next whole message that has arrived.
    ///
    /// # Errors
    /// When what has arrived is none, or more than an answer to what was sent last.
    pub(crate) fn next<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        self.frames.next()
    }

    /// Takes in what has arrived, or what arrives within a look.
    pub(crate) fn receive(&mut self) -> ReceivedBytes {
        match self.socket.read(&mut self.buffer) {
            Ok(0) => ReceivedBytes::End,
            Ok(bytes) => {
                self.frames.feed(&self.buffer[..bytes]);
                ReceivedBytes::Bytes
            }
            Err(error) if is_pause(&error) => ReceivedBytes::Silence,
            Err(_) => ReceivedBytes::End,
        }
    }

    /// Ends it and all that it has started, wherever that has gone, and waits until none of them has memory
    /// any more. How the child itself has ended; `None` where the system does not say. `stopped` hears of all
    /// of them while they can do nothing any more and are still there.
    pub(crate) fn end(&mut self, stopped: &mut dyn FnMut(&[u32])) -> Option<ExitStatus> {
        if !self.ended {
            self.ended = true;
            let root = self.status.is_none().then(|| self.child.id());
            // What a worker's process has started may be beside others of this one.
            let since = self.began.filter(|_| self.leads);
            let ended = end_tree(&|| self.place.members(root, since), stopped);
            if self.leads && root.is_some() {
                // All that some systems show.
                let _ = killpg(Pid::from_raw(self.child.id() as i32), Signal::SIGKILL);
            }
            let _ = self.child.kill(); // likewise; nothing happens to one that has been waited for
            self.status = self.child.wait().ok();
            leftovers::wait_for(&ended);
            if self.leads {
                orphans::reap();
            }
        }
        self.status
    }
}

/// The part that only a conversation with a worker needs.
#[cfg(feature = "worker")]
impl Subprocess {
    /// Takes in what has arrived already.
    ///
    /// # Errors
    /// When the socket cannot be told to wait no longer.
    pub(crate) fn receive_at_once(&mut self) -> io::Result<ReceivedBytes> {
        self.socket.set_nonblocking(true)?;
        let received = self.receive();
        self.socket.set_nonblocking(false)?;
        Ok(received)
    }

    /// Closes the socket: whoever reads from it comes to its end.
    pub(crate) fn hang_up(&self) {
        let _ = self.socket.shutdown(std::net::Shutdown::Both); // it may be closed
    }

    /// Tells how it has ended, if it has.
    pub(crate) fn status(&mut self) -> Option<ExitStatus> {
        self.status = self.status.or_else(|| self.child.try_wait().ok().flatten());
        self.status
    }

    /// Tells how it ends, if it does within this time.
    pub(crate) fn status_within(&mut self, time: Duration) -> Option<ExitStatus> {
        /// Between two looks whether it has ended.
        const PAUSE: Duration = Duration::from_millis(5);
        let begun = std::time::Instant::now();
        loop {
            let status = self.status();
            if status.is_some() || begun.elapsed() >= time {
                return status;
            }
            std::thread::sleep(PAUSE);
        }
    }
}

impl Drop for Subprocess {
    fn drop(&mut self) {
        self.end(&mut |_| {});
    }
}

/// Tells whether an error of a socket says that time is up, and nothing else.
fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    fn spawn(script: &str) -> (Subprocess, [Output; 2]) {
        let outputs = [Output::default(), Output::default()];
        let [out, err] = &outputs;
        let look = Duration::from_millis(50);
        let spawning =
            SpawnOptions { look, patience: None, longest: 1 << 20, leads: true, outputs: [out, err] };
        let place = ChildPlace::new(Duration::from_secs(1));
        (Subprocess::spawn(Command::new("sh").args(["-c", script]), place, &spawning).unwrap(), outputs)
    }

    /// The processes that a script has told of, one in a line.
    fn told(output: &Output, count: usize) -> Vec<u32> {
        told_in_time(output, count).expect("the script tells of its processes")
    }

    /// The same; `None` where they have told nothing for two minutes.
    fn told_in_time(output: &Output, count: usize) -> Option<Vec<u32>> {
        let begun = std::time::Instant::now();
        while begun.elapsed() < Duration::from_mins(2) {
            let text = String::from_utf8(output.so_far()).unwrap();
            let found: Vec<u32> = text.lines().filter_map(|line| line.parse().ok()).collect();
            if found.len() == count && text.ends_with('\n') {
                return Some(found);
            }
            std::thread::yield_now();
        }
        None
    }

    fn has_ended(process: u32) -> bool {
        ProcessState::of(process).is_none_or(ProcessState::has_ended)
    }

    #[test]
    fn who_has_left_the_group_and_the_session_and_lost_its_parent_is_ended_as_well() {
        let script = "(setsid sh -c 'echo $$; exec sleep 1000' &) ; (sh -c 'echo $$; exec sleep 1000' &) ; \
            exec sleep 1000";
        let (mut child, [out, _]) = spawn(script);
        let strays = told(&out, 2);
        assert!(!strays.iter().any(|process| has_ended(*process)));
        assert!(child.end(&mut |_| {}).is_some());
        assert!(strays.iter().all(|process| has_ended(*process)), "{strays:?}");
    }

    #[test]
    fn orphans_of_one_child_outlive_the_end_of_another() {
        let (mut one, [told_by_one, _]) =
            spawn("(setsid sh -c 'echo $$; exec sleep 1000' &) ; exec sleep 1000");
        let stray = told(&told_by_one, 1)[0];
        let (mut other, _) = spawn("exec sleep 1000");
        other.end(&mut |_| {});
        assert!(!has_ended(stray));
        one.end(&mut |_| {});
        assert!(has_ended(stray));
    }

    #[test]
    #[cfg(feature = "worker")]
    fn who_has_been_waited_for_is_not_ended_again_under_an_id_that_may_be_anothers() {
        let (mut child, _) = spawn("exit 3");
        while child.status().is_none() {
            std::thread::yield_now();
        }
        let mut heard = vec![0];
        let status = child.end(&mut |stopped| heard = stopped.to_vec()).unwrap();
        assert_eq!((status.code(), heard), (Some(3), vec![]));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn who_has_left_all_and_made_an_environment_of_its_own_is_ended_too() {
        let script = "(setsid env -i A=1 /bin/sh -c 'echo $$; exec /bin/sleep 1000' &) ; exit 7";
        // Another test of this process may end it before it has told: it bears no mark of whose it is.
        let begin = || {
            let (child, [out, _]) = spawn(script);
            Some((child, told_in_time(&out, 1)?[0]))
        };
        let (mut child, stray) = (0..3).find_map(|_| begin()).expect("one of three is told of");
        while child.receive() != ReceivedBytes::End {}
        child.end(&mut |_| {});
        assert!(has_ended(stray));
    }

    #[test]
    fn what_a_child_that_has_ended_by_itself_leaves_running_is_ended_and_its_own_end_is_told() {
        let (mut child, [out, _]) = spawn("(setsid sh -c 'echo $$; exec sleep 1000' &) ; exit 7");
        let stray = told(&out, 1)[0];
        while child.receive() != ReceivedBytes::End {}
        let status = child.end(&mut |_| {}).unwrap();
        assert_eq!(status.code(), Some(7));
        assert!(has_ended(stray));
    }
}
