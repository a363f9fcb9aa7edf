//! Which work waits for which.

use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::{CudaStream, sys};

use crate::world::{World, code, is_idle};

const LONG: Duration = Duration::from_millis(5);
const LIMIT: Duration = Duration::from_secs(2);

pub fn a_held_stream_takes_two_launches_and_runs_them_after_the_release(world: &World) {
    let stream = world.stream();
    let words = world.pinned(2);
    let hold = world.hold(&stream, LIMIT);
    world.store(&stream, words.device, 7);
    world.store(&stream, words.device + 4, 8);
    assert!(!is_idle(&stream));
    assert_eq!((words.read(0), words.read(1)), (0, 0));
    hold.release();
    stream.synchronize().unwrap();
    assert_eq!((words.read(0), words.read(1)), (7, 8));
    assert!(!hold.expired());
}

pub fn a_held_stream_lets_go_after_its_timeout_and_says_so(world: &World) {
    let stream = world.stream();
    let hold = world.hold(&stream, Duration::from_millis(20));
    let before = world.now();
    stream.synchronize().unwrap();
    let took = world.now() - before;
    assert!(hold.expired());
    assert!((15_000_000..40_000_000).contains(&took), "{took} ns");
}

pub fn waiting_for_one_stream_does_not_wait_for_another(world: &World) {
    let (held, free) = (world.stream(), world.stream());
    let hold = world.hold(&held, LIMIT);
    world.spin(&free, Duration::from_micros(10));
    free.synchronize().unwrap();
    assert!(!is_idle(&held));
    hold.release();
    held.synchronize().unwrap();
}

pub fn waiting_for_the_context_waits_for_every_stream(world: &World) {
    let streams = [world.stream(), world.stream()];
    for stream in &streams {
        world.spin(stream, LONG);
    }
    world.ctx.synchronize().unwrap();
    assert!(streams.iter().all(is_idle));
}

/// A stream that the NULL stream waits for and that waits for it.
fn blocking(world: &World) -> Arc<CudaStream> {
    world.ctx.bind_to_thread().unwrap();
    let mut stream = std::ptr::null_mut();
    // SAFETY: a place for the handle, which is left to the end of the process.
    unsafe {
        assert_eq!(code(sys::cuStreamCreate(&raw mut stream, 0)), 0);
        world.ctx.wrap_borrowed_stream(stream)
    }
}

pub fn a_non_blocking_stream_ignores_the_null_stream(world: &World) {
    let (null, free) = (world.ctx.default_stream(), world.stream());
    let hold = world.hold(&null, LIMIT);
    world.spin(&free, Duration::from_micros(10));
    free.synchronize().unwrap();
    assert!(!is_idle(&null));
    hold.release();
    null.synchronize().unwrap();
}

pub fn a_blocking_stream_waits_for_the_null_stream(world: &World) {
    let (null, other) = (world.ctx.default_stream(), blocking(world));
    let words = world.pinned(1);
    let hold = world.hold(&null, LIMIT);
    world.store(&other, words.device, 5);
    assert!(!is_idle(&other));
    assert_eq!(words.read(0), 0);
    hold.release();
    other.synchronize().unwrap();
    assert_eq!(words.read(0), 5);
}

pub fn the_null_stream_waits_for_blocking_streams(world: &World) {
    let (null, other) = (world.ctx.default_stream(), blocking(world));
    let words = world.pinned(1);
    let hold = world.hold(&other, LIMIT);
    world.store(&null, words.device, 5);
    assert_eq!(words.read(0), 0);
    hold.release();
    null.synchronize().unwrap();
    assert_eq!(words.read(0), 5);
    assert!(is_idle(&other));
}

pub fn a_wait_for_an_event_orders_two_streams(world: &World) {
    let (first, second) = (world.stream(), world.stream());
    let words = world.pinned(1);
    let hold = world.hold(&first, LIMIT);
    world.store(&first, words.device, 1);
    second.wait(&first.record_event(None).unwrap()).unwrap();
    world.add_one(&second, words.device, 1);
    assert!(!is_idle(&second));
    hold.release();
    second.synchronize().unwrap();
    assert_eq!(words.read(0), 2);
}

pub fn a_new_recording_does_not_move_an_earlier_wait(world: &World) {
    let (first, second) = (world.stream(), world.stream());
    let event = first.record_event(None).unwrap();
    second.wait(&event).unwrap();
    let hold = world.hold(&first, LIMIT);
    event.record(&first).unwrap();
    world.spin(&second, Duration::from_micros(10));
    second.synchronize().unwrap();
    assert_eq!(event.try_is_complete(), Ok(false));
    hold.release();
    first.synchronize().unwrap();
}

pub fn a_busy_stream_is_destroyed_at_once_and_its_work_is_done(world: &World) {
    let words = world.pinned(1);
    let stream = world.stream();
    world.spin(&stream, LONG);
    world.store(&stream, words.device, 9);
    let before = world.now();
    drop(stream);
    let took = world.now() - before;
    assert!(took < 1_000_000, "{took} ns");
    world.ctx.check_err().unwrap();
    world.ctx.synchronize().unwrap();
    assert_eq!(words.read(0), 9);
}

pub fn every_thread_has_a_stream_of_its_own(world: &World) {
    let here = world.ctx.per_thread_stream();
    let hold = world.hold(&here, LIMIT);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            world.ctx.bind_to_thread().unwrap();
            let there = world.ctx.per_thread_stream();
            // SAFETY: the calling thread's own stream.
            assert_eq!(code(unsafe { sys::cuStreamQuery(there.cu_stream()) }), 0);
        });
    });
    assert!(!is_idle(&here));
    hold.release();
    here.synchronize().unwrap();
}

unsafe extern "C" fn note(word: *mut c_void) {
    let word = word.cast::<u32>();
    // SAFETY: `word` is pinned memory that the check holds until it has waited.
    unsafe { word.add(1).write_volatile(word.read_volatile()) };
}

pub fn a_host_function_runs_between_the_work_around_it(world: &World) {
    let stream = world.stream();
    let words = world.pinned(2);
    world.store(&stream, words.device, 3);
    // SAFETY: the function and its word live until the wait below.
    let result = unsafe { sys::cuLaunchHostFunc(stream.cu_stream(), Some(note), words.host.cast()) };
    assert_eq!(code(result), 0);
    world.spin(&stream, Duration::from_micros(100));
    world.store(&stream, words.device, 4);
    stream.synchronize().unwrap();
    assert_eq!((words.read(0), words.read(1)), (4, 3));
}
