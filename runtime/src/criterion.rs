//! Right times of a device for benches that stay with criterion:
//! `Criterion::default().with_measurement(...)`.
//!
//! Criterion's own `WallTime` stops its clock when a body returns. A body that enqueues work on a device
//! returns long before the work is done, so what it shows is what launching costs. These two wait.
//!
//! ```no_run
//! use criterion::Criterion;
//! use weighbridge::criterion::DeviceTime;
//!
//! # fn launch(_: *mut std::ffi::c_void) {}
//! fn main() {
//!     let time = DeviceTime::open().unwrap_or_else(|why| panic!("{why}"));
//!     let stream = time.stream(); // a `CUstream`: what is enqueued elsewhere is not seen
//!     let mut criterion = Criterion::default().with_measurement(time).configure_from_args();
//!     criterion.bench_function("kernel", |b| b.iter(|| launch(stream)));
//!     criterion.final_summary();
//! }
//! ```
//!
//! What criterion has no room for is not here: no caveats, no cold cache, no held stream, so that a short
//! kernel's launch is in its time. Criterion's warm-up takes the host's clock and waits for nothing: it
//! enqueues more than it believes.

use std::ffi::c_void;
use std::rc::Rc;

use ::criterion::Throughput;
use ::criterion::measurement::{Measurement, ValueFormatter};

use crate::device::{Device, DeviceError, NoDevice, Platform, Queue, QueueMark, open_device};

/// Time by the device's clock: from a stamp before the iterations to one after them, on the stream of
/// [`DeviceTime::stream`].
#[derive(Clone, Debug)]
pub struct DeviceTime(Rc<dyn Device>);

/// Time by the host's clock, from a drained device to a drained device: all streams count.
#[derive(Clone, Debug)]
pub struct SyncedWall(Rc<dyn Device>);

impl DeviceTime {
    /// On the graphics processor of this machine.
    ///
    /// # Errors
    /// Why there is none: `no CUDA device (...)`.
    pub fn open() -> Result<Self, NoDevice> {
        open_device(Platform::Gpu).map(Self)
    }

    /// On this device.
    pub fn on(device: Rc<dyn Device>) -> Self {
        Self(device)
    }

    /// The stream (`CUstream`) that is timed; null on a device that has none.
    pub fn stream(&self) -> *mut c_void {
        self.0.raw(Queue::MEASURED).unwrap_or(std::ptr::null_mut())
    }
}

impl SyncedWall {
    /// On the graphics processor of this machine.
    ///
    /// # Errors
    /// As [`DeviceTime::open`].
    pub fn open() -> Result<Self, NoDevice> {
        open_device(Platform::Gpu).map(Self)
    }

    /// On this device.
    pub fn on(device: Rc<dyn Device>) -> Self {
        Self(device)
    }
}

/// Criterion has no error to give back: the message is the panic's.
fn or_panic<T>(result: Result<T, DeviceError>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

impl Measurement for DeviceTime {
    type Intermediate = QueueMark;
    type Value = f64;

    fn start(&self) -> QueueMark {
        self.0.recycle();
        or_panic(self.0.sync()); // what was enqueued before is no part of the sample
        or_panic(self.0.mark(Queue::MEASURED))
    }

    fn end(&self, start: QueueMark) -> f64 {
        let end = or_panic(self.0.mark(Queue::MEASURED));
        or_panic(self.0.sync());
        or_panic(self.0.elapsed_ns(start, end))
    }

    fn add(&self, a: &f64, b: &f64) -> f64 {
        a + b
    }

    fn zero(&self) -> f64 {
        0.0
    }

    fn to_f64(&self, value: &f64) -> f64 {
        *value
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        &Nanoseconds
    }
}

impl Measurement for SyncedWall {
    type Intermediate = u64;
    type Value = f64;

    fn start(&self) -> u64 {
        or_panic(self.0.sync());
        self.0.host_ns()
    }

    fn end(&self, start: u64) -> f64 {
        or_panic(self.0.sync()); // the work has ended, and not only its enqueueing
        (self.0.host_ns() - start) as f64
    }

    fn add(&self, a: &f64, b: &f64) -> f64 {
        a + b
    }

    fn zero(&self) -> f64 {
        0.0
    }

    fn to_f64(&self, value: &f64) -> f64 {
        *value
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        &Nanoseconds
    }
}

/// Nanoseconds, as criterion shows times.
struct Nanoseconds;

impl ValueFormatter for Nanoseconds {
    fn scale_values(&self, typical: f64, values: &mut [f64]) -> &'static str {
        let (factor, unit) = match typical {
            ns if ns < 1e3 => (1.0, "ns"),
            ns if ns < 1e6 => (1e-3, "us"),
            ns if ns < 1e9 => (1e-6, "ms"),
            _ => (1e-9, "s"),
        };
        scale(values, factor);
        unit
    }

    fn scale_throughputs(&self, typical: f64, throughput: &Throughput, values: &mut [f64]) -> &'static str {
        let (amount, names) = match throughput {
            Throughput::Bytes(bytes) | Throughput::BytesDecimal(bytes) => {
                (*bytes as f64, ["B/s", "kB/s", "MB/s", "GB/s"])
            }
            Throughput::Bits(bits) => (*bits as f64, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"]),
            Throughput::Elements(elements) | Throughput::ElementsAndBytes { elements, .. } => {
                (*elements as f64, ["elem/s", "Kelem/s", "Melem/s", "Gelem/s"])
            }
        };
        let rate = amount / (typical * 1e-9);
        let step = [1e3, 1e6, 1e9].iter().filter(|border| rate >= **border).count();
        for value in values {
            *value = amount / (*value * 1e-9) / 1e3f64.powi(step as i32);
        }
        names[step]
    }

    fn scale_for_machines(&self, _: &mut [f64]) -> &'static str {
        "ns"
    }
}

fn scale(values: &mut [f64], factor: f64) {
    for value in values {
        *value *= factor;
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "exact numbers are meant")]
mod tests {
    use super::*;

    #[test]
    fn times_and_rates_are_shown_in_units_that_fit() {
        let mut values = [1_500_000.0, 3_000_000.0];
        assert_eq!((Nanoseconds.scale_values(1_500_000.0, &mut values), values), ("ms", [1.5, 3.0]));
        let mut values = [1e9];
        let unit = Nanoseconds.scale_throughputs(1e9, &Throughput::Bytes(4_000), &mut values);
        assert_eq!((unit, values), ("kB/s", [4.0]));
        let mut values = [1e9];
        let unit = Nanoseconds.scale_throughputs(1e9, &Throughput::Elements(7), &mut values);
        assert_eq!((unit, values), ("elem/s", [7.0]));
    }

    #[test]
    fn on_the_host_both_take_its_clock() {
        let host = open_device(Platform::Cpu).unwrap();
        let time = DeviceTime::on(host.clone());
        assert!(time.stream().is_null());
        let start = time.start();
        assert!(time.end(start) >= 0.0);
        let wall = SyncedWall::on(host);
        let start = wall.start();
        assert!(wall.end(start) >= 0.0 && wall.zero() + wall.add(&1.0, &2.0) == 3.0);
    }
}
