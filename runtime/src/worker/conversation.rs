//! The conversation with a worker: ask it, wait for the answer, notice how it ends, end it and all that it
//! started.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use nix::sys::signal::Signal;

use super::command::{Command, HOST_ALONE};
use super::protocol::{LONGEST, WorkerRequest, WorkerResponse};
use crate::bencher::{Error, ErrorKind, Result};
use crate::device::{Clock, Platform, ProcessTree};
use crate::process::{
    ChildPlace, Output, ReceivedBytes, SpawnOptions, Subprocess, Trace, TraceKind, make_own_folder,
};

/// The interval at which it is looked whether a silent worker still runs: what it started may hold its end of
/// the socket open.
const LOOK: Duration = Duration::from_secs(1);

/// The time that a worker may take to end once its socket has.
const GRACE: Duration = Duration::from_secs(5);

/// The number of lines of its output that go into an error.
const LINES: usize = 8;

/// Holds the flags of XLA.
const XLA_FLAGS: &str = "XLA_FLAGS";

/// The flags of XLA with those that have it write what it compiles to a folder.
fn dumping(flags: Option<String>, folder: &Path) -> String {
    let dump = format!("--xla_dump_to={} --xla_dump_hlo_as_text", folder.display());
    flags.filter(|flags| !flags.is_empty()).map_or(dump.clone(), |flags| format!("{flags} {dump}"))
}

/// A running worker. Dropping it ends the conversation, which ends the worker; what is still there after a
/// while is killed.
#[derive(Debug)]
pub(super) struct Conversation {
    worker: Subprocess,
    output: Output,
    clock: Clock,
    /// The task that it named last, or was asked to do.
    doing: String,
    /// The moment when a whole frame came last.
    heard: Duration,
    /// The moment when the first bytes came after it was asked something.
    answered: Option<Duration>,
}

impl Conversation {
    /// Starts a worker, with one end of a socket pair as its standard input.
    pub(super) fn start(command: &Command, place: ChildPlace) -> Result<Self> {
        let temporary = place.temporary();
        let failed = |error: io::Error| {
            Error::of(
                ErrorKind::Protocol,
                format!("failed to start the worker {}: {error}", command.program.display()),
            )
        };
        make_own_folder(&temporary).map_err(failed)?;
        let host_alone = if place.platform() == Platform::Cpu { HOST_ALONE } else { &[] };
        let mut process = command.process(host_alone);
        // XLA reads its flags when it is loaded, and never again.
        if let Some(Trace { kind: TraceKind::Hlo, folder }) = place.trace() {
            process.env(XLA_FLAGS, dumping(std::env::var(XLA_FLAGS).ok(), folder));
        }
        process.env("TMPDIR", &temporary).env("XDG_CACHE_HOME", temporary.join("cache"));
        let output = Output::handed_on();
        let silence = place.silence();
        let spawning = SpawnOptions {
            look: LOOK.min(silence),
            patience: Some(silence),
            longest: LONGEST,
            leads: false,
            outputs: [&output, &output],
        };
        let worker = Subprocess::spawn(&mut process, place, &spawning).map_err(failed)?;
        let (clock, doing) = (Clock::monotonic(), "starting".to_owned());
        let heard = clock.now();
        Ok(Self { worker, output, clock, doing, heard, answered: None })
    }

    /// Its id.
    pub(super) fn id(&self) -> u32 {
        self.worker.id()
    }

    /// The processes of the worker.
    pub(super) fn tree(&self) -> ProcessTree {
        self.worker.tree()
    }

