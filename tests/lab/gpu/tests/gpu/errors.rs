//! What a device fails with: what is one call's, what ends the process's use of it, and what is no device at
//! all.

use std::time::Duration;

use weighbridge::gpu::{DeviceError, Queue, find_device, open_device};
use weighbridge::{Budget, Mode, Platform};

use crate::spin::Spin;
use crate::work::{bencher, fake};

#[test]
fn a_driver_without_a_device_says_why_and_never_panics() {
    let fake = fake();
    let why = |fault: &str| {
        fake.reset();
        fake.fault(fault);
        find_device(Platform::Gpu).unwrap_err().to_string()
    };
    assert_eq!(why("init:1:100"), "no CUDA device (the driver sees none)");
    assert!(why("init:1:34").contains("stub library"));
    assert_eq!(why("init:1:999"), "no CUDA device (cuInit failed: CUDA_ERROR_UNKNOWN (code 999))");
    fake.reset();
    fake.set("devices", 0);
    let none = find_device(Platform::Gpu).unwrap_err().to_string();
    assert!(none.starts_with("no CUDA device (the driver "), "{none}");
}

#[test]
fn what_the_device_is_is_asked_without_a_context() {
    let _stand = fake();
    let info = find_device(Platform::Gpu).unwrap();
    assert!(info.fake && info.name.contains("(fake)"), "{info:?}");
    assert_eq!(info.architecture.as_deref(), Some("sm_90"));
    assert_eq!((info.processors, info.memory), (Some(132), Some(16 << 30)));
    assert!(info.uuid.unwrap().starts_with("GPU-"));
    assert!(info.facts.contains_key("power limit"), "{:?}", info.facts);
}

#[test]
fn an_illegal_address_is_told_by_the_next_synchronisation_and_loses_the_device() {
    let fake = fake();
    let device = open_device(Platform::Gpu).unwrap();
    let spin = Spin::load(c"spin").unwrap();
    fake.fault("kernel:1:700");
    spin.launch(device.raw(Queue::MEASURED).unwrap(), 1_000).unwrap();
    let error = device.sync().unwrap_err();
    assert_eq!((error.code, error.fatal), (700, true), "{error}");
    assert!(device.sync().unwrap_err().fatal, "it stays lost");
}

#[test]
fn a_launch_that_asks_for_too_much_loses_nothing() {
    let fake = fake();
    let device = open_device(Platform::Gpu).unwrap();
    fake.fault("launch:1:701");
    let error = device.occupy(1_000).unwrap_err();
    assert_eq!((error.code, error.fatal), (701, false), "{error}");
    device.sync().unwrap();
}

#[test]
fn memory_that_there_is_not_loses_nothing() {
    let _stand = fake();
    let device = open_device(Platform::Gpu).unwrap();
    let error: DeviceError = device.copies(1 << 40).map(drop).unwrap_err();
    assert_eq!((error.code, error.fatal), (2, false), "{error}");
    device.sync().unwrap();
}

#[test]
fn a_stamp_that_was_not_reached_is_no_time() {
    let _stand = fake();
    let device = open_device(Platform::Gpu).unwrap();
    let a = device.mark(Queue::MEASURED).unwrap();
    device.occupy(1_000_000).unwrap();
    let b = device.mark(Queue::MEASURED).unwrap();
    assert_eq!(device.elapsed_ns(a, b).unwrap_err().code, 600);
    device.sync().unwrap();
    let took = device.elapsed_ns(a, b).unwrap();
    assert!((1_000_000.0..1_010_000.0).contains(&took), "{took}");
    device.recycle();
    assert!(device.elapsed_ns(a, b).is_err());
}

#[test]
fn a_held_stream_stands_until_its_guard_is_dropped() {
    let _stand = fake();
    let device = open_device(Platform::Gpu).unwrap();
    let hold = device.hold().unwrap().unwrap();
    device.occupy(1_000).unwrap();
    assert!(!device.is_idle().unwrap());
    drop(hold);
    device.sync().unwrap();
    assert!(device.is_idle().unwrap());
}

#[test]
pub fn what_a_device_fails_with_in_the_middle_is_the_bodys_error() {
    let fake = fake();
    let bencher =
        bencher(Budget { warmup: 2, batches: 10, min_time: Duration::from_millis(20), max_time: None });
    let device = bencher.device().unwrap();
    let spin = Spin::load(c"spin").unwrap();
    let mut calls = 0;
    let ran = device.mode(Mode::Event).time(|stream| {
        calls += 1;
        if calls == 20 {
            fake.fault("kernel:1:719");
        }
        spin.launch(stream.raw()?, 10_000)
    });
    let error = ran.unwrap_err().to_string();
    assert!(error.contains("(code 719)") && error.contains("lost the device"), "{error}");
}
