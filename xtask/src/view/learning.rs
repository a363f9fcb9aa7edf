//! Curves of learning: loss and accuracy as a training goes on, by its steps and by their seconds, over all
//! seeds of a system.

use std::collections::BTreeMap;

use weighbridge::data::{CaseRecord, Estimate, RunRecord, Unit};

use super::curve::{CurveLine, CurveView};
use super::learning_curve::{ShownCurve, ShownLook};

/// The axis of the seeds: each is a training of its own.
const SEED: &str = "seed";

static STEPS: Unit = Unit::COUNT;

/// A figure of a look.
type ReadLook = fn(&ShownLook) -> f64;

/// The figures that are shown: the name of each, and where it is read.
const FIGURES: [(&str, ReadLook); 2] =
    [("mean loss since the look before", |look| look.loss), ("accuracy", |look| look.accuracy)];

/// Along what it is shown.
const AXES: [(&str, ReadLook); 2] = [("steps", |look| look.steps as f64), ("seconds", |look| look.time)];

/// All curves of a run that has trainings with looks.
pub(super) fn curves(run: &RunRecord) -> Vec<CurveView<'_>> {
    let mut found: BTreeMap<String, BTreeMap<&str, Vec<ShownCurve>>> = BTreeMap::new();
    for case in run.cases.iter().filter(|case| case.ranked()) {
        let (curve, system) = (ShownCurve::of(case), case.id.adapter.as_deref());
        if let Some(system) = system.filter(|_| curve.looks.len() > 1) {
            found.entry(title(case)).or_default().entry(system).or_default().push(curve);
        }
    }
    let mut curves = Vec::new();
    for (title, systems) in &found {
        for (metric, figure) in FIGURES {
            for (axis, along) in AXES {
                let lines: Vec<CurveLine<'_>> =
                    systems.iter().map(|(name, seeds)| line(name, seeds, along, figure)).collect();
                let mut numbers: Vec<f64> =
                    lines.iter().flat_map(|line| line.points.iter().map(|(at, _)| *at)).collect();
                numbers.sort_by(f64::total_cmp);
                numbers.dedup();
                curves.push(CurveView {
                    title: format!("{title}: {metric} by {axis}"),
                    axis: axis.to_owned(),
                    scales: false,
                    learns: true,
                    metric,
                    unit: &STEPS,
                    numbers,
                    lines,
                });
            }
        }
    }
    curves
}

/// The scenario and its point without the seed.
fn title(case: &CaseRecord) -> String {
    let rest = case.id.point.iter().filter(|value| value.axis != SEED).map(|value| value.text.as_str());
    std::iter::once(case.id.scenario.as_str()).chain(rest).collect::<Vec<_>>().join("/")
}

/// The median of the seeds wherever one of them was looked at, from when all had been looked at once. A
/// training between two looks, or past its end, has the figure of the look before.
fn line<'a>(name: &'a str, seeds: &[ShownCurve], along: ReadLook, figure: ReadLook) -> CurveLine<'a> {
    let mut numbers: Vec<f64> =
        seeds.iter().flat_map(|seed| seed.looks.iter().map(|look| short(along(look)))).collect();
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    let point = |at: &f64| {
        let before = |seed: &ShownCurve| {
            let look = seed.looks.iter().rev().find(|look| short(along(look)) <= *at)?;
            Some(figure(look))
        };
        let values: Vec<f64> = seeds.iter().map(before).collect::<Option<_>>()?;
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Some((*at, Estimate { interval: Some((least, most)), ..Estimate::of(&values)? }))
    };
    CurveLine { name, points: numbers.iter().filter_map(point).collect() }
}

/// Three digits: the times of seeds fall together where nobody could tell them apart.
fn short(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{run, training};

    #[test]
    fn loss_and_accuracy_go_over_steps_and_over_seconds_with_all_seeds_in_one_line() {
        let better = |case: &mut CaseRecord, name: &str, value: f64| {
            let metric = case.metrics.iter_mut().find(|metric| metric.name == name).unwrap();
            metric.estimate = Estimate::of(&[value]);
        };
        let mut third = training("Swift", 3, 5_000.0, None);
        better(&mut third, "accuracy_at/64", 0.5);
        let run = run(1, vec![training("Swift", 1, 5_000.0, None), third, training("Other", 1, 1.0, None)]);
        let curves = curves(&run);
        let titles: Vec<&str> = curves.iter().map(|curve| curve.title.as_str()).collect();
        assert_eq!(
            titles,
            [
                "TRAIN-2/eager: mean loss since the look before by steps",
                "TRAIN-2/eager: mean loss since the look before by seconds",
                "TRAIN-2/eager: accuracy by steps",
                "TRAIN-2/eager: accuracy by seconds",
            ]
        );
        let accuracy = &curves[2];
        assert_eq!((accuracy.numbers.as_slice(), accuracy.lines.len()), ([8.0, 64.0].as_slice(), 2));
        let swift = accuracy.lines.iter().find(|line| line.name == "Swift").unwrap();
        assert_eq!(swift.at(64.0).unwrap().interval, Some((0.5, 0.91)));
    }

    #[test]
    fn a_training_that_is_at_its_target_keeps_its_last_figure_while_others_go_on() {
        let look = |steps: u64, loss: f64| ShownLook { steps, time: steps as f64, loss, accuracy: 0.0 };
        let seed = |looks: Vec<ShownLook>| ShownCurve { looks, reached: true };
        let seeds = [seed(vec![look(2, 9.0), look(4, 1.0)]), seed(vec![look(3, 8.0), look(6, 5.0)])];
        let line = line("One", &seeds, AXES[0].1, FIGURES[0].1);
        let points: Vec<(f64, f64)> = line.points.iter().map(|(at, of)| (*at, of.median)).collect();
        assert_eq!(points, [(3.0, 8.5), (4.0, 4.5), (6.0, 3.0)]);
    }
}
