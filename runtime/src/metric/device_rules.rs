//! The rules that raise caveats about figures of a device, each judged by what was calibrated. They look at
//! what was seen and at nothing else.

use super::device_caveat::LEAST_QUANTA;
use super::{DeviceCaveat, Mode, OnDevice, Returns};
use crate::device::throttle_reasons;
use crate::stats;

/// A wait of up to so many round trips is the measuring's own.
const ROUND_TRIPS: f64 = 3.0;

/// A drain of more than this share of the whole says that the body had not synchronised.
const DRAINED: f64 = 0.2;

/// A share of the wall time that the device's clock does not explain says that another queue worked.
const UNEXPLAINED: f64 = 0.5;

/// Beyond a roofline by this is beyond what the device can do.
const BEYOND: f64 = 1.05;

/// Clocks that spread by more than this share are not one clock.
const CLOCK_SPREAD: f64 = 0.05;

/// Values whose order has a Mann-Kendall score beyond this have a trend: one drawn order in a thousand has.
const TREND: f64 = 3.29;

/// A roofline that moved by more than this share is not the one that the samples had.
const ROOFLINE_DRIFT: f64 = 0.03;

/// A body in a row that costs no more than this many launches is bound by them.
const LAUNCHES: f64 = 1.5;

/// The share of samples left out beyond which what is left is a choice.
const DISCARDED: f64 = 0.2;

/// Those that fail a case: they need audits and a few samples, and nothing else.
pub fn fatal(seen: &OnDevice) -> Vec<DeviceCaveat> {
    forgot_to_sync(seen).into_iter().chain(hidden_stream(seen)).collect()
}

/// All caveats about what was seen, in the order of the list above.
pub fn device_caveats(seen: &OnDevice) -> Vec<DeviceCaveat> {
    let mut found = fatal(seen);
    found.extend(host_bound(seen));
    found.extend(launch_bound(seen));
    found.extend(below_resolution(seen));
    found.extend(throttled(seen));
    found.extend(clock_drift(seen));
    found.extend(discarded(seen));
    let others = seen.telemetry.iter().filter_map(|telemetry| telemetry.other_processes).max();
    found.extend(others.filter(|count| *count > 0).map(|processes| DeviceCaveat::SharedDevice { processes }));
    found.extend((seen.info.partitioned == Some(true)).then_some(DeviceCaveat::Partitioned));
    found.extend(seen.info.served.then_some(DeviceCaveat::Served));
    found.extend(zero_work(seen));
    found.extend(beyond_roofline(seen));
    found.extend(seen.rooflines.iter().filter_map(|roofline| {
        let change = roofline.drift().filter(|change| change.abs() > ROOFLINE_DRIFT)?;
        Some(DeviceCaveat::DeviceDrift { roofline: roofline.name.clone(), change })
    }));
    found.extend(memory_growth(seen));
    found.extend(synchronises(seen));
    found.extend(seen.hold_expired.then_some(DeviceCaveat::DeadlockUnderHold));
    found
}

fn most_waits(seen: &OnDevice) -> f64 {
    ROUND_TRIPS * seen.calibration.round_trip
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| stats::median(&values))
}

/// Tells whether the measured queue was idle when the body returned, in more than half of the looks.
fn mostly_idle(seen: &OnDevice) -> bool {
    seen.audits.iter().filter(|audit| audit.idle).count() * 2 > seen.audits.len()
}

fn forgot_to_sync(seen: &OnDevice) -> Option<DeviceCaveat> {
    if seen.returns != Returns::Complete {
        return None;
    }
    let returned = median(seen.audits.iter().map(|audit| audit.returned as f64))?;
    let complete = median(seen.audits.iter().map(|audit| audit.complete as f64))?;
    let drain = median(seen.audits.iter().map(|audit| (audit.complete - audit.returned) as f64))?;
    let busy = seen.audits.iter().filter(|audit| !audit.idle).count() * 2 > seen.audits.len();
    let long = drain > most_waits(seen).max(DRAINED * complete);
    (busy || long).then_some(DeviceCaveat::ForgotToSync { returned, complete })
}

