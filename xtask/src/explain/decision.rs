//! What was decided about a case, by what, and what would decide it.

use std::fmt::Write;

use weighbridge::data::{
    Comparison, Effect, JudgedRounds, Row, RowMark, Verdict, quantile, quantity, visible_in_line,
};

use super::samples::{FITS, percent};
use crate::inert::line;
use crate::plot::Plot;

/// The most rounds that a duel has.
const MOST_ROUNDS: usize = 24;

/// More repeats than this are nobody's to wait for.
const MOST_REPEATS: usize = 100;

/// The last duel of a case: what it said, which clock decided, and what its rounds were.
pub(super) fn duel(comparison: &Comparison, row: &Row, ascii: bool) -> String {
    let mut text = format!(
        "the last duel, {} with `{}`: {}\n",
        comparison.candidate,
        comparison.baseline.name,
        said(row)
    );
    let Some(rounds) = &row.rounds else {
        text.push_str("its rounds were not kept\n\n");
        return text;
    };
    writeln!(text, "  {}", which_clock(row, rounds)).expect(FITS);
    let shifts = &rounds.shifts;
    if !shifts.is_empty() {
        let bounds = Plot { low: quantile(shifts, 0.0), high: quantile(shifts, 1.0), ascii };
        writeln!(
            text,
            "  {} rounds in {:.1} s, each a fresh process of both sides: {}, {} to {}",
            shifts.len(),
            rounds.seconds,
            bounds.line(shifts),
            quantity::change(bounds.low.exp_m1()),
            quantity::change(bounds.high.exp_m1())
        )
        .expect(FITS);
    }
    if let (false, Some(p), Some(adjusted)) = (rounds.confirmation.is_empty(), rounds.p, rounds.adjusted) {
        writeln!(
            text,
            "  confirmed on {} fresh rounds? p = {p:.2}, adjusted for the other cases {adjusted:.2}",
            rounds.confirmation.len()
        )
        .expect(FITS);
    }
    let advice = match (row.effect, row.tolerance) {
        (Some(effect), Some(margin)) => by_rounds(row, effect, margin.share, shifts.len()),
        _ => "fewer than eight rounds decide nothing: run the duel to its end".to_owned(),
    };
    writeln!(text, "  {advice}\n").expect(FITS);
    text
}

/// Explains the comparison of a case with its last baseline.
pub(super) fn stored(comparison: &Comparison, row: &Row, repeats: usize) -> String {
    let baseline = &comparison.baseline;
    let mut text = format!("against the stored baseline `{}`: {}\n", baseline.name, said(row));
    for note in &comparison.notes {
        line(&mut text, &format!("  note: {note}"));
    }
    for change in &comparison.environment_changes {
        line(&mut text, &format!("  changed since then: {change}"));
    }
    if let Some(processes) = &row.processes {
        let by = processes.yardstick.as_ref().map_or_else(
            || "not divided by a yardstick".to_owned(),
            |kind| format!("divided by the yardstick of kind `{}`", visible_in_line(kind)),
        );
        writeln!(
            text,
            "  {} processes then and {} now, {by}; {} of the blocks were taken off the processor; \
             {} earlier runs say what is noise",
            processes.values[0].len(),
            processes.values[1].len(),
            percent(processes.switched),
            processes.past.len()
        )
        .expect(FITS);
    }
    if let Some(advice) = &row.advice {
        line(&mut text, &format!("  {advice}"));
    }
    let advice = match (row.effect, row.tolerance) {
        (Some(effect), Some(tolerance)) => by_repeats(row, effect, tolerance.share, repeats),
        _ => match &comparison.refused {
            Some(refusal) => visible_in_line(&format!("not judged: {refusal}")),
            None => "it was not weighed".to_owned(),
        },
    };
    writeln!(text, "  {advice}\n").expect(FITS);
    text
}

fn said(row: &Row) -> String {
    let effect = row.effect.map_or_else(String::new, |effect| {
        let [estimate, low, high] = [effect.estimate, effect.low, effect.high].map(quantity::change);
        format!(", {} {estimate} ({low} to {high}; more is worse)", row.metric)
    });
    let accepted = row.accepted.map_or_else(String::new, |share| {
        format!("; on top of {}, which was accepted", quantity::change(share))
    });
    visible_in_line(&format!("{}{effect}{accepted}", row.verdict))
}

