//! A worker's process: start it, speak to it, notice how it ends, end it and all that it started.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nix::sys::signal::Signal;

use super::command::{Command, HOST_ALONE};
use super::place::Place;
use super::protocol::{Ask, LONGEST, Say};
use crate::bencher::{Error, ErrorKind, Result};
use crate::device::{Clock, Platform, ProcessTree};
use crate::json::{Frames, send};

/// How often it is looked whether a silent worker still runs: what it started may hold its end of the socket open.
const LOOK: Duration = Duration::from_secs(1);

/// How long a worker may take to end once its socket has.
const GRACE: Duration = Duration::from_secs(5);

/// Between two looks whether it has.
const PAUSE: Duration = Duration::from_millis(5);

/// Looks whether all is read that a worker has printed before it ended.
const LOOKS: u32 = 100;

/// How many lines of its output go into an error.
const LINES: usize = 8;

/// A running worker.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    socket: UnixStream,
    frames: Frames,
    /// What arrives is read into it: a fresh one for each message costs a step more than its message.
    buffer: Vec<u8>,
    output: Output,
    place: Place,
    clock: Clock,
    /// What it said last that it was doing, or was asked to do.
    doing: String,
    /// When a whole frame came last.
    heard: Duration,
    /// When the first bytes came after it was asked something.
    answered: Option<Duration>,
}

impl Process {
    /// Starts it, with one end of a socket pair as its standard input.
    pub(super) fn start(command: &Command, place: Place) -> Result<Self> {
        let temporary = place.temporary();
        let failed = |error: io::Error| {
            Error::of(
                ErrorKind::Protocol,
                format!("failed to start the worker {}: {error}", command.program.display()),
            )
        };
        fs::create_dir_all(&temporary).map_err(failed)?;
        adopt_orphans();
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        ours.set_read_timeout(Some(LOOK.min(place.silence()))).map_err(failed)?;
        ours.set_write_timeout(Some(place.silence())).map_err(failed)?;
        let (mark, marked) = place.marking();
        let host_alone = if place.platform() == Platform::Cpu { HOST_ALONE } else { &[] };
        let mut child = command
            .process(host_alone)
            .env("TMPDIR", &temporary)
            .env("XDG_CACHE_HOME", temporary.join("cache"))
            .env(mark, marked)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let output = Output::default();
        let (stdout, stderr) =
            (child.stdout.take().expect("it is piped"), child.stderr.take().expect("it is piped"));
        output.drain(stdout).and_then(|()| output.drain(stderr)).map_err(|error| {
            let _ = child.kill().and_then(|()| child.wait());
            failed(error)
        })?;
        let frames = Frames::up_to(LONGEST);
        let (clock, doing) = (Clock::monotonic(), "starting".to_owned());
        let heard = clock.now();
        let buffer = vec![0; 64 << 10];
        Ok(Self { child, socket: ours, frames, buffer, output, place, clock, doing, heard, answered: None })
    }

    /// Its id.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The processes of the worker.
    pub(super) fn tree(&self) -> ProcessTree {
        ProcessTree::below(self.child.id())
    }

