//! The files that this process has mapped.

use std::fs;
use std::ops::Range;

/// A file that is mapped, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The range of its addresses.
    pub at: Range<usize>,
    /// Bytes of it that are in memory.
    pub resident: u64,
}

/// Files that this process has mapped and that are no program, no library and no device: shared memory with a
/// name is a file. `None` where the system does not say.
pub fn file_mappings() -> Option<Vec<Mapping>> {
    Some(of(&fs::read_to_string("/proc/self/smaps").ok()?))
}

/// Returns whether this process has a graphics processor open: its driver has files of the device mapped.
/// `None` where the system does not say.
pub fn has_gpu_open() -> Option<bool> {
    Some(is_of_gpu(&fs::read_to_string("/proc/self/maps").ok()?))
}

fn is_of_gpu(maps: &str) -> bool {
    // The second is that of a guest of Windows.
    let is_gpu = |name: &str| name.starts_with("/dev/nvidia") || name.starts_with("/dev/dxg");
    maps.lines().filter_map(head).any(|(name, ..)| is_gpu(name))
}

fn of(text: &str) -> Vec<Mapping> {
    let mut found: Vec<(&str, bool, Mapping)> = Vec::new();
    for line in text.lines() {
        if let Some(resident) = line.strip_prefix("Rss:") {
            if let Some((_, _, mapping)) = found.last_mut() {
                let kilobytes = resident.trim().strip_suffix("kB").and_then(|size| size.trim().parse().ok());
                mapping.resident = kilobytes.map_or(0, |kilobytes: u64| kilobytes * 1024);
            }
        } else if let Some(mapping) = head(line) {
            found.push(mapping);
        }
    }
    let programs: Vec<&str> = found.iter().filter(|(_, runs, _)| *runs).map(|(name, _, _)| *name).collect();
    // What a driver maps of its device has the device's name, and memory that is shared with children that of
    // `/dev/zero`.
    let is_device = |name: &str| name.starts_with("/dev/") && !name.starts_with("/dev/shm/");
    let is_file = |name: &str| name.starts_with('/') && !is_device(name) && !programs.contains(&name);
    found.iter().filter(|(name, _, _)| is_file(name)).map(|(_, _, mapping)| mapping.clone()).collect()
}

/// The first line of a mapping: addresses, rights, offset, device, inode, name.
fn head(line: &str) -> Option<(&str, bool, Mapping)> {
    let mut words = line.splitn(6, ' ');
    let (start, end) = words.next()?.split_once('-')?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    let at = address(start)?..address(end)?;
    let rights = words.next()?;
    let name = words.nth(3).unwrap_or_default().trim();
    Some((name, rights.contains('x'), Mapping { at, resident: 0 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMAPS: &str = "\
55d0c0a00000-55d0c0b00000 r--p 00000000 fe:00 131 /usr/bin/cat
Rss:                 100 kB
Pss:                  50 kB
55d0c0b00000-55d0c0c00000 r-xp 00100000 fe:00 131 /usr/bin/cat
Rss:                 200 kB
VmFlags: rd ex mr mw me
7f0000000000-7f0000100000 r--s 00000000 fe:00 132 /var/an epoch.bin
Rss:                1000 kB
7f0000200000-7f0000300000 rw-s 00000000 00:01 7 /dev/shm/kept (deleted)
Rss:                  24 kB
7f0000400000-7f0000500000 rw-p 00000000 00:00 0
Rss:                9999 kB
7f0000600000-7f0000700000 rw-s 00000000 00:01 9 /dev/zero (deleted)
Rss:                4096 kB
7f0000800000-7f0000900000 rw-s 00000000 00:05 12 /dev/nvidia0
Rss:                8192 kB
7ffc00000000-7ffc00100000 rw-p 00000000 00:00 0 [stack]
Rss:                  16 kB
";

    #[test]
    fn a_graphics_processor_is_open_where_files_of_it_are_mapped() {
        assert!(is_of_gpu(SMAPS));
        let without: Vec<&str> = SMAPS.lines().filter(|line| !line.contains("nvidia")).collect();
        assert!(!is_of_gpu(&without.join("\n")));
    }

    #[test]
    fn files_are_found_and_programs_devices_and_nameless_memory_are_not() {
        let mapping = |start, end, resident| Mapping { at: start..end, resident };
        assert_eq!(
            of(SMAPS),
            [
                mapping(0x7f00_0000_0000, 0x7f00_0010_0000, 1000 * 1024),
                mapping(0x7f00_0020_0000, 0x7f00_0030_0000, 24 * 1024)
            ]
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_is_looked_at() {
        assert!(file_mappings().is_some());
    }
}
