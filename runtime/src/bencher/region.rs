//! `measure` blocks: named regions that nest and repeat; every occurrence is kept.

use std::rc::Rc;

use super::Bencher;
use super::regions::LiveArrays;
use crate::device::{DeviceError, DeviceMemory, Usage, resident_memory};
use crate::metric::{Collector, Reading, Region};

impl Bencher {
    /// From now on blocks have the change of what this counts: the arrays that live, of the framework or of
    /// the pool that the body works with. A block after which more of them live than before it has kept some.
    ///
    /// It is asked before and after each block that collects memory, outside its time, and measures no block
    /// itself.
    pub fn count_arrays(&self, count: impl Fn() -> u64 + 'static) {
        *self.arrays.borrow_mut() = Some(LiveArrays(Rc::new(count)));
    }

    /// Measures one block with all collectors: wall time, CPU time, faults, switches, bytes read and written,
    /// change of resident memory, of the device's where one is open, and of the arrays that live where
    /// somebody counts them ([`Bencher::count_arrays`]). Blocks nest (`save/encode`) and repeat; each
    /// occurrence is kept. Blocks inside a body that is being warmed up or calibrated are run but not
    /// recorded.
    pub fn measure<T>(&self, name: &str, block: impl FnOnce() -> T) -> T {
        self.measure_with(name, Collector::ALL, block)
    }

    /// As [`Bencher::measure`], with these collectors beside the wall time, which is always taken.
    pub fn measure_with<T>(&self, name: &str, collectors: &[Collector], block: impl FnOnce() -> T) -> T {
        let clock = &self.settings.clock;
        let device = self.device.borrow().clone();
        // What the collectors cost by the clock of the device's samples, which is its own.
        let by_device = || device.as_ref().map_or(0, |device| device.host_ns());
        let (entered, entered_device) = (clock.now(), by_device());
        let path = {
            let mut regions = self.regions.borrow_mut();
            regions.open.push(name.to_owned());
            regions.open.join("/")
        };
        let resident = collectors.contains(&Collector::Memory).then(resident_memory);
        let looked_at = device.as_ref().filter(|_| collectors.contains(&Collector::Memory));
        // There is one high-water mark: a block within another must not start it again.
        let outermost = self.regions.borrow().open.len() == 1;
        let in_use = looked_at.map(|device| {
            let in_use = device.memory();
            if outermost {
                self.keep_memory_peak(in_use.as_ref().ok().copied().flatten());
                device.reset_memory_peak();
            }
            in_use
        });
        let arrays = self.arrays.borrow().clone().filter(|_| collectors.contains(&Collector::Memory));
        let live = arrays.as_ref().map(|arrays| (arrays.0)());
        let usage = collectors.contains(&Collector::Usage).then(Usage::opening);
        let inner = self.collecting.get();
        let start_device = by_device();
        // The clock starts last and stops first: what the other collectors cost is not in it.
        let start = clock.now();
        let value = block();
        let end = clock.now();
        let end_device = by_device();
        // Nor is what the collectors of blocks inside this one cost.
        let wall = (end - start).saturating_sub(self.collecting.get() - inner);
        let usage = usage.map(|before| Usage::closing() - before);
        let live_arrays_change =
            arrays.zip(live).map(|(arrays, before)| (arrays.0)().cast_signed() - before.cast_signed());
        let memory_change = resident.map(|before| {
            match before.and_then(|before| Ok(resident_memory()? as f64 - before as f64)) {
                Ok(change) => Reading::Value(change),
                Err(error) => Reading::absent(format!("VmRSS cannot be read: {error}")),
            }
        });
        let on_device =
            looked_at.zip(in_use).map(|(device, before)| device_memory(before, device.memory(), outermost));
        let (device_memory_change, device_peak_memory) = on_device.unzip();
        {
            let mut regions = self.regions.borrow_mut();
            regions.open.pop();
            if !regions.muted {
                let wall = wall.as_nanos() as u64;
                regions.finished.push(Region {
                    path,
                    wall,
                    usage,
                    memory_change,
                    device_memory_change,
                    device_peak_memory,
                    live_arrays_change,
                });
            }
        }
        let spent = (start_device - entered_device) + (by_device() - end_device);
        self.collecting_by_device.set(self.collecting_by_device.get() + spent);
        self.collecting.set(self.collecting.get() + (start - entered) + (clock.now() - end));
        value
    }

