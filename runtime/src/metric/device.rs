//! Metrics of a device: only repeats that ran on one have them.

use super::names;
use super::{Direction, Metric, Observation, OnDevice, Reading, Roofline, Unit};
use crate::stats;

/// Time of one body by the device's clock.
pub(super) const TIME: Metric = Metric {
    name: names::DEVICE_TIME,
    unit: Unit::SECONDS,
    direction: Direction::Lower,
    description: "median time of one body by the device's clock, in the modes event, cold and hot",
    read: |seen| {
        of(seen, |seen| median(&seen.device_times(), "mode sync takes the host's clock").map(|ns| ns * 1e-9))
    },
};

/// Cycles of one body.
pub(super) const CYCLES: Metric = Metric {
    name: names::DEVICE_CYCLES,
    unit: Unit::COUNT,
    direction: Direction::Lower,
    description: "median cycles of one body at the clock that the device had meanwhile: a change of clock \
        leaves them",
    read: |seen| of(seen, |seen| median(&seen.cycles(), "the clock of the device is not known")),
};

/// Share of the wall time in which the measured stream had nothing to do.
pub(super) const IDLE: Metric = Metric {
    name: names::DEVICE_IDLE,
    unit: Unit::RATIO,
    direction: Direction::Information,
    description: "share of the wall time in which the measured stream had nothing to do",
    read: |seen| {
        of(seen, |seen| {
            let idle = |sample: &super::DeviceSample| {
                let device = sample.device?;
                (sample.wall > 0).then(|| (1.0 - device / sample.wall as f64).max(0.0))
            };
            let shares: Vec<f64> = seen.samples.iter().filter_map(idle).collect();
            median(&shares, "mode sync takes the host's clock")
        })
    },
};

/// Most memory in use.
pub(super) const MEMORY: Metric = Metric {
    name: names::DEVICE_PEAK_MEMORY,
    unit: Unit::BYTES,
    direction: Direction::Lower,
    description: "most memory of the device that this process had from the default pool at once; misses what \
        is allocated past the pool",
    read: |seen| {
        of(seen, |seen| {
            let peak = seen.memory.iter().filter_map(|memory| memory.pool_peak).max();
            peak.map(|bytes| bytes as f64).ok_or("the device has no pool that counts")
        })
    },
};

/// Most memory in use on the whole device.
pub(super) const MEMORY_USED: Metric = Metric {
    name: names::DEVICE_MEMORY_USED,
    unit: Unit::BYTES,
    direction: Direction::Information,
    description: "most memory in use on the device when it was looked at, by others too; misses peaks \
        between looks",
    read: |seen| {
        of(seen, |seen| {
            let most = seen.memory.iter().map(|memory| memory.used).max();
            most.map(|bytes| bytes as f64).ok_or("the device does not tell")
        })
    },
};

/// Bytes a second by the clock of the mode.
pub(super) const BANDWIDTH: Metric = Metric {
    name: names::DEVICE_BANDWIDTH,
    unit: Unit::BYTES_PER_SECOND,
    direction: Direction::Higher,
    description: "stated bytes of one body by the median of its time",
    read: |seen| of(seen, |seen| rate(seen, 1, "the scenario stated no bytes")),
};

/// Bandwidth by the copy that was measured in the same repeat.
pub(super) const OF_MEASURED: Metric = Metric {
    name: names::DEVICE_BANDWIDTH_OF_MEASURED,
    unit: Unit::RATIO,
    direction: Direction::Information,
    description: "device_bandwidth by the copy within the device that was measured in the same repeat",
    read: |seen| {
        of(seen, |seen| {
            let limit = seen.roofline("device copy").and_then(Roofline::limit);
            let limit = limit.ok_or("no copy was measured")?;
            Ok(rate(seen, 1, "the scenario stated no bytes")? / limit)
        })
    },
};

/// Bandwidth by what the device has on paper.
pub(super) const OF_NOMINAL: Metric = Metric {
    name: names::DEVICE_BANDWIDTH_OF_NOMINAL,
    unit: Unit::RATIO,
    direction: Direction::Information,
    description: "device_bandwidth by the bandwidth that follows from the device's memory clock and bus \
        width",
    read: |seen| {
        of(seen, |seen| {
            let limit = seen
                .info
                .nominal_bandwidth
                .ok_or("the device does not tell its memory clock and bus width")?;
            Ok(rate(seen, 1, "the scenario stated no bytes")? / limit)
        })
    },
};

/// Operations a second by the clock of the mode.
pub(super) const FLOPS: Metric = Metric {
    name: names::DEVICE_FLOPS,
    unit: Unit::FLOPS,
    direction: Direction::Higher,
    description: "stated floating-point operations of one body by the median of its time",
    read: |seen| of(seen, |seen| rate(seen, 2, NO_FLOPS)),
};

