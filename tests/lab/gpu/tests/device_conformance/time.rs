//! What is asynchronous, and how long things took.

use std::time::Duration;

use cudarc::driver::sys;

use crate::world::{World, code, is_idle, mark};

const LONG: Duration = Duration::from_millis(5);

pub fn a_launch_returns_before_its_kernel_ends(world: &World) {
    let stream = world.stream();
    let best = (0..5)
        .map(|_| {
            let before = world.now();
            world.spin(&stream, LONG);
            let took = world.now() - before;
            stream.synchronize().unwrap();
            took
        })
        .min();
    assert!(best < Some(50_000), "{best:?} ns");
}

pub fn a_query_says_not_ready_and_then_ready(world: &World) {
    let stream = world.stream();
    world.spin(&stream, LONG);
    let event = mark(&stream);
    assert!(!is_idle(&stream));
    assert_eq!(event.try_is_complete(), Ok(false));
    stream.synchronize().unwrap();
    assert!(is_idle(&stream));
    assert_eq!(event.try_is_complete(), Ok(true));
}

pub fn events_tell_the_time_of_a_kernel_within_two_percent(world: &World) {
    let stream = world.stream();
    for nominal in [Duration::from_micros(100), Duration::from_millis(2)] {
        let mut times: Vec<f32> = (0..9)
            .map(|_| {
                let hold = world.hold(&stream, Duration::from_secs(2));
                let start = mark(&stream);
                world.spin(&stream, nominal);
                let end = mark(&stream);
                hold.release();
                start.elapsed_ms(&end).unwrap()
            })
            .collect();
        times.sort_by(f32::total_cmp);
        let (median, nominal) = (times[4], nominal.as_secs_f32() * 1e3);
        // Two steps of the coarsest timer that is known, a microsecond, come on top.
        let limit = nominal * 0.02 + if world.fake.is_some() { 0.0 } else { 0.002 };
        assert!((median - nominal).abs() <= limit, "{median} ms instead of {nominal} ms");
    }
}

pub fn the_step_of_event_times_is_below_two_microseconds(world: &World) {
    let stream = world.stream();
    let mut times = Vec::new();
    for step in 0..50u64 {
        let start = mark(&stream);
        world.spin(&stream, Duration::from_nanos(10_000 + 37 * step));
        let end = mark(&stream);
        times.push(start.elapsed_ms(&end).unwrap());
    }
    times.sort_by(f32::total_cmp);
    let step =
        times.windows(2).map(|pair| pair[1] - pair[0]).filter(|step| *step > 0.0).min_by(f32::total_cmp);
    assert!(step.is_some_and(|step| step < 2e-3), "{step:?} ms");
}

pub fn an_event_that_keeps_no_time_has_none(world: &World) {
    let stream = world.stream();
    let untimed = stream.record_event(None).unwrap();
    let timed = mark(&stream);
    stream.synchronize().unwrap();
    let mut ms = 0.0;
    for (from, to) in [(&untimed, &timed), (&timed, &untimed)] {
        // SAFETY: two events that live.
        let result = unsafe { sys::cuEventElapsedTime_v2(&raw mut ms, from.cu_event(), to.cu_event()) };
        assert_eq!(code(result), 400);
    }
}

pub fn an_event_that_is_not_reached_has_no_time_yet(world: &World) {
    let stream = world.stream();
    let start = mark(&stream);
    world.spin(&stream, LONG);
    let end = mark(&stream);
    let mut ms = 0.0;
    // SAFETY: two events that live.
    let mut elapsed =
        || code(unsafe { sys::cuEventElapsedTime_v2(&raw mut ms, start.cu_event(), end.cu_event()) });
    assert_eq!(elapsed(), 600);
    stream.synchronize().unwrap();
    assert_eq!(elapsed(), 0);
}

pub fn an_event_that_was_never_recorded_has_no_time_and_is_complete(world: &World) {
    let stream = world.stream();
    let recorded = mark(&stream);
    stream.synchronize().unwrap();
    let never = world.ctx.new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT)).unwrap();
    assert_eq!(never.try_is_complete(), Ok(true));
    never.synchronize().unwrap();
    let mut ms = 0.0;
    // SAFETY: two events that live.
    let result = unsafe { sys::cuEventElapsedTime_v2(&raw mut ms, recorded.cu_event(), never.cu_event()) };
    assert_eq!(code(result), 400);
}

pub fn time_between_events_counts_backwards_too(world: &World) {
    let stream = world.stream();
    let start = mark(&stream);
    world.spin(&stream, Duration::from_millis(1));
    let end = mark(&stream);
    let (forth, back) = (start.elapsed_ms(&end).unwrap(), end.elapsed_ms(&start).unwrap());
    assert!(forth > 0.9 && (forth + back).abs() < 1e-6, "{forth} {back}");
}

pub fn a_host_timer_without_synchronisation_is_wrong_and_with_it_right(world: &World) {
    let stream = world.stream();
    let time = |synchronise: bool| {
        let before = world.now();
        world.spin(&stream, LONG);
        if synchronise {
            stream.synchronize().unwrap();
        }
        let took = world.now() - before;
        stream.synchronize().unwrap();
        took
    };
    let (wrong, right) = (time(false), time(true));
    assert!(wrong < 1_000_000, "{wrong} ns");
    assert!((5_000_000..6_000_000).contains(&right), "{right} ns");
}

pub fn two_kernels_on_two_streams_take_the_time_of_one(world: &World) {
    let (a, b) = (world.stream(), world.stream());
    world.ctx.synchronize().unwrap();
    let before = world.now();
    world.spin(&a, LONG);
    world.spin(&b, LONG);
    world.ctx.synchronize().unwrap();
    let took = world.now() - before;
    assert!((5_000_000..7_500_000).contains(&took), "{took} ns");
}

pub fn stamps_on_the_device_agree_with_events(world: &World) {
    let stream = world.stream();
    let words = world.pinned(8);
    let hold = world.hold(&stream, Duration::from_secs(2));
    let start = mark(&stream);
    world.stamp(&stream, words.device);
    world.spin(&stream, LONG);
    world.stamp(&stream, words.device + 16);
    let end = mark(&stream);
    hold.release();
    let events = f64::from(start.elapsed_ms(&end).unwrap());
    let wide = |word: usize| u64::from(words.read(word)) | u64::from(words.read(word + 1)) << 32;
    let timer = (wide(4) - wide(0)) as f64 / 1e6;
    let mhz = (wide(6) - wide(2)) as f64 / (wide(4) - wide(0)) as f64 * 1e3;
    assert!((events - timer).abs() < 0.02 * events + 0.02, "events {events} ms, timer {timer} ms");
    assert!((100.0..5_000.0).contains(&mhz), "{mhz} MHz");
}
