//! The energy of the processors' packages, by the counters that the kernel shows of them: RAPL, under
//! `/sys/class/powercap`.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The counters of a machine, with what they have counted so far.
#[derive(Debug)]
pub struct Rapl {
    zones: Vec<PowerZone>,
}

/// A counter that begins again from 0 after its greatest value.
#[derive(Debug)]
struct PowerZone {
    file: File,
    /// The greatest value, in microjoules.
    greatest: u64,
    last: u64,
    /// Microjoules since it was first read.
    sum: u64,
}

impl Rapl {
    /// Opens the counters of a machine whose `sys` is below this folder.
    ///
    /// # Errors
    /// Why there are none: a machine without them, or one whose counters this user may not read.
    pub fn below(root: &Path) -> Result<Self, String> {
        let folder = root.join("sys/class/powercap");
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut paths: Vec<_> = entries.map(|entry| entry.path()).filter(|path| is_counted(path)).collect();
        paths.sort();
        if paths.is_empty() {
            return Err(format!("no package in {}/intel-rapl*", folder.display()));
        }
        let zones: Result<_, String> = paths.iter().map(|path| PowerZone::open(path)).collect();
        Ok(Self { zones: zones? })
    }

    /// Joules since it was opened; `None` once a counter cannot be read.
    pub fn joules(&mut self) -> Option<f64> {
        let mut sum = 0;
        for zone in &mut self.zones {
            sum += zone.read()?;
        }
        Some(sum as f64 * 1e-6)
    }
}

/// Packages, and the memory beside them, which is no part of theirs. The cores of a package are.
fn is_counted(path: &Path) -> bool {
    let is_zone =
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("intel-rapl:"));
    let name = fs::read_to_string(path.join("name")).unwrap_or_default();
    is_zone && (name.starts_with("package-") || name.trim() == "dram")
}

impl PowerZone {
    fn open(path: &Path) -> Result<Self, String> {
        let counter = path.join("energy_uj");
        let no = |error: &dyn std::fmt::Display| format!("{} cannot be read: {error}", counter.display());
        let file = File::open(&counter).map_err(|error| no(&error))?;
        let greatest = fs::read_to_string(path.join("max_energy_range_uj")).map_err(|error| no(&error))?;
        let greatest = greatest.trim().parse().map_err(|error| no(&error))?;
        let last = value(&file).ok_or_else(|| no(&"it holds no number"))?;
        Ok(Self { file, greatest, last, sum: 0 })
    }

    fn read(&mut self) -> Option<u64> {
        let now = value(&self.file)?;
        self.sum += if now >= self.last { now - self.last } else { self.greatest - self.last + now };
        self.last = now;
        Some(self.sum)
    }
}

fn value(file: &File) -> Option<u64> {
    let mut bytes = [0; 32]; // one number
    let length = file.read_at(&mut bytes, 0).ok()?;
    std::str::from_utf8(&bytes[..length]).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::machine_counters::tests::tree;
    use super::*;

    const ZONES: [(&str, &str, &str); 4] = [
        ("intel-rapl:0", "package-0", "900"),
        ("intel-rapl:0:0", "core", "100"),
        ("intel-rapl:0:1", "dram", "50"),
        ("intel-rapl:1", "psys", "7"),
    ];

    fn machine() -> tempfile::TempDir {
        let root = tree(&[]);
        for (zone, name, energy) in ZONES {
            let folder = root.path().join("sys/class/powercap").join(zone);
            fs::create_dir_all(&folder).unwrap();
            for (file, text) in [("name", name), ("energy_uj", energy), ("max_energy_range_uj", "1000")] {
                fs::write(folder.join(file), text).unwrap();
            }
        }
        root
    }

    fn set(root: &Path, zone: &str, energy: &str) {
        fs::write(root.join("sys/class/powercap").join(zone).join("energy_uj"), energy).unwrap();
    }

    #[test]
    fn packages_and_their_memory_are_summed_over_the_end_of_a_counter() {
        let root = machine();
        let mut rapl = Rapl::below(root.path()).unwrap();
        assert_eq!(rapl.joules(), Some(0.0));
        set(root.path(), "intel-rapl:0", "20"); // past 1000, and on from 0
        set(root.path(), "intel-rapl:0:0", "999"); // part of the package
        set(root.path(), "intel-rapl:0:1", "80");
        set(root.path(), "intel-rapl:1", "900"); // the whole machine
        let joules = rapl.joules().unwrap();
        assert!((joules - 150e-6).abs() < 1e-12, "{joules}");
    }

    #[test]
    fn a_counter_that_holds_no_number_is_refused_by_its_path() {
        let root = machine();
        set(root.path(), "intel-rapl:0", "");
        let said = Rapl::below(root.path()).unwrap_err();
        assert!(said.contains("intel-rapl:0/energy_uj"), "{said}");
    }
}
