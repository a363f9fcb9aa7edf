//! Modes, audit and caveats through the real driver calls.

use std::time::Duration;

use weighbridge::data::Reading;
use weighbridge::gpu::{DEVICE_METRICS, DeviceCaveat, Numbers, OnDevice};
use weighbridge::{Budget, Mode, Observation};

use crate::spin::Spin;
use crate::work::{bencher, fake, private_stream, synchronise, take_from_the_pool};

const BUDGET: Budget = Budget { warmup: 2, batches: 10, min_time: Duration::from_millis(20), max_time: None };

fn names(on: &OnDevice) -> Vec<&'static str> {
    on.caveats.iter().map(DeviceCaveat::name).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Times a kernel of so many nanoseconds in this mode.
fn time(mode: Mode, ns: u64) -> OnDevice {
    let bencher = bencher(BUDGET);
    let device = bencher.device().unwrap();
    let spin = Spin::load(c"spin").unwrap();
    device.mode(mode).time(|stream| spin.launch(stream.raw()?, ns)).unwrap();
    *bencher.finish().unwrap().seen.device.unwrap()
}

#[test]
pub fn a_kernel_of_two_milliseconds_takes_two_milliseconds_in_every_mode() {
    let _stand = fake();
    for mode in Mode::ALL {
        let on = time(mode, 2_000_000);
        let took = median(on.times());
        assert!((2_000_000.0..2_010_000.0).contains(&took), "{mode}: {took} {:#?}", on.calibration);
        assert!(names(&on).is_empty(), "{mode}: {:?}", on.caveats);
        assert!(on.info.fake, "{:?}", on.info);
    }
}

#[test]
pub fn event_times_are_within_two_percent_from_five_microseconds_up() {
    let _stand = fake();
    for ns in [5_000, 10_000, 20_000, 50_000, 100_000, 1_000_000] {
        let on = time(Mode::Event, ns);
        let took = median(on.device_times());
        assert!(
            (took / ns as f64 - 1.0).abs() < 0.02,
            "{ns}: {took} {:?} {:?}",
            on.calibration,
            on.samples[0]
        );
    }
}

#[test]
fn a_body_that_says_it_is_complete_and_is_not_has_a_caveat() {
    let _stand = fake();
    let bencher = bencher(BUDGET);
    let device = bencher.device().unwrap();
    let spin = Spin::load(c"spin").unwrap();
    device.returns_complete().time(|stream| spin.launch(stream.raw()?, 2_000_000)).unwrap();
    assert_eq!(names(&bencher.finish().unwrap().seen.device.unwrap()), ["forgot-to-sync"]);
}

#[test]
fn a_body_that_synchronises_is_complete_and_is_timed_without_a_hold() {
    let _stand = fake();
    let bencher = bencher(BUDGET);
    let device = bencher.device().unwrap();
    let spin = Spin::load(c"spin").unwrap();
    let body = |stream: &weighbridge::Stream<'_>| {
        spin.launch(stream.raw()?, 100_000)?;
        synchronise()
    };
    device.mode(Mode::Event).time(body).unwrap();
    let on = bencher.finish().unwrap().seen.device.unwrap();
    assert_eq!(names(&on), ["synchronises"]);
    assert!(on.samples.iter().all(|sample| !sample.held));
}

#[test]
pub fn work_on_a_private_stream_has_a_caveat_by_events_and_counts_in_mode_sync() {
    let _stand = fake();
    let run = |mode| {
        let bencher = bencher(BUDGET);
        let device = bencher.device().unwrap();
        let (spin, private) = (Spin::load(c"spin").unwrap(), private_stream());
        let ran = device.mode(mode).time(|stream| {
            spin.launch(stream.raw()?, 10_000)?;
            spin.launch(private, 2_000_000)
        });
        (ran, bencher)
    };
    let (ran, bencher) = run(Mode::Event);
    ran.unwrap();
    assert!(names(&bencher.finish().unwrap().seen.device.unwrap()).contains(&"hidden-stream"));
    let (ran, bencher) = run(Mode::Sync);
    ran.unwrap();
    let on = bencher.finish().unwrap().seen.device.unwrap();
    assert!(median(on.times()) >= 2_000_000.0, "{:?}", on.times());
}

