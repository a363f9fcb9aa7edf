//! The end of a process whose parent hangs up, whatever it is doing and without a thread that waits for it.
//!
//! A second thread changes what is measured: once a process has had two, the C library leaves out what it may
//! do in a process of one, and a body that allocates takes some 6 % longer. So Linux is asked to say by
//! `SIGIO` that something has come from the parent, and the handler looks whether it was the end.

use std::env;
use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsRawFd as _, IntoRawFd as _};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::net::UnixStream;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::libc;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::unistd::{Pid, getpgrp, getppid};

use super::{ChildPlace, reaper};

/// The number of times that it is looked whether a parent has ended, and nanoseconds between two looks.
const LOOKS: u32 = 1_000;
const PAUSE: libc::c_long = 1_000_000;

/// All that the handler needs, made beforehand: the body may hold the allocator's lock when it is called.
struct Watched {
    socket: i32,
    parent: Pid,
    group: Pid,
    /// The program that cleans up, its arguments and its environment, each ended by a null.
    program: CString,
    arguments: Vec<*const libc::c_char>,
    environment: Vec<*const libc::c_char>,
}

/// The socket that is watched, with what is needed; null until one is.
static WATCHED: AtomicPtr<Watched> = AtomicPtr::new(ptr::null_mut());

/// True from the moment when it was found closed.
static IS_ENDING: AtomicBool = AtomicBool::new(false);

/// Has this process ended, with all that it has started since then, when the other end of the socket is
/// closed. Once in a process.
///
/// # Errors
/// What the system says.
pub(crate) fn end_when_closed(socket: &UnixStream, since: SystemTime) -> io::Result<()> {
    let place = ChildPlace::from_env();
    let since = since.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string();
    let own = place.variables(); // the program is none of those that it ends
    let variables = env::vars_os().filter(|(name, _)| own.iter().all(|(own, _)| name != own));
    let environment = variables.map(|(mut name, value)| {
        name.push("=");
        name.push(value);
        name
    });
    let program = c"/proc/self/exe".to_owned();
    let words = ["weighbridge", reaper::FLAG, place.mark(), &since].map(OsStr::new);
    let watched = Watched {
        // Open as long as the process lives, so that its number is never another's.
        socket: socket.try_clone()?.into_raw_fd(),
        parent: getppid(),
        group: getpgrp(),
        program,
        arguments: kept(words.into_iter().map(OsStr::to_owned))?,
        environment: kept(environment)?,
    };
    WATCHED.store(Box::leak(Box::new(watched)), Ordering::Release);
    let action = SigAction::new(SigHandler::Handler(look), SaFlags::SA_RESTART, SigSet::empty());
    #[expect(unsafe_code, reason = "a handler of a signal is safe if what it calls is")]
    // SAFETY: the handler calls functions alone that POSIX and Linux have safe in one, on memory that lives
    // as long as the process and is not written to any more.
    unsafe {
        sigaction(Signal::SIGIO, &action)?;
    }
    let flags = OFlag::from_bits_retain(fcntl(socket, FcntlArg::F_GETFL)?);
    #[expect(unsafe_code, reason = "nix has no F_SETOWN")]
    // SAFETY: it takes a descriptor, which is open, and a number.
    if unsafe { libc::fcntl(socket.as_raw_fd(), libc::F_SETOWN, libc::getpid()) } < 0 {
        return Err(io::Error::last_os_error());
    }
    fcntl(socket, FcntlArg::F_SETFL(flags | OFlag::O_ASYNC))?;
    look(0); // it may have been closed before
    Ok(())
}

/// Looks at once. Linux sends no signal about a socket that somebody is just reading from: so whoever reads
/// its end does this.
pub(crate) fn end_if_closed() {
    look(0);
}

/// Words that live as long as the process, ended by a null.
fn kept(words: impl Iterator<Item = std::ffi::OsString>) -> io::Result<Vec<*const libc::c_char>> {
    let mut all = Vec::new();
    for word in words {
        all.push(CString::new(word.into_vec())?.into_raw().cast_const());
    }
    all.push(ptr::null());
    Ok(all)
}

/// The handler: looks whether the other end is closed, and has everything ended then.
extern "C" fn look(_signal: libc::c_int) {
    #[expect(unsafe_code, reason = "it is called by the kernel at any moment, and calls the kernel alone")]
    // SAFETY: what is watched is never freed. `errno` is as it was where the handler returns. `poll`,
    // `getppid`, `nanosleep`, `execve`, `waitpid`, `kill` and `_exit` may be called in a handler (POSIX,
    // signal-safety(7)), and `clone` as a bare system call is what `fork` is without what the C library does
    // around it.
    unsafe {
        let Some(watched) = WATCHED.load(Ordering::Acquire).as_ref() else { return };
        let errno = *libc::__errno_location();
        let mut ends = libc::pollfd { fd: watched.socket, events: libc::POLLRDHUP, revents: 0 };
        let is_closed = libc::poll(&raw mut ends, 1, 0) == 1
            && ends.revents & (libc::POLLRDHUP | libc::POLLHUP | libc::POLLERR) != 0;
        if is_closed && !IS_ENDING.swap(true, Ordering::AcqRel) {
            end(watched);
        }
        *libc::__errno_location() = errno;
    }
}

/// Waits until a parent that has hung up has another's place as parent: its socket closes before it ends, and
/// only at its end this process is told to go on, which must not undo that it is stopped to be cleaned up
/// after. One that lives on is not waited for much longer. Then another process cleans up after this one,
/// which ends it.
#[expect(unsafe_code, reason = "it calls the kernel alone")]
unsafe fn end(watched: &Watched) {
    // SAFETY: as in the handler.
    unsafe {
        let pause = libc::timespec { tv_sec: 0, tv_nsec: PAUSE };
        for _ in 0..LOOKS {
            if libc::getppid() != watched.parent.as_raw() {
                break;
            }
            libc::nanosleep(&raw const pause, ptr::null_mut());
        }
        let child = libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0);
        if child == 0 {
            let Watched { program, arguments, environment, .. } = watched;
            libc::execve(program.as_ptr(), arguments.as_ptr(), environment.as_ptr());
            libc::_exit(127);
        }
        let mut status = 0;
        while child > 0 && libc::waitpid(child as libc::pid_t, &raw mut status, 0) < 0 {
            if *libc::__errno_location() != libc::EINTR {
                break;
            }
        }
        // Only where nobody could clean up.
        libc::killpg(watched.group.as_raw(), libc::SIGKILL);
        libc::kill(libc::getpid(), libc::SIGKILL);
    }
}
