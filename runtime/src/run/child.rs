//! The life of a child: take the socket from stdin, guard against a dead parent, answer what is asked.

use std::cell::RefCell;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::SystemTime;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::dup2_stdin;

use super::protocol::{ChildMessage, LONGEST, ParentMessage, RepeatRequest, VERSION};
use super::repeat::{Body, Resident, execute};
use crate::bencher::{Pace, PerIteration};
use crate::json::{Frames, send};
use crate::metric::Block;
use crate::process::{ChildPlace, end_tree, leftovers};
#[cfg(target_os = "linux")]
use crate::process::{end_if_closed, end_when_closed};
use crate::registry::Point;

/// Serves the parent on the socket that stands in for stdin, until it hangs up: the guard ends this process
/// then.
///
/// Success is what is said on the socket, never the exit status: a subject may call `exit(0)`.
pub fn serve() -> u8 {
    let since = leftovers::now();
    outlive_a_stop();
    match try_serve(since) {
        Ok(()) => 0,
        Err(error) => {
            clean_up(since);
            // The parent reads stderr; this is a child's only way to say it.
            let _ =
                io::Write::write_all(&mut io::stderr(), format!("weighbridge child: {error}\n").as_bytes());
            1
        }
    }
}

/// Has this process go on when its parent is killed while it has this process stopped: what there is to clean
/// up is still to be cleaned up then.
///
/// The kernel lets a stopped process group go on that nobody of its session is left for; it says `SIGHUP`
/// besides, which is not to end this process. (Programs that are started from here get it as ever: the
/// standard library starts them with no signal blocked.) Where the heir of the children is of their session,
/// as in a container, and where the stop is still to come when the parent ends, nobody does that but this
/// process itself. Each thread of the parent that ends before the last one says it too, to one that goes on
/// anyway.
fn outlive_a_stop() {
    let mut hang_up = SigSet::empty();
    hang_up.add(Signal::SIGHUP);
    let _ = hang_up.thread_block();
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_pdeathsig(Signal::SIGCONT);
}

/// Ends what this process has started since then and removes what is left of it: nobody else is there to do
/// it.
fn clean_up(since: SystemTime) {
    let place = ChildPlace::from_env();
    let members = || place.members(Some(std::process::id()), None);
    let mut held = leftovers::shared_memory_of(members, since);
    end_tree(&members, &mut |_| {});
    // The body runs until this process ends: it may have made more meanwhile.
    held.extend(leftovers::shared_memory_of(members, since));
    leftovers::remove_unused(&held);
    place.remove_temporary();
}

fn try_serve(since: SystemTime) -> io::Result<()> {
    let mut serving = Serving::since(since)?;
    while let Some(ask) = serving.next_request() {
        serving.answer(&ask, None)?;
    }
    Ok(())
}

/// The talk of a child with its parent.
pub struct Serving {
    told: Rc<RefCell<ParentTalk>>,
    socket: UnixStream,
    resident: Resident,
}

impl Serving {
    /// Begins it: once in a process, on the socket that stands in for stdin.
    ///
    /// # Errors
    /// When there is no parent at its other end.
    pub fn begin() -> io::Result<Self> {
        let since = leftovers::now();
        outlive_a_stop();
        Self::since(since)
    }

    fn since(since: SystemTime) -> io::Result<Self> {
        // The clone is close-on-exec, so that grandchildren do not hold the socket; the subject gets
        // /dev/null for stdin.
        let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        dup2_stdin(std::fs::File::open("/dev/null")?)?;
        end_when_closed(&socket, since)?;
        let told = ParentTalk { frames: Frames::up_to(LONGEST), socket: socket.try_clone()? };
        let told = Rc::new(RefCell::new(told));
        send(&mut &socket, &ChildMessage::Hello { version: VERSION, debug: cfg!(debug_assertions) })?;
        Ok(Self { told, socket, resident: Resident::default() })
    }

    /// The next repeat that is asked for; `None` when what has come is no message. It does not return when
    /// the parent has hung up: the guard ends this process then, with all that it has started.
    pub fn next_request(&mut self) -> Option<ServedRequest> {
        loop {
            // What is left of the talk about an earlier repeat's blocks is no ask.
            if let ParentMessage::Repeat(ask) = self.told.borrow_mut().next()? {
                return Some(ServedRequest(ask));
            }
        }
    }

    /// Runs a repeat, with this body in the place of the scenario's own if there is one, and answers. It does
    /// not return when the parent has hung up, as [`Serving::next_request`].
    ///
    /// # Errors
    /// When the system refuses the limit of memory, or a descriptor.
    pub fn answer(&mut self, asked: &ServedRequest, body: Option<Body<'_>>) -> io::Result<()> {
        match self.try_answer(asked, body) {
            Err(error) if is_hang_up(&error) => wait_for_the_guard(),
            answered => answered,
        }
    }

