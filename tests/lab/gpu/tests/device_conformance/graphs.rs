//! Capture and replay.

use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::{CudaStream, sys};

use crate::world::{World, code, mark};

const FLAGS: sys::CUgraphInstantiate_flags = sys::CUgraphInstantiate_flags(0);

fn begin(stream: &CudaStream) {
    stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL).unwrap();
}

/// Ends a capture whose result is not wanted.
fn end(stream: &CudaStream) -> u32 {
    let mut graph = std::ptr::null_mut();
    // SAFETY: a place for the handle; a graph that comes nevertheless is left to the end of the process.
    code(unsafe { sys::cuStreamEndCapture(stream.cu_stream(), &raw mut graph) })
}

pub fn a_captured_kernel_runs_when_the_graph_is_launched_and_not_before(world: &World) {
    let stream = world.stream();
    let words = world.pinned(1);
    begin(&stream);
    world.add_one(&stream, words.device, 1);
    let graph = stream.end_capture(FLAGS).unwrap().unwrap();
    stream.synchronize().unwrap();
    assert_eq!(words.read(0), 0);
    for count in 1..=3 {
        graph.launch().unwrap();
        stream.synchronize().unwrap();
        assert_eq!(words.read(0), count);
    }
}

pub fn a_graph_takes_the_time_of_its_kernels(world: &World) {
    let stream = world.stream();
    begin(&stream);
    (0..20).for_each(|_| world.spin(&stream, Duration::from_micros(100)));
    let graph = stream.end_capture(FLAGS).unwrap().unwrap();
    graph.launch().unwrap();
    stream.synchronize().unwrap();
    let start = mark(&stream);
    graph.launch().unwrap();
    let end = mark(&stream);
    let ms = start.elapsed_ms(&end).unwrap();
    assert!((2.0..2.4).contains(&ms), "{ms} ms");
}

pub fn a_capture_that_forks_and_joins_runs_both_branches(world: &World) {
    let (main, side) = (world.stream(), world.stream());
    let words = world.pinned(2);
    begin(&main);
    side.wait(&main.record_event(None).unwrap()).unwrap();
    world.add_one(&main, words.device, 1);
    world.add_one(&side, words.device + 4, 1);
    main.wait(&side.record_event(None).unwrap()).unwrap();
    world.add_one(&main, words.device, 2);
    let graph = main.end_capture(FLAGS).unwrap().unwrap();
    graph.launch().unwrap();
    main.synchronize().unwrap();
    assert_eq!((words.read(0), words.read(1)), (2, 2));
}

/// What is enqueued after a lost capture is the stream's own again.
fn works_again(world: &World, stream: &Arc<CudaStream>) {
    let words = world.pinned(1);
    world.store(stream, words.device, 1);
    stream.synchronize().unwrap();
    assert_eq!(words.read(0), 1);
}

pub fn waiting_for_a_capturing_stream_is_error_900_and_loses_the_capture(world: &World) {
    let stream = world.stream();
    begin(&stream);
    world.spin(&stream, Duration::ZERO);
    assert_eq!(stream.synchronize().map_err(|error| code(error.0)), Err(900));
    assert_eq!(end(&stream), 901);
    works_again(world, &stream);
}

pub fn a_branch_that_is_not_joined_is_error_904(world: &World) {
    let (main, side) = (world.stream(), world.stream());
    begin(&main);
    side.wait(&main.record_event(None).unwrap()).unwrap();
    world.spin(&side, Duration::ZERO);
    assert_eq!(end(&main), 904);
    works_again(world, &main);
}

pub fn the_null_stream_may_not_be_used_under_a_capture(world: &World) {
    let mut stream = std::ptr::null_mut();
    world.ctx.bind_to_thread().unwrap();
    // SAFETY: a place for the handle of a stream that waits for the NULL stream; left to the end of the
    // process.
    let blocking = unsafe {
        assert_eq!(code(sys::cuStreamCreate(&raw mut stream, 0)), 0);
        world.ctx.wrap_borrowed_stream(stream)
    };
    begin(&blocking);
    // SAFETY: the NULL stream.
    assert_eq!(code(unsafe { sys::cuStreamQuery(std::ptr::null_mut()) }), 906);
    assert_eq!(end(&blocking), 901);
    works_again(world, &blocking);
}

pub fn an_event_of_a_capture_cannot_be_asked(world: &World) {
    let stream = world.stream();
    let event = world.ctx.new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT)).unwrap();
    begin(&stream);
    event.record(&stream).unwrap();
    assert_eq!(event.try_is_complete().map_err(|error| code(error.0)), Err(907));
    end(&stream);
    works_again(world, &stream);
}
