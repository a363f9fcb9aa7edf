//! What disturbs this process from outside: waiting for a processor, time that a hypervisor took, throttling;
//! and the processor time of the processes below this one.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use nix::unistd::{SysconfVar, sysconf};

use super::ProcessTree;
use super::process_stat::{after_name, process_ticks};
use super::usage::reaped_time;

/// Counters since the process, or the machine, started. `None` where the system does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Noise {
    /// The living threads of this process. Empty where the kernel does not say.
    pub threads: Vec<ThreadSchedule>,
    /// Processor time of all processes below this one, the ended and the living, in nanoseconds.
    pub helpers: Option<u64>,
    /// Counters that can be looked at often.
    pub lost: ProcessorLoss,
}

/// The scheduler's counts for a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadSchedule {
    /// The thread's id.
    pub thread: u32,
    /// Time that it has been on a processor, in nanoseconds.
    pub ran: u64,
    /// Time that it was ready to run and had to wait for one, in nanoseconds.
    pub waited: u64,
}

/// Processors taken away: counters that are cheap enough to be looked at between samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessorLoss {
    /// Time that a hypervisor gave to others while a processor of this machine had work, in nanoseconds. The
    /// kernel counts it in ticks, mostly of 10 ms, over all processors.
    pub stolen: Option<u64>,
    /// The number of times that the control group of this process used up its share of processor time, and
    /// how often the first processor's package was slowed down for heat.
    pub throttled: Option<u64>,
}

/// Reads the counters. Files that are read again and again stay open.
#[derive(Debug)]
pub struct NoiseReader {
    stat: Option<File>,
    group: Option<File>,
    heat: Option<File>,
    tick: u64,
}

impl NoiseReader {
    /// A reader for this process.
    pub fn new() -> Self {
        let per_second = sysconf(SysconfVar::CLK_TCK).ok().flatten().map_or(100, |ticks| ticks.max(1) as u64);
        Self {
            stat: File::open("/proc/stat").ok(),
            group: own_group().and_then(|path| File::open(path).ok()),
            heat: File::open("/sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count").ok(),
            tick: 1_000_000_000 / per_second,
        }
    }

    /// Everything: some dozens of microseconds, and more with many threads or processes.
    pub fn read(&self) -> Noise {
        Noise { threads: scheduled(), helpers: self.helpers(), lost: self.lost() }
    }

    /// The counters that can be looked at often: up to three small files.
    pub fn lost(&self) -> ProcessorLoss {
        let stolen = self.stat.as_ref().and_then(start_of).and_then(|text| stolen_ticks(&text));
        let group = self.group.as_ref().and_then(start_of).and_then(|text| field(&text, "nr_throttled"));
        let heat = self.heat.as_ref().and_then(start_of).and_then(|text| text.trim().parse::<u64>().ok());
        let throttled = match (group, heat) {
            (None, None) => None,
            _ => Some(group.unwrap_or(0) + heat.unwrap_or(0)),
        };
        ProcessorLoss { stolen: stolen.map(|ticks| ticks * self.tick), throttled }
    }

    /// A process that ended is in the sum of its parent, whole, from when its parent waited for it.
    fn helpers(&self) -> Option<u64> {
        let mut sum = reaped_time()?.as_nanos() as u64;
        for process in &ProcessTree::below(std::process::id()).processes()[1..] {
            let text = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
            sum += process_ticks(&text).unwrap_or(0) * self.tick;
        }
        Some(sum)
    }
}

impl Default for NoiseReader {
    fn default() -> Self {
        Self::new()
    }
}

/// The frequency of the processor that the calling thread runs on, in hertz; `None` where the system does not
/// say, as on most virtual machines.
pub fn frequency() -> Option<u64> {
    let stat = fs::read_to_string("/proc/thread-self/stat").ok()?;
    // Field 39 of the file; the second, which may hold spaces, ends at the last bracket.
    let processor: u32 = after_name(&stat)?.split_ascii_whitespace().nth(36)?.parse().ok()?;
    let path = format!("/sys/devices/system/cpu/cpu{processor}/cpufreq/scaling_cur_freq");
    let kilohertz: u64 = fs::read_to_string(path).ok()?.trim().parse().ok()?;
    Some(kilohertz * 1000)
}

