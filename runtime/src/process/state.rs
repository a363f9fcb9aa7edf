//! A process as the kernel lists it.

use std::fs;

/// State of a process, as the system tells it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProcessState {
    letter: u8,
    /// The process group.
    pub(super) group: i32,
    /// True if it is a copy of its parent, and has started no program since.
    pub(super) is_copy: bool,
    /// The time of its start, in ticks since the machine was started.
    pub(super) started: u64,
}

/// `PF_FORKNOEXEC` of `include/linux/sched.h`.
const FORKED_WITHOUT_EXEC: u64 = 0x40;

impl ProcessState {
    /// `None` where there is no such process (any more), or the system does not say.
    pub(super) fn of(process: u32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // The name stands in parentheses and may have any letter, these too.
        let mut fields = text[text.rfind(')')? + 1..].split_whitespace();
        let letter = *fields.next()?.as_bytes().first()?;
        let group = fields.nth(1)?.parse().ok()?;
        let flags: u64 = fields.nth(3)?.parse().ok()?;
        let started = fields.nth(12)?.parse().ok()?;
        Some(Self { letter, group, is_copy: flags & FORKED_WITHOUT_EXEC != 0, started })
    }

    /// Tells whether it has ended, and waits for its parent to take notice.
    pub(super) fn has_ended(self) -> bool {
        b"ZX".contains(&self.letter)
    }

    /// Tells whether it has been stopped, or has ended.
    pub(super) fn stands(self) -> bool {
        self.has_ended() || b"Tt".contains(&self.letter)
    }
}
