//! A server that is a program: started in a group of processes of its own, listened to, looked at, and ended
//! with all that it has started.

use std::collections::VecDeque;
use std::io::{self, PipeReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use weighbridge::{Delivery, Error, Result};
use weighbridge_data::ExecutedWork;
use weighbridge_load::{Api, Target};

use super::server::StartedServer;
use crate::workload::ServingSpec;

/// The last bytes of what a server says that are kept.
const WORDS: usize = 4 << 10;

/// The time that one look at a server may take.
const LOOK: Duration = Duration::from_secs(5);

/// The rest between two looks at a server that is to end.
const REST: Duration = Duration::from_millis(5);

/// A server that is a program.
///
/// It is ended when this is dropped. If the harness itself is killed, its input ends, and whoever cleans up
/// after the repeat ends it.
#[derive(Debug)]
pub struct ServerProcess {
    child: Child,
    ended: Option<ExitStatus>,
    listener: Option<JoinHandle<()>>,
    words: Arc<Mutex<VecDeque<u8>>>,
    target: Target,
    health: String,
    /// Whose it is: words for its work report.
    library: Option<String>,
    keeps_prompts: bool,
    fields: Vec<String>,
}

/// A port of this machine that was free a moment ago.
///
/// # Errors
/// That there is none.
pub fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}

impl ServerProcess {
    /// Starts a program that listens at this port of this machine: it takes requests at `path`, once `health`
    /// is answered with the status 200.
    ///
    /// # Errors
    /// That it cannot be started; a path that is none.
    pub fn start(mut command: Command, port: u16, api: Api, path: &str, health: &str) -> Result<Self> {
        let target = Target::parse(&format!("http://{}:{port}{path}", Ipv4Addr::LOCALHOST), Some(api))?;
        // One pipe for both, so that what was said last comes last.
        let (said, says) = io::pipe()?;
        command.stdin(Stdio::piped()).stdout(says.try_clone()?).stderr(says).process_group(0);
        let program = command.get_program().to_owned();
        let child = command.spawn().map_err(|error| {
            Error::new(format!("failed to start the server {}: {error}", program.display()))
        })?;
        drop(command); // with its ends of the pipe, which would keep it open
        let words = Arc::default();
        Ok(Self {
            child,
            ended: None,
            listener: listen(said, &words),
            words,
            target,
            health: health.to_owned(),
            library: None,
            keeps_prompts: false,
            fields: Vec::new(),
        })
    }

    /// The same, of a library whose name and version are told.
    #[must_use]
    pub fn of_library(mut self, library: String) -> Self {
        self.library = Some(library);
        self
    }

    /// The same, asked with this field as well.
    #[must_use]
    pub fn with_field(mut self, typed: &str) -> Self {
        self.fields.push(typed.to_owned());
        self
    }

    /// The same, of a program that keeps what it computed of a prompt, and cannot do otherwise.
    #[must_use]
    pub fn keeping_prompts(mut self) -> Self {
        self.keeps_prompts = true;
        self
    }

    fn group(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32)
    }

    /// Fails where it has ended.
    fn check_alive(&mut self) -> Result<()> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait()?;
        }
        match self.ended {
            None => Ok(()),
            Some(status) => {
                Err(Error::new(format!("the server died: {}{}", ending(status), self.last_words())))
            }
        }
    }

    /// The last line that it said, for a message.
    fn last_words(&self) -> String {
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = words.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let last = text.lines().rev().find(|line| !line.trim().is_empty());
        last.map_or_else(
            || "; it said nothing".to_owned(),
            |line| format!("; its last words: {}", line.trim()),
        )
    }

    /// Tells whether a process of its group is left that is more than an entry in a table.
    fn is_left(&mut self) -> bool {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().ok().flatten();
        }
        if self.ended.is_none() {
            return true;
        }
        // What it has started may have become ours, and waits for us then.
        let group = Pid::from_raw(-self.group().as_raw());
        while matches!(waitpid(group, Some(WaitPidFlag::WNOHANG)), Ok(status) if status.pid().is_some()) {}
        killpg(self.group(), None) != Err(Errno::ESRCH)
    }

    /// Waits until its group is gone; `false` where it is not by then.
    fn wait_gone(&mut self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        while self.is_left() {
            if Instant::now() > until {
                return false;
            }
            std::thread::sleep(REST);
        }
        true
    }

    /// Ends whatever is left of it.
    fn end(&mut self) {
        let _ = killpg(self.group(), Signal::SIGKILL); // it may be gone
        self.wait_gone(LOOK);
        // One that left its group may hold the pipe: whoever cleans up after the repeat finds it.
        if let Some(listener) = self.listener.take_if(|listener| listener.is_finished()) {
            drop(listener.join());
        }
    }
}