/// Operations by the product of their numbers that was measured in the same repeat.
pub(super) const FLOPS_OF_MEASURED: Metric = Metric {
    name: names::DEVICE_FLOPS_OF_MEASURED,
    unit: Unit::RATIO,
    direction: Direction::Information,
    description: "device_flops by the product of matrices of the body's numbers that was measured in the \
        same repeat",
    read: |seen| {
        of_product(seen, |product| {
            let why = || product.before.as_ref()?.why().map(str::to_owned);
            product.limit().ok_or_else(|| why().unwrap_or_else(|| NO_PRODUCT.to_owned()))
        })
    },
};

/// Operations by what the device has on paper.
pub(super) const FLOPS_OF_NOMINAL: Metric = Metric {
    name: names::DEVICE_FLOPS_OF_NOMINAL,
    unit: Unit::RATIO,
    direction: Direction::Information,
    description: "device_flops by what that product has on paper, at the device's highest clock",
    read: |seen| {
        of_product(seen, |product| {
            let why =
                || "what the device's architecture has on paper of these numbers is not known".to_owned();
            product.nominal.ok_or_else(why)
        })
    },
};

/// Clock of the processors.
pub(super) const CLOCK: Metric = Metric {
    name: names::DEVICE_CLOCK,
    unit: Unit::other("Hz"),
    direction: Direction::Information,
    description: "median clock of the device's processors over the samples",
    read: |seen| {
        of(seen, |seen| median(&seen.clocks(), "the clock of the device is not known").map(|mhz| mhz * 1e6))
    },
};

/// Power.
pub(super) const POWER: Metric = Metric {
    name: names::DEVICE_POWER,
    unit: Unit::other("W"),
    direction: Direction::Information,
    description: "power when the samples had been taken: a mean over up to a second by the driver, never \
        multiplied with a short time",
    read: |seen| of(seen, |seen| seen.telemetry[1].power_watts.ok_or("the device does not tell")),
};

/// Energy of one body.
pub(super) const ENERGY: Metric = Metric {
    name: names::DEVICE_ENERGY,
    unit: Unit::other("J"),
    direction: Direction::Lower,
    description: "energy of one body (of one element where elements are stated), from a difference of the \
        driver's counter over at least 1 s of bodies in a row",
    read: energy,
};

/// Performance per watt: bodies, or elements, for each joule.
pub(super) const PERFORMANCE_PER_WATT: Metric = Metric {
    name: names::DEVICE_PERFORMANCE_PER_WATT,
    unit: Unit::other("1/J"),
    direction: Direction::Higher,
    description: "bodies (elements where they are stated) a second for each watt, which is how many a joule \
        makes: 1 by device_energy",
    read: |seen| match energy(seen) {
        Reading::Value(joules) => Reading::Value(1.0 / joules),
        absent => absent,
    },
};

/// Temperature.
pub(super) const TEMPERATURE: Metric = Metric {
    name: names::DEVICE_TEMPERATURE,
    unit: Unit::other("degC"),
    direction: Direction::Information,
    description: "temperature of the device when the samples had been taken",
    read: |seen| of(seen, |seen| seen.telemetry[1].temperature.ok_or("the device does not tell")),
};

/// Utilisation.
pub(super) const UTILISATION: Metric = Metric {
    name: names::DEVICE_UTILISATION,
    unit: Unit::RATIO,
    direction: Direction::Information,
    description: "share of the driver's last interval in which some kernel ran, when the samples had been \
        taken",
    read: |seen| of(seen, |seen| seen.telemetry[1].utilisation.ok_or("the device does not tell")),
};

/// Throttling.
pub(super) const THROTTLED: Metric = Metric {
    name: names::DEVICE_THROTTLED,
    unit: Unit::RATIO,
    direction: Direction::Information,
    description: "share of the looks between samples at which the device told of throttling",
    read: |seen| {
        of(seen, |seen| {
            let (looks, told) = seen.looks;
            if looks == 0 { Err("the device does not tell") } else { Ok(told as f64 / looks as f64) }
        })
    },
};

/// Overlap.
pub(super) const OVERLAP: Metric = Metric {
    name: names::DEVICE_OVERLAP,
    unit: Unit::RATIO,
    direction: Direction::Information,
    description: "times from a body's start until each stream has done its work there, added up, by the time \
        until all have",
    read: |seen| of(seen, |seen| seen.overlap.ok_or("the body has one stream")),
};

const NOWHERE: &str = "the scenario did not time a body on a device";
const NO_FLOPS: &str = "the scenario stated no flops";
const NO_PRODUCT: &str = "no product of matrices of these numbers was measured";

fn of(seen: &Observation, read: impl FnOnce(&OnDevice) -> Result<f64, &'static str>) -> Reading {
    let Some(on) = &seen.device else { return Reading::absent(NOWHERE) };
    match read(on) {
        Ok(value) => Reading::Value(value),
        Err(why) => Reading::absent(why),
    }
}

