//! The clock of the multiprocessors: full, throttled in windows of time, or ramping up from idle.

use crate::config::Config;
use crate::energy::Busy;

/// A span of time in which the device is slowed down.
#[derive(Clone, Debug)]
struct Window {
    from: u64,
    until: u64,
    factor: f64,
    reasons: u64,
}

#[derive(Debug, Default)]
pub struct Speed {
    windows: Vec<Window>,
    cycles: f64,
    counted_to: u64,
}

impl Speed {
    /// Slows the device down by a factor of at least one, for NVML's reasons.
    pub fn throttle(&mut self, from: u64, until: u64, factor: f64, reasons: u64) {
        self.windows.push(Window { from, until, factor: factor.max(1.0), reasons });
    }

    fn at(&self, time: u64) -> impl Iterator<Item = &Window> {
        self.windows.iter().filter(move |window| window.from <= time && time < window.until)
    }

    pub fn reasons(&self, time: u64) -> u64 {
        self.at(time).fold(0, |reasons, window| reasons | window.reasons)
    }

    fn factor(&self, time: u64) -> f64 {
        self.at(time).map(|window| window.factor).fold(1.0, f64::max)
    }

    /// The part of the full clock that the ramp has reached: busy time within the last four ramps counts.
    fn ramp(config: &Config, busy: &Busy, time: u64) -> f64 {
        if config.ramp_ns == 0 {
            return 1.0;
        }
        let worked = busy.between(time.saturating_sub(4 * config.ramp_ns), time);
        let reached = (worked as f64 / config.ramp_ns as f64).min(1.0);
        let idle = config.idle_mhz as f64 / config.full_mhz as f64;
        idle + (1.0 - idle) * reached
    }

    pub fn mhz(&self, config: &Config, busy: &Busy, time: u64) -> f64 {
        config.full_mhz as f64 * Self::ramp(config, busy, time) / self.factor(time)
    }

    /// When work that takes `nominal` nanoseconds at the full clock is done. The ramp is that of its start;
    /// windows are followed through.
    pub fn finish(&self, config: &Config, busy: &Busy, start: u64, nominal: u64) -> u64 {
        let ramp = Self::ramp(config, busy, start);
        let mut left = nominal as f64 / ramp;
        let mut now = start;
        loop {
            let factor = self.factor(now);
            let edges = self.windows.iter().flat_map(|window| [window.from, window.until]);
            let Some(edge) = edges.filter(|edge| *edge > now).min() else {
                return now + (left * factor).round() as u64;
            };
            let done = (edge - now) as f64 / factor;
            if done >= left {
                return now + (left * factor).round() as u64;
            }
            left -= done;
            now = edge;
        }
    }

    /// Cycles since the reset, asked for in the order of time: the mean of sixteen clocks over the span since
    /// the last answer, times its length.
    pub fn cycles(&mut self, config: &Config, busy: &Busy, time: u64) -> u64 {
        let span = time.saturating_sub(self.counted_to);
        let mhz = (0..16u64)
            .map(|part| self.mhz(config, busy, self.counted_to + span * (2 * part + 1) / 32))
            .sum::<f64>()
            / 16.0;
        self.cycles += mhz * span as f64 / 1e3;
        self.counted_to = self.counted_to.max(time);
        self.cycles as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_slows_down_for_as_long_as_a_window_lasts() {
        let (config, busy) = (Config::default(), Busy::default());
        let mut speed = Speed::default();
        speed.throttle(1_000, 3_000, 2.0, 0x48);
        let finish = |start, nominal| speed.finish(&config, &busy, start, nominal);
        // 500 before the window, 1000 within it take 2000, 500 after it.
        for (start, nominal, end) in [(0, 900, 900), (500, 2000, 3500), (1000, 1000, 3000), (1500, 500, 2500)]
        {
            assert_eq!(finish(start, nominal), end, "{start} {nominal}");
        }
        assert_eq!((speed.reasons(999), speed.reasons(1000), speed.reasons(3000)), (0, 0x48, 0));
        assert!((speed.mhz(&config, &busy, 2000) - 990.0).abs() < 1e-9);
    }

    #[test]
    fn the_clock_ramps_with_busy_time_and_falls_when_idle() {
        let config = Config { ramp_ns: 1000, ..Config::default() };
        let mut busy = Busy::default();
        let speed = Speed::default();
        assert!((speed.mhz(&config, &busy, 0) - 345.0).abs() < 1e-9);
        busy.add(0, 1000);
        assert!((speed.mhz(&config, &busy, 1000) - 1980.0).abs() < 1e-9);
        assert!((speed.mhz(&config, &busy, 10_000) - 345.0).abs() < 1e-9);
    }

    #[test]
    fn cycles_are_the_clock_times_time() {
        let (config, busy) = (Config::default(), Busy::default());
        let mut speed = Speed::default();
        assert_eq!(speed.cycles(&config, &busy, 1_000_000), 1_980_000);
        speed.throttle(1_000_000, 2_000_000, 2.0, 4);
        assert_eq!(speed.cycles(&config, &busy, 2_000_000), 2_970_000);
    }
}