    fn try_answer(&mut self, asked: &ServedRequest, body: Option<Body<'_>>) -> io::Result<()> {
        let ServedRequest(ask) = asked;
        limit_memory(ask.memory)?;
        let teller = self.socket.try_clone()?;
        let pace = match ask.paced {
            true => {
                let paced = ParentPace { told: self.told.clone(), socket: self.socket.try_clone()? };
                Some(Box::new(paced) as Box<dyn Pace>)
            }
            false => None,
        };
        // A parent that has gone is noticed by the guard.
        let tell = move |phase| drop(send(&mut &teller, &ChildMessage::Phase(phase)));
        let answer = execute(ask, &mut self.resident, tell, pace, body);
        send(&mut &self.socket, &ChildMessage::Over)?;
        io::Write::flush(&mut io::stdout())?; // the parent ends this process as soon as it has the answer
        send(&mut &self.socket, &ChildMessage::Done(Box::new(answer)))
    }
}

/// A repeat that a parent asks for.
pub struct ServedRequest(Box<RepeatRequest>);

impl ServedRequest {
    /// The id of its scenario.
    pub fn scenario(&self) -> &str {
        &self.0.scenario
    }

    /// Its point.
    pub fn point(&self) -> &Point {
        &self.0.point
    }
}

/// The parent's pace, as the body's bencher sees it.
struct ParentPace {
    told: Rc<RefCell<ParentTalk>>,
    socket: UnixStream,
}

impl Pace for ParentPace {
    fn ready(&mut self, work: PerIteration) {
        // A parent that has gone is noticed by the guard.
        let _ = send(&mut self.socket, &ChildMessage::Ready(work));
    }

    fn next(&mut self) -> Option<u64> {
        match self.told.borrow_mut().next() {
            Some(ParentMessage::Block(iterations)) => Some(iterations),
            Some(ParentMessage::Repeat(_)) | None => None,
        }
    }

    fn took(&mut self, block: Block) {
        let _ = send(&mut self.socket, &ChildMessage::Block(block));
    }
}

/// Messages of the parent, as they come.
struct ParentTalk {
    frames: Frames,
    socket: UnixStream,
}

impl ParentTalk {
    /// Waits for the next message; `None` when what has come is none.
    fn next(&mut self) -> Option<ParentMessage> {
        match self.frames.receive(&mut self.socket) {
            Ok(Some(message)) => Some(message),
            Err(error) if !is_hang_up(&error) => None,
            Ok(None) | Err(_) => wait_for_the_guard(),
        }
    }
}

/// Tells whether an error of the socket says that the parent has gone.
fn is_hang_up(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof)
}

/// Has the guard end this process. If it ended by itself, nobody would end what has come from it and is not
/// below it any more.
fn wait_for_the_guard() -> ! {
    #[cfg(target_os = "linux")]
    end_if_closed();
    loop {
        std::thread::park();
    }
}

/// Ends this process, with all that it has started since then, when its parent has hung up.
#[cfg(not(target_os = "linux"))]
fn end_when_closed(socket: &UnixStream, since: SystemTime) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;

    let socket = socket.try_clone()?;
    std::thread::Builder::new().spawn(move || {
        let mut ends = nix::libc::pollfd { fd: socket.as_raw_fd(), events: 0, revents: 0 };
        #[expect(unsafe_code, reason = "nix has it behind a feature that nothing else needs")]
        // SAFETY: it is given one descriptor, which is open.
        while unsafe { nix::libc::poll(&raw mut ends, 1, -1) } <= 0 {}
        // The subject may start another process at any moment until it is stopped, and whoever stops this
        // process is another.
        let _ = crate::process::reaper::call(&ChildPlace::from_env(), since);
        clean_up(since);
        let _ = nix::sys::signal::killpg(nix::unistd::getpgrp(), Signal::SIGKILL);
    })?;
    Ok(())
}

/// Limits the data of this process: `RLIMIT_DATA`, since `RLIMIT_AS` would count mapped files too. The limit
/// is on what is mapped writable, touched or not, and holds for each descendant alone; the parent watches the
/// sum.
fn limit_memory(bytes: Option<u64>) -> io::Result<()> {
    let (_, hard) = getrlimit(Resource::RLIMIT_DATA)?;
    let soft = bytes.unwrap_or(hard).min(hard);
    Ok(setrlimit(Resource::RLIMIT_DATA, soft, hard)?)
}
