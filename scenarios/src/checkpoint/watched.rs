//! What the processes of a checkpointer use: memory, and bytes from the disk.

use std::fs;

/// The processes of a checkpointer at a moment.
#[derive(Clone, Debug)]
pub(super) struct Watched {
    processes: Vec<u32>,
    resident: Option<u64>,
    read: Option<u64>,
}

/// What was used from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WatchedUse {
    /// The most that was resident beyond what was at the beginning, in bytes: the sum over processes.
    pub(super) more_memory: Option<u64>,
    /// Bytes that were read from a disk, and in no cache.
    pub(super) read: Option<u64>,
}

impl Watched {
    /// Begins to watch: the high-water mark of each process begins anew.
    pub(super) fn begin(processes: Vec<u32>) -> Self {
        for process in &processes {
            // 5 stands for the high-water mark of resident memory. Where that cannot be reset, it has only grown.
            let _ = fs::write(format!("/proc/{process}/clear_refs"), "5");
        }
        let (resident, read) = (sum(&processes, "status", "VmRSS:"), sum(&processes, "io", "read_bytes:"));
        Self { processes, resident, read }
    }

    /// What was used since. `None` is what the system does not tell.
    pub(super) fn end(&self) -> WatchedUse {
        let since = |after: Option<u64>, before: Option<u64>| Some(after?.saturating_sub(before?));
        WatchedUse {
            more_memory: since(sum(&self.processes, "status", "VmHWM:"), self.resident),
            read: since(sum(&self.processes, "io", "read_bytes:"), self.read),
        }
    }
}

/// The sum of a counter over processes, in bytes.
fn sum(processes: &[u32], file: &str, name: &str) -> Option<u64> {
    let of = |process: &u32| {
        let text = fs::read_to_string(format!("/proc/{process}/{file}")).ok()?;
        let mut words = text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace();
        let number: u64 = words.next()?.parse().ok()?;
        Some(if words.next() == Some("kB") { number * 1024 } else { number })
    };
    processes.iter().map(of).sum()
}