    /// The clock that its silence is measured by.
    pub(super) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// When it began to answer what it was asked last: taking the answer in takes time that is not its own.
    pub(super) fn answered(&self) -> Duration {
        self.answered.unwrap_or_else(|| self.clock.now())
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// That it says something nobody asked for, or no frame; that it is silent for too long; that it ended.
    pub(super) fn ask(&mut self, ask: &Ask) -> Result<Say> {
        // What lies there already answers nothing.
        self.socket.set_nonblocking(true)?;
        let early = self.receive_some();
        self.socket.set_nonblocking(false)?;
        early.map_err(|end| self.ended(end))?;
        if let Some(say) = self.next_answer()? {
            return Err(self.unasked(&say));
        }
        self.answered = None;
        match send(&mut self.socket, ask) {
            Err(error) if is_timeout(&error) => Err(self.silent()),
            // A death is noticed, and told better, when it is listened to.
            Ok(()) | Err(_) => self.listen(),
        }
    }

    /// Waits for what it says next, beats aside.
    pub(super) fn listen(&mut self) -> Result<Say> {
        self.heard = self.clock.now();
        loop {
            if let Some(say) = self.next_answer()? {
                return Ok(say);
            }
            let more = match self.receive_some() {
                Ok(more) => more,
                Err(end) => return Err(self.ended(end)),
            };
            // A part of a frame is no sign of life: a frame must be whole in time.
            if self.clock.now() - self.heard >= self.place.silence() {
                return Err(self.silent());
            }
            if more {
                continue;
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                // The last words may have come in meanwhile.
                while let Ok(true) = self.receive_some() {}
                return match self.next_answer()? {
                    Some(say) => Ok(say),
                    None => Err(self.died(status)),
                };
            }
        }
    }

    /// The next whole answer that has arrived; beats are taken note of.
    fn next_answer(&mut self) -> Result<Option<Say>> {
        loop {
            match self.frames.next::<Say>() {
                Ok(None) => return Ok(None),
                Ok(Some(Say::Beat(beat))) => {
                    (self.doing, self.heard) = (beat.doing, self.clock.now());
                }
                Ok(Some(say)) => return Ok(Some(say)),
                Err(error) => {
                    let what = format!("the worker said what is no message of the protocol: {error}");
                    return Err(self.broke(what));
                }
            }
        }
    }

    /// Takes in what has arrived, or what arrives within a look; `false` when nothing did.
    fn receive_some(&mut self) -> Result<bool, End> {
        match self.socket.read(&mut self.buffer) {
            Ok(0) => Err(End),
            Ok(bytes) => {
                self.answered.get_or_insert_with(|| self.clock.now());
                self.frames.feed(&self.buffer[..bytes]);
                Ok(true)
            }
            Err(error) if is_timeout(&error) || error.kind() == io::ErrorKind::Interrupted => Ok(false),
            Err(_) => Err(End), // a reset is a death with something unread
        }
    }

    fn ended(&mut self, _: End) -> Error {
        // One that has closed its end and lives on has left the conversation all the same.
        match self.wait() {
            Some(status) => self.died(status),
            None => {
                self.broke("the worker closed its end of the conversation and did not end itself".to_owned())
            }
        }
    }

    /// That it died. Its own words come with it.
    fn died(&mut self, status: ExitStatus) -> Error {
        self.kill();
        let (kind, how) = match (status.code(), status.signal()) {
            (Some(code), _) => (ErrorKind::Exit(code), format!("exited with code {code}")),
            (None, signal) => {
                let name = signal.and_then(|signal| Signal::try_from(signal).ok());
                let name = name.map_or("a signal", Signal::as_str).to_owned();
                (ErrorKind::Signal(name.clone()), format!("was ended by {name}"))
            }
        };
        let what = format!("the worker {how} while {}{}", self.doing, self.output.last_words());
        Error::of(kind, what)
    }

    fn silent(&mut self) -> Error {
        self.kill();
        let (silence, doing) = (self.place.silence(), &self.doing);
        let what = format!(
            "the worker said nothing for {silence:?} while {doing}: it was killed{}",
            self.output.last_words()
        );
        Error::of(ErrorKind::Timeout, what)
    }

    /// That it says something that nobody has asked for.
    pub(super) fn unasked(&mut self, say: &Say) -> Error {
        self.broke(format!(
            "the worker said `{}` while {}, which nobody had asked for",
            say.name(),
            self.doing
        ))
    }

    /// That it broke the protocol: it is killed.
    pub(super) fn broke(&mut self, what: String) -> Error {
        self.kill();
        Error::of(ErrorKind::Protocol, format!("{what}{}", self.output.last_words()))
    }

    /// What it is asked to do, for errors.
    pub(super) fn set_doing(&mut self, doing: &str) {
        doing.clone_into(&mut self.doing);
    }

    /// Kills the worker and all that it started, and waits for it.
    fn kill(&mut self) {
        let below = self.tree().processes();
        let _ = self.child.kill(); // fails if it has been waited for
        for process in &below[1..] {
            let process = nix::unistd::Pid::from_raw(*process as i32);
            let _ = nix::sys::signal::kill(process, Signal::SIGKILL); // it may have ended meanwhile
        }
        let _ = self.child.wait();
        self.place.end_survivors();
    }

    /// Waits a while for its end.
    fn wait(&mut self) -> Option<ExitStatus> {
        let deadline = self.clock.now() + GRACE;
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            if self.clock.now() >= deadline {
                return None;
            }
            std::thread::sleep(PAUSE);
        }
    }
}

impl Drop for Process {
    /// Ends the conversation, which ends the worker; what is still there after a while is killed.
    fn drop(&mut self) {
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
        self.wait();
        self.kill();
        self.place.remove_if_own();
    }
}

/// The stream has ended.
struct End;

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// Makes processes whose parent ends children of this one: a worker that forks and dies leaves nothing that a look at the
/// tree would not find.
fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_child_subreaper(true); // an old kernel leaves the environment mark
}

/// What a worker prints: handed on to our own standard error, where the parent keeps it, and its end kept here.
#[derive(Clone, Debug, Default)]
struct Output {
    kept: Arc<Mutex<VecDeque<u8>>>,
    /// Pipes that somebody may still write to.
    open: Arc<AtomicUsize>,
}

/// How many bytes are kept.
const KEPT: usize = 8 << 10;

impl Output {
    /// Empties a pipe for as long as somebody writes to it, so that nobody who writes much has to wait.
    fn drain(&self, mut pipe: impl Read + Send + 'static) -> io::Result<()> {
        let (kept, open) = (self.kept.clone(), self.open.clone());
        open.fetch_add(1, Ordering::Relaxed);
        let drained = std::thread::Builder::new().spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            loop {
                match pipe.read(&mut buffer) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Ok(0) | Err(_) => break,
                    Ok(read) => {
                        let _ = io::stderr().write_all(&buffer[..read]); // the parent may have gone
                        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                        kept.extend(&buffer[..read]);
                        let over = kept.len().saturating_sub(KEPT);
                        kept.drain(..over);
                    }
                }
            }
            open.fetch_sub(1, Ordering::Release);
        });
        drained.map(drop)
    }

    /// The last lines of a worker that has ended, as a part of an error; nothing if there are none. A pipe that somebody
    /// else still holds open is not waited for long.
    fn last_words(&self) -> String {
        for _ in 0..LOOKS {
            if self.open.load(Ordering::Acquire) == 0 {
                break;
            }
            std::thread::sleep(PAUSE);
        }
        let bytes: Vec<u8> =
            self.kept.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        if lines.is_empty() {
            return String::new();
        }
        format!("; its last words:\n{}", lines[lines.len().saturating_sub(LINES)..].join("\n"))
    }
}
