//! The samples of a case: in order, by size, process by process, and what disturbed them.

use std::collections::BTreeMap;
use std::fmt::Write;

use weighbridge::data::{
    CaseRecord, Cause, Observation, Outcome, Purpose, Stationarity, Unit, median, quantile, quantity,
};

use crate::plot::{Plot, stretches};
use crate::table::Table;

pub(super) const FITS: &str = "a String takes all that is written";

/// Characters of a line of samples.
const WIDTH: usize = 64;

/// Lines of the distribution.
const BINS: usize = 12;

/// A measured repeat: a process of its own, unless the isolation was less.
pub(super) struct ShownProcess<'a> {
    number: u32,
    seen: &'a Observation,
    /// Seconds per iteration, in order.
    times: Vec<f64>,
}

/// The measured repeats that have samples.
pub(super) fn processes(case: &CaseRecord) -> Vec<ShownProcess<'_>> {
    let measured = case.repeats.iter().filter(|repeat| repeat.purpose == Purpose::Measure);
    let with_samples = measured.filter_map(|repeat| match &repeat.outcome {
        Outcome::Measured { seen, .. } if !seen.samples.is_empty() => {
            let iterations = seen.iterations_per_sample.max(1) as f64;
            let times = seen.samples.iter().map(|sample| *sample as f64 * 1e-9 / iterations).collect();
            Some(ShownProcess { number: repeat.number, seen, times })
        }
        _ => None,
    });
    with_samples.collect()
}

