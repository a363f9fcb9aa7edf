//! What the operating system counted for this process: CPU time, faults, switches, bytes moved.

use std::fs::File;
use std::ops::{AddAssign, Sub};
use std::os::unix::fs::FileExt;
use std::time::Duration;

use super::alloc::{HeapUse, allocated};
use nix::sys::resource::{self as sys, UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// Counters of the whole process (all its threads), or a difference of two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// User and system time of all threads.
    pub cpu: Duration,
    /// Page faults served without the disk.
    pub minor_faults: u64,
    /// Page faults that read the disk.
    pub major_faults: u64,
    /// Times a thread gave its processor up.
    pub voluntary_switches: u64,
    /// Times a thread was taken off its processor.
    pub involuntary_switches: u64,
    /// Bytes passed to `read` and its kin, and to `write` and its kin, cached or not
    /// (`rchar` and `wchar` of `/proc/self/io`). Absent where the kernel does not say.
    pub moved: Option<IoBytes>,
    /// Allocations, counted. Absent where the bench target does not count.
    pub allocated: Option<HeapUse>,
    /// Bytes that it took to read these counters: counted right after, they would pass for the subject's.
    #[serde(skip)]
    pub(crate) own: u64,
}

/// Bytes that system calls read and wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IoBytes {
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
}

impl Usage {
    /// The usage of nothing: the beginning of a sum.
    pub const NONE: Self = Self {
        cpu: Duration::ZERO,
        minor_faults: 0,
        major_faults: 0,
        voluntary_switches: 0,
        involuntary_switches: 0,
        moved: Some(IoBytes { read: 0, written: 0 }),
        allocated: Some(HeapUse { calls: 0, bytes: 0 }),
        own: 0,
    };

    /// Reads the counters at the beginning of a window: what costs most first, the processor time last.
    pub fn opening() -> Self {
        let moved = moved();
        let counted = counted();
        let allocated = allocated();
        Self { allocated, ..Self::of(processor_time(), counted, moved) }
    }

    /// Reads the counters at the end of a window: the processor time first, what costs most last.
    pub fn closing() -> Self {
        let cpu = processor_time();
        let allocated = allocated();
        let counted = counted();
        Self { allocated, ..Self::of(cpu, counted, moved()) }
    }

    fn of(cpu: Duration, counted: sys::Usage, moved: Option<(IoBytes, u64)>) -> Self {
        let (moved, own) = moved.unzip();
        Self {
            cpu,
            minor_faults: counted.minor_page_faults() as u64,
            major_faults: counted.major_page_faults() as u64,
            voluntary_switches: counted.voluntary_context_switches() as u64,
            involuntary_switches: counted.involuntary_context_switches() as u64,
            moved,
            allocated: None,
            own: own.unwrap_or(0),
        }
    }
}

/// Time that all threads of this process have been on a processor: `CLOCK_PROCESS_CPUTIME_ID`, in
/// nanoseconds, where `getrusage` has microseconds.
pub(super) fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("every process has this clock");
    time.into()
}

/// Time that all processes that this one has waited for have been on a processor: each is counted whole when
/// it has ended. `None` where the system does not say.
pub(super) fn reaped_time() -> Option<Duration> {
    let reaped = getrusage(UsageWho::RUSAGE_CHILDREN).ok()?;
    let microseconds = reaped.user_time().num_microseconds() + reaped.system_time().num_microseconds();
    Some(Duration::from_micros(microseconds as u64))
}

/// Time that this process and those that it has waited for have been on a processor.
pub fn family_time() -> Duration {
    processor_time() + reaped_time().unwrap_or_default()
}

/// Time that the calling thread has been on a processor. Where the system has no such clock, that of the
/// process.
pub fn thread_time() -> Duration {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let clock = ClockId::CLOCK_THREAD_CPUTIME_ID;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let clock = ClockId::CLOCK_PROCESS_CPUTIME_ID;
    clock_gettime(clock).map_or(Duration::ZERO, Duration::from)
}

