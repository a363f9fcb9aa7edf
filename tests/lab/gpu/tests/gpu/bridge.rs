//! The bridge to criterion: what it measures, and what criterion's own clock would have.

use criterion::measurement::Measurement;
use weighbridge::Platform;
use weighbridge::criterion::{DeviceTime, SyncedWall};
use weighbridge::gpu::open_device;

use crate::spin::Spin;
use crate::work::fake;

#[test]
fn the_bridge_measures_the_kernel_and_a_plain_clock_its_launch() {
    let _stand = fake();
    let device = open_device(Platform::Gpu).unwrap();
    let (time, wall) = (DeviceTime::on(device.clone()), SyncedWall::on(device.clone()));
    let (spin, stream) = (Spin::load(c"spin").unwrap(), time.stream());

    let plain = device.host_ns();
    spin.launch(stream, 100_000).unwrap();
    let plain = device.host_ns() - plain;

    let start = time.start();
    spin.launch(stream, 100_000).unwrap();
    let by_device = time.end(start);

    let start = wall.start();
    spin.launch(stream, 100_000).unwrap();
    let by_host = wall.end(start);

    assert!(plain < 5_000, "{plain}");
    // Neither is held: the launch of 2 us lies between the stamps, and a synchronisation beside it in the
    // wall time.
    assert!((100_000.0..103_000.0).contains(&by_device), "{by_device}");
    assert!((by_device..106_000.0).contains(&by_host), "{by_host}");
    assert!((time.add(&by_device, &time.zero()) - by_device).abs() < f64::EPSILON);
}
