//! What the estimates of a case say of themselves: caveats, found where estimates are made.

use super::MetricRecord;
use super::derive::MeasuredRepeat;
use crate::metric::names;
use crate::metric::{Note, Observation, RankSkew, Reading, SampleKind, Stationarity};
use crate::run::Repeat;
use crate::stats;
use crate::verify::{Caveat, Figure, Finding};

/// From this modified z-score on a repeat is called an outlier (Iglewicz and Hoaglin 1993).
const OUTLYING: f64 = 3.5;

/// Below this many repeats no repeat is called an outlier: three that agree closely by chance would make one
/// of the fourth.
const FEW_FOR_OUTLIERS: usize = 5;

/// That a figure is of a fake.
pub(super) fn fake(measured: &[MeasuredRepeat<'_>]) -> Option<Finding> {
    let devices = measured.iter().filter_map(|one| one.seen.device.as_ref());
    let device = devices.map(|device| &device.info).find(|info| info.fake)?;
    Some(Caveat::FakeDevice(device.name.clone()).of_case())
}

/// Repeats that were measured in other surroundings than those in which the run began.
pub(super) fn surroundings(repeats: &[Repeat]) -> Option<Finding> {
    let others = repeats.iter().filter(|repeat| repeat.surroundings != 0).map(|repeat| repeat.number);
    let others: Vec<u32> = others.collect();
    (!others.is_empty()).then(|| Caveat::Surroundings(others.clone()).of_repeats(others))
}

/// That ranks began the measured part too far apart, by the repeat in which they did so most.
pub(super) fn skew(measured: &[MeasuredRepeat<'_>]) -> Option<Finding> {
    let share = |skew: &RankSkew| skew.spread as f64 / skew.region.max(1) as f64;
    let apart = || {
        let of = |one: &MeasuredRepeat<'_>| Some((one.repeat.number, one.seen.skew?));
        measured.iter().filter_map(of).filter(|(_, skew)| share(skew) > Caveat::APART)
    };
    let (_, most) = apart().max_by(|(_, a), (_, b)| share(a).total_cmp(&share(b)))?;
    let repeats: Vec<u32> = apart().map(|(number, _)| number).collect();
    let repeats = if repeats.len() == measured.len() { Vec::new() } else { repeats };
    let RankSkew { spread, region, last, .. } = most;
    Some(Caveat::Skew { spread, region, last }.of_repeats(repeats))
}

/// That the data set was too small for a pass.
pub(super) fn short_data(measured: &[MeasuredRepeat<'_>]) -> Option<Finding> {
    let short = || measured.iter().filter_map(|one| Some((one.repeat.number, one.seen.ran_out?)));
    let (_, of) = short().next()?;
    let repeats: Vec<u32> = short().map(|(number, _)| number).collect();
    let repeats = if repeats.len() == measured.len() { Vec::new() } else { repeats };
    Some(Caveat::ShortData(of).of_repeats(repeats))
}

/// Notes of the repeats, each once.
pub(super) fn notes(measured: &[(&Repeat, &[Note])]) -> Vec<Finding> {
    let mut found: Vec<(&Note, Vec<u32>)> = Vec::new();
    for (repeat, notes) in measured {
        for note in *notes {
            match found.iter_mut().find(|(known, _)| *known == note) {
                Some((_, repeats)) if repeats.contains(&repeat.number) => {}
                Some((_, repeats)) => repeats.push(repeat.number),
                None => found.push((note, vec![repeat.number])),
            }
        }
    }
    let warn = |(note, repeats): (&Note, Vec<u32>)| {
        let repeats = if repeats.len() == measured.len() { Vec::new() } else { repeats };
        Caveat::Note(note.clone()).of_repeats(repeats)
    };
    found.into_iter().map(warn).collect()
}

/// Returns the caveats on the values of the primary metric. `numbers` are those of the repeats.
pub(super) fn stability(primary_metric: &MetricRecord, numbers: &[u32]) -> Vec<Finding> {
    let valued = primary_metric
        .values
        .iter()
        .zip(numbers)
        .filter_map(|(reading, number)| Some((reading.value()?, *number)));
    let (values, numbers): (Vec<f64>, Vec<u32>) = valued.unzip();
    let mut found = Vec::new();
    if (1..Caveat::FEW).contains(&values.len()) {
        found.push(Caveat::FewRepeats(values.len()).of_case());
    }
    let variation = stats::coefficient_of_variation(&values);
    if variation >= Caveat::UNSTEADY {
        found.push(Caveat::Unsteady { metric: primary_metric.name.clone(), variation }.of_case());
    }
    if values.len() >= FEW_FOR_OUTLIERS {
        let centre = stats::median(&values);
        for ((score, value), repeat) in
            stats::modified_z_scores(&values).into_iter().zip(&values).zip(numbers)
        {
            if score.abs() > OUTLYING {
                let (metric, off) = (primary_metric.name.clone(), (value - centre) / centre.abs());
                found.push(Caveat::Outlier { repeat, metric, off, score }.of_repeats(vec![repeat]));
            }
        }
    }
    found
}

/// A figure that would change by less than this share is no other figure.
const SETTLED: f64 = 0.02;

/// Tells whether the course of most repeats matters: if their later samples alone would give another figure
/// of the primary metric, by more than its interval is wide to one side.
pub(super) fn unsettled<'a>(
    stationarity: Stationarity,
    samples: impl Iterator<Item = &'a [u64]>,
    primary_metric: Option<&MetricRecord>,
) -> Option<Finding> {
    if stationarity == Stationarity::Flat {
        return None;
    }
    let middle =
        |samples: &[u64]| stats::median(&samples.iter().map(|sample| *sample as f64).collect::<Vec<_>>());
    let shift = |samples: &[u64]| (middle(&samples[samples.len() / 2..]) / middle(samples) - 1.0).abs();
    let shifts: Vec<f64> =
        samples.filter(|samples| samples.len() > 1).map(shift).filter(|shift| shift.is_finite()).collect();
    if shifts.is_empty() {
        return None;
    }
    let shift = stats::median(&shifts);
    let estimate = primary_metric.and_then(|metric| metric.estimate);
    let half = estimate.and_then(|estimate| {
        let (low, high) = estimate.interval?;
        Some((high - low) / (2.0 * estimate.median.abs()))
    });
    if shift <= half.unwrap_or(0.0).max(SETTLED) {
        return None;
    }
    let figure = Some(Figure { value: shift * 100.0, unit: "%".into() });
    Some(Finding { figure, ..Caveat::Stationarity(stationarity).of_case() })
}

/// From this factor on repeats of one body have no comparable samples.
const UNEVEN: u64 = 10;

/// Tells whether the repeats of a body have numbers of iterations a sample that differ tenfold.
pub(super) fn uneven(measured: &[&Observation]) -> Option<Finding> {
    let bodies = || measured.iter().filter(|seen| seen.taken == Some(SampleKind::Iterations));
    let iterations = || bodies().map(|seen| seen.iterations_per_sample);
    let (least, most) = (iterations().min()?, iterations().max()?);
    (most >= least.saturating_mul(UNEVEN) && most > least).then(|| Caveat::Uneven { least, most }.of_case())
}

/// Tells whether the measured peak is above what the plan expected. (A peak below it, of an adapter that
/// needs less, is no fault of the plan: the plan is for all adapters.)
pub(super) fn memory(planned: u64, metrics: &[MetricRecord]) -> Option<Finding> {
    let peak = metrics.iter().find(|metric| metric.name == names::PEAK_MEMORY)?.estimate?.median;
    (peak > planned as f64 * (1.0 + Caveat::OFF)).then(|| Caveat::Memory { planned, peak }.of_case())
}

/// The largest tree that was seen, where any repeat had one of several processes.
pub(super) fn sampled_memory(measured: &[&Repeat]) -> Option<Finding> {
    let trees = measured.iter().filter_map(|repeat| repeat.tree).filter(|tree| tree.processes > 1);
    trees.max_by_key(|tree| tree.processes).map(|tree| Caveat::SampledMemory(tree).of_case())
}

/// A metric that only some repeats have; or one that a collector should give and none has.
pub(super) fn missing(metric: &MetricRecord) -> Option<Finding> {
    let without: Vec<&Reading> = metric.values.iter().filter(|reading| reading.why().is_some()).collect();
    let name = metric.name.rsplit('/').next().unwrap_or_default();
    // The other metrics are absent for want of something that the scenario does not do, which is no fault.
    let collected =
        [names::PEAK_MEMORY, "memory_change", names::BYTES_READ, names::BYTES_WRITTEN].contains(&name);
    let (absent, of) = (without.len(), metric.values.len());
    let first = *without.first()?;
    let missed = collected && *first != Reading::Elsewhere;
    let why = first.why()?.to_owned();
    (absent < of || missed)
        .then(|| Caveat::Missing { metric: metric.name.clone(), absent, of, why }.of_case())
}