/// The living threads (`schedstat`: three numbers, the first two of them times).
fn scheduled() -> Vec<ThreadSchedule> {
    let mut threads = Vec::new();
    for entry in fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let thread = entry.file_name().to_str().and_then(|id| id.parse().ok());
        let text = fs::read_to_string(entry.path().join("schedstat")).unwrap_or_default();
        if let (Some(thread), Some((ran, waited))) = (thread, ran_and_waited(&text)) {
            threads.push(ThreadSchedule { thread, ran, waited });
        }
    }
    threads
}

/// The time that the calling thread has been on a processor, and how long it was ready and waited for one, in
/// nanoseconds; `None` where the kernel does not say.
pub fn own_schedule() -> Option<(u64, u64)> {
    ran_and_waited(&fs::read_to_string("/proc/thread-self/schedstat").ok()?)
}

/// The time that the thread that made it has waited for a processor: read again and again, from a file that
/// stays open.
#[derive(Debug)]
pub struct Delays(Option<File>);

impl Delays {
    /// Of the calling thread.
    pub fn of_this_thread() -> Self {
        Self(File::open("/proc/thread-self/schedstat").ok())
    }

    /// Nanoseconds since the thread started; `None` where the kernel does not say. A microsecond.
    pub fn read(&self) -> Option<u64> {
        let mut bytes = [0; 64]; // three numbers; nothing is allocated between two windows
        let length = self.0.as_ref()?.read_at(&mut bytes, 0).ok()?;
        Some(ran_and_waited(std::str::from_utf8(&bytes[..length]).ok()?)?.1)
    }
}

fn ran_and_waited(schedstat: &str) -> Option<(u64, u64)> {
    let mut times = schedstat.split_ascii_whitespace().filter_map(|time| time.parse().ok());
    times.next().zip(times.next())
}

/// The counters of the control group that this process is in (version 2).
fn own_group() -> Option<String> {
    let text = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = text.lines().find_map(|line| line.strip_prefix("0::"))?;
    Some(format!("/sys/fs/cgroup{}/cpu.stat", path.trim_end_matches('/')))
}

/// The first bytes of a file that is made anew at each reading.
fn start_of(file: &File) -> Option<String> {
    let mut bytes = [0; 512];
    let length = file.read_at(&mut bytes, 0).ok()?;
    Some(String::from_utf8_lossy(&bytes[..length]).into_owned())
}

/// The eighth number of the first line of `/proc/stat`.
fn stolen_ticks(text: &str) -> Option<u64> {
    text.lines().next()?.strip_prefix("cpu ")?.split_ascii_whitespace().nth(7)?.parse().ok()
}

fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn work_of_this_process_shows_as_time_on_a_processor() {
        let reader = NoiseReader::new();
        let own = || {
            let threads = reader.read().threads;
            let stat = fs::read_to_string("/proc/thread-self/stat").unwrap();
            let id: u32 = stat.split(' ').next().unwrap().parse().unwrap();
            threads.into_iter().find(|of| of.thread == id)
        };
        let before = own();
        let mut value = 1u64;
        for round in 0..20_000_000u64 {
            value = std::hint::black_box(value.wrapping_mul(31) + round);
        }
        // Not every kernel keeps these counters; one that does counts work.
        if let (Some(before), Some(after)) = (before, own()) {
            assert!(after.ran > before.ran && after.waited >= before.waited, "{before:?} {after:?}");
        }
    }

    #[test]
    fn what_a_child_used_is_counted_when_it_has_ended() {
        let reader = NoiseReader::new();
        let before = reader.read().helpers.unwrap();
        let status =
            Command::new("sh").args(["-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"]).status();
        assert!(status.unwrap().success());
        assert!(reader.read().helpers.unwrap() > before);
    }

    #[test]
    fn files_of_the_kernel_are_read_by_their_fields() {
        let stat = "cpu  45177 0 10243 251570 971 0 54 40 0 0\ncpu0 1 2 3\n";
        assert_eq!(stolen_ticks(stat), Some(40));
        assert_eq!(stolen_ticks("cpu  1 2 3\n"), None, "an old kernel");
        assert_eq!(field("nr_periods 9\nnr_throttled 4\n", "nr_throttled"), Some(4));
        let process = "12 (a b) c) S 1 2 3 4 5 6 7 8 9 10 100 20 3 4 20 0";
        assert_eq!(process_ticks(process), Some(127));
        assert_eq!(process_ticks("12 (a) S 1"), Some(0), "cut short: nothing to add");
    }
}
