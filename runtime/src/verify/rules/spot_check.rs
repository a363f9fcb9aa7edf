//! What was copied out of measured passes is the reference's.

use super::rule::{Accusation, Rule, each_measured};
use crate::bencher::{Content, DrawnPlaces, ReferenceComparison};
use crate::metric::SampleKind;
use crate::registry::Equivalence;
use crate::verify::ExaminedCase;
use crate::verify::agreement::{kind, near, unlike};
use crate::verify::examined_case::EndedRepeat;
use crate::verify::finding::Severity;

pub(super) const RULE: Rule = Rule {
    name: "spot-check",
    lie: "honest when it is looked at, and not when it is measured: the same batch again, no transform, \
        zeros, from the second pass on or now and then",
    looks: "elements of every measured pass and of the epoch without a stop, at places drawn from the \
        system's randomness as they come. With `exact` each is the reference's, and where batches come in \
        order the one of its place; where the order is free none comes more often in an epoch than the \
        reference has it. With `approx` moments, ranges and shapes agree, and where batches come \
        in order the moments are held beside those of the reference's same batches; with `alike` traits of \
        elements, ranges and shapes; with `shape` shapes. Different places must hold different elements, and \
        those of a worker's copies must be as many as draws find",
    blind: "a subject that cheats in so few batches that no drawn one is among them, which gains as little; \
        a worker with a loop of its own whose copies are of batches that it foresees, each pass another one; \
        one that reads the harness's memory: in its own process, or as a process of the same user",
    remedy: "deliver in every pass what the specification asks for",
    test: "verify::rules::tests::elements_of_measured_passes_are_the_references",
    check,
};

/// So many places must have been looked at before their elements are counted.
const PLACES: u64 = 64;

/// Of the places, so many must hold different elements: in order nearly all, in any order most.
const DISTINCT: [f64; 2] = [0.6, 0.9];

/// Standard errors that the mean of a few elements may be off: one honest case in fifteen thousand is.
const ERRORS: f64 = 4.0;

/// By this share of its greatest number a field may be wider than the reference's, where each epoch has draws
/// of its own: what dropout lets pass of the greatest numbers is not the same twice.
const RENEWED: f64 = 0.25;

fn check(examined: &ExaminedCase<'_>) -> Vec<Accusation> {
    if examined.equivalence == Equivalence::None || examined.is_declared() {
        return Vec::new();
    }
    each_measured(examined, |one| Some((Severity::Fail, fault(examined, one)?)))
}

fn fault(examined: &ExaminedCase<'_>, one: &EndedRepeat<'_>) -> Option<String> {
    let compared = one.evidence.compared.as_ref()?;
    if examined.equivalence == Equivalence::Exact && compared.strangers > 0 {
        let ReferenceComparison { strangers, elements, .. } = *compared;
        let what = if one.evidence.answers.is_some() { "answers" } else { "elements" };
        return Some(format!(
            "{strangers} of {elements} {what} that were looked at are not what the reference has"
        ));
    }
    if examined.equivalence == Equivalence::Exact && compared.again > 0 {
        let ReferenceComparison { again, elements, .. } = *compared;
        return Some(format!(
            "{again} of {elements} elements that were looked at came a second time in their epoch: others \
             cannot have come"
        ));
    }
    if let Some(again) = repeated(one, compared).or_else(|| foreseen(one, &compared.drawn)) {
        return Some(again);
    }
    let (here, there) = (&one.work?.content, &examined.reference?.content);
    if here.elements == 0 {
        return None;
    }
    if let Some(stranger) = here.fields.iter().find(|field| !there.fields.contains(field)) {
        let known: Vec<String> = there.fields.iter().map(kind).collect();
        return Some(format!("it delivered {}, the reference has [{}]", kind(stranger), known.join(", ")));
    }
    match examined.equivalence {
        Equivalence::Approx(tolerance) => {
            let is_renewed = one.evidence.expected.is_some_and(|expected| expected.renewed);
            let wider = if is_renewed { RENEWED } else { 0.0 };
            moments(here, there, tolerance, wider, compared)
        }
        Equivalence::Alike(tolerance) => {
            let first = unlike(here, there, tolerance, Some(compared.sample())).into_iter().next()?;
            Some(format!("in the batches that were looked at: {first}"))
        }
        _ => None,
    }
}