/// A body that is enqueued, whose wall time neither the measured queue nor the host's own part explains.
/// While the queue was held the two came one after the other.
fn hidden_stream(seen: &OnDevice) -> Option<DeviceCaveat> {
    if seen.mode == Mode::Sync || seen.returns != Returns::Enqueued {
        return None;
    }
    let hidden = |sample: &super::DeviceSample| {
        let device = sample.device?;
        let enqueue = sample.enqueue as f64;
        let explained = if sample.held { device + enqueue } else { device.max(enqueue) };
        Some(sample.wall as f64 - explained)
    };
    let unexplained = median(seen.samples.iter().filter_map(hidden))?;
    let wall = median(seen.samples.iter().map(|sample| sample.wall as f64))?;
    let device = median(seen.samples.iter().filter_map(|sample| sample.device))?;
    let release = seen.calibration.release.unwrap_or(0.0);
    let own = most_waits(seen).max(release + 2.0 * seen.calibration.round_trip);
    (unexplained > own.max(UNEXPLAINED * wall)).then_some(DeviceCaveat::HiddenStream { wall, device })
}

fn host_bound(seen: &OnDevice) -> Option<DeviceCaveat> {
    if !matches!(seen.mode, Mode::Event | Mode::Cold) || !mostly_idle(seen) {
        return None;
    }
    let enqueue = median(seen.samples.iter().map(|sample| sample.enqueue as f64))?;
    let device = median(seen.samples.iter().filter_map(|sample| sample.device))?;
    (enqueue > 2.0 * device && enqueue > most_waits(seen))
        .then_some(DeviceCaveat::HostBound { enqueue, device })
}

fn launch_bound(seen: &OnDevice) -> Option<DeviceCaveat> {
    let launch = seen.calibration.launch?;
    if seen.mode != Mode::Hot {
        return None;
    }
    let each = median(seen.device_times().into_iter())?;
    let replayed = seen.replayed.as_ref().and_then(|replayed| replayed.each.value());
    // Replayed, a body that is bound by launches costs less: that is how it is told from one that is merely
    // as long.
    let gains = replayed.is_none_or(|replayed| replayed < 0.9 * each);
    (each <= LAUNCHES * launch && gains).then_some(DeviceCaveat::LaunchBound { each, launch })
}

fn below_resolution(seen: &OnDevice) -> Option<DeviceCaveat> {
    let quantum = seen.calibration.quantum?;
    let device = median(seen.samples.iter().filter_map(|sample| sample.device))?;
    (device < LEAST_QUANTA * quantum).then_some(DeviceCaveat::BelowResolution { device, quantum })
}

fn throttled(seen: &OnDevice) -> Option<DeviceCaveat> {
    let reasons = throttle_reasons(seen.throttled);
    let (looks, told) = seen.looks;
    if reasons.is_empty() || looks == 0 {
        return None;
    }
    let reasons = reasons.into_iter().map(str::to_owned).collect();
    Some(DeviceCaveat::Throttled { reasons, share: told as f64 / looks as f64 })
}

fn clock_drift(seen: &OnDevice) -> Option<DeviceCaveat> {
    let clocks = seen.clocks();
    if clocks.len() < 5 {
        return None;
    }
    let (low, high) = (stats::quantile(&clocks, 0.05), stats::quantile(&clocks, 0.95));
    let trend = stats::mann_kendall(&thinned(&clocks));
    let wide = high - low > CLOCK_SPREAD * low;
    // A trend of a clock that hardly moves is no caveat about a time.
    let runs = trend.abs() > TREND && high - low > 0.2 * CLOCK_SPREAD * low;
    (wide || runs).then_some(DeviceCaveat::ClockDrift { low, high, trend })
}

