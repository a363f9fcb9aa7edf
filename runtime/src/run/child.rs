//! The life of a child: take the socket from stdin, guard against a dead parent, answer what is asked.

use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, SystemTime};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::unistd::{Pid, dup2_stdin, getpgrp, getppid};

use super::protocol::{ChildMessage, LONGEST, ParentMessage, RepeatRequest, VERSION};
use super::repeat::{Body, Resident, execute};
use crate::bencher::{Pace, PerIteration};
use crate::json::{Frames, send};
use crate::metric::Block;
use crate::process::{ChildPlace, end_tree, leftovers, reaper};
use crate::registry::Point;

/// Serves the parent on the socket that stands in for stdin, until it hangs up.
///
/// Success is what is said on the socket, never the exit status: a subject may call `exit(0)`.
pub fn serve() -> u8 {
    let since = leftovers::now();
    outlive_a_stop();
    match try_serve(since) {
        Ok(()) => 0,
        // The parent has gone. The guard ends this process, with whatever has come from it and is not below
        // it any more.
        Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => loop {
            std::thread::park();
        },
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
    told: Rc<Receiver<ParentMessage>>,
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
        let told = Rc::new(listen(socket.try_clone()?, since)?);
        send(&mut &socket, &ChildMessage::Hello { version: VERSION, debug: cfg!(debug_assertions) })?;
        Ok(Self { told, socket, resident: Resident::default() })
    }

    /// The next repeat that is asked for; `None` when the parent has hung up.
    pub fn next_request(&mut self) -> Option<ServedRequest> {
        loop {
            // What is left of the talk about an earlier repeat's blocks is no ask.
            if let ParentMessage::Repeat(ask) = self.told.recv().ok()? {
                return Some(ServedRequest(ask));
            }
        }
    }

    /// Runs a repeat, with this body in the place of the scenario's own if there is one, and answers.
    ///
    /// # Errors
    /// When the parent has gone.
    pub fn answer(&mut self, asked: &ServedRequest, body: Option<Body<'_>>) -> io::Result<()> {
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
    told: Rc<Receiver<ParentMessage>>,
    socket: UnixStream,
}

impl Pace for ParentPace {
    fn ready(&mut self, work: PerIteration) {
        // A parent that has gone is noticed by the guard.
        let _ = send(&mut self.socket, &ChildMessage::Ready(work));
    }

    fn next(&mut self) -> Option<u64> {
        match self.told.recv() {
            Ok(ParentMessage::Block(iterations)) => Some(iterations),
            Ok(ParentMessage::Repeat(_)) | Err(_) => None,
        }
    }

    fn took(&mut self, block: Block) {
        let _ = send(&mut self.socket, &ChildMessage::Block(block));
    }
}

/// Hands on what the parent says. When the parent hangs up or dies, this process ends at once: whatever the
/// subject is doing, and whatever it has started. (A `SIGKILL` by `PR_SET_PDEATHSIG` would end this process
/// alone.)
fn listen(mut socket: UnixStream, since: SystemTime) -> io::Result<Receiver<ParentMessage>> {
    let parent = getppid();
    let (sender, told) = mpsc::channel();
    std::thread::Builder::new().spawn(move || {
        let mut frames = Frames::up_to(LONGEST);
        while let Ok(Some(tell)) = frames.receive::<ParentMessage>(&mut socket) {
            if sender.send(tell).is_err() {
                break;
            }
        }
        wait_for_the_end_of(parent);
        // The subject may start another process at any moment until it is stopped, and whoever stops this
        // process is another.
        let _ = reaper::call(&ChildPlace::from_env(), since);
        clean_up(since);
        let _ = killpg(getpgrp(), Signal::SIGKILL);
    })?;
    Ok(told)
}

/// Waits until a parent that has hung up has another's place as parent: its socket closes before it ends, and
/// only at its end this process is told to go on, which must not undo that it is stopped to be cleaned up
/// after. One that lives on is not waited for much longer.
fn wait_for_the_end_of(parent: Pid) {
    for _ in 0..LOOKS {
        if getppid() != parent {
            return;
        }
        std::thread::sleep(PAUSE);
    }
}

/// The number of times that it is looked whether a parent has ended, and how long between two looks.
const LOOKS: u32 = 1_000;
const PAUSE: Duration = Duration::from_millis(1);

/// Limits the data of this process: `RLIMIT_DATA`, since `RLIMIT_AS` would count mapped files too. The limit
/// is on what is mapped writable, touched or not, and holds for each descendant alone; the parent watches the
/// sum.
fn limit_memory(bytes: Option<u64>) -> io::Result<()> {
    let (_, hard) = getrlimit(Resource::RLIMIT_DATA)?;
    let soft = bytes.unwrap_or(hard).min(hard);
    Ok(setrlimit(Resource::RLIMIT_DATA, soft, hard)?)
}
