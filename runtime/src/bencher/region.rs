//! `measure` blocks: named regions that nest and repeat; every occurrence is kept.

use super::Bencher;
use crate::device::{Usage, resident_memory};
use crate::metric::{Collector, Reading, Region};

/// The open and the finished blocks of a repeat.
#[derive(Debug, Default)]
pub(super) struct Regions {
    open: Vec<String>,
    finished: Vec<Region>,
    muted: bool,
}

impl Regions {
    pub(super) fn into_finished(self) -> Vec<Region> {
        self.finished
    }
}

impl Bencher {
    /// Measures one block with all collectors: wall time, CPU time, faults, switches, bytes read and written, change of
    /// resident memory. Blocks nest (`save/encode`) and repeat; each occurrence is kept.
    /// Blocks inside a body that is being warmed up or calibrated are run but not recorded.
    pub fn measure<T>(&self, name: &str, block: impl FnOnce() -> T) -> T {
        self.measure_with(name, Collector::ALL, block)
    }

    /// As [`Bencher::measure`], with these collectors beside the wall time, which is always taken.
    pub fn measure_with<T>(&self, name: &str, collectors: &[Collector], block: impl FnOnce() -> T) -> T {
        let path = {
            let mut regions = self.regions.borrow_mut();
            regions.open.push(name.to_owned());
            regions.open.join("/")
        };
        let resident = collectors.contains(&Collector::Memory).then(resident_memory);
        let usage = collectors.contains(&Collector::Usage).then(Usage::opening);
        // The clock starts last and stops first: what the other collectors cost is not in it.
        let start = self.settings.clock.now();
        let value = block();
        let wall = self.settings.clock.now() - start;
        let usage = usage.map(|before| Usage::closing() - before);
        let memory_change = resident.map(|before| {
            match before.and_then(|before| Ok(resident_memory()? as f64 - before as f64)) {
                Ok(change) => Reading::Value(change),
                Err(error) => Reading::absent(format!("VmRSS cannot be read: {error}")),
            }
        });
        let mut regions = self.regions.borrow_mut();
        regions.open.pop();
        if !regions.muted {
            regions.finished.push(Region { path, wall: wall.as_nanos() as u64, usage, memory_change });
        }
        value
    }

    /// Stops or resumes the recording of blocks.
    pub(super) fn mute_regions(&self, muted: bool) {
        self.regions.borrow_mut().muted = muted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bencher::{Limits, Purpose, Settings};

    fn bencher() -> Bencher {
        Bencher::new(Settings::new(Purpose::Measure, Limits::SMOKE))
    }

    #[test]
    fn blocks_nest_repeat_and_keep_every_occurrence() {
        let bencher = bencher();
        for _ in 0..2 {
            bencher.measure("save", || {
                bencher.measure("encode", || ());
                bencher.measure("write", || ());
            });
        }
        let regions = bencher.finish().unwrap().seen.regions;
        let paths: Vec<&str> = regions.iter().map(|region| region.path.as_str()).collect();
        let once = ["save/encode", "save/write", "save"];
        assert_eq!(paths, [once, once].concat());
    }

    #[test]
    fn a_block_collects_only_what_it_is_asked_for() {
        let bencher = bencher();
        bencher.measure_with("plain", &[], || ());
        bencher.measure_with("memory", &[Collector::Memory], || ());
        let regions = bencher.finish().unwrap().seen.regions;
        assert_eq!((regions[0].usage, &regions[0].memory_change), (None, &None));
        assert!(regions[1].memory_change.is_some() && regions[1].usage.is_none());
    }

    #[test]
    fn a_block_gives_back_what_its_body_gives() {
        assert_eq!(bencher().measure("add", || 1 + 1), 2);
    }
}