/// Tells whether places hold the elements of other places.
fn repeated(one: &EndedRepeat<'_>, compared: &ReferenceComparison) -> Option<String> {
    let ReferenceComparison { places, distinct, unique, .. } = *compared;
    let in_order = one.evidence.expected.is_some_and(|expected| expected.in_order);
    let due = places as f64 * DISTINCT[usize::from(in_order)] * unique;
    (places >= PLACES && (distinct as f64) < due).then(|| {
        format!(
            "{places} places that were looked at hold {distinct} different elements: it delivers the \
            same ones again"
        )
    })
}

/// Tells whether a worker has copied at places that were not drawn: they are the same ones again and again.
fn foreseen(one: &EndedRepeat<'_>, drawn: &DrawnPlaces) -> Option<String> {
    let DrawnPlaces { copies, batches, firsts, room } = *drawn;
    // (The harness draws those of a native subject itself.)
    if one.evidence.account.is_none() || copies < COPIES || one.seen.taken != Some(SampleKind::Items) {
        return None;
    }
    let of_pass = one.seen.samples.len() as u64 / one.seen.passes.max(1);
    let is_drawn = |different: u64, among: u64| different as f64 >= due(copies, among) * DRAWN;
    let (what, different, among) = match () {
        () if !is_drawn(firsts, room) => ("elements of a batch", firsts, room),
        () if !is_drawn(batches, of_pass) => ("batches of a pass", batches, of_pass),
        () => return None,
    };
    Some(format!(
        "{copies} copies begin at {different} of {among} {what}: their places were not drawn, and it may be \
         honest there alone"
    ))
}

/// Different places that so many draws among so many find in the mean.
fn due(draws: u64, among: u64) -> f64 {
    let among = among.max(1) as f64;
    among * (1.0 - (1.0 - 1.0 / among).powf(draws as f64))
}

/// So many copies must have been handed over before their places are counted, and so large a share of the
/// places that draws find they must have. (Sixteen draws among twenty find 11 places in the mean, and less
/// than six once in a million times.)
const COPIES: u64 = 16;
const DRAWN: f64 = 0.5;

/// Moments of a sample of elements: as far off as the tolerance and their number allow. They are held beside
/// what the reference has in the same batches where that is known, since an epoch may change as it goes on:
/// gradients at the beginning of a training are larger than its later ones.
fn moments(
    here: &Content,
    there: &Content,
    tolerance: f64,
    wider: f64,
    compared: &ReferenceComparison,
) -> Option<String> {
    let sample = compared.sample();
    there.moments.iter().find_map(|(name, reference)| {
        let found = here.moments.get(name)?;
        let scale = reference.min.abs().max(reference.max.abs());
        let beside = compared.there.get(name).unwrap_or(reference);
        let chance = ERRORS * beside.deviation() / sample.sqrt();
        let wide = tolerance + if scale > 0.0 { chance / scale } else { 0.0 };
        let off = |part: &str, here: f64, there: f64| {
            (!near(here, there, wide, scale)).then(|| {
                format!(
                    "{part} of `{name}` in the batches that were looked at: {here}, the reference has {there}"
                )
            })
        };
        let outside = |part: &str, value: f64, beyond: bool| {
            beyond.then(|| {
                format!(
                    "{part} of `{name}` in the batches that were looked at: {value}, beyond the reference's"
                )
            })
        };
        let slack = (tolerance + wider) * scale;
        off("mean", found.mean(), beside.mean())
            .or_else(|| off("deviation", found.deviation(), beside.deviation()))
            .or_else(|| outside("least", found.min, found.min < reference.min - slack))
            .or_else(|| outside("greatest", found.max, found.max > reference.max + slack))
    })
}
