//! An answer is there when its call is over.

use super::rule::{Accusation, Rule};
use crate::verify::ExaminedCase;
use crate::verify::examined_case::EndedRepeat;
use crate::verify::finding::Severity;

pub(super) const RULE: Rule = Rule {
    name: "answers",
    lie: "an answer that is made when somebody reads it, or by a thread that goes on; one that was \
        remembered",
    looks: "the answers of `iter_verified`: those of two drawn calls that follow each other must be the \
        reference's, and up to 64 of their block are read as soon as it is over, the last one first. In the \
        repeat in which it is least, reading one for the first time may take longer than reading it again, \
        and that longer than reading the reference's in the repeat where that took longest, by 15 % of that, \
        a fifth of a call and 0.3 us (5 us a look); waiting for a processor does not count, and where others \
        are at work reading may take twice as long as the reference's. Each call has an input that was \
        drawn for it: if all answers of the reference are alike, that is a caveat",
    blind: "what a body does that hands in no answers (`iter`, `iter_batched`, `iter_custom`, \
        `iter_threads`): nothing of it is looked at, and it is not ranked; less than the bound; answers that \
        are equal by their `Debug`; in a repeat that was looked at more than sixteen times, a body that \
        remembers every input it ever had and answers those alone that come again",
    remedy: "return an answer that is complete; whatever fills it later belongs into the call",
    test: "verify::rules::tests::an_answer_is_there_when_its_call_is_over",
    check,
};

/// The share of reading an answer that may come in addition: its memory is cold, or another process reads.
const COLD: f64 = 0.15;

/// The share of a repeat's wall time that its thread has a processor for, below which others are at work on
/// the same cores: reading may take twice as long then as the reference's.
const BUSY: f64 = 0.9;

/// The share of a call that may be left to whoever reads the answer.
const LEFT: f64 = 0.2;

/// Nanoseconds that are free: of an answer, and of a look, which meets cold code.
const FREE: [f64; 2] = [300.0, 5_000.0];

/// The share of different answers among those of the reference below which all are one: it has sixteen.
const ALIKE: f64 = 0.07;

fn check(examined: &ExaminedCase<'_>) -> Vec<Accusation> {
    let measured: Vec<EndedRepeat<'_>> = examined.ended().filter(EndedRepeat::is_measured).collect();
    late(&measured).or_else(|| alike(&measured)).into_iter().collect()
}

fn late(measured: &[EndedRepeat<'_>]) -> Option<Accusation> {
    let due = measured.iter().filter_map(due).max_by(f64::total_cmp);
    let least = measured.iter().filter_map(|one| Some((one, waited(one, due)?)));
    let (one, (beyond, late, call)) = least.min_by(|one, other| one.1.0.total_cmp(&other.1.0))?;
    let detail = format!(
        "reading an answer takes {:.1} us more than reading it again, or the reference's, beside {:.1} us of \
         a call: it is made when somebody reads it",
        late / 1e3,
        call / 1e3
    );
    let repeats = vec![one.repeat.number];
    (beyond > 0.0).then_some(Accusation { severity: Severity::Fail, repeats, detail })
}

/// The nanoseconds that reading an answer of the reference takes: beside a busy neighbour more than else.
fn due(one: &EndedRepeat<'_>) -> Option<f64> {
    Some(one.evidence.compared.as_ref()?.answers.as_ref()?.again)
}

/// The nanoseconds by which reading an answer is beyond its bound, those that it takes more than it should,
/// and those of a call.
fn waited(one: &EndedRepeat<'_>, due: Option<f64>) -> Option<(f64, f64, f64)> {
    let own = one.evidence.answers.as_ref().filter(|own| own.count > 0 && one.seen.iterations() > 0)?;
    let slower = if is_busy(one) { 2.0 } else { 1.0 };
    let due = due.map_or(own.again, |due| own.again.min(slower * due));
    let late = own.late.max(own.again - due);
    let call = one.seen.wall as f64 / one.seen.iterations() as f64;
    let free = FREE[0].max(FREE[1] / own.count as f64);
    Some((late - due * COLD - call * LEFT - free, late, call))
}

fn is_busy(one: &EndedRepeat<'_>) -> bool {
    let had: u64 = one.seen.cpu.iter().sum();
    !one.seen.cpu.is_empty() && (had as f64) < BUSY * one.seen.wall as f64
}

fn alike(measured: &[EndedRepeat<'_>]) -> Option<Accusation> {
    let are_alike = |one: &EndedRepeat<'_>| {
        let unique = one.evidence.compared.as_ref().map(|compared| compared.unique);
        one.evidence.answers.is_some() && unique.is_some_and(|unique| unique < ALIKE)
    };
    let detail = "all answers of the reference are alike, so that one that was remembered cannot be told: \
                  let the input follow from the number that is drawn";
    let accusation =
        Accusation { severity: Severity::Caveat, repeats: Vec::new(), detail: detail.to_owned() };
    measured.iter().any(are_alike).then_some(accusation)
}
