//! Measured batches have the elements that the specification gives them.

use super::rule::{Accusation, Rule, each_repeat};
use crate::bencher::ExpectedEpoch;
use crate::metric::Observation;
use crate::verify::ExaminedCase;
use crate::verify::examined_case::EndedRepeat;
use crate::verify::finding::Severity;

pub(super) const RULE: Rule = Rule {
    name: "count",
    lie: "more elements are counted than delivered: padding, made-up counts, batches shown more often than \
        they were made",
    looks: "every item that the clock saw: its elements must be those that the specification gives its \
        place, and its bytes those of so many elements, and a copy of it must hold as many; a worker's sum \
        must be that of the batches it was asked for, and its bytes and the epoch that nobody stops must be \
        those of the specification",
    blind: "nothing of a native subject; of a worker in any order, and where the epoch ended within a pass, \
        only that there are no more than there can be",
    remedy: "count real elements alone: padding is neither delivered nor counted",
    test: "verify::rules::tests::elements_are_as_many_as_the_specification_says",
    check,
};

fn check(examined: &ExaminedCase<'_>) -> Vec<Accusation> {
    each_repeat(examined, |one| {
        let wrong = miscounted(one).or_else(|| overclaimed(one)).or_else(|| padded(one));
        Some((Severity::Fail, wrong.or_else(|| other_epoch(one))?))
    })
}

/// Checks the bytes that a worker claims for its measured batches.
fn padded(one: &EndedRepeat<'_>) -> Option<String> {
    let (_, expected) = (one.evidence.account.as_ref()?, one.evidence.expected?);
    let (elements, bytes) = (one.seen.elements, one.seen.bytes);
    (!expected.fits(elements, bytes)).then(|| {
        let row = expected.bytes.div_ceil(expected.elements.max(1));
        format!("it claims {bytes} bytes in {elements} elements, which have {row} each")
    })
}

/// Checks the elements and batches that a worker claims for an epoch that nobody stopped.
fn other_epoch(one: &EndedRepeat<'_>) -> Option<String> {
    let (_, expected) = (one.evidence.account.as_ref()?, one.evidence.expected?);
    let epoch = one.evidence.unstopped?;
    (!expected.holds(epoch.elements, epoch.batches, epoch.ended)).then(|| {
        format!(
            "the epoch that was timed has {} elements in {} batches instead of {} in {}",
            epoch.elements,
            epoch.batches,
            expected.elements,
            expected.batches()
        )
    })
}

fn miscounted(one: &EndedRepeat<'_>) -> Option<String> {
    let noted = one.evidence.miscounted?;
    if let Some(held) = noted.held {
        return Some(format!(
            "{} batches do not hold what they must: batch {} of the epoch says that it has {} elements, and \
             a copy of it holds {held}",
            noted.batches, noted.at, noted.said
        ));
    }
    Some(format!(
        "{} batches do not hold what they must: batch {} of the epoch says that it has {} elements and must \
         have {}, with bytes for each",
        noted.batches, noted.at, noted.said, noted.expected
    ))
}

/// Checks the elements that a worker claims for all its measured batches together.
fn overclaimed(one: &EndedRepeat<'_>) -> Option<String> {
    let (claimed, expected) = (one.evidence.claimed?, one.evidence.expected?);
    let due = due(one.seen, one.evidence.begun, &expected);
    let right = match due {
        Due::Exactly(elements) => claimed == elements,
        Due::AtMost(elements) => claimed <= elements,
    };
    let hold = match due {
        Due::Exactly(elements) => elements.to_string(),
        Due::AtMost(elements) => format!("{elements} at most"),
    };
    (!right).then(|| {
        format!(
            "it counted {claimed} elements in the measured batches, which hold {hold}: padding is not \
             delivered, and nothing that is delivered is left out"
        )
    })
}

enum Due {
    Exactly(u64),
    AtMost(u64),
}

/// The number of elements that measured batches hold: where they come in order and the epoch did not end
/// within a pass that is known, else how many there can be. Passes that follow others in an epoch stop before
/// its last batch.
fn due(seen: &Observation, begun: u64, expected: &ExpectedEpoch) -> Due {
    let Observation { passes, warmup, caught_up, samples, iterations_per_sample, .. } = seen;
    let batches = (samples.len() as u64).saturating_mul(*iterations_per_sample);
    let most = batches.saturating_mul(expected.batch);
    let (passes, begun) = ((*passes).max(1), begun.max(1));
    // Begun once more than there are passes: the first epoch was left out, and each pass has another from its
    // beginning.
    let warmup = if begun > passes { 0 } else { *warmup };
    let (of_pass, skipped) = (batches / passes, warmup / begun);
    if seen.ran_out.is_some() || !expected.in_order || *caught_up > 0 || warmup % begun != 0 {
        return Due::AtMost(most);
    }
    if begun < passes {
        return Due::Exactly(most);
    }
    let sum = |from: u64, batches: u64| {
        let from = from.saturating_mul(expected.batch);
        from.saturating_add(batches.saturating_mul(expected.batch))
            .min(expected.elements)
            .saturating_sub(from.min(expected.elements))
    };
    Due::Exactly(passes.saturating_mul(sum(skipped, of_pass)))
}