    /// Keeps the high-water mark of the device's memory that is about to start again.
    fn keep_memory_peak(&self, memory: Option<DeviceMemory>) {
        self.device_peak.set(self.device_peak.get().max(memory.and_then(|memory| memory.pool_peak)));
    }

    /// The number of blocks that have been recorded: what [`Bencher::forget_regions`] goes back to.
    pub(super) fn recorded_regions(&self) -> usize {
        self.regions.borrow().finished.len()
    }

    /// Forgets the blocks that were recorded after so many: those of a sample that does not count.
    pub(super) fn forget_regions(&self, after: usize) {
        self.regions.borrow_mut().finished.truncate(after);
    }

    /// Stops or resumes the recording of blocks.
    pub(super) fn mute_regions(&self, muted: bool) {
        self.regions.borrow_mut().muted = muted;
    }
}

type RegionInUse = Result<Option<DeviceMemory>, DeviceError>;

/// Tells how the device's memory changed between two looks, and the most that its pool had in use.
fn device_memory(before: RegionInUse, after: RegionInUse, outermost: bool) -> (Reading, Reading) {
    match (before, after) {
        (Ok(Some(before)), Ok(Some(after))) => {
            let peak = match after.pool_peak {
                Some(bytes) if outermost => Reading::Value(bytes as f64),
                Some(_) => Reading::absent("the block lies within another, which has the high-water mark"),
                None => Reading::absent("the device has no pool that counts"),
            };
            (Reading::Value(after.used as f64 - before.used as f64), peak)
        }
        (Err(why), _) | (_, Err(why)) => (Reading::absent(why.to_string()), Reading::absent(why.to_string())),
        _ => (Reading::absent("the device does not tell"), Reading::absent("the device does not tell")),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::bencher::{Budget, Purpose, Settings};

    fn bencher() -> Bencher {
        Bencher::new(Settings::new(Purpose::Measure, Budget::SMOKE))
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
    fn what_the_collectors_of_inner_blocks_cost_is_in_no_outer_block() {
        let bencher = bencher();
        bencher.measure("outer", || {
            for _ in 0..1000 {
                bencher.measure("inner", || ());
            }
        });
        let collecting = bencher.collecting.get();
        let regions = bencher.finish().unwrap().seen.regions;
        let outer = regions.last().unwrap();
        // A thousand inner blocks read some twenty thousand lines of /proc; the outer one itself does next to
        // nothing.
        assert!(u128::from(outer.wall) < collecting.as_nanos() / 4, "{} of {collecting:?}", outer.wall);
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
    fn a_block_has_the_devices_memory_where_one_is_open() {
        let memory = |used, pool_peak| Ok(Some(DeviceMemory { used, total: 100, pool_peak }));
        assert_eq!(
            device_memory(memory(10, None), memory(30, Some(25)), true),
            (Reading::Value(20.0), Reading::Value(25.0))
        );
        let (change, peak) = device_memory(Ok(None), Ok(None), true);
        assert!(device_memory(memory(1, None), memory(1, Some(2)), false).1.why().is_some());
        assert!(change.why().is_some() && peak.why().is_some());
        let bencher = bencher();
        bencher.measure("before", || ());
        bencher.device().unwrap();
        bencher.measure("after", || ());
        let regions = bencher.finish().unwrap().seen.regions;
        assert!(regions[0].device_memory_change.is_none() && regions[1].device_memory_change.is_some());
    }

    #[test]
    fn a_block_has_the_change_of_the_arrays_that_live_where_somebody_counts_them() {
        let (bencher, arrays) = (bencher(), Rc::new(RefCell::new(vec![0; 3])));
        bencher.measure("uncounted", || arrays.borrow_mut().push(0));
        let counted = arrays.clone();
        bencher.count_arrays(move || counted.borrow().len() as u64);
        bencher.measure("outer", || {
            bencher.measure("keeps", || arrays.borrow_mut().extend([0; 2]));
            bencher.measure("frees", || arrays.borrow_mut().clear());
        });
        bencher.measure_with("not asked", &[Collector::Usage], || arrays.borrow_mut().push(0));
        let regions = bencher.finish().unwrap().seen.regions;
        let found: Vec<_> =
            regions.iter().map(|region| (region.path.as_str(), region.live_arrays_change)).collect();
        let expected = [
            ("uncounted", None),
            ("outer/keeps", Some(2)),
            ("outer/frees", Some(-6)),
            ("outer", Some(-4)),
            ("not asked", None),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_block_gives_back_what_its_body_gives() {
        assert_eq!(bencher().measure("add", || 1 + 1), 2);
    }
}
