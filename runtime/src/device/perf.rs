//! What the processor counts by itself: instructions, cycles, cache misses of the calling thread, in user
//! mode.
//!
//! Behind the feature `perf`. Many virtual machines and containers have no such counters: each is then absent
//! with what the system answered.

/// The counters, in the order of [`HardwareCounters::read`].
pub const HARDWARE: [&str; 3] = ["instructions", "cycles", "cache misses"];

/// The hardware counters of the calling thread.
#[derive(Debug)]
pub struct HardwareCounters {
    #[cfg(all(feature = "perf", target_os = "linux"))]
    counters: [Result<perf_event::Counter, String>; 3],
}

impl HardwareCounters {
    /// Opens what there is. Nothing counts yet.
    #[cfg(all(feature = "perf", target_os = "linux"))]
    pub fn open() -> Self {
        use perf_event::events::Hardware;
        let open = |kind: Hardware, name: &str| {
            let counter = perf_event::Builder::new().kind(kind).build();
            counter.map_err(|error| format!("this machine does not count {name}: {error}"))
        };
        let [instructions, cycles, misses] = HARDWARE;
        Self {
            counters: [
                open(Hardware::INSTRUCTIONS, instructions),
                open(Hardware::CPU_CYCLES, cycles),
                open(Hardware::CACHE_MISSES, misses),
            ],
        }
    }

    /// Opens nothing: the program was built without the feature.
    #[cfg(not(all(feature = "perf", target_os = "linux")))]
    pub fn open() -> Self {
        Self {}
    }

    /// Goes on counting.
    #[cfg_attr(
        not(all(feature = "perf", target_os = "linux")),
        expect(clippy::unused_self, reason = "nothing counts")
    )]
    #[inline]
    pub fn start(&mut self) {
        #[cfg(all(feature = "perf", target_os = "linux"))]
        for counter in self.counters.iter_mut().flatten() {
            let _ = counter.enable(); // a counter that cannot start counts nothing, which `read` tells
        }
    }

    /// Stops counting.
    #[cfg_attr(
        not(all(feature = "perf", target_os = "linux")),
        expect(clippy::unused_self, reason = "nothing counts")
    )]
    #[inline]
    pub fn stop(&mut self) {
        #[cfg(all(feature = "perf", target_os = "linux"))]
        for counter in self.counters.iter_mut().flatten() {
            let _ = counter.disable();
        }
    }

    /// The counts so far, or the reason why one is not known.
    #[cfg(all(feature = "perf", target_os = "linux"))]
    pub fn read(&mut self) -> [Result<u64, String>; 3] {
        let mut counts = HARDWARE.map(|name| Err(format!("no {name} were counted")));
        for (counter, count) in self.counters.iter_mut().zip(&mut counts) {
            match counter {
                Ok(counter) => match counter.read() {
                    Ok(0) => {} // a body of no instructions there is not: the counter never got its turn
                    Ok(value) => *count = Ok(value),
                    Err(error) => *count = Err(format!("failed to read a hardware counter: {error}")),
                },
                Err(why) => *count = Err(why.clone()),
            }
        }
        counts
    }

    /// That it is not known: the program was built without the feature.
    #[cfg(not(all(feature = "perf", target_os = "linux")))]
    #[expect(clippy::unused_self, reason = "nothing counts")]
    pub fn read(&mut self) -> [Result<u64, String>; 3] {
        HARDWARE.map(|name| Err(format!("{name} are counted with weighbridge's feature `perf`")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_counter_counts_or_says_why_it_does_not() {
        let mut counters = HardwareCounters::open();
        counters.start();
        std::hint::black_box((0..10_000u64).fold(1, |product: u64, at| product.wrapping_mul(at | 1)));
        counters.stop();
        for count in counters.read() {
            match count {
                Ok(count) => assert!(count > 0),
                Err(why) => assert!(why.contains("count"), "{why}"),
            }
        }
    }
}