/// Times the calling thread gave its processor up: it waited. Where the system has no such counter, all
/// threads did.
pub fn thread_waits() -> u64 {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let who = UsageWho::RUSAGE_THREAD;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let who = UsageWho::RUSAGE_SELF;
    getrusage(who).map_or(0, |counted| counted.voluntary_context_switches() as u64)
}

fn counted() -> sys::Usage {
    getrusage(UsageWho::RUSAGE_SELF).expect("getrusage of the own process cannot fail")
}

thread_local! {
    /// Kept open: opening it costs more than reading it, and a stream of short passes reads it at both ends
    /// of each.
    static IO: Option<File> = File::open("/proc/self/io").ok();
}

/// The counters, and how many bytes it took to read them.
fn moved() -> Option<(IoBytes, u64)> {
    let mut buffer = [0; 512]; // seven lines of a name and a number
    let length = IO.with(|io| io.as_ref()?.read_at(&mut buffer, 0).ok())?;
    let text = std::str::from_utf8(&buffer[..length]).ok()?;
    Some((IoBytes::read(text)?, length as u64))
}

impl IoBytes {
    /// Reads a file `io` of a process, as `proc_pid_io(5)` has it.
    pub(super) fn read(text: &str) -> Option<Self> {
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        Some(Self { read: field("rchar:")?, written: field("wchar:")? })
    }
}

impl Sub for Usage {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            cpu: self.cpu.saturating_sub(earlier.cpu),
            minor_faults: self.minor_faults - earlier.minor_faults,
            major_faults: self.major_faults - earlier.major_faults,
            voluntary_switches: self.voluntary_switches - earlier.voluntary_switches,
            involuntary_switches: self.involuntary_switches - earlier.involuntary_switches,
            moved: self.moved.zip(earlier.moved).map(|(now, then)| IoBytes {
                read: now.read.saturating_sub(then.read + earlier.own),
                written: now.written - then.written,
            }),
            allocated: self
                .allocated
                .zip(earlier.allocated)
                .map(|(now, then)| HeapUse { calls: now.calls - then.calls, bytes: now.bytes - then.bytes }),
            own: 0,
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, more: Self) {
        self.cpu += more.cpu;
        self.minor_faults += more.minor_faults;
        self.major_faults += more.major_faults;
        self.voluntary_switches += more.voluntary_switches;
        self.involuntary_switches += more.involuntary_switches;
        self.moved = self
            .moved
            .zip(more.moved)
            .map(|(a, b)| IoBytes { read: a.read + b.read, written: a.written + b.written });
        self.allocated = self
            .allocated
            .zip(more.allocated)
            .map(|(a, b)| HeapUse { calls: a.calls + b.calls, bytes: a.bytes + b.bytes });
    }
}

/// The time that this machine has slept since it was started, by the clock of all time against that of the
/// time in which it ran. None where the system does not tell.
pub fn time_asleep() -> Duration {
    #[cfg(target_os = "linux")]
    {
        // In this order a pause between the two readings is no sleep.
        let [passed, ran] = [ClockId::CLOCK_BOOTTIME, ClockId::CLOCK_MONOTONIC]
            .map(|clock| clock_gettime(clock).map_or(Duration::ZERO, Duration::from));
        passed.saturating_sub(ran)
    }
    #[cfg(not(target_os = "linux"))]
    Duration::ZERO
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_the_counters_is_not_counted() {
        // Tests that run beside this one may read too: once nobody did, the difference is nothing.
        let pairs = (0..10_000).map(|_| (Usage::opening(), Usage::closing()));
        let mut moved = pairs.filter_map(|(first, second)| (second - first).moved);
        assert!(moved.any(|moved| moved == IoBytes::default()));
    }

    #[test]
    fn touching_fresh_memory_counts_as_minor_faults_and_work_as_cpu_time() {
        let before = Usage::opening();
        let pages = std::hint::black_box(vec![1u8; 16 << 20]);
        let mut sum = 0u64;
        for round in 0..4 {
            sum = pages
                .iter()
                .fold(sum, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte) + round));
        }
        std::hint::black_box(sum);
        let used = Usage::closing() - before;
        assert!(used.minor_faults > 0, "{used:?}");
        assert!(used.cpu > Duration::ZERO, "{used:?}");
    }
}
