//! What the kernel counts of processes.

use std::fs;

/// Has the high-water mark of a process's resident memory begin anew. Where that cannot be reset, it only
/// grows.
pub fn forget_peak(process: u32) {
    // 5 stands for that mark.
    let _ = fs::write(format!("/proc/{process}/clear_refs"), "5");
}

/// The sums of counters over processes, in bytes where they are of memory.
pub fn sums<const N: usize>(processes: &[u32], file: &str, names: [&str; N]) -> [Option<u64>; N] {
    let mut sums = [Some(0); N];
    for process in processes {
        let text = fs::read_to_string(format!("/proc/{process}/{file}")).unwrap_or_default();
        let of = |name: &str| -> Option<u64> {
            let mut words = text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace();
            let number: u64 = words.next()?.parse().ok()?;
            Some(if words.next() == Some("kB") { number * 1024 } else { number })
        };
        for (sum, name) in sums.iter_mut().zip(names) {
            *sum = sum.zip(of(name)).map(|(sum, more)| sum + more);
        }
    }
    sums
}
