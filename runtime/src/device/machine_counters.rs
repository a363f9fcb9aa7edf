//! Counters of the whole machine, read often: the time of its processors, bytes of its disks and of its
//! network, joules of its packages.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::rapl::Rapl;

/// The size of a sector in `/proc/diskstats`, whatever the disk's own is.
const SECTOR: u64 = 512;

/// Beginnings of names of block devices that lie on others or on memory: their bytes are counted there, or
/// are of no disk.
const NO_DISKS: [&str; 5] = ["loop", "ram", "zram", "dm-", "md"];

/// Counters since the machine was started. `None` where it does not tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineCounters {
    /// Of each processor the ticks in which it worked, and all of them.
    pub processors: Vec<[u64; 2]>,
    /// Bytes that its disks read and wrote.
    pub disk: Option<[u64; 2]>,
    /// Bytes that its network cards received and sent: the loopback is none.
    pub network: Option<[u64; 2]>,
    /// Joules of its packages and their memory, since the reader was made.
    pub joules: Option<f64>,
}

/// Reads them from files that stay open.
#[derive(Debug)]
pub struct CountersReader {
    stat: Option<File>,
    disks: Option<File>,
    network: Option<File>,
    names: Vec<String>,
    energy: Result<Rapl, String>,
    text: Vec<u8>,
}

impl CountersReader {
    /// A reader of the machine whose `proc` and `sys` are below this folder.
    pub fn below(root: &Path) -> Self {
        let open = |path: &str| File::open(root.join(path)).ok();
        Self {
            stat: open("proc/stat"),
            disks: open("proc/diskstats"),
            network: open("proc/net/dev"),
            names: disk_names(root),
            energy: Rapl::below(root),
            text: Vec::new(),
        }
    }

    /// The reason why there are no joules.
    pub fn no_energy(&self) -> Option<&str> {
        self.energy.as_ref().err().map(String::as_str)
    }

    /// Everything, as it is now.
    pub fn read(&mut self) -> MachineCounters {
        let stat = text_of(self.stat.as_ref(), &mut self.text).map(processors);
        let names = &self.names;
        let disk = text_of(self.disks.as_ref(), &mut self.text).map(|text| disk_bytes(text, names));
        let network = text_of(self.network.as_ref(), &mut self.text).map(network_bytes);
        let joules = self.energy.as_mut().ok().and_then(Rapl::joules);
        MachineCounters { processors: stat.unwrap_or_default(), disk, network, joules }
    }
}

/// All of a file that is made anew at each reading, in a room that is used again.
fn text_of<'a>(file: Option<&File>, room: &'a mut Vec<u8>) -> Option<&'a str> {
    const PART: usize = 16 << 10;
    let file = file?;
    let mut length = 0;
    loop {
        if room.len() < length + PART {
            room.resize(length + PART, 0);
        }
        match file.read_at(&mut room[length..], length as u64) {
            Ok(0) => break,
            Ok(bytes) => length += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    std::str::from_utf8(&room[..length]).ok()
}

/// The lines `cpuN` of `/proc/stat`. Ticks of guests are in those of users already.
fn processors(stat: &str) -> Vec<[u64; 2]> {
    let lines = stat.lines().skip(1).map_while(|line| line.strip_prefix("cpu"));
    lines
        .map(|line| {
            let ticks = line.split_ascii_whitespace().skip(1).take(8).map(|tick| tick.parse().unwrap_or(0));
            let ticks: Vec<u64> = ticks.collect();
            let all = ticks.iter().sum::<u64>();
            // The fourth is idleness, the fifth that with a disk to wait for.
            let idle: u64 = ticks.iter().skip(3).take(2).sum();
            [all - idle, all]
        })
        .collect()
}

/// The disks that are no part of another one.
fn disk_names(root: &Path) -> Vec<String> {
    let entries = fs::read_dir(root.join("sys/block")).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| !NO_DISKS.iter().any(|start| name.starts_with(start))).collect()
}

/// Bytes read and written, by `/proc/diskstats`: fields 6 and 10 of a line, after its number and name.
fn disk_bytes(text: &str, names: &[String]) -> [u64; 2] {
    let mut sum = [0; 2];
    for line in text.lines() {
        let fields: Vec<&str> = line.split_ascii_whitespace().take(10).collect();
        let [_, _, name, _, _, read, _, _, _, written] = fields[..] else { continue };
        if names.iter().any(|known| known == name) {
            let bytes = |field: &str| field.parse::<u64>().unwrap_or(0) * SECTOR;
            sum[0] += bytes(read);
            sum[1] += bytes(written);
        }
    }
    sum
}

/// Bytes received and sent, by `/proc/net/dev`: the first and the ninth number of a card.
fn network_bytes(text: &str) -> [u64; 2] {
    let mut sum = [0; 2];
    for line in text.lines() {
        let Some((name, numbers)) = line.split_once(':') else { continue };
        if name.trim() != "lo" {
            let numbers: Vec<u64> =
                numbers.split_ascii_whitespace().map(|number| number.parse().unwrap_or(0)).collect();
            sum[0] += numbers.first().unwrap_or(&0);
            sum[1] += numbers.get(8).unwrap_or(&0);
        }
    }
    sum
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A folder with these files below it.
    pub(in super::super) fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn every_processor_disk_and_card_of_a_machine_is_counted_once() {
        let stat = "cpu  9 9 9 9\ncpu0 10 1 4 80 5 0 0 0 3 0\ncpu1 0 0 0 50 0 0 0 0 0 0\nintr 7 7\n";
        let disks = " 8 0 sda 1 0 100 0 1 0 10 0 0 0 0\n 8 1 sda1 1 0 100 0 1 0 10 0 0 0 0\n\
                     7 0 loop0 1 0 50 0 1 0 50 0 0 0 0\n253 0 dm-0 1 0 100 0 1 0 10 0 0 0 0\n";
        let cards =
            "Inter-| Receive\n face |bytes\n    lo: 5 0 0 0 0 0 0 0 5 0\n  eth0:70 1 0 0 0 0 0 0 30 0\n";
        let root = tree(&[
            ("proc/stat", stat),
            ("proc/diskstats", disks),
            ("proc/net/dev", cards),
            ("sys/block/sda/size", "1"),
            ("sys/block/loop0/size", "1"),
            ("sys/block/dm-0/size", "1"),
        ]);
        let counters = CountersReader::below(root.path()).read();
        assert_eq!(counters.processors, [[15, 100], [0, 50]]);
        assert_eq!(counters.disk, Some([51_200, 5_120]));
        assert_eq!(counters.network, Some([70, 30]));
        assert_eq!(counters.joules, None);
    }

    #[test]
    fn what_a_machine_does_not_tell_is_no_zero() {
        let mut reader = CountersReader::below(tree(&[]).path());
        assert_eq!(reader.read(), MachineCounters::default());
        assert!(reader.no_energy().unwrap().contains("intel-rapl"));
    }
}
