//! What is measured: time by the clock on the wall, or what an author says.

use std::time::{Duration, Instant};

use crate::Throughput;

/// A writer of measured values: it chooses their unit.
pub trait ValueFormatter {
    /// A value with its unit.
    fn format_value(&self, value: f64) -> String {
        let mut values = [value];
        let unit = self.scale_values(value, &mut values);
        format!("{} {unit}", short(values[0]))
    }

    /// A rate with its unit: so much in each iteration, which has this value.
    fn format_throughput(&self, throughput: &Throughput, value: f64) -> String {
        let mut values = [value];
        let unit = self.scale_throughputs(value, throughput, &mut values);
        format!("{} {unit}", short(values[0]))
    }

    /// Scales values to one unit and returns it.
    fn scale_values(&self, typical_value: f64, values: &mut [f64]) -> &'static str;

    /// Makes rates of values, scales them to one unit and returns it.
    fn scale_throughputs(
        &self,
        typical_value: f64,
        throughput: &Throughput,
        values: &mut [f64],
    ) -> &'static str;

    /// Scales values to the unit that programs get, and returns it.
    fn scale_for_machines(&self, values: &mut [f64]) -> &'static str;
}

/// Something that is measured between a start and an end.
pub trait Measurement {
    /// The part that is kept from the start to the end.
    type Intermediate;
    /// The value that was measured.
    type Value;

    /// Begins to measure.
    fn start(&self) -> Self::Intermediate;

    /// Ends it.
    fn end(&self, i: Self::Intermediate) -> Self::Value;

    /// The sum of two values.
    fn add(&self, v1: &Self::Value, v2: &Self::Value) -> Self::Value;

    /// The value of nothing.
    fn zero(&self) -> Self::Value;

    /// The value as a number.
    fn to_f64(&self, value: &Self::Value) -> f64;

    /// The writer of its values.
    fn formatter(&self) -> &dyn ValueFormatter;

    /// True of the clock on the wall alone, which the harness reads itself.
    #[doc(hidden)]
    fn is_wall_time(&self) -> bool {
        false
    }
}

/// Time by the clock on the wall.
#[derive(Clone, Copy, Debug, Default)]
pub struct WallTime;

impl Measurement for WallTime {
    type Intermediate = Instant;
    type Value = Duration;

    fn start(&self) -> Instant {
        Instant::now()
    }

    fn end(&self, start: Instant) -> Duration {
        start.elapsed()
    }

    fn add(&self, v1: &Duration, v2: &Duration) -> Duration {
        *v1 + *v2
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_nanos() as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        &Nanoseconds
    }

    fn is_wall_time(&self) -> bool {
        true
    }
}

/// The writer of times.
struct Nanoseconds;

impl ValueFormatter for Nanoseconds {
    fn scale_values(&self, typical_value: f64, values: &mut [f64]) -> &'static str {
        let (factor, unit) = match typical_value {
            nanoseconds if nanoseconds < 1.0 => (1e3, "ps"),
            nanoseconds if nanoseconds < 1e3 => (1.0, "ns"),
            nanoseconds if nanoseconds < 1e6 => (1e-3, "µs"),
            nanoseconds if nanoseconds < 1e9 => (1e-6, "ms"),
            _ => (1e-9, "s"),
        };
        for value in values {
            *value *= factor;
        }
        unit
    }

    fn scale_throughputs(&self, typical: f64, throughput: &Throughput, values: &mut [f64]) -> &'static str {
        let (count, step, units): (u64, f64, [&str; 4]) = match *throughput {
            Throughput::Bits(bits) => (bits, 1e3, ["b/s", "Kb/s", "Mb/s", "Gb/s"]),
            Throughput::Bytes(bytes) => (bytes, 1024.0, ["B/s", "KiB/s", "MiB/s", "GiB/s"]),
            Throughput::BytesDecimal(bytes) => (bytes, 1e3, ["B/s", "KB/s", "MB/s", "GB/s"]),
            Throughput::Elements(elements) | Throughput::ElementsAndBytes { elements, .. } => {
                (elements, 1e3, ["elem/s", "Kelem/s", "Melem/s", "Gelem/s"])
            }
        };
        let rate = |nanoseconds: f64| count as f64 * 1e9 / nanoseconds;
        let power = (rate(typical).max(1.0).ln() / step.ln()).floor().clamp(0.0, 3.0);
        for value in values {
            *value = rate(*value) / step.powf(power);
        }
        units[power as usize]
    }

    fn scale_for_machines(&self, _: &mut [f64]) -> &'static str {
        "ns"
    }
}

/// A number of five letters or so.
fn short(number: f64) -> String {
    let digits = match number.abs() {
        small if small < 10.0 => 4,
        small if small < 100.0 => 3,
        small if small < 1e3 => 2,
        small if small < 1e4 => 1,
        _ => 0,
    };
    format!("{number:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_rates_have_a_unit_in_which_they_are_short() {
        let formatter = WallTime.formatter();
        assert_eq!(formatter.format_value(1_500.0), "1.5000 µs");
        assert_eq!(formatter.format_value(0.25), "250.00 ps");
        assert_eq!(formatter.format_throughput(&Throughput::Bytes(2048), 1e9), "2.0000 KiB/s");
        assert_eq!(formatter.format_throughput(&Throughput::Bits(8), 1.0), "8.0000 Gb/s");
        assert_eq!(formatter.format_throughput(&Throughput::Elements(5), 1e9), "5.0000 elem/s");
    }
}
