//! The use of the machine over a repeat, condensed to what a chart can show.

use serde::Serialize;
use weighbridge::data::Repeat;

/// The most points of a repeat on a page.
const MOST: usize = 150;

/// Lines over the time of a repeat. One that the machine does not tell is missing.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct UseView {
    /// The ends of the points, in seconds since the repeat began.
    pub(crate) at: Vec<f64>,
    /// Each line's name, its unit and its values.
    pub(crate) lines: Vec<(&'static str, &'static str, Vec<f64>)>,
    /// The seconds in which the measured part began and ended.
    pub(crate) measured: Option<[f64; 2]>,
    /// The share of one processor that looking took, in percent.
    pub(crate) cost: f64,
    /// The reason why there are no watts of the processors.
    pub(crate) no_watts: Option<String>,
}

/// The sum, and over how many seconds.
type ReadUse<'a> = &'a dyn Fn(usize, f64) -> Option<f64>;

impl UseView {
    /// The view of a repeat; `None` where nobody looked.
    pub(crate) fn of(repeat: &Repeat) -> Option<Self> {
        let seen = repeat.utilisation.as_ref()?;
        let points = &seen.points;
        let seconds = |nanoseconds: u64| short(nanoseconds as f64 * 1e-9);
        let ends: Vec<usize> =
            (0..points.len()).step_by(points.len().div_ceil(MOST).max(1)).skip(1).collect();
        let ends: Vec<usize> = ends.into_iter().chain([points.len()]).collect();
        let mut view = Self {
            at: ends.iter().filter_map(|end| Some(seconds(points.get(end.checked_sub(1)?)?.at))).collect(),
            measured: seen.measured.map(|measured| measured.map(seconds)),
            cost: short(seen.share()? * 100.0),
            no_watts: seen.no_watts.clone(),
            ..Self::default()
        };
        let mut add = |name, unit, read: ReadUse<'_>| {
            let mut from = 0;
            let values: Option<Vec<f64>> = ends
                .iter()
                .map(|end| {
                    let (mut sum, mut time) = (0.0, 0.0);
                    for at in std::mem::replace(&mut from, *end)..*end {
                        let before = at.checked_sub(1).map_or(0, |before| points[before].at);
                        let took = points[at].at.saturating_sub(before) as f64 * 1e-9;
                        sum += read(at, took)? * took;
                        time += took;
                    }
                    (time > 0.0).then(|| short(sum / time))
                })
                .collect();
            view.lines.extend(values.map(|values| (name, unit, values)));
        };
        let rate = |bytes: Option<[u64; 2]>, took: f64| {
            Some((bytes?[0].saturating_add(bytes?[1])) as f64 / took.max(1e-9) / 1e6)
        };
        add("processors, mean", "%", &|at, _| {
            let shares = &points[at].processors;
            (!shares.is_empty())
                .then(|| shares.iter().map(|share| f64::from(*share)).sum::<f64>() / shares.len() as f64)
        });
        add("busiest processor", "%", &|at, _| points[at].processors.iter().max().map(|s| f64::from(*s)));
        add("device", "%", &|at, _| Some(points[at].device?.utilisation? * 100.0));
        add("memory", "MiB", &|at, _| {
            // A moment without a look at the memory has that of the look before.
            let known = points[..=at].iter().rev().find_map(|point| point.memory);
            Some(known.unwrap_or(0) as f64 / f64::from(1 << 20))
        });
        add("device's memory", "MiB", &|at, _| Some(points[at].device?.memory? as f64 / f64::from(1 << 20)));
        add("disk", "MB/s", &|at, took| rate(points[at].disk, took));
        add("network", "MB/s", &|at, took| rate(points[at].network, took));
        add("processors' power", "W", &|at, _| points[at].watts);
        add("device's power", "W", &|at, _| points[at].device?.watts);
        add("device's clock", "MHz", &|at, _| points[at].device?.clock_mhz);
        add("device's temperature", "degC", &|at, _| points[at].device?.temperature);
        Some(view)
    }
}

fn short(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    fn repeat(points: usize) -> Repeat {
        let point = |at: usize| {
            serde_json::json!({
                "at": at * 100_000_000, "processors": [100, 0], "memory": 2 << 20,
                "disk": [1_000_000, 0], "network": null, "watts": 40.0,
            })
        };
        let points: Vec<_> = (1..=points).map(point).collect();
        let last = points.len() * 100_000_000;
        let mut repeat = serde_json::to_value(fixtures::repeat(1)).unwrap();
        repeat["utilisation"] = serde_json::json!({
            "looks": points.len(), "cost": last / 1000, "measured": [0, last], "points": points,
        });
        serde_json::from_value(repeat).unwrap()
    }

    #[test]
    fn a_line_has_what_the_machine_told_and_one_that_it_did_not_tell_is_missing() {
        let view = UseView::of(&repeat(3)).unwrap();
        let line = |name: &str| view.lines.iter().find(|line| line.0 == name).map(|line| line.2.clone());
        assert_eq!(view.at, [0.1, 0.2, 0.3]);
        assert_eq!(line("processors, mean"), Some(vec![50.0; 3]));
        assert_eq!(line("busiest processor"), Some(vec![100.0; 3]));
        assert_eq!(line("memory"), Some(vec![2.0; 3]));
        assert_eq!(line("disk"), Some(vec![10.0; 3]));
        assert_eq!(line("processors' power"), Some(vec![40.0; 3]));
        assert_eq!((line("network"), line("device")), (None, None));
        assert!((view.cost - 0.1).abs() < 1e-9);
    }

    #[test]
    fn a_page_has_few_points_of_a_long_repeat() {
        let view = UseView::of(&repeat(599)).unwrap();
        assert!(view.at.len() <= MOST, "{}", view.at.len());
        assert!(view.lines.iter().all(|line| line.2.len() == view.at.len()));
        assert!((view.at.last().unwrap() - 59.9).abs() < 1e-9);
    }

    #[test]
    fn a_record_without_the_series_has_no_chart() {
        assert_eq!(UseView::of(&fixtures::repeat(1)), None);
    }
}