#[test]
fn a_body_that_waits_for_its_own_held_stream_is_timed_again_without_a_hold() {
    let fake = fake();
    // A launch that finds the queue full waits. The audit, with one kernel ahead of the body, has room; a
    // sample, with a hold and two stamps, has not.
    fake.set("queue", 42);
    let bencher = bencher(BUDGET);
    let device = bencher.device().unwrap();
    let spin = Spin::load(c"spin").unwrap();
    let body = |stream: &weighbridge::Stream<'_>| (0..40).try_for_each(|_| spin.launch(stream.raw()?, 1_000));
    device.mode(Mode::Event).time(body).unwrap();
    let on = bencher.finish().unwrap().seen.device.unwrap();
    assert_eq!(names(&on), ["deadlock-under-hold"]);
    assert!(on.samples.iter().all(|sample| !sample.held && sample.wall < 1_000_000));
}

#[test]
fn streams_that_are_declared_overlap_and_have_one_time() {
    let _stand = fake();
    let bencher = bencher(BUDGET);
    let device = bencher.device().unwrap();
    let spin = Spin::load(c"spin").unwrap();
    let body = |stream: &weighbridge::Stream<'_>| {
        spin.launch(stream.beside(0)?, 3_000_000)?;
        spin.launch(stream.beside(1)?, 3_000_000)
    };
    device.mode(Mode::Event).streams(2).time(body).unwrap();
    let on = bencher.finish().unwrap().seen.device.unwrap();
    let took = median(on.device_times());
    assert!((3_000_000.0..3_020_000.0).contains(&took), "{took}");
    let overlap = on.overlap.unwrap();
    assert!((1.98..2.01).contains(&overlap), "{overlap}");
    assert!(names(&on).is_empty(), "{:?}", on.caveats);
}

#[test]
fn the_stream_that_is_timed_is_one_of_those_that_overlap() {
    let _stand = fake();
    let overlap = |own: u64, beside: u64| {
        let bencher = bencher(BUDGET);
        let device = bencher.device().unwrap();
        let spin = Spin::load(c"spin").unwrap();
        let body = |stream: &weighbridge::Stream<'_>| {
            spin.launch(stream.raw()?, own)?;
            spin.launch(stream.beside(0)?, beside)
        };
        device.mode(Mode::Event).streams(1).time(body).unwrap();
        bencher.finish().unwrap().seen.device.unwrap().overlap.unwrap()
    };
    for (own, beside, expected) in
        [(3_000_000, 3_000_000, 2.0), (1_500_000, 3_000_000, 1.5), (3_000_000, 1_000, 1.0)]
    {
        let found = overlap(own, beside);
        assert!((found - expected).abs() < 0.02, "{own} and {beside}: {found}");
    }
}

#[test]
fn a_throttled_device_is_told_and_its_cycles_stay() {
    let fake = fake();
    let run = || {
        let bencher = bencher(BUDGET);
        let device = bencher.device().unwrap();
        let cycles = Spin::load(c"cycles").unwrap();
        device.mode(Mode::Event).time(|stream| cycles.launch(stream.raw()?, 2_000_000)).unwrap();
        *bencher.finish().unwrap().seen.device.unwrap()
    };
    let plain = run();
    fake.throttle(Duration::from_hours(1), 2.0, 0x48);
    let slow = run();
    assert_eq!((names(&plain), names(&slow)), (vec![], vec!["throttled"]));
    let DeviceCaveat::Throttled { reasons, .. } = &slow.caveats[0] else { panic!("{:?}", slow.caveats) };
    assert_eq!(reasons.join(", "), "hardware slowdown, hardware thermal slowdown");
    let ratio = |of: fn(&OnDevice) -> Vec<f64>| median(of(&slow)) / median(of(&plain));
    assert!((1.99..2.01).contains(&ratio(OnDevice::times)), "{}", ratio(OnDevice::times));
    assert!((0.99..1.01).contains(&ratio(OnDevice::cycles)), "{}", ratio(OnDevice::cycles));
}

