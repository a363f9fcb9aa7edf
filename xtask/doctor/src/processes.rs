//! What the system tells of a script's processes: time on processors and in the queue before them, bytes of
//! disks, memory.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

/// One process by the last look at it.
#[derive(Clone, Copy, Debug, Default)]
struct ProcessSight {
    /// Ticks on a processor.
    ticks: u64,
    /// Nanoseconds in the queue of a processor, of all threads.
    queued: u64,
    /// Bytes that came from a disk.
    read: u64,
    /// Page faults that waited for a disk.
    faults: u64,
    /// Resident pages.
    pages: u64,
}

/// The processes of a script, looked at again and again since a moment.
#[derive(Debug)]
pub(crate) struct Processes {
    begun: Instant,
    first: BTreeMap<u32, ProcessSight>,
    last: BTreeMap<u32, ProcessSight>,
    peak: u64,
}

/// The sums over all processes.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub(crate) struct ProcessSums {
    /// Seconds that were looked at.
    pub(crate) seconds: f64,
    /// Processors in use, on average.
    pub(crate) processors: f64,
    /// Threads that waited for one, on average.
    pub(crate) queued: f64,
    /// Bytes from disks in a second.
    pub(crate) read: f64,
    /// Page faults that waited for a disk, in a second.
    pub(crate) faults: f64,
    /// The most memory of all together, in bytes.
    pub(crate) memory: u64,
    /// The processes that there were.
    pub(crate) count: usize,
}

/// Ticks of a second, as Linux counts them for programs on every machine.
const TICKS: f64 = 100.0;
const PAGE: u64 = 4096;

impl Processes {
    /// Begins to look at these.
    pub(crate) fn new(members: &[u32]) -> Self {
        let first: BTreeMap<u32, ProcessSight> =
            members.iter().filter_map(|id| Some((*id, look(*id)?))).collect();
        Self { begun: Instant::now(), last: first.clone(), first, peak: 0 }
    }

    /// Looks at these again.
    pub(crate) fn look(&mut self, members: &[u32]) {
        let mut pages = 0;
        for id in members {
            let Some(sight) = look(*id) else { continue };
            pages += sight.pages;
            self.last.insert(*id, sight);
        }
        self.peak = self.peak.max(pages * PAGE);
    }

    /// The sums since it was begun.
    pub(crate) fn sums(&self) -> ProcessSums {
        let seconds = self.begun.elapsed().max(Duration::from_millis(1)).as_secs_f64();
        let sum = |of: fn(&ProcessSight) -> u64| {
            let grown = |(id, last): (&u32, &ProcessSight)| {
                of(last).saturating_sub(self.first.get(id).map_or(0, of)) as f64
            };
            self.last.iter().map(grown).sum::<f64>() / seconds
        };
        ProcessSums {
            seconds,
            processors: sum(|sight| sight.ticks) / TICKS,
            queued: sum(|sight| sight.queued) * 1e-9,
            read: sum(|sight| sight.read),
            faults: sum(|sight| sight.faults),
            memory: self.peak,
            count: self.last.len(),
        }
    }
}

fn look(id: u32) -> Option<ProcessSight> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name, in brackets, may hold anything.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |at: usize| fields.get(at).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    Some(ProcessSight {
        ticks: field(11) + field(12),
        faults: field(9),
        pages: field(21),
        queued: queued(id),
        read: read_bytes(id),
    })
}

/// Nanoseconds that its threads have waited for a processor.
fn queued(id: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    let of = |text: String| text.split_whitespace().nth(1)?.parse::<u64>().ok();
    threads.filter_map(|thread| of(fs::read_to_string(thread.path().join("schedstat")).ok()?)).sum()
}

fn read_bytes(id: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{id}/io")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("read_bytes: "));
    line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}

/// The processors that this process may use.
pub(crate) fn available() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_seen_with_its_time_and_memory_and_one_that_is_gone_is_not() {
        let own = std::process::id();
        let mut processes = Processes::new(&[]);
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(50) {
            std::hint::spin_loop();
        }
        processes.look(&[own, u32::MAX]);
        let sums = processes.sums();
        assert!(sums.processors > 0.0 && sums.memory > 100_000 && sums.count == 1, "{sums:?}");
    }
}
