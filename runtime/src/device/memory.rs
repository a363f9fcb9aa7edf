//! Memory of this process, and of a tree of processes seen from outside.

use std::fs;
use std::io;
use std::time::Duration;

use super::process_stat::process_ticks;
use super::usage::IoBytes;

/// The most memory this process has had resident so far, in bytes (`VmHWM`).
///
/// # Errors
/// Where `/proc/self/status` cannot be read or has no such line.
pub fn peak_memory() -> io::Result<u64> {
    status_field("self", "VmHWM:")
}

/// The memory that this process has resident now, in bytes (`VmRSS`).
///
/// # Errors
/// As [`peak_memory`].
pub fn resident_memory() -> io::Result<u64> {
    status_field("self", "VmRSS:")
}

/// Memory that a new process could have, in bytes: the smaller of what the machine has free and what is left
/// below the container's limit. `None` where the system does not say.
pub fn available_memory() -> Option<u64> {
    let mut system = sysinfo::System::new().ok()?;
    system.refresh_memory();
    let machine = system.available_memory();
    let container = system.cgroup_limits().map(|limits| limits.free_memory);
    Some(container.map_or(machine, |container| machine.min(container)))
}

/// Has the C library keep memory that is freed, as far as it can: whoever asks for memory again has it
/// without page faults. Allocators of one's own do as they do.
pub fn keep_freed_memory() {
    #[cfg(target_env = "gnu")]
    {
        use nix::libc::{M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, mallopt};
        // The most that it takes for the first; above it memory is mapped and given back each time.
        const MAPPED_FROM: i32 = 32 << 20;
        for (option, value) in [(M_MMAP_THRESHOLD, MAPPED_FROM), (M_TRIM_THRESHOLD, i32::MAX)] {
            #[expect(unsafe_code, reason = "it sets a number of the allocator, from any thread")]
            // SAFETY: `mallopt` takes two integers, and refuses what it does not know.
            let _ = unsafe { mallopt(option, value) };
        }
    }
}

fn status_field(process: &str, name: &str) -> io::Result<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/status"))?;
    kilobytes(&text, name)
}

fn kilobytes(text: &str, name: &str) -> io::Result<u64> {
    text.lines()
        .find_map(|line| line.strip_prefix(name)?.trim().strip_suffix("kB")?.trim().parse::<u64>().ok())
        .map(|kilobytes| kilobytes * 1024)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("no line `{name}`")))
}

/// A process and its descendants, looked at from outside.
#[derive(Clone, Copy, Debug)]
pub struct ProcessTree {
    root: u32,
}

/// `USER_HZ`, which is 100 on every Linux that a program can meet.
const TICK: Duration = Duration::from_millis(10);

impl ProcessTree {
    /// The tree below the process `root`, itself included.
    pub fn below(root: u32) -> Self {
        Self { root }
    }

    /// The process ids of the tree, the root first. A process that has ended is not in it.
    pub fn processes(self) -> Vec<u32> {
        let mut found = vec![self.root];
        let mut next = 0;
        while let Some(process) = found.get(next) {
            found.extend(Self::below(*process).children());
            next += 1;
        }
        found
    }

    /// The children of the root.
    pub fn children(self) -> Vec<u32> {
        let threads = fs::read_dir(format!("/proc/{}/task", self.root)).into_iter().flatten().flatten();
        let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
        let numbers =
            |list: String| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>();
        lists.flat_map(numbers).collect()
    }

    /// Memory of the tree that is no file's, in bytes: what its processes have made themselves, shared memory
    /// included. `None` where the system does not say. Pages that processes share after a fork count for
    /// each.
    #[cfg_attr(not(feature = "worker"), expect(dead_code, reason = "asked for of workers"))]
    pub fn own_memory(self) -> Option<u64> {
        let mut sum = None;
        for process in self.processes() {
            let Ok(text) = fs::read_to_string(format!("/proc/{process}/status")) else { continue };
            let of = |name| kilobytes(&text, name).unwrap_or(0);
            sum = Some(sum.unwrap_or(0) + of("RssAnon:") + of("RssShmem:"));
        }
        sum
    }

    /// Bytes that calls of the tree's processes have read and written since they began, with those of
    /// children that they have waited for. `None` where the system does not say.
    #[cfg_attr(not(feature = "worker"), expect(dead_code, reason = "asked for of workers"))]
    pub fn moved(self) -> Option<IoBytes> {
        let of = |process: &u32| IoBytes::read(&fs::read_to_string(format!("/proc/{process}/io")).ok()?);
        self.processes().iter().filter_map(of).reduce(|sum, more| IoBytes {
            read: sum.read.saturating_add(more.read),
            written: sum.written.saturating_add(more.written),
        })
    }

    /// CPU time of the tree since its processes began, with that of children that they have waited for; in
    /// steps of 10 ms. `None` where the system does not say.
    #[cfg_attr(not(feature = "worker"), expect(dead_code, reason = "asked for of workers"))]
    pub fn cpu(self) -> Option<Duration> {
        let ticks = |process: &u32| process_ticks(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?);
        let sums: Vec<u64> = self.processes().iter().filter_map(ticks).collect();
        (!sums.is_empty()).then(|| TICK * sums.iter().sum::<u64>() as u32)
    }