impl StartedServer for ServerProcess {
    fn target(&self) -> &Target {
        &self.target
    }

    fn look(&mut self) -> Result<bool> {
        self.check_alive()?;
        let is_answered = answers(self.target.port, &self.health);
        // Another server may have taken the port before: then this one has died, or will.
        self.check_alive()?;
        if is_answered && let Some(other) = listens_beyond(self.target.port) {
            return Err(Error::new(format!(
                "the server listens at {other}, where other machines reach it: only addresses of this \
                 machine are served here"
            )));
        }
        Ok(is_answered)
    }

    fn stop(&mut self, patience: Duration) -> Result<()> {
        self.check_alive()?;
        let is_asked = kill(self.group(), Signal::SIGTERM).is_ok();
        drop(self.child.stdin.take());
        let has_gone = is_asked && self.wait_gone(patience);
        let is_main_gone = self.ended.is_some();
        self.end();
        match (has_gone, is_main_gone) {
            (true, _) => Ok(()),
            (false, true) => Err(Error::new(format!(
                "the server ended and left processes behind, which were there {patience:?} later: they were \
                 killed"
            ))),
            (false, false) => Err(Error::new(format!(
                "the server did not stop within {patience:?} of being asked to (SIGTERM): it was killed{}",
                self.last_words()
            ))),
        }
    }

    fn executed(&self, spec: &ServingSpec) -> Result<ExecutedWork> {
        let work = spec.prediction.work()?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
        let operators = vec![weighbridge::Operator::Native; work.len()];
        let ours = ExecutedWork::ours(work, Delivery::Owned, threads);
        Ok(ExecutedWork { operators, library: self.library.clone(), ..ours })
    }

    fn fields(&self) -> &[String] {
        &self.fields
    }

    fn keeps_prompts(&self) -> bool {
        self.keeps_prompts
    }

    fn process(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.end();
    }
}

/// Keeps the last bytes that come by a pipe.
fn listen(mut pipe: PipeReader, words: &Arc<Mutex<VecDeque<u8>>>) -> Option<JoinHandle<()>> {
    let words = Arc::clone(words);
    let listener = std::thread::Builder::new().name("server-words".into()).spawn(move || {
        let mut bytes = [0; 1 << 10];
        while let Ok(count @ 1..) = pipe.read(&mut bytes) {
            let mut kept = words.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend(&bytes[..count]);
            let beyond = kept.len().saturating_sub(WORDS);
            kept.drain(..beyond);
        }
    });
    listener.ok()
}

/// The way in which it ended, in words.
fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "in an unknown way".to_owned(),
    }
}

/// Tells whether a GET of this path is answered with the status 200.
fn answers(port: u16, path: &str) -> bool {
    let ask = || -> io::Result<bool> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let mut socket = TcpStream::connect_timeout(&address, LOOK)?;
        socket.set_read_timeout(Some(LOOK))?;
        socket.set_write_timeout(Some(LOOK))?;
        let host = format!("{}:{port}", Ipv4Addr::LOCALHOST);
        write!(socket, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
        let mut status = [0; 12];
        socket.read_exact(&mut status)?;
        Ok(status.starts_with(b"HTTP/1.") && status.ends_with(b" 200"))
    };
    ask().unwrap_or(false)
}

/// The state of a socket that listens, in the tables of the kernel.
const LISTENING: &str = "0A";

/// An address beyond this machine's own that this port is listened at, as the kernel's tables have it.
fn listens_beyond(port: u16) -> Option<String> {
    // The tables have addresses as numbers of four bytes, each in the order of this machine.
    let loopback = [
        format!("{:08X}", u32::from_ne_bytes(Ipv4Addr::LOCALHOST.octets())),
        format!("{:024X}{:08X}", 0, u32::from_ne_bytes([0, 0, 0, 1])),
    ];
    ["/proc/self/net/tcp", "/proc/self/net/tcp6"].iter().find_map(|table| {
        let text = std::fs::read_to_string(table).ok()?;
        text.lines().find_map(|line| {
            let mut words = line.split_whitespace().skip(1);
            let (address, at) = words.next()?.split_once(':')?;
            let is_ours = u16::from_str_radix(at, 16).ok()? == port && words.nth(1)? == LISTENING;
            (is_ours && !loopback.iter().any(|own| own == address)).then(|| format!("{address}:{port}"))
        })
    })
}
