//! What the charts are drawn from: blocks of data that no browser runs, escaped so that no text in them ends
//! its block.

use std::collections::HashMap;

use serde_json::{Value, json};
use weighbridge::data::{Ledger, Ranking, Ratio, Unit, quantity, visible_in_line};

use super::cells::{interval, why};
use super::history;
use crate::show;
use crate::view::{CaseView, Detail, SeriesView, View, clip};

/// A block of data.
pub(super) struct Island {
    pub(super) id: &'static str,
    /// Its type: one that no browser runs.
    pub(super) kind: &'static str,
    pub(super) json: String,
}

/// All of them: what is read at once, and a line for each case, which is read when the case is opened.
pub(super) fn islands(view: &View<'_>) -> Vec<Island> {
    vec![
        Island { id: "data", kind: "application/json", json: inert(common(view)) },
        Island { id: "details", kind: "application/x-ndjson", json: details(view) },
    ]
}

/// The text of a value in which what nobody would see is written out. No `<` is left, so `</script>` cannot
/// be in it.
fn inert(mut value: Value) -> String {
    show_unseen(&mut value);
    value.to_string().replace('<', "\\u003c")
}

fn show_unseen(value: &mut Value) {
    match value {
        Value::String(text) => *text = text.split('\n').map(visible_in_line).collect::<Vec<_>>().join("\n"),
        Value::Array(values) => values.iter_mut().for_each(show_unseen),
        Value::Object(fields) => fields.values_mut().for_each(show_unseen),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn common(view: &View<'_>) -> Value {
    let entries = Ledger::ENTRIES.iter().map(|(_, name)| name.replace('_', " "));
    let curves = view.curves.iter().map(|curve| {
        let medians = curve.lines.iter().flat_map(|line| line.points.iter().map(|(_, e)| e.median));
        let scale = Scale::of(curve.unit, medians);
        let lines = curve.lines.iter().map(|line| {
            let points = curve.numbers.iter().map(|number| {
                line.at(*number).map(|estimate| {
                    let (low, high) = estimate.interval.unwrap_or((estimate.median, estimate.median));
                    [estimate.median, low, high].map(|value| four(value / scale.factor))
                })
            });
            let ideal = curve.numbers.iter().map(|number| {
                line.ideal(*number).filter(|_| curve.scales).map(|value| four(value / scale.factor))
            });
            json!({
                "name": line.name,
                "points": points.collect::<Vec<_>>(),
                "ideal": ideal.collect::<Vec<_>>(),
            })
        });
        json!({
            "axis": curve.axis, "metric": curve.metric, "unit": scale.unit, "x": curve.numbers,
            "scales": curve.scales, "lines": lines.collect::<Vec<_>>(),
        })
    });
    json!({
        "entries": entries.chain(["unexplained".to_owned()]).collect::<Vec<_>>(),
        "curves": curves.collect::<Vec<_>>(),
        "anchors": view.cases.iter().map(|case| case.anchor.as_str()).collect::<Vec<_>>(),
        "other": view.against.iter().find(|against| !against.others.is_empty()).map(|against| &against.title),
        "few": !view.room.all_repeats,
    })
}

/// A unit that fits the values, and how many base units it has.
struct Scale {
    unit: String,
    factor: f64,
}

impl Scale {
    fn of(unit: &Unit, values: impl Iterator<Item = f64>) -> Self {
        let most = values.fold(0.0, f64::max);
        let shown = quantity::show(most, unit);
        let (number, name) = shown.split_once(' ').unwrap_or((&shown, ""));
        let Some(number) = number.parse::<f64>().ok().filter(|number| *number > 0.0) else {
            return Self { unit: unit.symbol().to_owned(), factor: 1.0 };
        };
        // The power that the prefix stands for, and not the quotient of a rounded number.
        let step = if matches!(unit.symbol(), "B" | "B/s") { 1024.0_f64 } else { 1000.0 };
        let power = ((most / number).ln() / step.ln()).round();
        Self { unit: name.to_owned(), factor: step.powf(power) }
    }
}

fn four(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}

/// A line of JSON for each case, in the order of the anchors.
fn details(view: &View<'_>) -> String {
    let mut series: HashMap<usize, &SeriesView<'_>> =
        view.history.iter().map(|series| (series.case, series)).collect();
    let others = view.against.iter().find(|against| !against.others.is_empty());
    let places = places(view);
    let mut text = String::new();
    for (at, case) in view.cases.iter().enumerate() {
        let mut line = facts(view, case);
        if let Some(detail) = view.details.get(at) {
            line["seen"] = seen(detail);
            let median = detail.repeats.iter().find(|one| Some(one.number) == case.record.median_repeat);
            if let Some(used) = median.and_then(|one| one.used.as_ref()).filter(|_| view.room.all_repeats) {
                line["used"] = json!(used);
            }
        }
        if let Some(other) = others.and_then(|against| against.others.get(at)).filter(|other| other.count > 0)
        {
            line["other"] = seen(other);
        }
        if let Some(series) = series.remove(&at) {
            line["past"] = past(series);
        }
        if let Some(place) = places.get(&at) {
            line["rank"] = json!([place.rank, ratio(&place.ratio)]);
        }
        text.push_str(&inert(line));
        text.push('\n');
    }
    text
}

/// The places of those cases that stand beside others.
fn places<'a, 'b>(view: &'b View<'a>) -> HashMap<usize, &'b Ranking<'a>> {
    let mut places = HashMap::new();
    for group in view.groups.iter().filter(|group| group.places.len() > 1) {
        for at in &group.cases {
            let of = |place: &&Ranking<'_>| std::ptr::eq(place.case, view.cases[*at].record);
            places.extend(group.places.iter().find(of).map(|place| (*at, place)));
        }
    }
    places
}

fn ratio(ratio: &Ratio) -> String {
    match ratio.interval {
        Some((low, high)) => format!("{:.2}x of the best ({low:.2} .. {high:.2})", ratio.estimate),
        None => format!("{:.2}x of the best", ratio.estimate),
    }
}

fn facts(view: &View<'_>, case: &CaseView<'_>) -> Value {
    let record = case.record;
    let room = view.room;
    let metrics = record.metrics.iter().filter(|metric| !metric.name.starts_with("time/"));
    let metrics = metrics.filter_map(|metric| {
        let shown = show::median(Some(metric));
        (shown != "-").then(|| json!([metric.name, shown, interval(metric)]))
    });
    let findings = record.findings.iter().map(|finding| {
        json!([
            finding.rule,
            finding.severity.name(),
            clip(&finding.detail.to_string(), room.text),
            clip(&finding.remedy, room.text)
        ])
    });
    let work = record.work.as_ref().map(|work| {
        let report = &work.report;
        let fields = work
            .content
            .fields
            .iter()
            .map(|field| format!("{} {} {:?}", field.name, field.dtype.name(), field.shape));
        json!([
            ["elements", work.content.elements.to_string()],
            ["bytes", quantity::show(work.content.bytes as f64, &Unit::BYTES)],
            ["fields", clip(&fields.collect::<Vec<_>>().join(", "), room.text)],
            ["transforms", clip(&report.transforms.join(", "), room.text)],
            ["ran on", report.ran_on],
            ["waited for", report.synchronised],
            ["workers", report.workers.to_string()],
            ["agreement", clip(&format!("{:?}", record.agreement), room.text)],
        ])
    });
    let mut line = json!({
        "name": case.name,
        "state": case.state.name(),
        "metric": case.metric.map(|metric| {
            json!([metric.name, show::figure(record, Some(metric)), interval(metric)])
        }),
        "metrics": metrics.take(room.metrics).collect::<Vec<_>>(),
    });
    let mut add = |name: &str, value: Value| {
        if !value.is_null() && value.as_array().is_none_or(|values| !values.is_empty()) && value != json!("")
        {
            line[name] = value;
        }
    };
    add("why", json!(why(case)));
    add("findings", findings.collect());
    if room.metrics == usize::MAX {
        add("description", json!(record.description));
        add("category", json!(record.category));
        add("version", json!(record.version));
        add("work", work.unwrap_or_default());
    }
    add("median", json!(record.median_repeat));
    add("stationarity", json!(record.stationarity.map(weighbridge::data::Stationarity::name)));
    line
}

fn seen(detail: &Detail) -> Value {
    let repeats = detail.repeats.iter().map(|seen| {
        let mut line = json!({
            "n": seen.number,
            "count": seen.count,
            "every": seen.every,
            "t": seen.samples,
            "slot": seen.slot,
        });
        if let Some(median) = seen.median {
            line["median"] = json!(median);
        }
        if !seen.ledger.is_empty() {
            line["ledger"] = json!(seen.ledger);
        }
        if !seen.disturbed.is_empty() {
            line["disturbed"] = json!(seen.disturbed);
        }
        if let Some(failure) = &seen.failure {
            line["failure"] = json!(failure);
        }
        line
    });
    json!({"repeats": repeats.collect::<Vec<_>>(), "count": detail.count, "shares": detail.distribution})
}

fn past(series: &SeriesView<'_>) -> Value {
    let scale = Scale::of(series.unit, series.commits.iter().map(|commit| commit.median));
    let points = series.commits.iter().map(|commit| {
        let (low, high) = commit.interval.unwrap_or((commit.median, commit.median));
        let values = [commit.median, low, high].map(|value| four(value / scale.factor));
        json!([commit.name, commit.run.manifest.id.as_str(), values[0], values[1], values[2]])
    });
    let changes = series.changes.iter().map(|change| json!([change.at, history::words(series, change)]));
    json!({
        "metric": series.metric, "unit": scale.unit, "points": points.collect::<Vec<_>>(),
        "changes": changes.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_its_block() {
        let text = inert(json!({"name": "</script><script>alert(1)</script>\u{2028}\u{1b}"}));
        assert!(!text.contains('<') && !text.contains('\u{2028}'), "{text}");
        let back: Value = serde_json::from_str(&text).expect("it is JSON still");
        assert_eq!(back["name"], r"</script><script>alert(1)</script>\u{2028}\u{1b}");
    }

    #[test]
    fn values_are_scaled_by_the_power_that_the_unit_stands_for() {
        for (unit, most, expected, factor) in [
            (Unit::ELEMENTS_PER_SECOND, 2.26e6, "M elem/s", 1e6),
            (Unit::SECONDS, 3.1e-5, "µs", 1e-6),
            (Unit::BYTES, 3.0 * 1024.0 * 1024.0, "MiB", 1024.0 * 1024.0),
            (Unit::COUNT, 12.0, "", 1.0),
        ] {
            let scale = Scale::of(&unit, [most / 3.0, most].into_iter());
            assert_eq!(scale.unit, expected);
            assert!((scale.factor / factor - 1.0).abs() < 1e-9, "{expected}: {}", scale.factor);
        }
    }
}
