//! Of `report training`: who is at the target first, beside who does the most samples in a second.

use std::collections::BTreeMap;

use weighbridge::data::names;
use weighbridge::data::{CaseRecord, Estimate, Reading, Unit, quantity};
use weighbridge_training::training::{BEST_ACCURACY, STEPS_TO_TARGET, TIME_TO_TARGET};

use super::configuration::{axis, row_name, value};
use weighbridge_xtask::learning_curve::ShownCurve;
use weighbridge_xtask::table::Table;

/// The scenario whose cases these are.
pub(super) const SCENARIO: &str = "TRAIN-2";

/// A system in a mode, over its seeds.
struct TrainingRuns<'a> {
    name: String,
    /// Steps of each seed; none where the target was not reached.
    steps: Vec<Option<f64>>,
    time: Option<f64>,
    /// The least and the most time over all repeats of all seeds.
    range: Option<(f64, f64)>,
    rate: Option<f64>,
    cases: Vec<&'a CaseRecord>,
}

/// The section of a variant; nothing where no case of it is ranked.
pub(super) fn section(variant: &str, cases: &[&CaseRecord]) -> String {
    let mut by_system: BTreeMap<String, Vec<&CaseRecord>> = BTreeMap::new();
    for case in cases.iter().filter(|case| case.ranked()) {
        by_system.entry(row_name(case)).or_default().push(case);
    }
    if by_system.is_empty() {
        return String::new();
    }
    let trained: Vec<TrainingRuns<'_>> =
        by_system.into_iter().map(|(name, cases)| over_seeds(name, cases)).collect();
    let by_time = places(&trained, |one| one.time);
    let by_rate = places(&trained, |one| one.rate.map(|rate| -rate));
    let mut order: Vec<usize> = (0..trained.len()).collect();
    order.sort_by_key(|&at| by_time[at].unwrap_or(usize::MAX));
    let mut table = Table::new([
        "configuration",
        "steps",
        "time>",
        "least to most>",
        "samples/s>",
        "by time>",
        "by samples/s>",
        "not reached",
    ]);
    for at in order {
        let one = &trained[at];
        let steps =
            one.steps.iter().map(|steps| steps.map_or("never".to_owned(), |steps| format!("{steps:.0}")));
        let place =
            |places: &[Option<usize>]| places[at].map_or_else(String::new, |place| (place + 1).to_string());
        table.row([
            one.name.clone(),
            steps.collect::<Vec<_>>().join(", "),
            one.time.map_or_else(String::new, |time| quantity::show(time, &Unit::SECONDS)),
            one.range.map_or_else(String::new, |(least, most)| quantity::range(least, most, &Unit::SECONDS)),
            one.rate.map_or_else(String::new, |rate| quantity::show(rate, &Unit::other("samples/s"))),
            place(&by_time),
            place(&by_rate),
            missed(one),
        ]);
    }
    let seeds: Vec<&str> = trained[0].cases.iter().filter_map(|case| axis(case, "seed")).collect();
    format!(
        "\n## To the target: {variant}\n\nSteps until the target's share of held-out samples is known, for \
         the seeds {}; each system begins with the same weights and samples. `time` is the median over \
         seeds, of the steps alone; a system that misses the target with one of them has none. \
         `least to most` is over all repeats of all seeds. \
         Every system has the same rate of learning, that of the configuration. \
         Places by \
         time stand beside places by samples a second: where they differ, \
         the faster step is not sooner at the target.\n\n{}",
        seeds.join(", "),
        table.markdown()
    )
}

fn over_seeds(name: String, mut cases: Vec<&CaseRecord>) -> TrainingRuns<'_> {
    cases.sort_by_key(|case| axis(case, "seed").map(str::to_owned));
    let of = |metric: &str| -> Vec<Option<f64>> { cases.iter().map(|case| value(case, metric)).collect() };
    let median = |values: Vec<Option<f64>>| -> Option<f64> {
        let all: Vec<f64> = values.into_iter().collect::<Option<_>>()?;
        Some(Estimate::of(&all)?.median)
    };
    let (steps, time, rate) =
        (of(STEPS_TO_TARGET), median(of(TIME_TO_TARGET)), median(of(names::THROUGHPUT)));
    TrainingRuns { name, steps, time, range: time.and_then(|_| range(&cases)), rate, cases }
}