fn which_clock(row: &Row, rounds: &JudgedRounds) -> String {
    let (clean, pairs) = rounds.clean_pairs;
    if pairs == 0 {
        return "the wall clock decided: its rounds are whole repeats, not pairs of blocks".to_owned();
    }
    let share = percent(clean as f64 / pairs as f64);
    let clean =
        format!("{clean} of {pairs} pairs of blocks ({share}) ran without being taken off the processor");
    match (row.marks.contains(&RowMark::ByCpuClock), rounds.by_cpu) {
        (true, by_cpu) => format!(
            "the CPU clock decided in {by_cpu} of {} rounds: fewer than a quarter of their pairs, or eight, \
             were clean; {clean}",
            rounds.shifts.len()
        ),
        (false, 0) => format!("the wall clock decided, from clean pairs alone: {clean}"),
        (false, by_cpu) => format!(
            "the wall clock decided in most rounds, the CPU clock in {by_cpu} of {} that had too few clean \
             pairs: {clean}",
            rounds.shifts.len()
        ),
    }
}

fn by_rounds(row: &Row, effect: Effect, margin: f64, rounds: usize) -> String {
    match (&row.verdict, needed(effect, margin, rounds)) {
        (Verdict::Inconclusive(_), Some(needed)) if needed <= MOST_ROUNDS => {
            format!("about {needed} rounds would decide it: run the duel again")
        }
        (Verdict::Inconclusive(_), Some(needed)) => format!(
            "to decide it would take about {needed} rounds, and a duel has at most {MOST_ROUNDS}: \
             end what else runs on the machine, or set a margin further from {}",
            quantity::change(effect.estimate)
        ),
        (Verdict::Inconclusive(_), None) => format!(
            "its effect lies on the margin of {}: no number of rounds decides that; set another margin",
            percent(margin)
        ),
        _ => decided(row),
    }
}

fn by_repeats(row: &Row, effect: Effect, tolerance: f64, repeats: usize) -> String {
    match (&row.verdict, needed(effect, tolerance, repeats)) {
        (Verdict::Inconclusive(_), Some(needed)) if needed <= MOST_REPEATS => format!(
            "about {needed} repeats on both sides would decide it: \
             measure both with `cargo bench -- --repeats {needed}`; \
             or measure both in turns with `{} compare-baseline --rebuild REV`",
            weighbridge::tool()
        ),
        (Verdict::Inconclusive(_), _) => format!(
            "its interval holds the tolerance of {}, and more repeats would hardly change that: \
             measure both in turns with `{} compare-baseline --rebuild REV`",
            percent(tolerance),
            weighbridge::tool()
        ),
        _ => decided(row),
    }
}

fn decided(row: &Row) -> String {
    match row.detectable {
        Some(least) => format!(
            "it is decided; a slowdown of {} would have been found, and half of what is beyond the margin \
             with four times as many",
            percent(least)
        ),
        None => "it is decided".to_owned(),
    }
}

/// The number of values that would part the interval from the bound that it holds, if its width shrank with
/// the root of their number, as every standard error does, and its middle stayed. `None` where the estimate
/// lies on the bound.
fn needed(effect: Effect, bound: f64, values: usize) -> Option<usize> {
    let half_width = (effect.high.ln_1p() - effect.low.ln_1p()) / 2.0;
    let distance = (effect.estimate.ln_1p().abs() - bound.ln_1p()).abs();
    let times = (half_width / distance).powi(2);
    let needed = (values as f64 * times).ceil();
    (needed.is_finite() && needed < 1e6).then_some(needed as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(estimate: f64, low: f64, high: f64) -> Effect {
        Effect { estimate, low, high }
    }

    #[test]
    fn half_the_distance_needs_four_times_as_many() {
        let near = needed(effect(0.0, -0.02, 0.02), 0.01, 8).expect("it is off the bound");
        assert!((32..=34).contains(&near), "{near}");
        let far = needed(effect(0.0, -0.02, 0.02), 0.02, 8).expect("it is off the bound");
        assert!((8..=9).contains(&far), "{far}");
    }

    #[test]
    fn an_effect_on_the_bound_is_never_decided() {
        assert_eq!(needed(effect(0.01, -0.02, 0.04), 0.01, 8), None);
        assert_eq!(needed(effect(-0.01, f64::NAN, 0.04), 0.02, 8), None);
    }
}