/// At most some hundred values, evenly chosen: the trend looks at all pairs.
fn thinned(values: &[f64]) -> Vec<f64> {
    values.iter().step_by(values.len().div_ceil(256).max(1)).copied().collect()
}

fn discarded(seen: &OnDevice) -> Option<DeviceCaveat> {
    let of = seen.discarded + seen.samples.len() as u64;
    let many = seen.discarded as f64 > DISCARDED * of as f64;
    many.then_some(DeviceCaveat::Discarded { discarded: seen.discarded, of })
}

fn zero_work(seen: &OnDevice) -> Option<DeviceCaveat> {
    let floor = seen.calibration.floor? + seen.calibration.quantum.unwrap_or(0.0);
    let device = median(seen.device_times().into_iter())?;
    // A batch's pair of stamps is shared by its bodies.
    let floor = floor / seen.bodies.max(1) as f64;
    (device < floor).then_some(DeviceCaveat::ZeroWork { device, floor })
}

fn beyond_roofline(seen: &OnDevice) -> Vec<DeviceCaveat> {
    let Some(time) = median(seen.times().into_iter()).filter(|time| *time > 0.0) else { return Vec::new() };
    let [_, bytes, flops] = seen.stated;
    let beyond = |(amount, roofline): (u64, Option<&super::Roofline>)| {
        let limit = roofline?.limit().filter(|limit| *limit > 0.0)?;
        let share = amount as f64 / (time * 1e-9) / limit;
        let roofline = roofline?.name.clone();
        (amount > 0 && share > BEYOND).then_some(DeviceCaveat::BeyondRoofline { roofline, share })
    };
    [(bytes, seen.roofline("device copy")), (flops, seen.product())].into_iter().filter_map(beyond).collect()
}

fn memory_growth(seen: &OnDevice) -> Option<DeviceCaveat> {
    let used: Vec<u64> = seen.memory.iter().map(|memory| memory.used).collect();
    let grows = used.len() >= 4 && used.windows(2).all(|pair| pair[1] > pair[0]);
    let bytes = used.last()?.checked_sub(*used.first()?)?;
    grows.then_some(DeviceCaveat::MemoryGrowth { bytes, looks: used.len() as u64 })
}