/// The least and the most seconds to the target, of every repeat of every seed.
fn range(cases: &[&CaseRecord]) -> Option<(f64, f64)> {
    let times = cases.iter().filter_map(|case| case.metric(TIME_TO_TARGET));
    let mut times: Vec<f64> =
        times.flat_map(|metric| metric.values.iter().filter_map(Reading::value)).collect();
    times.sort_by(f64::total_cmp);
    Some((*times.first()?, *times.last()?))
}

/// Says what accuracy was come to instead, by seed.
fn missed(one: &TrainingRuns<'_>) -> String {
    let of = |case: &&CaseRecord| {
        let best = value(case, BEST_ACCURACY)?;
        let last = ShownCurve::of(case).looks.last()?.steps;
        value(case, STEPS_TO_TARGET).is_none().then(|| {
            format!("seed {}: {:.1} % in {last} steps", axis(case, "seed").unwrap_or("?"), 100.0 * best)
        })
    };
    one.cases.iter().filter_map(of).collect::<Vec<_>>().join("; ")
}

/// The place of each, the least first; none where there is no value.
fn places(trained: &[TrainingRuns<'_>], of: fn(&TrainingRuns<'_>) -> Option<f64>) -> Vec<Option<usize>> {
    let place = |one: &TrainingRuns<'_>| {
        let own = of(one)?;
        Some(trained.iter().filter_map(of).filter(|other| *other < own).count())
    };
    trained.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::training as case;

    #[test]
    fn the_faster_step_that_is_later_at_the_target_has_the_second_place_by_time() {
        let cases = [
            case("Swift", 1, 5_000.0, Some((96.0, 0.9))),
            case("Swift", 2, 5_100.0, Some((104.0, 1.1))),
            case("Sooner", 1, 4_000.0, Some((64.0, 0.7))),
            case("Sooner", 2, 4_000.0, Some((72.0, 0.8))),
            case("Lost", 1, 9_000.0, Some((64.0, 0.5))),
            case("Lost", 2, 9_000.0, None),
        ];
        let text = section("digits", &cases.iter().collect::<Vec<_>>());
        let rows: Vec<&str> = text.lines().filter(|line| line.contains(", eager |")).collect();
        assert_eq!(
            rows,
            [
                "| Sooner, eager | 64, 72 | 750 ms | 700 .. 800 ms | 4.00 k samples/s | 1 | 3 |  |",
                "| Swift, eager | 96, 104 | 1.00 s | 900 ms .. 1.10 s | 5.05 k samples/s | 2 | 2 |  |",
                "| Lost, eager | 64, never |  |  | 9.00 k samples/s |  | 1 | seed 2: 91.0 % in 64 steps |",
            ],
            "{text}"
        );
        assert!(text.contains("for the seeds 1, 2;"), "{text}");
    }

    #[test]
    fn the_tool_reads_a_curve_by_the_names_that_trainings_write() {
        use weighbridge_training::training::{ACCURACY_AT, LOSS_AT, TIME_AT};
        use weighbridge_xtask::learning_curve;
        let written = [STEPS_TO_TARGET, TIME_TO_TARGET, BEST_ACCURACY, LOSS_AT, ACCURACY_AT, TIME_AT];
        let read = [
            learning_curve::STEPS_TO_TARGET,
            learning_curve::TIME_TO_TARGET,
            learning_curve::BEST_ACCURACY,
            learning_curve::LOSS_AT,
            learning_curve::ACCURACY_AT,
            learning_curve::TIME_AT,
        ];
        assert_eq!(read, written);
    }

    #[test]
    fn a_learning_curve_is_read_in_the_order_of_its_steps() {
        let steps: Vec<u64> =
            ShownCurve::of(&case("One", 1, 1.0, None)).looks.iter().map(|look| look.steps).collect();
        assert_eq!(steps, [8, 64]);
    }
}
