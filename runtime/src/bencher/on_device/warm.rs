//! Warm-up: until compilers, caches and clocks have settled. Never held: what loads code in the middle of a
//! held queue waits for ever.

use std::time::Duration;

use super::sample::DeviceBody;
use crate::bencher::{Budget, Error};
use crate::device::{CycleStamp, Device};

/// A repeat warms up for at least so many bodies and so long.
const LEAST_BODIES: u64 = 2;
const LEAST: Duration = Duration::from_millis(100);

/// The clock of the device is looked at every so often, and has settled when it changed by no more than this
/// share.
const LOOK: u64 = 100_000_000;
const SETTLED: f64 = 0.01;

/// The longest that a clock is waited for.
const LONGEST: u64 = 3_000_000_000;

/// The result of a warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct WarmUpResult {
    /// The time that it took, in nanoseconds.
    pub(super) took: u64,
    /// The number of bodies it ran.
    pub(super) bodies: u64,
    /// The clock of the device when it ended, in megahertz.
    pub(super) clock: Option<f64>,
    /// The time that a body took at last, in nanoseconds by the host's clock, its share of a synchronisation
    /// included.
    pub(super) each: u64,
}

/// Runs bodies until there are as many as the budget asks, for as long as is due, and until the device's
/// clock stands. Without a time to measure for (a smoke run) two bodies are enough.
///
/// # Errors
/// When the body or the device failed.
pub(super) fn warm_up(
    device: &dyn Device,
    budget: Budget,
    body: &mut DeviceBody<'_>,
) -> Result<WarmUpResult, Error> {
    let due = if budget.min_time.is_zero() { Duration::ZERO } else { LEAST.max(budget.min_time / 20) };
    let bodies = budget.warmup.max(LEAST_BODIES);
    device.sync()?;
    let start = device.host_ns();
    let mut warmed = WarmUpResult::default();
    let (mut clock, mut looked): (Option<f64>, u64) = (None, start);
    loop {
        let before = device.host_ns();
        device.stamp(CycleStamp::Before)?;
        body.run(device)?;
        device.stamp(CycleStamp::After)?;
        device.sync()?;
        let now = device.host_ns();
        warmed =
            WarmUpResult { took: now - start, bodies: warmed.bodies + 1, each: now - before, clock: None };
        if warmed.bodies < bodies || warmed.took < due.as_nanos() as u64 {
            continue;
        }
        if due.is_zero() || warmed.took >= LONGEST {
            break;
        }
        if clock.is_some() && now - looked < LOOK {
            continue;
        }
        let Some(found) = device.clock_mhz() else { break };
        let settled = clock.is_some_and(|before| (found - before).abs() <= SETTLED * before);
        (clock, looked) = (Some(found), now);
        if settled {
            break;
        }
    }
    warmed.clock = device.clock_mhz();
    Ok(warmed)
}

#[cfg(test)]
mod tests {
    use super::super::Stream;
    use super::super::double::Double;
    use super::*;
    use crate::device::Queue;

    fn run(device: &std::rc::Rc<Double>, budget: Budget) -> WarmUpResult {
        let of = device.clone();
        let mut run = |_: &Stream<'_>| {
            of.kernel(Queue::MEASURED, 10_000_000);
            Ok(())
        };
        warm_up(&**device, budget, &mut DeviceBody::new(&mut run)).unwrap()
    }

    #[test]
    fn it_takes_two_bodies_and_a_tenth_of_a_second_and_no_time_in_a_smoke_run() {
        let budget = Budget { warmup: 0, batches: 5, min_time: Duration::from_millis(500), max_time: None };
        let seen = run(&Double::new(), budget);
        assert_eq!((seen.bodies, seen.clock), (10, None));
        assert!((10_000_000..10_010_000).contains(&seen.each), "{seen:?}");
        assert_eq!(run(&Double::new(), Budget::SMOKE).bodies, 2);
        assert_eq!(run(&Double::new(), Budget { warmup: 30, ..budget }).bodies, 30);
    }

    #[test]
    fn it_goes_on_until_the_clock_of_the_device_stands() {
        let budget = Budget { warmup: 0, batches: 5, min_time: Duration::from_millis(500), max_time: None };
        let device = Double::new();
        *device.clocks.borrow_mut() =
            (0..40).map(|place| (345.0 + 50.0 * f64::from(place)).min(1_980.0)).collect();
        let seen = run(&device, budget);
        assert_eq!(seen.clock, Some(1_980.0));
        assert!((400_000_000..600_000_000).contains(&seen.took), "{seen:?}");
    }
}