fn synchronises(seen: &OnDevice) -> Option<DeviceCaveat> {
    let asked =
        matches!(seen.mode, Mode::Event | Mode::Cold | Mode::Hot) && seen.returns == Returns::Enqueued;
    let waited = seen.audits.iter().filter(|audit| audit.waited == Some(true)).count();
    (asked && waited * 2 > seen.audits.len()).then_some(DeviceCaveat::Synchronises)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{DeviceInfo, DeviceMemory, Telemetry};
    use crate::metric::{Calibration, DeviceAudit, DeviceSample, Reading, ReplayCosts, Roofline};

    /// A repeat without a caveat: 100 us by the device's clock, in mode event.
    fn plain() -> OnDevice {
        let sample = DeviceSample {
            wall: 115_000,
            enqueue: 5_000,
            device: Some(100_000.0),
            clock: Some(1_980.0),
            held: true,
        };
        OnDevice {
            mode: Mode::Event,
            calibration: Calibration {
                floor: Some(1_500.0),
                quantum: Some(500.0),
                launch: Some(2_500.0),
                round_trip: 8_000.0,
                release: Some(6_000.0),
            },
            audits: vec![
                DeviceAudit { returned: 5_000, complete: 112_000, idle: false, waited: Some(false) };
                5
            ],
            bodies: 1,
            samples: vec![sample; 20],
            ..OnDevice::default()
        }
    }

    fn names(seen: &OnDevice) -> Vec<&'static str> {
        device_caveats(seen).iter().map(DeviceCaveat::name).collect()
    }

    fn check(change: impl FnOnce(&mut OnDevice), expected: &[&str]) {
        let mut seen = plain();
        change(&mut seen);
        assert_eq!(names(&seen), expected, "{:#?}", device_caveats(&seen));
        assert!(expected.iter().all(|name| DeviceCaveat::NAMES.contains(name)), "{expected:?}");
    }

    #[test]
    fn a_plain_repeat_has_no_caveat() {
        check(|_| {}, &[]);
    }

    #[test]
    fn a_body_that_says_it_is_complete_and_is_not_forgot_to_synchronise() {
        check(|seen| (seen.mode, seen.returns) = (Mode::Sync, Returns::Complete), &["forgot-to-sync"]);
        let done = DeviceAudit { returned: 110_000, complete: 118_000, idle: true, waited: Some(true) };
        check(
            |seen| {
                (seen.mode, seen.returns) = (Mode::Sync, Returns::Complete);
                seen.audits = vec![done; 5];
            },
            &[],
        );
        // Its own stream is idle, and another one is not.
        let elsewhere = DeviceAudit { returned: 5_000, complete: 112_000, idle: true, waited: Some(false) };
        check(
            |seen| {
                (seen.mode, seen.returns) = (Mode::Sync, Returns::Complete);
                seen.audits = vec![elsewhere; 5];
            },
            &["forgot-to-sync"],
        );
        let caveat = DeviceCaveat::ForgotToSync { returned: 5_000.0, complete: 2_000_000.0 };
        assert!(caveat.is_fatal());
        assert_eq!(
            caveat.to_string(),
            "forgot to synchronise: the body returned after 5.0 us, its work was done after 2.00 ms; remedy: \
             synchronise in the body before it returns, or do not declare `returns_complete`"
        );
    }

    #[test]
    fn time_that_neither_the_stream_nor_the_host_explains_is_of_a_hidden_stream() {
        let wall = |wall, enqueue, device| {
            move |seen: &mut OnDevice| {
                for sample in &mut seen.samples {
                    (sample.wall, sample.enqueue, sample.device, sample.held) =
                        (wall, enqueue, Some(device), false);
                }
            }
        };
        check(wall(2_010_000, 5_000, 100_000.0), &["hidden-stream"]);
        check(wall(200_000, 5_000, 100_000.0), &[]); // 95 us of 200 are under half
        check(wall(140_000, 130_000, 100_000.0), &[]); // the host's own part
        assert!(DeviceCaveat::HiddenStream { wall: 2.0, device: 1.0 }.is_fatal());
    }

    #[test]
    fn a_device_that_waited_for_the_host_is_bound_by_it() {
        check(
            |seen| {
                for audit in &mut seen.audits {
                    (audit.idle, audit.returned) = (true, 300_000);
                }
                for sample in &mut seen.samples {
                    (sample.wall, sample.enqueue, sample.held) = (308_000, 300_000, false);
                }
            },
            &["host-bound"],
        );
    }

    #[test]
    fn bodies_in_a_row_that_cost_a_launch_are_bound_by_launches_unless_a_replay_gains_nothing() {
        let hot = |seen: &mut OnDevice, each| {
            (seen.mode, seen.bodies) = (Mode::Hot, 100);
            for sample in &mut seen.samples {
                (sample.wall, sample.device, sample.held) = (320_000, Some(300_000.0), false);
            }
            seen.replayed = Some(ReplayCosts { each: Reading::Value(each), bodies: 20 });
        };
        check(|seen| hot(seen, 1_000.0), &["launch-bound"]);
        check(|seen| hot(seen, 2_990.0), &[]);
    }

    #[test]
    fn fewer_than_twenty_steps_of_the_clock_are_below_resolution_and_less_than_nothing_is_no_work() {
        let device = |device| {
            move |seen: &mut OnDevice| {
                for sample in &mut seen.samples {
                    (sample.wall, sample.device) = (16_000, Some(device));
                }
            }
        };
        check(device(9_999.0), &["below-resolution"]);
        check(device(10_000.0), &[]);
        check(device(1_999.0), &["below-resolution", "zero-work"]);
    }

    #[test]
    fn what_slows_the_device_down_is_told_with_its_reasons() {
        check(|seen| (seen.throttled, seen.looks) = (0x48, (4, 1)), &["throttled"]);
        check(|seen| (seen.throttled, seen.looks) = (0x1, (4, 0)), &[]);
        let caveat = DeviceCaveat::Throttled { reasons: vec!["hardware slowdown".into()], share: 0.25 };
        assert!(
            caveat.to_string().starts_with("throttled in 25 % of the looks: hardware slowdown; remedy: ")
        );
    }

    #[test]
    fn a_clock_that_spreads_or_runs_away_drifts() {
        let clocks = |clock: fn(usize) -> f64| {
            move |seen: &mut OnDevice| {
                for (place, sample) in seen.samples.iter_mut().enumerate() {
                    sample.clock = Some(clock(place));
                }
            }
        };
        check(clocks(|place| if place % 2 == 0 { 1_980.0 } else { 1_700.0 }), &["clock-drift"]);
        check(clocks(|place| 1_980.0 - 2.0 * place as f64), &["clock-drift"]);
        check(clocks(|place| 1_980.0 - 0.1 * place as f64), &[]);
    }

    #[test]
    fn others_on_the_device_and_parts_of_it_are_told() {
        check(
            |seen| seen.telemetry[1] = Telemetry { other_processes: Some(2), ..Telemetry::default() },
            &["shared-device"],
        );
        check(
            |seen| {
                seen.info = DeviceInfo { partitioned: Some(true), served: true, ..DeviceInfo::default() };
            },
            &["partitioned", "served"],
        );
    }

    #[test]
    fn more_than_the_device_can_do_and_a_device_that_changed_are_told() {
        let copy = |before, after| Roofline {
            name: "device copy".to_owned(),
            before: Some(Reading::Value(before)),
            after: Some(Reading::Value(after)),
            nominal: None,
        };
        // 100 us at 1 TB/s are 100 MB.
        check(
            |seen| {
                seen.stated = [0, 106_000_000, 0];
                seen.rooflines = vec![copy(1e12, 1e12)];
            },
            &["beyond-roofline"],
        );
        check(
            |seen| {
                seen.stated = [0, 104_000_000, 0];
                seen.rooflines = vec![copy(1e12, 1e12)];
            },
            &[],
        );
        check(|seen| seen.rooflines = vec![copy(1e12, 0.96e12)], &["device-drift"]);
        check(|seen| seen.rooflines = vec![copy(1e12, 0.98e12)], &[]);
    }

    #[test]
    fn memory_that_rises_with_every_look_grows() {
        let used = |used: &[u64]| -> Vec<DeviceMemory> {
            used.iter().map(|used| DeviceMemory { used: *used, ..DeviceMemory::default() }).collect()
        };
        check(|seen| seen.memory = used(&[1, 2, 3, 4]), &["memory-growth"]);
        check(|seen| seen.memory = used(&[1, 2, 2, 4]), &[]);
        check(|seen| seen.memory = used(&[1, 2, 3]), &[]);
    }

    #[test]
    fn a_body_that_waits_for_what_was_enqueued_before_it_synchronises() {
        check(
            |seen| {
                for audit in &mut seen.audits {
                    audit.waited = Some(true);
                }
            },
            &["synchronises"],
        );
    }

    #[test]
    fn a_queue_that_went_on_by_itself_is_told() {
        check(|seen| seen.hold_expired = true, &["deadlock-under-hold"]);
    }

    #[test]
    fn many_samples_left_out_are_told() {
        check(|seen| seen.discarded = 6, &["discarded"]);
        check(|seen| seen.discarded = 5, &[]);
    }
}
