//! Energy of one body: a difference of the driver's counter over a window that is long enough for it.

use super::sample::DeviceBody;
use crate::bencher::Error;
use crate::device::Device;
use crate::metric::Reading;

/// Below this the counter says nothing: parts of some devices are sampled a quarter of the time (arXiv
/// 2312.02741).
const LEAST: u64 = 1_000_000_000;

/// The time for which bodies run in a row.
const WINDOW: u64 = 2_000_000_000;

/// Bodies between two readings of the clock take about this long.
const CHUNK: u64 = 20_000_000;

/// Runs bodies in a row, one of which takes about `each` nanoseconds, and gives the energy of one in joules;
/// or says why it is not known. `budget` is the longest that may be spent on it, in nanoseconds.
///
/// # Errors
/// When the body or the device failed.
pub(super) fn energy(
    device: &dyn Device,
    each: f64,
    budget: u64,
    body: &mut DeviceBody<'_>,
) -> Result<Reading, Error> {
    if device.telemetry().energy_joules.is_none() {
        return Ok(Reading::absent("n/a: the device has no counter of energy"));
    }
    let window = WINDOW.min(budget);
    if window < LEAST {
        return Ok(Reading::absent(format!(
            "n/a: a window of {:.2} s is too short for the counter; give the repeat at least 1 s \
             (--measurement-time 1)",
            window as f64 * 1e-9
        )));
    }
    let chunk = (CHUNK as f64 / each.max(1.0)).clamp(1.0, 1e6) as u64;
    device.sync()?;
    let start = device.host_ns();
    let before = device.telemetry().energy_joules;
    let mut bodies = 0;
    while device.host_ns() - start < window {
        for _ in 0..chunk {
            body.run(device)?;
        }
        device.sync()?;
        bodies += chunk;
    }
    let after = device.telemetry().energy_joules;
    Ok(match (before, after) {
        (Some(before), Some(after)) if after > before => Reading::Value((after - before) / bodies as f64),
        _ => Reading::absent("n/a: the counter of energy stood still"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::double::{Double, LAUNCH};
    use super::*;
    use crate::device::Queue;

    #[test]
    fn energy_is_the_difference_of_the_counter_over_at_least_a_second() {
        let device = Double::new();
        let of = device.clone();
        let mut run = |_: &super::super::Stream<'_>| {
            of.kernel(Queue::MEASURED, 1_000_000);
            Ok(())
        };
        let mut body = DeviceBody::new(&mut run);
        let absent = energy(&*device, 1e6, WINDOW, &mut body).unwrap();
        assert_eq!(absent.why(), Some("n/a: the device has no counter of energy"));
        device.watts.set(500.0);
        let short = energy(&*device, 1e6, 500_000_000, &mut body).unwrap();
        assert!(short.why().unwrap().contains("0.50 s is too short"), "{short:?}");
        let joules = energy(&*device, 1e6, WINDOW, &mut body).unwrap().value().unwrap();
        // 500 W over a millisecond, and the launch and synchronisation of every twenty.
        assert!((0.5..0.5 * (1.0 + 10.0 * LAUNCH as f64 / 1e6)).contains(&joules), "{joules}");
    }
}
