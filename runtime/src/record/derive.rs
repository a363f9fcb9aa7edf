//! Metrics of a case, derived from its repeats: the listed ones, those of `measure` blocks, those that the
//! author hands in.

use std::collections::{HashMap, HashSet};

use super::case::is_bounded;
use super::{Estimate, MetricRecord, ranks};
use crate::device::Usage;
use crate::metric::names;
use crate::metric::{
    Custom, DEVICE_METRICS, Direction, Ledger, METRICS, Metric, Observation, OnDevice, Reading, Region, Unit,
};
use crate::run::{Outcome, Repeat, UtilisationPoint};
use crate::stats;

/// One measured repeat and what it saw.
#[derive(Clone, Copy)]
pub(super) struct MeasuredRepeat<'a> {
    pub(super) repeat: &'a Repeat,
    pub(super) seen: &'a Observation,
}

impl<'a> MeasuredRepeat<'a> {
    /// The repeat, if it ended well.
    pub(super) fn of(repeat: &'a Repeat) -> Option<Self> {
        match &repeat.outcome {
            Outcome::Measured { seen, .. } => Some(Self { repeat, seen }),
            Outcome::Failed(_) | Outcome::Skipped { .. } => None,
        }
    }
}

/// Every metric of the case, in the order in which people see them.
pub(super) fn metrics(measured: &[MeasuredRepeat<'_>]) -> Vec<MetricRecord> {
    let on_device = measured.iter().any(|one| one.seen.device.is_some());
    let listed: &[&[Metric]] = if on_device { &[METRICS, DEVICE_METRICS] } else { &[METRICS] };
    let mut metrics: Vec<MetricRecord> = listed
        .iter()
        .copied()
        .flatten()
        .map(|metric| {
            let read = |one: &MeasuredRepeat<'_>| match metric.name {
                names::PEAK_MEMORY => peak_memory(one, (metric.read)(one.seen)),
                _ => (metric.read)(one.seen),
            };
            record(metric.name, &metric.unit, metric.direction, measured.iter().map(read))
        })
        .collect();
    metrics.extend(energy(measured));
    metrics.extend(ledger(measured));
    metrics.extend(phases(measured));
    metrics.extend(regions(measured));
    metrics.extend(custom(measured));
    metrics.extend(of_ranks(measured));
    metrics
}

/// A process sees its own peak alone. Where it had others below it, the largest sum that was sampled counts
/// as well.
fn peak_memory(one: &MeasuredRepeat<'_>, own: Reading) -> Reading {
    match one.repeat.tree.filter(|tree| tree.processes > 1) {
        Some(tree) => Reading::Value(own.value().unwrap_or(0.0).max(tree.bytes as f64)),
        None => own,
    }
}

fn record(
    name: &str,
    unit: &Unit,
    direction: Direction,
    values: impl Iterator<Item = Reading>,
) -> MetricRecord {
    // A value that is no finite number is no value, and JSON could not hold it.
    let values: Vec<Reading> = values
        .map(|reading| match reading {
            Reading::Value(value) if !value.is_finite() => Reading::absent(format!("the value was {value}")),
            reading => reading,
        })
        .collect();
    let known: Vec<f64> = values.iter().filter_map(Reading::value).collect();
    let estimate = if is_bounded(&values) { None } else { Estimate::of(&known) };
    MetricRecord { name: name.to_owned(), unit: unit.clone(), direction, values, estimate, looped: None }
}