#[test]
fn phases_are_timed_by_the_device_and_add_up_to_the_body() {
    let _stand = fake();
    let bencher = bencher(BUDGET);
    let device = bencher.device().unwrap();
    let spin = Spin::load(c"spin").unwrap();
    let body = |stream: &weighbridge::Stream<'_>| {
        stream.phase("forward")?;
        spin.launch(stream.raw()?, 100_000)?;
        stream.phase("backward")?;
        spin.launch(stream.raw()?, 300_000)
    };
    device.mode(Mode::Event).time(body).unwrap();
    let on = bencher.finish().unwrap().seen.device.unwrap();
    let names: Vec<&str> = on.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names, ["begin", "forward", "backward"]);
    let sum: f64 = on.phases.iter().map(|phase| phase.each).sum();
    let mean = on.device_times().iter().sum::<f64>() / on.samples.len() as f64;
    assert!((sum - mean).abs() < 1.0, "{sum} {mean}");
    assert!((on.phases[1].each / 100_000.0 - 1.0).abs() < 0.01, "{:?}", on.phases);
    let shares: f64 = on.phase_shares().iter().map(|(_, share)| share).sum();
    assert!((shares - 1.0).abs() < 1e-12);
}

#[test]
fn a_held_window_has_under_a_microsecond_of_the_harness() {
    let _stand = fake();
    let on = time(Mode::Event, 50_000);
    // A launch costs the host 2 us on the fake; the rest is the harness's.
    assert!(
        on.samples.iter().all(|sample| sample.held && sample.enqueue - 2_000 < 1_000),
        "{:?}",
        on.samples[0]
    );
}

/// What a metric of a device says of a body.
fn read(seen: &Observation, name: &str) -> Reading {
    let metric = DEVICE_METRICS.iter().find(|metric| metric.name == name).unwrap();
    (metric.read)(seen)
}

/// A body that states its operations and what they are of, on a device with memory for small matrices.
fn multiplying(numbers: Numbers) -> (OnDevice, Observation) {
    let bencher = bencher(BUDGET);
    let device = bencher.device().unwrap();
    let spin = Spin::load(c"spin").unwrap();
    bencher.flops(20_000_000_000);
    device.mode(Mode::Event).multiplies(numbers).time(|stream| spin.launch(stream.raw()?, 100_000)).unwrap();
    let seen = bencher.finish().unwrap().seen;
    (*seen.device.clone().unwrap(), seen)
}

#[test]
fn a_product_of_matrices_is_a_roofline_of_a_body_that_states_operations() {
    let fake = fake();
    fake.set("memory", 1 << 30);
    let (on, seen) = multiplying(Numbers::F16);
    for (name, expected) in [("f32", 50e12), ("tf32", 200e12), ("f16", 400e12), ("bf16", 400e12)] {
        let product = on.roofline(&format!("matrix product, {name}")).unwrap();
        let share = product.limit().unwrap() / expected;
        assert!((0.9..1.0).contains(&share), "{product:?}");
        assert!(product.nominal.unwrap() > product.limit().unwrap(), "{product:?}");
    }
    let value = |seen: &Observation, name| read(seen, name).value().unwrap();
    // 200 TFLOP/s beside the 400 of half precision, and beside what 132 processors have on paper.
    assert!((0.48..0.56).contains(&value(&seen, "device_flops_of_measured")));
    assert!((0.18..0.20).contains(&value(&seen, "device_flops_of_nominal")));
    assert!(on.caveats.iter().all(|caveat| caveat.name() != "beyond-roofline"), "{:?}", on.caveats);
    // The same beside the 50 of single precision, which no product of those could do.
    let (on, seen) = multiplying(Numbers::F32);
    assert!((3.9..4.5).contains(&value(&seen, "device_flops_of_measured")));
    assert!(on.caveats.iter().any(|caveat| caveat.name() == "beyond-roofline"), "{:?}", on.caveats);
}

