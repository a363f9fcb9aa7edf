//! What the measuring itself costs on a device, measured once per repeat.

use super::sample::let_go;
use crate::device::{Device, DeviceError, Queue};
use crate::metric::Calibration;
use crate::stats;

/// Pairs of stamps: enough to see the smallest step of the clock.
const PAIRS: u64 = 200;

/// Round trips and releases.
const TRIPS: usize = 20;

/// Calibrates. The device is drained before and after.
///
/// # Errors
/// When the device failed.
pub(super) fn calibrate(device: &dyn Device) -> Result<Calibration, DeviceError> {
    if !device.info().has_clock {
        return Ok(Calibration { round_trip: round_trip(device)?, ..Calibration::default() });
    }
    let round_trip = round_trip(device)?;
    let floors = pairs(device, round_trip, |_| None)?;
    // Between stamps that lie apart by ever more, the clock shows all its steps.
    let steps = pairs(device, round_trip, |pair| Some(1_000 + 13 * pair))?;
    Ok(Calibration {
        floor: Some(stats::median(&floors)),
        quantum: quantum(&steps),
        launch: Some(launch(device)?),
        round_trip,
        release: release(device)?,
    })
}

/// Times between two stamps, the queue held where it can be, with so much work in between.
fn pairs(
    device: &dyn Device,
    round_trip: f64,
    work: fn(u64) -> Option<u64>,
) -> Result<Vec<f64>, DeviceError> {
    let mut times = Vec::with_capacity(PAIRS as usize);
    for pair in 0..PAIRS {
        device.recycle();
        device.sync()?;
        let hold = device.hold()?;
        let a = device.mark(Queue::MEASURED)?;
        if let Some(ns) = work(pair) {
            device.occupy(ns)?;
        }
        let b = device.mark(Queue::MEASURED)?;
        let_go(device, hold, Some(round_trip as u64))?;
        device.sync()?;
        times.push(device.elapsed_ns(a, b)?);
    }
    Ok(times)
}

/// The smallest difference of two readings that is not nothing; where all are alike, the floor itself is a
/// bound of it.
fn quantum(floors: &[f64]) -> Option<f64> {
    let sorted = stats::sorted(floors);
    let steps = sorted.windows(2).map(|pair| pair[1] - pair[0]).filter(|step| *step > 0.5);
    steps.min_by(f64::total_cmp).or_else(|| sorted.first().copied()).filter(|quantum| *quantum > 0.0)
}

/// The median cost to the host of enqueueing an empty kernel, in nanoseconds.
fn launch(device: &dyn Device) -> Result<f64, DeviceError> {
    let mut costs = Vec::with_capacity(TRIPS);
    for _ in 0..TRIPS {
        device.recycle();
        device.sync()?;
        let start = device.host_ns();
        for _ in 0..8 {
            if !device.occupy(0)? {
                device.mark(Queue::MEASURED)?; // the next best that is enqueued
            }
        }
        costs.push((device.host_ns() - start) as f64 / 8.0);
        device.sync()?;
    }
    Ok(stats::median(&costs))
}

/// From enqueueing a stamp to a drained device.
fn round_trip(device: &dyn Device) -> Result<f64, DeviceError> {
    let mut trips = Vec::with_capacity(TRIPS);
    for _ in 0..TRIPS {
        device.recycle();
        device.sync()?;
        let start = device.host_ns();
        if device.info().has_clock {
            device.mark(Queue::MEASURED)?;
        }
        device.sync()?;
        trips.push((device.host_ns() - start) as f64);
    }
    Ok(stats::median(&trips))
}

/// From letting a held queue go to a drained device; `None` where it cannot be held.
fn release(device: &dyn Device) -> Result<Option<f64>, DeviceError> {
    let mut waits = Vec::with_capacity(TRIPS);
    for _ in 0..TRIPS {
        device.recycle();
        device.sync()?;
        let Some(hold) = device.hold()? else { return Ok(None) };
        let start = device.host_ns();
        drop(hold);
        device.sync()?;
        waits.push((device.host_ns() - start) as f64);
    }
    Ok(Some(stats::median(&waits)))
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "exact numbers are meant")]
mod tests {
    use super::super::double::{Double, LAUNCH, QUANTUM, RELEASE, STAMP, SYNC};
    use super::*;

    #[test]
    fn what_the_measuring_costs_is_found_to_the_nanosecond() {
        let seen = calibrate(&*Double::new()).unwrap();
        assert_eq!((seen.floor, seen.quantum), (Some(STAMP as f64), Some(QUANTUM as f64)));
        assert_eq!(seen.launch, Some(LAUNCH as f64));
        // Half a launch to enqueue the stamp, the stamp, the synchronisation.
        assert_eq!(seen.round_trip, (LAUNCH / 2 + STAMP + SYNC) as f64);
        assert_eq!(seen.release, Some((LAUNCH + RELEASE + SYNC) as f64));
    }

    #[test]
    fn the_quantum_is_the_smallest_step_that_was_seen() {
        assert_eq!(quantum(&[1_000.0, 1_500.0, 1_000.0, 2_500.0]), Some(500.0));
        assert_eq!(quantum(&[1_000.0, 1_000.0]), Some(1_000.0)); // no more is known
        assert_eq!(quantum(&[0.0, 0.0]), None);
        assert_eq!(quantum(&[]), None);
    }

    #[test]
    fn the_host_as_a_device_is_calibrated_too() {
        let host = crate::device::open_device(crate::device::Platform::Cpu).unwrap();
        let seen = calibrate(&*host).unwrap();
        assert!(seen.round_trip >= 0.0 && seen.release.is_none());
    }
}