/// All of it.
pub(super) fn story(processes: &[ShownProcess<'_>], ascii: bool) -> String {
    let all: Vec<f64> = processes.iter().flat_map(|process| process.times.iter().copied()).collect();
    if all.is_empty() {
        return "no repeat kept samples: there is nothing to draw\n".to_owned();
    }
    // A single interruption must not make all else one height.
    let plot = Plot { low: quantile(&all, 0.0), high: quantile(&all, 0.98), ascii };
    [in_order(processes, plot), by_size(&all, plot), side_by_side(processes), disturbed(processes)].concat()
}

fn time(seconds: f64) -> String {
    quantity::show(seconds, &Unit::SECONDS)
}

fn in_order(processes: &[ShownProcess<'_>], plot: Plot) -> String {
    let most = processes.iter().map(|process| process.times.len()).max().unwrap_or(0);
    let length = most.div_ceil(WIDTH).max(1);
    let each = match length {
        1 => "a character per sample".to_owned(),
        length => format!("a character for the median of {length} samples"),
    };
    let mut text = format!(
        "samples in order, a line per process, {each}, from {} to {} and above\n",
        time(plot.low),
        time(plot.high)
    );
    for process in processes {
        let cuts: Vec<(usize, usize)> = stretches(process.times.len(), WIDTH).collect();
        let medians: Vec<f64> =
            cuts.iter().map(|(start, end)| median(&process.times[*start..*end])).collect();
        writeln!(text, "{:4}  {}", process.number, plot.line(&medians)).expect(FITS);
        let marks = marks(process, &cuts);
        if !marks.is_empty() {
            writeln!(text, "      {marks}").expect(FITS);
        }
    }
    text.push('\n');
    text
}

/// Below the samples: the first letter of what disturbed most of a stretch that was disturbed.
fn marks(process: &ShownProcess<'_>, cuts: &[(usize, usize)]) -> String {
    let line: String = cuts
        .iter()
        .map(|(start, end)| {
            let within = |sample: &&u32| (*start..*end).contains(&(**sample as usize));
            let counts =
                process.seen.tags.iter().map(|tag| (tag.samples.iter().filter(within).count(), tag.cause));
            let most = counts.filter(|(count, _)| *count > 0).max_by_key(|(count, _)| *count);
            most.and_then(|(_, cause)| cause.name().chars().next()).unwrap_or(' ')
        })
        .collect();
    line.trim_end().to_owned()
}

fn by_size(all: &[f64], plot: Plot) -> String {
    let mut counts = [0usize; BINS];
    let width = (plot.high - plot.low) / BINS as f64;
    for value in all {
        // Where all values are one, 0 / 0 is not a number, which becomes the first bin.
        counts[(((value - plot.low) / width) as usize).min(BINS - 1)] += 1;
    }
    let most = counts.into_iter().max().unwrap_or(0);
    let mut text = format!("distribution of {} samples, by how far they lie from their median\n", all.len());
    let middle = median(all);
    let last = counts.iter().rposition(|count| *count > 0).unwrap_or(0);
    for (bin, count) in counts.into_iter().enumerate().take(last + 1) {
        let from = quantity::change((plot.low + bin as f64 * width) / middle - 1.0);
        let bar = plot.bar(count as f64 / most as f64, 48);
        writeln!(text, "{}", format!("{from:>10}  {count:>7}  {bar}").trim_end()).expect(FITS);
    }
    let [five, half, most_of] = [0.05, 0.5, 0.95].map(|q| time(quantile(all, q)));
    writeln!(text, "p5 {five}, p50 {half}, p95 {most_of}\n").expect(FITS);
    text
}

fn side_by_side(processes: &[ShownProcess<'_>]) -> String {
    let mut table = Table::new([
        "process>",
        "samples>",
        "median>",
        "spread>",
        "on CPU>",
        "waited>",
        "switched>",
        "clock rate>",
        "load>",
        "stationarity",
    ]);
    for ShownProcess { number, seen, times } in processes {
        let middle = median(times);
        let spread = (quantile(times, 0.75) - quantile(times, 0.25)) / middle;
        let on_cpu = (seen.wall > 0).then(|| seen.usage.cpu.as_secs_f64() / seen.wall().as_secs_f64());
        let [rate, _] = seen.around.frequency;
        let [load, _] = seen.around.load;
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        table.row([
            number.to_string(),
            times.len().to_string(),
            time(middle),
            percent(spread),
            or_dash(on_cpu.map(percent)),
            or_dash(seen.around.waiting_share().map(percent)),
            seen.usage.involuntary_switches.to_string(),
            or_dash(rate.map(|hertz| format!("{:.2} GHz", hertz as f64 * 1e-9))),
            or_dash(load.map(|load| format!("{load:.1}"))),
            stationarity(seen),
        ]);
    }
    let medians: Vec<f64> = processes.iter().map(|process| median(&process.times)).collect();
    let (least, most) = (quantile(&medians, 0.0), quantile(&medians, 1.0));
    format!(
        "processes side by side; their medians lie {} apart (spread: between the quarters of the samples, \
         by the median)\n{}\n",
        percent((most - least) / median(&medians)),
        table.text()
    )
}

/// The stationarity of a process, and the sample from which on it is steady: the first that is not tagged as
/// before that.
fn stationarity(seen: &Observation) -> String {
    let Some(stationarity) = seen.stationarity else { return "too few samples to tell".to_owned() };
    let before = seen.tags.iter().find(|tag| tag.cause == Cause::Unsteady);
    match (stationarity, before.and_then(|tag| tag.samples.last())) {
        (Stationarity::WarmingUp | Stationarity::Drifting, Some(last)) => {
            format!("{}, steady from sample {}", stationarity.name(), last + 2)
        }
        _ => stationarity.name().to_owned(),
    }
}

fn disturbed(processes: &[ShownProcess<'_>]) -> String {
    let mut causes: BTreeMap<&str, (usize, Vec<f64>)> = BTreeMap::new();
    let mut untouched = Vec::new();
    for ShownProcess { seen, times, .. } in processes {
        let mut touched = vec![false; times.len()];
        for tag in &seen.tags {
            let (count, seconds) = causes.entry(name(tag.cause)).or_default();
            for at in tag.samples.iter().map(|sample| *sample as usize) {
                // A record from elsewhere may name a sample that it does not have.
                if let (Some(time), Some(touched)) = (times.get(at), touched.get_mut(at)) {
                    *count += 1;
                    seconds.push(*time);
                    *touched = true;
                }
            }
        }
        untouched.extend(times.iter().zip(touched).filter(|(_, touched)| !touched).map(|(time, _)| *time));
    }
    let all: usize = processes.iter().map(|process| process.times.len()).sum();
    if causes.is_empty() {
        return format!("disturbed: none of {all} samples\n\n");
    }
    let mut text =
        "disturbed samples (kept like all others; the letters under the samples are their causes)\n"
            .to_owned();
    let mut table = Table::new(["", "samples>", "share>", "median>"]);
    for (cause, (count, seconds)) in causes {
        let share = percent(count as f64 / all as f64);
        table.row([cause.to_owned(), count.to_string(), share, time(median(&seconds))]);
    }
    let share = percent(untouched.len() as f64 / all as f64);
    table.row(["undisturbed".to_owned(), untouched.len().to_string(), share, time(median(&untouched))]);
    text.push_str(&table.text());
    text.push('\n');
    text
}

fn name(cause: Cause) -> &'static str {
    cause.name()
}

/// A share as people read it.
pub(super) fn percent(share: f64) -> String {
    match share.is_finite() {
        true => format!("{:.1} %", share * 100.0),
        false => "-".to_owned(),
    }
}