#[test]
fn without_a_library_that_multiplies_the_products_are_absent_with_the_reason() {
    let fake = fake();
    fake.set("memory", 1 << 30);
    fake.set("blas", 0);
    let (on, seen) = multiplying(Numbers::F32);
    let product = on.roofline("matrix product, f32").unwrap();
    let why = product.before.as_ref().unwrap().why().unwrap();
    assert_eq!(why, "failed to multiply matrices: cublasCreate failed (status 1)");
    assert_eq!(read(&seen, "device_flops_of_measured").why(), Some(why));
    assert!(on.roofline("device copy").unwrap().limit().is_some());
}

#[test]
fn power_energy_and_memory_are_told_with_their_limits() {
    let _stand = fake();
    let budget = Budget { min_time: Duration::from_millis(500), ..BUDGET };
    let bencher = bencher(budget);
    let device = bencher.device().unwrap();
    let spin = Spin::load(c"spin").unwrap();
    bencher.elements(10);
    let body = |stream: &weighbridge::Stream<'_>| {
        take_from_the_pool(stream.raw()?, 4_096)?;
        spin.launch(stream.raw()?, 2_000_000)
    };
    device.mode(Mode::Event).time(body).unwrap();
    let seen = bencher.finish().unwrap().seen;
    let on = seen.device.clone().unwrap();
    let joules = on.energy.clone().unwrap().value().unwrap();
    // 600 W over two milliseconds.
    assert!((1.15..1.25).contains(&joules), "{joules}");
    assert!(on.telemetry[1].power_watts.is_some() && on.telemetry[1].temperature.is_some());
    assert!(!on.memory.is_empty() && on.memory[0].total == 16 << 30);
    let told = |name| read(&seen, name).value().unwrap();
    assert!((0.5..=1.0).contains(&told("device_utilisation")), "{}", told("device_utilisation"));
    assert!((20.0..100.0).contains(&told("device_temperature")), "{}", told("device_temperature"));
    assert_eq!((told("device_clock"), told("device_throttled")), (1.98e9, 0.0));
    assert_eq!(read(&seen, "device_peak_memory"), Reading::Value(4_096.0));
    let copy = on.roofline("device copy").unwrap();
    assert!(copy.limit().unwrap() > 1e12 && copy.drift().is_some(), "{copy:?}");
}

#[test]
fn energy_that_the_driver_does_not_count_is_absent_with_the_reason() {
    let fake = fake();
    fake.set("energy", 0);
    let on = time(Mode::Event, 2_000_000);
    assert!(on.energy.unwrap().why().is_some());
}

#[test]
fn a_short_body_is_bound_by_its_launches_and_its_replay_shows_it() {
    let _stand = fake();
    let on = time(Mode::Hot, 500);
    let replayed = on.replayed.as_ref().unwrap().each.value().unwrap();
    let each = median(on.device_times());
    assert!((490.0..600.0).contains(&replayed) && replayed < 0.9 * each, "{replayed} of {each}");
    assert!(names(&on).contains(&"launch-bound"), "{:?}", on.caveats);
}

#[test]
fn a_device_that_others_use_and_one_that_is_a_part_are_told() {
    let fake = fake();
    for (key, caveat) in [("other_process", "shared-device"), ("mig", "partitioned")] {
        fake.reset();
        fake.set(key, 1);
        let on = time(Mode::Event, 100_000);
        assert!(names(&on).contains(&caveat), "{key}: {:?}", on.caveats);
    }
}

#[test]
pub fn the_flush_of_mode_cold_is_in_no_window() {
    let fake = fake();
    fake.set("device_rate", 20); // 2 MiB are written: 105 us
    let cold = time(Mode::Cold, 50_000);
    let took = median(cold.device_times());
    assert!((49_900.0..51_000.0).contains(&took), "{took}");
}