    /// The clock that its silence is measured by.
    pub(super) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The moment when it began to answer what it was asked last: taking the answer in takes time that is not
    /// its own.
    pub(super) fn answered(&self) -> Duration {
        self.answered.unwrap_or_else(|| self.clock.now())
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// That it says something nobody asked for, or no frame; that it is silent for too long; that it ended.
    pub(super) fn ask(&mut self, ask: &WorkerRequest) -> Result<WorkerResponse> {
        // What lies there already answers nothing.
        if self.worker.receive_at_once()? == ReceivedBytes::End {
            return Err(self.ended());
        }
        if let Some(say) = self.next_answer()? {
            return Err(self.unasked(&say));
        }
        self.answered = None;
        match self.worker.send(ask) {
            Err(error) if is_timeout(&error) => Err(self.silent()),
            // A death is noticed, and told better, when it is listened to.
            Ok(()) | Err(_) => self.listen(),
        }
    }

    /// Waits for what it says next, beats aside.
    pub(super) fn listen(&mut self) -> Result<WorkerResponse> {
        self.heard = self.clock.now();
        loop {
            if let Some(say) = self.next_answer()? {
                return Ok(say);
            }
            let received = self.worker.receive();
            match received {
                ReceivedBytes::End => return Err(self.ended()),
                ReceivedBytes::Bytes => {
                    self.answered.get_or_insert_with(|| self.clock.now());
                }
                ReceivedBytes::Silence => {}
            }
            // A part of a frame is no sign of life: a frame must be whole in time.
            if self.clock.now() - self.heard >= self.worker.place().silence() {
                return Err(self.silent());
            }
            if received == ReceivedBytes::Bytes {
                continue;
            }
            if let Some(status) = self.worker.status() {
                // The last words may have come in meanwhile.
                while self.worker.receive() == ReceivedBytes::Bytes {}
                return match self.next_answer()? {
                    Some(say) => Ok(say),
                    None => Err(self.died(status)),
                };
            }
        }
    }

    /// The next whole answer that has arrived; beats are taken note of.
    fn next_answer(&mut self) -> Result<Option<WorkerResponse>> {
        loop {
            match self.worker.next::<WorkerResponse>() {
                Ok(None) => return Ok(None),
                Ok(Some(WorkerResponse::Beat(beat))) => {
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

    fn ended(&mut self) -> Error {
        // One that has closed its end and lives on has left the conversation all the same.
        match self.worker.status_within(GRACE) {
            Some(status) => self.died(status),
            None => {
                self.broke("the worker closed its end of the conversation and did not end itself".to_owned())
            }
        }
    }

    /// That it died. Its own words come with it.
    fn died(&mut self, status: ExitStatus) -> Error {
        self.worker.end(&mut |_| {});
        let (kind, how) = match (status.code(), status.signal()) {
            (Some(code), _) => (ErrorKind::Exit(code), format!("exited with code {code}")),
            (None, signal) => {
                let name = signal.and_then(|signal| Signal::try_from(signal).ok());
                let name = name.map_or("a signal", Signal::as_str).to_owned();
                (ErrorKind::Signal(name.clone()), format!("was ended by {name}"))
            }
        };
        let what = format!("the worker {how} while {}{}", self.doing, last_words(&self.output));
        Error::of(kind, what)
    }

    fn silent(&mut self) -> Error {
        self.worker.end(&mut |_| {});
        let (silence, doing) = (self.worker.place().silence(), &self.doing);
        let what = format!(
            "the worker said nothing for {silence:?} while {doing}: it was killed{}",
            last_words(&self.output)
        );
        Error::of(ErrorKind::Timeout, what)
    }

    /// That it says something that nobody has asked for.
    pub(super) fn unasked(&mut self, say: &WorkerResponse) -> Error {
        self.broke(format!(
            "the worker said `{}` while {}, which nobody had asked for",
            say.name(),
            self.doing
        ))
    }

    /// That it broke the protocol: it is killed.
    pub(super) fn broke(&mut self, what: String) -> Error {
        self.worker.end(&mut |_| {});
        Error::of(ErrorKind::Protocol, format!("{what}{}", last_words(&self.output)))
    }

    /// Sets the task that it is asked to do, for errors.
    pub(super) fn set_doing(&mut self, doing: &str) {
        doing.clone_into(&mut self.doing);
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        self.worker.hang_up();
        self.worker.status_within(GRACE);
        self.worker.end(&mut |_| {});
        self.worker.place().remove_if_own();
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// The last lines of a worker that has ended, as a part of an error; nothing if there are none.
fn last_words(output: &Output) -> String {
    let bytes = output.take();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    if lines.is_empty() {
        return String::new();
    }
    format!("; its last words:\n{}", lines[lines.len().saturating_sub(LINES)..].join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_is_asked_for_beside_the_flags_that_are_set() {
        let folder = Path::new("/runs/1/attached/case/hlo");
        let own = "--xla_dump_to=/runs/1/attached/case/hlo --xla_dump_hlo_as_text";
        for (set, expected) in
            [(None, own.to_owned()), (Some(""), own.to_owned()), (Some("--a=1"), format!("--a=1 {own}"))]
        {
            assert_eq!(dumping(set.map(str::to_owned), folder), expected);
        }
    }
}
