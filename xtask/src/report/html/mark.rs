//! Small drawings that stand in a row of a table. They need no script, and a screen reader gets them as a
//! sentence.

use maud::{Markup, PreEscaped, html};
use weighbridge::data::{Effect, Ratio, quantity};

const WIDTH: f64 = 150.0;
const HEIGHT: f64 = 18.0;
const MIDDLE: f64 = HEIGHT / 2.0;

fn drawing(class: &str, label: &str, parts: &str) -> Markup {
    html! {
        svg class={ "mark " (class) } width=(WIDTH) height=(HEIGHT) role="img" aria-label=(label) {
            (PreEscaped(parts))
        }
    }
}

/// By what factor a system stands to the best one: a bar from nothing to the best, with its interval.
pub(super) fn standing(ratio: &Ratio) -> Markup {
    let at = |share: f64| (share.clamp(0.0, 1.12) / 1.12 * WIDTH).round();
    let mut parts = format!(
        r#"<rect class="bar{}" x="0" y="5" width="{}" height="8" rx="2"/>"#,
        if ratio.interval.is_none_or(|(low, high)| low <= 1.0 && 1.0 <= high) && ratio.estimate > 0.98 {
            " best"
        } else {
            ""
        },
        at(ratio.estimate).max(1.0)
    );
    if let Some((low, high)) = ratio.interval {
        parts.push_str(&format!(
            r#"<path class="whisker" d="M{0} {MIDDLE}H{1}M{0} 6v6M{1} 6v6"/>"#,
            at(low),
            at(high)
        ));
    }
    drawing("", &format!("{:.2} times the best", ratio.estimate), &parts)
}

/// By how much a case is worse: its interval beside the band within which a change does not count. `most` is
/// the share that the edges stand for.
pub(super) fn effect(effect: &Effect, tolerance: Option<f64>, most: f64, class: &str) -> Markup {
    let at = |share: f64| ((share / most).clamp(-1.0, 1.0) * (WIDTH / 2.0 - 4.0) + WIDTH / 2.0).round();
    let mut parts = String::new();
    if let Some(share) = tolerance {
        let (from, to) = (at(1.0 / (1.0 + share) - 1.0), at(share));
        parts.push_str(&format!(
            r#"<rect class="band" x="{from}" y="0" width="{}" height="{HEIGHT}"/>"#,
            to - from
        ));
    }
    parts.push_str(&format!(
        "<path class=\"zero\" d=\"M{0} 0v{HEIGHT}\"/><path class=\"span\" d=\"M{1} {MIDDLE}H{2}\"/>\
         <circle class=\"dot\" cx=\"{3}\" cy=\"{MIDDLE}\" r=\"3.5\"/>",
        WIDTH / 2.0,
        at(effect.low),
        at(effect.high).max(at(effect.low) + 1.0),
        at(effect.estimate)
    ));
    let label = format!(
        "slowdown {}, between {} and {}",
        quantity::change(effect.estimate),
        quantity::change(effect.low),
        quantity::change(effect.high)
    );
    drawing(class, &label, &parts)
}

/// A line through values, the oldest first, with a mark where they changed.
pub(super) fn line(values: &[f64], changes: impl Iterator<Item = usize>, label: &str) -> Markup {
    let (low, high) =
        values.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(*v), high.max(*v)));
    let x = |at: usize| 4.0 + at as f64 / (values.len().max(2) - 1) as f64 * (WIDTH - 8.0);
    // A level line lies in the middle, and what is less than 2 % apart looks level.
    let room = (high - low).max(0.02 * high).max(f64::MIN_POSITIVE);
    let base = (low + high - room) / 2.0;
    let y = |value: f64| HEIGHT - 2.0 - (value - base) / room * (HEIGHT - 4.0);
    let mut parts = String::new();
    for at in changes {
        parts.push_str(&format!(r#"<path class="change" d="M{:.0} 0v{HEIGHT}"/>"#, x(at)));
    }
    let points: Vec<String> =
        values.iter().enumerate().map(|(at, value)| format!("{:.0},{:.1}", x(at), y(*value))).collect();
    parts.push_str(&format!(r#"<polyline points="{}"/>"#, points.join(" ")));
    drawing("", label, &parts)
}