    /// The highest priority of the threads of the tree, as the kernel has it: less is higher, 20 is the usual
    /// one, and a class of real time is below zero. `None` where the system does not say.
    pub fn priority(self) -> Option<i64> {
        self.of_threads("stat").iter().filter_map(|stat| priority_of(stat)).min()
    }

    /// The number of processors that a thread of the tree may be on and the calling process may not. `None`
    /// where the system does not say.
    pub fn processors_beyond_ours(self) -> Option<u32> {
        let ours = allowed_processors(&fs::read_to_string("/proc/self/status").ok()?)?;
        let beyond = |status: &String| {
            let theirs = allowed_processors(status)?;
            let at = |of: &[u32], place: usize| of.get(place).copied().unwrap_or(0);
            Some((0..theirs.len()).map(|place| (theirs[place] & !at(&ours, place)).count_ones()).sum())
        };
        self.of_threads("status").iter().filter_map(beyond).max()
    }

    /// A file of `/proc` of every thread of the tree.
    fn of_threads(self, name: &str) -> Vec<String> {
        let threads =
            |process: u32| fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
        let text = |thread: fs::DirEntry| fs::read_to_string(thread.path().join(name)).ok();
        self.processes().into_iter().flat_map(threads).filter_map(text).collect()
    }

    /// Resident memory of the tree in bytes and the number of processes in it.
    ///
    /// One process: its resident set, which costs it nothing to read. Several: the sum of their
    /// proportional sets (`Pss`), so that shared pages count once. `None` once the root has gone.
    pub fn memory(self) -> Option<(u64, usize)> {
        let processes = self.processes();
        if let [root] = processes[..] {
            return status_field(&root.to_string(), "VmRSS:").ok().map(|bytes| (bytes, 1));
        }
        let sets = processes.iter().filter_map(|process| {
            kilobytes(&fs::read_to_string(format!("/proc/{process}/smaps_rollup")).ok()?, "Pss:").ok()
        });
        let (bytes, count) = sets.fold((0, 0), |(sum, count), bytes| (sum + bytes, count + 1));
        (count > 0).then_some((bytes, count))
    }
}

/// The priority of the calling process.
pub fn own_priority() -> Option<i64> {
    priority_of(&fs::read_to_string("/proc/self/stat").ok()?)
}

/// The 18th field of `/proc/PID/stat`. The name before it may have spaces and brackets.
fn priority_of(stat: &str) -> Option<i64> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(15)?.parse().ok()
}

/// The processors that a thread may be on, by `/proc/PID/status`: 32 of them a word, the first ones first.
fn allowed_processors(status: &str) -> Option<Vec<u32>> {
    let mask = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed:"))?.trim();
    mask.rsplit(',').map(|word| u32::from_str_radix(word, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn peak_memory_is_at_least_what_is_resident() {
        let resident = resident_memory().unwrap();
        assert!(peak_memory().unwrap() >= resident);
        assert!(resident > 0);
    }

    #[test]
    fn some_memory_is_to_be_had() {
        assert!(available_memory().unwrap() > 1 << 20);
    }

    #[test]
    fn a_tree_holds_the_children_of_its_root_and_sums_their_memory() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let tree = ProcessTree::below(std::process::id());
        assert!(tree.processes().contains(&child.id()));
        let (bytes, count) = tree.memory().unwrap();
        assert!(count >= 2, "{count}");
        assert!(bytes > 0);
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    #[test]
    fn a_tree_whose_root_has_gone_has_no_memory() {
        let mut child = Command::new("true").spawn().unwrap();
        let tree = ProcessTree::below(child.id());
        child.wait().unwrap();
        assert_eq!(tree.memory(), None);
    }

    #[test]
    fn a_priority_is_read_of_every_thread_and_less_is_higher() {
        let own = own_priority().unwrap();
        assert_eq!(ProcessTree::below(std::process::id()).priority(), Some(own));
        let mut nicer = Command::new("nice").args(["-n", "5", "cat"]).stdin(Stdio::piped()).spawn().unwrap();
        let tree = ProcessTree::below(nicer.id());
        // It is `nice` itself at first.
        while tree.priority() == Some(own) {
            std::thread::yield_now();
        }
        assert_eq!(tree.priority(), Some((own + 5).min(39)));
        drop(nicer.stdin.take());
        nicer.wait().unwrap();
        assert_eq!(ProcessTree::below(std::process::id()).processors_beyond_ours(), Some(0));
        assert_eq!(
            allowed_processors("Cpus_allowed:\t3,f0000000\nCpus_allowed_list:\t28-33\n"),
            Some(vec![0xf000_0000, 3])
        );
        assert_eq!(priority_of("7 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 -51 0 1"), Some(-51));
    }
}