/// Operations a second, by a limit of the product of the body's numbers.
fn of_product(seen: &Observation, limit: impl FnOnce(&Roofline) -> Result<f64, String>) -> Reading {
    let Some(on) = &seen.device else { return Reading::absent(NOWHERE) };
    let share = || -> Result<f64, String> {
        let rate = rate(on, 2, NO_FLOPS)?;
        let numbers = on.numbers.ok_or("the scenario did not say in which numbers it multiplies")?;
        let product = on.roofline(numbers.product()).ok_or(NO_PRODUCT)?;
        Ok(rate / limit(product)?)
    };
    share().map_or_else(Reading::absent, Reading::Value)
}

/// Energy of one body, or of one element where elements are stated.
fn energy(seen: &Observation) -> Reading {
    let Some(on) = &seen.device else { return Reading::absent(NOWHERE) };
    let per = on.stated[0].max(1) as f64;
    match on.energy.clone().unwrap_or_else(|| Reading::absent("n/a: not collected")) {
        Reading::Value(joules) => Reading::Value(joules / per),
        other => other,
    }
}

fn median(values: &[f64], why: &'static str) -> Result<f64, &'static str> {
    if values.is_empty() { Err(why) } else { Ok(stats::median(values)) }
}

/// The rate of what was stated at `place`, in units a second, by the median time of a body.
fn rate(seen: &OnDevice, place: usize, why: &'static str) -> Result<f64, &'static str> {
    let amount = seen.stated[place];
    if amount == 0 {
        return Err(why);
    }
    let time = median(&seen.times(), super::observation::NO_SAMPLES)?;
    if time > 0.0 { Ok(amount as f64 / (time * 1e-9)) } else { Err("no time passed by the clock") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Numbers;
    use crate::metric::DeviceSample;

    #[test]
    fn rates_are_by_the_clock_of_the_mode_and_what_is_measured_and_nominal_stand_apart() {
        let sample = DeviceSample { wall: 200_000, device: Some(100_000.0), ..DeviceSample::default() };
        let mut on = OnDevice {
            bodies: 1,
            samples: vec![sample; 3],
            stated: [1_000, 50_000_000, 0],
            rooflines: vec![Roofline {
                name: "device copy".to_owned(),
                before: Some(Reading::Value(1e12)),
                ..Roofline::default()
            }],
            ..OnDevice::default()
        };
        on.info.nominal_bandwidth = Some(2e12);
        on.energy = Some(Reading::Value(5.0));
        let seen = Observation { device: Some(Box::new(on)), ..Observation::default() };
        let read = |metric: &Metric| (metric.read)(&seen);
        let close = |metric: &Metric, expected: f64| {
            let value = read(metric).value().unwrap();
            assert!((value - expected).abs() <= 1e-12 * expected, "{}: {value}", metric.name);
        };
        close(&TIME, 1e-4);
        close(&IDLE, 0.5);
        close(&BANDWIDTH, 5e11);
        close(&OF_MEASURED, 0.5);
        close(&OF_NOMINAL, 0.25);
        close(&ENERGY, 0.005);
        close(&PERFORMANCE_PER_WATT, 200.0);
        assert_eq!(read(&FLOPS).why(), Some("the scenario stated no flops"));
        assert_eq!(read(&FLOPS_OF_MEASURED).why(), Some("the scenario stated no flops"));
        assert_eq!(read(&CYCLES).why(), Some("the clock of the device is not known"));
        let mut on = *seen.device.clone().unwrap();
        on.stated[2] = 50_000_000;
        let product = |name: &str, before, nominal| Roofline {
            name: format!("matrix product, {name}"),
            before: Some(before),
            after: None,
            nominal,
        };
        let none = Reading::absent("no library");
        on.rooflines = vec![
            product("f32", Reading::Value(1e12), Some(1.5e12)),
            product("f16", Reading::Value(2e12), Some(4e12)),
            product("bf16", none, None),
        ];
        // By the numbers that the body multiplies, 5e11 of them a second, and by no other's product.
        for (numbers, measured, nominal) in [
            (Some(Numbers::F32), Ok(0.5), Ok(1.0 / 3.0)),
            (Some(Numbers::F16), Ok(0.25), Ok(0.125)),
            (Some(Numbers::Bf16), Err("no library"), Err("what the device's architecture has on paper")),
            (Some(Numbers::Tf32), Err(NO_PRODUCT), Err(NO_PRODUCT)),
            (None, Err("the scenario did not say in which numbers"), Err("the scenario did not say")),
        ] {
            let seen = Observation {
                device: Some(Box::new(OnDevice { numbers, ..on.clone() })),
                ..Observation::default()
            };
            for (metric, expected) in [(&FLOPS_OF_MEASURED, measured), (&FLOPS_OF_NOMINAL, nominal)] {
                let read = (metric.read)(&seen);
                match expected {
                    Ok(share) => {
                        let value: f64 = read.value().unwrap();
                        assert!((value - share).abs() < 1e-12, "{} {numbers:?}: {value}", metric.name);
                    }
                    Err(why) => assert!(read.why().unwrap().starts_with(why), "{read:?}"),
                }
            }
        }
        assert_eq!((TIME.read)(&Observation::default()).why(), Some(NOWHERE));
    }
}