/// Energy of an element, and elements for a joule, where the machine told its power while the repeat was
/// measured: that of the processors' packages, and that of the device. Whoever else used them is in it.
fn energy(measured: &[MeasuredRepeat<'_>]) -> Vec<MetricRecord> {
    let power: [(&str, ReadPower); 2] =
        [("processors", |point| point.watts), ("device", |point| point.device?.watts)];
    let mut found = Vec::new();
    for (of, watts) in power {
        let joules: Vec<Option<f64>> = measured.iter().map(|one| joules_per_element(one, watts)).collect();
        if joules.iter().all(Option::is_none) {
            continue;
        }
        let mut add = |name: String, unit, value: fn(f64) -> f64| {
            let reading = |joules: &Option<f64>| {
                joules.map_or_else(
                    || Reading::absent("no power was told"),
                    |joules| Reading::Value(value(joules)),
                )
            };
            found.push(record(&name, &unit, Direction::Information, joules.iter().map(reading)));
        };
        add(format!("energy/{of}"), Unit::other("J/elem"), |joules| joules);
        add(format!("elements_per_joule/{of}"), Unit::other("elem/J"), |joules| 1.0 / joules);
    }
    found
}

type ReadPower = fn(&UtilisationPoint) -> Option<f64>;

/// The mean power of the measured part, for as long as its windows took.
fn joules_per_element(one: &MeasuredRepeat<'_>, watts: ReadPower) -> Option<f64> {
    let watts = one.repeat.utilisation.as_ref()?.mean(watts)?;
    let elements = one.seen.elements as f64;
    (elements > 0.0).then(|| watts * one.seen.wall as f64 * 1e-9 / elements)
}

/// A metric of the occurrences of a `measure` block in one repeat.
struct RegionMetric {
    name: &'static str,
    unit: Unit,
    direction: Direction,
    /// `None` where the block did not collect it.
    read: ReadRegion,
}

type ReadRegion = fn(&[&Region]) -> Option<Reading>;

const fn per_block(name: &'static str, unit: Unit, direction: Direction, read: ReadRegion) -> RegionMetric {
    RegionMetric { name, unit, direction, read }
}

/// Metrics that are derived of a block. Its number of occurrences may follow from the iterations that the
/// calibration chose, so what is compared is the mean of one occurrence; sums are for information.
const REGION_METRICS: &[RegionMetric] = &[
    per_block(names::WALL_TIME, Unit::SECONDS, Direction::Lower, |regions| {
        Some(Reading::Value(total(regions) / count(regions)))
    }),
    per_block("wall_time_max", Unit::SECONDS, Direction::Lower, |regions| {
        let longest = regions.iter().map(|region| region.wall).max()?;
        Some(Reading::Value(longest as f64 * 1e-9))
    }),
    per_block("wall_time_total", Unit::SECONDS, Direction::Information, |regions| {
        Some(Reading::Value(total(regions)))
    }),
    per_block("occurrences", Unit::COUNT, Direction::Information, |regions| {
        Some(Reading::Value(count(regions)))
    }),
    per_block(names::CPU_TIME, Unit::SECONDS, Direction::Lower, |regions| {
        mean(regions, |usage| Some(usage.cpu.as_secs_f64()))
    }),
    per_block("memory_change", Unit::BYTES, Direction::Lower, |regions| {
        greatest(regions, |region| region.memory_change.as_ref())
    }),
    per_block("device_memory_change", Unit::BYTES, Direction::Lower, |regions| {
        greatest(regions, |region| region.device_memory_change.as_ref())
    }),
    per_block(names::DEVICE_PEAK_MEMORY, Unit::BYTES, Direction::Lower, |regions| {
        greatest(regions, |region| region.device_peak_memory.as_ref())
    }),
    per_block("live_arrays_change", Unit::COUNT, Direction::Lower, |regions| {
        regions
            .iter()
            .filter_map(|region| region.live_arrays_change)
            .max()
            .map(|most| Reading::Value(most as f64))
    }),
    per_block(names::MINOR_FAULTS, Unit::COUNT, Direction::Information, |regions| {
        mean(regions, |usage| Some(usage.minor_faults as f64))
    }),
    per_block(names::MAJOR_FAULTS, Unit::COUNT, Direction::Information, |regions| {
        mean(regions, |usage| Some(usage.major_faults as f64))
    }),
    per_block(names::VOLUNTARY_SWITCHES, Unit::COUNT, Direction::Information, |regions| {
        mean(regions, |usage| Some(usage.voluntary_switches as f64))
    }),
    per_block(names::INVOLUNTARY_SWITCHES, Unit::COUNT, Direction::Information, |regions| {
        mean(regions, |usage| Some(usage.involuntary_switches as f64))
    }),
    per_block(names::BYTES_READ, Unit::BYTES, Direction::Information, |regions| {
        mean(regions, |usage| usage.moved.map(|moved| moved.read as f64))
    }),
    per_block(names::BYTES_WRITTEN, Unit::BYTES, Direction::Information, |regions| {
        mean(regions, |usage| usage.moved.map(|moved| moved.written as f64))
    }),
];

fn count(regions: &[&Region]) -> f64 {
    regions.len() as f64
}

fn total(regions: &[&Region]) -> f64 {
    regions.iter().map(|region| region.wall as f64 * 1e-9).sum()
}

/// The greatest value over the occurrences; why there is none where none has one; `None` where none was asked
/// for it.
fn greatest(regions: &[&Region], read: fn(&Region) -> Option<&Reading>) -> Option<Reading> {
    let readings: Vec<&Reading> = regions.iter().filter_map(|region| read(region)).collect();
    let greatest = readings.iter().filter_map(|reading| reading.value()).max_by(f64::total_cmp);
    greatest.map(Reading::Value).or_else(|| readings.first().map(|reading| (*reading).clone()))
}

/// The mean of a counter over the occurrences; `None` where none collected counters.
fn mean(regions: &[&Region], read: fn(&Usage) -> Option<f64>) -> Option<Reading> {
    let usages: Vec<&Usage> = regions.iter().filter_map(|region| region.usage.as_ref()).collect();
    if usages.is_empty() {
        return None;
    }
    let values: Option<Vec<f64>> = usages.iter().map(|usage| read(usage)).collect();
    Some(match values {
        Some(values) => Reading::Value(values.iter().sum::<f64>() / values.len() as f64),
        None => Reading::absent("/proc/self/io cannot be read"),
    })
}

/// Metrics of every block, blocks in the order in which they first ended.
fn regions(measured: &[MeasuredRepeat<'_>]) -> Vec<MetricRecord> {
    let all = measured.iter().flat_map(|one| &one.seen.regions);
    let mut found = Vec::new();
    for path in firsts(all.map(|region| region.path.as_str())) {
        let occurrences: Vec<Vec<&Region>> = measured
            .iter()
            .map(|one| one.seen.regions.iter().filter(|region| region.path == path).collect())
            .collect();
        for metric in REGION_METRICS {
            let read = |occurrences: &Vec<&Region>| match occurrences[..] {
                [] => Some(Reading::absent("the block did not run in this repeat")),
                _ => (metric.read)(occurrences),
            };
            let values: Vec<Option<Reading>> = occurrences.iter().map(read).collect();
            // What no repeat was asked to collect is no metric of this block.
            if occurrences.iter().zip(&values).all(|(there, value)| there.is_empty() || value.is_none()) {
                continue;
            }
            let values =
                values.into_iter().map(|value| value.unwrap_or_else(|| Reading::absent("not collected")));
            found.push(record(
                &format!("region/{path}/{}", metric.name),
                &metric.unit,
                metric.direction,
                values,
            ));
        }
    }
    found
}

/// Time and share of every phase of a body on a device, phases in the order in which they first began.
fn phases(measured: &[MeasuredRepeat<'_>]) -> Vec<MetricRecord> {
    let devices = || measured.iter().filter_map(|one| one.seen.device.as_ref());
    let names = firsts(devices().flat_map(|device| &device.phases).map(|phase| phase.name.as_str()));
    let of = |name: &str, what: &str, unit: Unit, direction, read: &dyn Fn(&OnDevice) -> Option<f64>| {
        let value = |one: &MeasuredRepeat<'_>| {
            let value = one.seen.device.as_ref().and_then(|device| read(device));
            value.map_or_else(|| Reading::absent("this repeat had no such phase"), Reading::Value)
        };
        record(&format!("phase/{name}/{what}"), &unit, direction, measured.iter().map(value))
    };
    let mut found = Vec::new();
    for name in names {
        found.push(of(name, names::DEVICE_TIME, Unit::SECONDS, Direction::Lower, &|device| {
            let phase = device.phases.iter().find(|phase| phase.name == name)?;
            Some(phase.each * 1e-9)
        }));
        found.push(of(name, "device_share", Unit::RATIO, Direction::Information, &|device| {
            device.phase_shares().iter().find(|(phase, _)| *phase == name).map(|(_, share)| *share)
        }));
    }
    found
}

/// Returns the time of each part of a repeat's life, in the order of that life; last, the time that no part
/// accounts for.
fn ledger(measured: &[MeasuredRepeat<'_>]) -> Vec<MetricRecord> {
    let of = |name: &str, read: &dyn Fn(&MeasuredRepeat<'_>) -> u64| {
        let values = measured.iter().map(|one| Reading::Value(read(one) as f64 * 1e-9));
        record(&format!("time/{name}"), &Unit::SECONDS, Direction::Information, values)
    };
    let entries = Ledger::ENTRIES.iter().map(|(entry, name)| of(name, &|one| one.seen.ledger.get(*entry)));
    let entries = entries.filter(|metric| metric.estimate.is_some_and(|estimate| estimate.median > 0.0));
    let mut found: Vec<MetricRecord> = entries.collect();
    found.push(of("unexplained", &|one| one.repeat.slot.saturating_sub(one.seen.ledger.sum())));
    found
}

/// Metrics that the author handed in; of several values in one repeat the median.
fn custom(measured: &[MeasuredRepeat<'_>]) -> Vec<MetricRecord> {
    // There may be thousands: each value is looked at once.
    let mut found: HashMap<&str, (&Custom, Vec<Vec<f64>>)> = HashMap::new();
    for (at, one) in measured.iter().enumerate() {
        for custom in &one.seen.custom {
            let none = || (custom, vec![Vec::new(); measured.len()]);
            found.entry(&custom.name).or_insert_with(none).1[at].push(custom.value);
        }
    }
    let all = measured.iter().flat_map(|one| &one.seen.custom);
    let describe = |name: &str| {
        let (first, values) = found.get(name)?;
        let values = values.iter().map(|values| match &values[..] {
            [] => Reading::absent("this repeat did not hand it in"),
            values => Reading::Value(stats::median(values)),
        });
        Some(record(name, &first.unit, first.direction, values))
    };
    firsts(all.map(|custom| custom.name.as_str())).into_iter().filter_map(describe).collect()
}

/// Metrics that each rank told of itself: what stands for all of them in a repeat.
fn of_ranks(measured: &[MeasuredRepeat<'_>]) -> Vec<MetricRecord> {
    let all = || measured.iter().flat_map(|one| &one.seen.ranks);
    let describe = |name: &str| {
        let first = all().find(|metric| metric.name == name)?;
        let values = measured.iter().map(|one| ranks::standing(one.seen, name));
        Some(record(name, &first.unit, first.direction, values))
    };
    firsts(all().map(|metric| metric.name.as_str())).into_iter().filter_map(describe).collect()
}

/// Each name once, in the order of first appearance.
fn firsts<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = HashSet::new();
    names.filter(|name| seen.insert(*name)).collect()
}
