//! Curves: what becomes of a scenario as a number grows: the size of its batches, the depth of its chain, its
//! workers.

use std::collections::BTreeMap;

use weighbridge::data::names;
use weighbridge::data::{CaseRecord, Estimate, RunRecord, Unit};

/// Axes along which more is meant to be proportionally faster.
const SCALING: [&str; 6] = ["workers", "threads", "devices", "ranks", "processes", "hosts"];

/// An axis of names that are written as numbers: nothing grows along it.
const NAMES: &str = "seed";

/// One scenario along one axis, all else being equal.
pub(crate) struct CurveView<'a> {
    /// `CV-1/small: workers`.
    pub(crate) title: String,
    /// The axis, or what the number in a label counts.
    pub(crate) axis: String,
    /// `true` if the ideal is proportional to the number.
    pub(crate) scales: bool,
    /// `true` of a training as it goes on: a band is from the least to the most of its seeds.
    pub(crate) learns: bool,
    /// The name of the metric that is shown along it.
    pub(crate) metric: &'a str,
    pub(crate) unit: &'a Unit,
    /// All numbers of any line, ascending.
    pub(crate) numbers: Vec<f64>,
    /// One for each system.
    pub(crate) lines: Vec<CurveLine<'a>>,
}

/// The figures of one system along an axis.
pub(crate) struct CurveLine<'a> {
    /// The system; the scenario itself where it has none.
    pub(crate) name: &'a str,
    /// Number and figure, ascending.
    pub(crate) points: Vec<(f64, Estimate)>,
}

impl CurveView<'_> {
    /// The bands in words.
    pub(crate) fn bands(&self) -> &'static str {
        if self.learns { "from the least to the most of the seeds" } else { "95 % intervals" }
    }
}

impl CurveLine<'_> {
    /// The figure at a number.
    pub(crate) fn at(&self, number: f64) -> Option<Estimate> {
        self.points.iter().find(|(at, _)| at.total_cmp(&number).is_eq()).map(|(_, estimate)| *estimate)
    }

    /// The ideal figure at a number: in proportion to it, from the first figure on. `None` below the first,
    /// and where all numbers are 0.
    pub(crate) fn ideal(&self, number: f64) -> Option<f64> {
        let (first, estimate) = self.points.iter().find(|(at, _)| *at > 0.0)?;
        (number >= *first).then(|| estimate.median * number / first)
    }
}

/// A case, and its number on the axis.
type At<'a> = (f64, &'a CaseRecord);

/// All curves of a run that have two numbers or more.
pub(super) fn curves(run: &RunRecord) -> Vec<CurveView<'_>> {
    let mut found = BTreeMap::<(&str, String, String), Vec<At<'_>>>::new();
    for case in run.cases.iter().filter(|case| case.ranked()) {
        for (at, value) in case.id.point.iter().enumerate() {
            let Some((word, number)) = number(&value.axis, &value.text) else { continue };
            let rest = case.id.point.iter().enumerate().filter(|(other, _)| *other != at);
            let rest = rest.map(|(_, value)| match value.labelled {
                true => value.text.clone(),
                false => format!("{}={}", value.axis, value.text),
            });
            let title = std::iter::once(case.id.scenario.clone()).chain(rest).collect::<Vec<_>>().join("/");
            found.entry((&case.id.scenario, title, word)).or_default().push((number, case));
        }
    }
    found.into_iter().filter_map(|(key, cases)| curve(key, &cases)).collect()
}

/// A number of an axis, and what it counts: `workers` and 2; `batch` and 8 of the label `batch_8`; `items`
/// and 10,000 of `10k`.
pub(super) fn number(axis: &str, text: &str) -> Option<(String, f64)> {
    let plain = |text: &str| {
        let (digits, factor) = match text.char_indices().next_back()? {
            (at, 'k' | 'K') => (&text[..at], 1e3),
            (at, 'M') => (&text[..at], 1e6),
            _ => (text, 1.0),
        };
        digits.replace('_', "").parse::<f64>().ok().filter(|number| number.is_finite()).map(|n| n * factor)
    };
    if axis == NAMES {
        return None;
    }
    if let Some(number) = plain(text) {
        return Some((axis.to_owned(), number));
    }
    let (word, digits) = text.rsplit_once(['_', '-'])?;
    Some((word.to_owned(), plain(digits)?))
}

fn curve<'a>(
    (scenario, title, axis): (&'a str, String, String),
    cases: &[(f64, &'a CaseRecord)],
) -> Option<CurveView<'a>> {
    let records: Vec<&CaseRecord> = cases.iter().map(|(_, case)| *case).collect();
    let metric = CaseRecord::common_metric(&records);
    let mut lines: Vec<CurveLine<'a>> = Vec::new();
    let mut unit = None;
    for (number, case) in cases {
        let Some(record) = case.metric(metric) else { continue };
        let Some(estimate) = record.estimate else { continue };
        unit.get_or_insert(&record.unit);
        let name = case.id.adapter.as_deref().unwrap_or(scenario);
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push((*number, estimate)),
            None => lines.push(CurveLine { name, points: vec![(*number, estimate)] }),
        }
    }
    for line in &mut lines {
        line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    let mut numbers: Vec<f64> = lines.iter().flat_map(|line| line.points.iter().map(|(at, _)| *at)).collect();
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    let scales = SCALING.contains(&axis.as_str()) && metric.starts_with(names::THROUGHPUT);
    let title = format!("{title}: {axis}");
    (numbers.len() > 1).then_some(CurveView {
        title,
        axis,
        scales,
        learns: false,
        metric,
        unit: unit?,
        numbers,
        lines,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_an_axis_value_or_stands_at_the_end_of_a_label() {
        let check = |axis: &str, text: &str, expected: Option<(&str, f64)>| {
            assert_eq!(
                number(axis, text),
                expected.map(|(word, number)| (word.to_owned(), number)),
                "{text}"
            );
        };
        check("workers", "2", Some(("workers", 2.0)));
        check("variant", "batch_8", Some(("batch", 8.0)));
        check("variant", "10k", Some(("variant", 10_000.0)));
        check("len", "1_000", Some(("len", 1_000.0)));
        check("seed", "2", None);
        for text in ["small", "inf", "", "k", "small_x"] {
            check("variant", text, None);
        }
    }
}
