//! The rate of a system against the latency of its batches: a chart, the knee, and the largest batch within a
//! latency.

use maud::{Markup, PreEscaped, html};
use weighbridge::data::{Unit, quantity};

use crate::svg::{Anchor, ChartAxis, Svg};
use crate::view::{TradeOff, TradeOffLine, TradedBatch, View};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 360.0;

/// Charts of one run.
const MOST: usize = 12;

/// Latencies, in seconds, within which the largest batch is named.
const LIMITS: [f64; 4] = [1e-3, 1e-2, 1e-1, 1.0];

/// The colours of lines, in turn: those of Okabe and Ito.
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#8c8c8c", "#b8a900"];

pub(super) fn page(view: &View<'_>) -> Markup {
    if view.trade_offs.is_empty() {
        return html! {};
    }
    html! {
        h3 { "Rate against latency" }
        p.lead {
            "What a larger batch gives, and what each of its elements waits for it: medians, a point for \
             each batch. At the knee (a ring) the rate as a share of the best exceeds the latency as a share \
             of the longest by the most."
        }
        @for (at, trade_off) in view.trade_offs.iter().take(MOST).enumerate() {
            details open[at < 3] {
                summary { b { (trade_off.title) } }
                div.scroll.fit { (PreEscaped(chart(at, trade_off))) }
                div.scroll.fit { (figures(trade_off)) }
            }
        }
    }
}

fn figures(trade_off: &TradeOff<'_>) -> Markup {
    let within = |line: &TradeOffLine<'_>, limit: f64| {
        line.largest_within(limit).map_or_else(|| "none".to_owned(), |point| point.batch.to_string())
    };
    html! {
        table {
            thead { tr {
                th { "system" }
                th.n { "knee: batch" }
                th.n { "rate there" }
                th.n { "latency there" }
                @for limit in LIMITS { th.n { "largest within " (quantity::show(limit, &Unit::SECONDS)) } }
            } }
            tbody {
                @for line in &trade_off.lines {
                    tr {
                        td { (line.name) }
                        @if let Some(knee) = line.knee() {
                            td.n { (knee.batch) }
                            td.n { (quantity::show(knee.rate, trade_off.unit)) }
                            td.n { (quantity::show(knee.latency, &Unit::SECONDS)) }
                        }
                        @for limit in LIMITS { td.n { (within(line, limit)) } }
                    }
                }
            }
        }
    }
}

fn chart(at: usize, trade_off: &TradeOff<'_>) -> String {
    let about = "Throughput by the median latency of a batch. Up and to the left is better.";
    let rows = trade_off.lines.len().div_ceil(4) as f64 * 18.0;
    let mut svg = Svg::new(WIDTH, HEIGHT + rows, &trade_off.title, about).keyed(&format!("trade-off-{at}-"));
    let bounds = |of: fn(&TradedBatch) -> f64| {
        let values = || trade_off.lines.iter().flat_map(|line| line.points.iter().map(of));
        (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max))
    };
    let (left, right, top, bottom) = (96.0, WIDTH - 40.0, Svg::TOP + 10.0, HEIGHT - 50.0);
    let (latency, rate) = (bounds(|point| point.latency), bounds(|point| point.rate));
    let x = ChartAxis::between(latency.0 * 0.9, latency.1 * 1.1, left, right);
    let y = ChartAxis::between(rate.0 * 0.9, rate.1 * 1.1, bottom, top);
    svg.grid_y(&y, left, right, |value| quantity::show(value, trade_off.unit));
    svg.grid_x(&x, top, bottom, |value| quantity::show(value, &Unit::SECONDS));
    let mut names = Vec::new();
    for (line, colour) in trade_off.lines.iter().zip(COLOURS.iter().cycle()) {
        let place = |point: &TradedBatch| (x.at(point.latency), y.at(point.rate));
        svg.polyline(&line.points.iter().map(place).collect::<Vec<_>>(), colour, "");
        if let Some(knee) = line.knee() {
            let (across, up) = place(&knee);
            svg.circle(across, up, 8.0, colour);
            svg.circle(across, up, 6.0, "#ffffff");
            svg.note(across + 10.0, up - 8.0, &knee.batch.to_string(), Anchor::Start);
        }
        for point in &line.points {
            let (across, up) = place(point);
            svg.circle(across, up, 3.0, colour);
        }
        names.push((line.name, (*colour).to_owned()));
    }
    svg.legend(left, HEIGHT, &names);
    svg.finish()
}

#[cfg(test)]
mod tests {
    use weighbridge::data::names;

    use super::*;
    use crate::fixtures::{around, axis, case, metric};
    use crate::report::html::tests::material;

    #[test]
    fn a_run_over_batches_shows_its_trade_off_and_names_the_knee() {
        let of = |batch: u32, rate: f64, latency: f64| {
            let mut case = case("INF-2", "torch", &around(rate));
            case.id.point.0 = vec![axis("batch", &format!("batch_{batch}"))];
            case.metrics.push(metric(names::LATENCY_P50, Unit::SECONDS, latency));
            case
        };
        let mut material = material(3);
        material.run.cases = vec![of(1, 100.0, 0.01), of(8, 700.0, 0.0114), of(64, 720.0, 0.089)];
        let text = page(&View::of(&material)).into_string();
        for words in
            ["Rate against latency", "INF-2", "<td class=\"n\">8</td>", "largest within 100 ms", "<svg"]
        {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}
