//! The hashes of references' elements: in the memory of the parent alone, where no subject can read or change
//! them.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::bencher::{
    AnswerReading, DrawnPlaces, EpochSum, Evidence, HashKey, Moments, MomentsByField, Purpose,
    ReferenceComparison, Spot,
};
use crate::plan::{Plan, PlannedCase};

/// The references of a run, by case.
pub(super) struct References {
    key: HashKey,
    known: HashMap<String, ReferenceElements>,
}

/// The epoch of a repeat that nobody stops.
const UNSTOPPED: u64 = 0;

/// The elements of a reference's epoch, hashed.
pub(super) struct ReferenceElements {
    /// In the order of delivery; empty where the reference keeps none.
    ordered: Vec<u128>,
    /// Elements of a batch: places are counted by it.
    batch: u64,
    sorted: Vec<u128>,
    /// Their sum, with wrap-around.
    sum: u128,
    /// The share of them that are different ones.
    unique: f64,
    /// Its batches in the order of delivery.
    batches: Vec<KnownBatch>,
    /// Reading its answers, where it is a body that hands some in.
    answers: Option<AnswerReading>,
}

/// A batch of a reference.
struct KnownBatch {
    /// Its elements, by their places in the epoch.
    elements: Range<u64>,
    moments: MomentsByField,
}

impl References {
    pub(super) fn new(key: HashKey) -> Self {
        Self { key, known: HashMap::new() }
    }

    /// The key that all hashes of this run are made with.
    pub(super) fn key(&self) -> HashKey {
        self.key
    }

    /// Compares what a repeat delivered with its reference, and notes what came of it in the evidence. What a
    /// reference delivers in its verifying repeat is kept.
    pub(super) fn compare(
        &mut self,
        plan: &Plan,
        case: &PlannedCase,
        purpose: Purpose,
        evidence: &mut Evidence,
        spots: Vec<Spot>,
    ) {
        count(evidence, &spots);
        if case.is_reference() && purpose == Purpose::Verify {
            self.known.insert(case.id.to_string(), ReferenceElements::of(&spots, evidence));
        }
        let reference = plan.cases.iter().find(|other| case.compares_with(other));
        let known = reference.and_then(|reference| self.known.get(&reference.id.to_string()));
        if let Some(known) = known {
            known.note(purpose, evidence, &spots);
        }
        evidence.last_epoch = None;
    }
}

/// Tells whether elements come in an order that both have, and how many of them a batch has.
fn order(evidence: &Evidence) -> (bool, u64) {
    match evidence.expected {
        Some(expected) => (expected.in_order, expected.batch),
        None => (evidence.answers.is_some(), 1),
    }
}

/// Notes how much was looked at.
fn count(evidence: &mut Evidence, spots: &[Spot]) {
    evidence.spots.batches = spots.len() as u64;
    evidence.spots.elements = spots.iter().map(|spot| spot.hashes.0.len() as u64).sum();
}

impl ReferenceElements {
    /// Compares what a repeat delivered, and notes in its evidence what came of it.
    pub(super) fn note(&self, purpose: Purpose, evidence: &mut Evidence, spots: &[Spot]) {
        count(evidence, spots);
        evidence.compared = Some(self.compare(purpose, evidence, spots));
    }

    pub(super) fn of(spots: &[Spot], evidence: &Evidence) -> Self {
        let hashes: Vec<u128> = spots.iter().flat_map(|spot| &spot.hashes.0).copied().collect();
        let mut sorted = hashes.clone();
        sorted.sort_unstable();
        let distinct = sorted.chunk_by(|a, b| a == b).count();
        let (in_order, batch) = order(evidence);
        Self {
            batch,
            sum: EpochSum::of(hashes.iter()).of_hashes(),
            unique: distinct as f64 / hashes.len().max(1) as f64,
            ordered: if in_order { hashes } else { Vec::new() },
            sorted,
            batches: KnownBatch::all(spots),
            answers: evidence.answers.clone(),
        }
    }

    pub(super) fn compare(
        &self,
        purpose: Purpose,
        evidence: &Evidence,
        spots: &[Spot],
    ) -> ReferenceComparison {
        let hashes = || spots.iter().flat_map(|spot| &spot.hashes.0);
        let in_order = order(evidence).0 && !self.ordered.is_empty();
        let is_strange = |spot: &Spot| {
            let place = spot.at.filter(|_| in_order).map(|at| self.place(at, spot.first));
            let strange = move |(at, hash): (usize, &u128)| match place {
                Some(place) => self.ordered.get(place.saturating_add(at)) != Some(hash),
                None => self.sorted.binary_search(hash).is_err(),
            };
            spot.hashes.0.iter().enumerate().filter(|one| strange(*one)).count() as u64
        };
        let places: HashSet<(u64, u64)> = spots
            .iter()
            .flat_map(|spot| {
                let rows = spot.first..spot.first.saturating_add(spot.hashes.0.len() as u64);
                rows.filter_map(move |row| Some((spot.at?, row)))
            })
            .collect();
        let mut counts: HashMap<u128, f64> = HashMap::new();
        for hash in hashes() {
            *counts.entry(*hash).or_default() += 1.0;
        }
        let total: f64 = counts.values().sum();
        let whole = purpose == Purpose::Verify;
        let again = if whole || in_order { 0 } else { self.again(spots) };
        ReferenceComparison {
            elements: total as u64,
            // In an unmeasured repeat the multiset counts: its order is the scenario's own business.
            strangers: if whole { 0 } else { spots.iter().map(is_strange).sum() },
            places: places.len() as u64,
            distinct: counts.len() as u64,
            again,
            independent: total.powi(2) / counts.values().map(|count| count.powi(2)).sum::<f64>().max(1.0),
            unique: self.unique,
            answers: self.answers.clone(),
            drawn: if whole { DrawnPlaces::default() } else { self.drawn(spots) },
            there: if whole { MomentsByField::new() } else { self.there(evidence, spots) },
            same: match evidence.last_epoch {
                _ if whole => Some(self.is_whole(&EpochSum::of(hashes()))),
                last => last.map(|last| self.is_whole(&last)),
            },
        }
    }

    /// The places of parts of batches that were copied out of measured passes.
    fn drawn(&self, spots: &[Spot]) -> DrawnPlaces {
        let room = |spot: &Spot| (self.batch + 1).saturating_sub(spot.hashes.0.len() as u64);
        let is_part = |spot: &&Spot| spot.epoch != Some(UNSTOPPED) && room(spot) > 1;
        let parts: Vec<&Spot> = spots.iter().filter(is_part).collect();
        let different = |place: fn(&Spot) -> Option<u64>| {
            parts.iter().filter_map(|spot| place(spot)).collect::<HashSet<u64>>().len() as u64
        };
        DrawnPlaces {
            copies: parts.len() as u64,
            batches: different(|spot| spot.at),
            firsts: different(|spot| Some(spot.first)),
            room: parts.iter().map(|spot| room(spot)).min().unwrap_or(0),
        }
    }

    /// Tells whether an epoch has the reference's elements and no others.
    fn is_whole(&self, epoch: &EpochSum) -> bool {
        epoch.elements == self.sorted.len() as u64 && epoch.of_hashes() == self.sum
    }

    /// The number of elements that were found more often within an epoch than the reference has them.
    fn again(&self, spots: &[Spot]) -> u64 {
        let mut found: HashMap<(u64, u128), u64> = HashMap::new();
        for spot in spots {
            let Some(epoch) = spot.epoch else { continue };
            for hash in &spot.hashes.0 {
                *found.entry((epoch, *hash)).or_default() += 1;
            }
        }
        let there = |hash: &u128| {
            let first = self.sorted.partition_point(|known| known < hash);
            self.sorted[first..].partition_point(|known| known == hash) as u64
        };
        // What the reference does not have is a stranger, and counts as one there.
        let known = found.iter().map(|((_, hash), found)| (there(hash), *found));
        known.filter(|(there, _)| *there > 0).map(|(there, found)| found.saturating_sub(there)).sum()
    }

    /// Moments of the batches in which elements lie that were looked at, each as often as such elements; none
    /// where any element may come at any place.
    fn there(&self, evidence: &Evidence, spots: &[Spot]) -> MomentsByField {
        let mut there = MomentsByField::new();
        let Some(expected) = evidence.expected.filter(|expected| expected.in_order) else {
            return there;
        };
        for spot in spots {
            let Some(at) = spot.at else { return MomentsByField::new() };
            let from = at.saturating_mul(expected.batch).saturating_add(spot.first);
            let looked_at = from..from.saturating_add(spot.hashes.0.len() as u64);
            for batch in self.batches_of(&looked_at) {
                let share = batch.share(&looked_at);
                for (name, moments) in &batch.moments {
                    there.entry(name.clone()).or_insert(Moments::NONE).add_share(moments, share);
                }
            }
        }
        there
    }

    /// The reference's batches that have elements of a range.
    fn batches_of(&self, range: &Range<u64>) -> &[KnownBatch] {
        let first = self.batches.partition_point(|batch| batch.elements.end <= range.start);
        let count = self.batches[first..].partition_point(|batch| batch.elements.start < range.end);
        &self.batches[first..][..count]
    }

    fn place(&self, at: u64, first: u64) -> usize {
        at.saturating_mul(self.batch).saturating_add(first) as usize
    }
}

impl KnownBatch {
    fn all(spots: &[Spot]) -> Vec<Self> {
        let mut end = 0;
        let batch = |spot: &Spot| {
            let first = end;
            end += spot.hashes.0.len() as u64;
            Self { elements: first..end, moments: spot.moments.clone() }
        };
        spots.iter().map(batch).collect()
    }

    /// The share of the batch's elements that lies in a range.
    fn share(&self, range: &Range<u64>) -> f64 {
        let first = self.elements.start.max(range.start);
        let common = self.elements.end.min(range.end).saturating_sub(first);
        common as f64 / (self.elements.end - self.elements.start).max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::bencher::{Bencher, Budget, ExpectedEpoch, RepeatResult, Settings};
    use crate::device::ManualClock;

    const EPOCH: ExpectedEpoch = ExpectedEpoch {
        elements: 6,
        batch: 2,
        bytes: 6,
        source: 6,
        transforms: true,
        in_order: true,
        in_memory: true,
        makers: 1,
        keeps: false,
        renewed: false,
    };

    fn evidence(in_order: bool) -> Evidence {
        Evidence { expected: Some(ExpectedEpoch { in_order, ..EPOCH }), ..Evidence::default() }
    }

    fn spot(at: u64, first: u64, hashes: &[u128]) -> Spot {
        Spot { at: Some(at), first, ..Spot::of_hashes(hashes) }
    }

    fn known() -> ReferenceElements {
        ReferenceElements::of(
            &[spot(0, 0, &[1, 2]), spot(1, 0, &[3, 4]), spot(2, 0, &[5, 6])],
            &evidence(true),
        )
    }

    #[test]
    fn in_order_an_element_must_be_the_one_of_its_place() {
        let compare =
            |in_order, spots: &[Spot]| known().compare(Purpose::Measure, &evidence(in_order), spots);
        assert_eq!(compare(true, &[spot(1, 1, &[4]), spot(2, 0, &[5])]).strangers, 0);
        assert_eq!(compare(true, &[spot(1, 0, &[1, 2])]).strangers, 2, "the first batch again");
        assert_eq!(compare(true, &[spot(9, 0, &[1])]).strangers, 1, "there is no such place");
        assert_eq!(
            compare(false, &[spot(1, 0, &[1, 2, 7])]).strangers,
            1,
            "in any order it is only no stranger"
        );
    }

    #[test]
    fn what_is_looked_at_is_held_beside_the_references_batches_of_the_same_places() {
        let with = |at, first, numbers: &[f64]| {
            let mut moments = Moments::NONE;
            for number in numbers {
                moments.add(*number);
            }
            let moments = MomentsByField::from([("x".to_owned(), moments)]);
            Spot { at: Some(at), first, moments, ..Spot::of_hashes(&vec![1; numbers.len()]) }
        };
        let known = |batches: &[Spot]| ReferenceElements::of(batches, &Evidence::default());
        let there = |known: ReferenceElements, in_order, spots: &[Spot]| {
            known.compare(Purpose::Measure, &evidence(in_order), spots).there.remove("x")
        };
        let two = || [with(0, 0, &[1.0, 3.0]), with(1, 0, &[10.0, 30.0])];
        let found = there(known(&two()), true, &[with(1, 1, &[30.0])]).unwrap();
        assert_eq!((found.count, found.mean(), found.max), (1, 20.0, 30.0), "of its batch, as often");
        let found = there(known(&two()), true, &[with(0, 0, &[1.0, 3.0]), with(1, 0, &[10.0])]).unwrap();
        assert_eq!((found.count, found.sum), (3, 4.0 + 20.0));
        let one = [with(0, 0, &[1.0, 3.0, 10.0, 30.0])];
        let found = there(known(&one), true, &[with(1, 0, &[10.0, 30.0])]).unwrap();
        assert_eq!((found.count, found.mean()), (2, 11.0), "a reference may have other batches");
        assert_eq!(there(known(&two()), false, &[with(1, 1, &[30.0])]), None, "any element may be there");
        let somewhere = Spot { at: None, ..with(1, 1, &[30.0]) };
        assert_eq!(there(known(&two()), true, &[somewhere]), None);
    }

    #[test]
    fn places_and_what_was_found_there_are_counted() {
        let again: Vec<Spot> = (0..3).map(|at| spot(at, 0, &[1, 2])).collect();
        let found = known().compare(Purpose::Measure, &evidence(false), &again);
        assert_eq!((found.elements, found.places, found.distinct), (6, 6, 2));
        assert!((found.independent - 2.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn where_the_order_is_free_an_element_comes_once_in_an_epoch_and_as_often_as_the_reference_has_it() {
        let in_epoch = |epoch, at, hashes: &[u128]| Spot { epoch, ..spot(at, 0, hashes) };
        let again = |spots: &[Spot]| known().compare(Purpose::Measure, &evidence(false), spots).again;
        assert_eq!(again(&[in_epoch(Some(1), 0, &[2, 1]), in_epoch(Some(1), 1, &[4, 3])]), 0);
        assert_eq!(again(&[in_epoch(Some(1), 0, &[2, 1]), in_epoch(Some(2), 0, &[2, 1])]), 0, "two epochs");
        assert_eq!(again(&[in_epoch(Some(1), 0, &[2, 1]), in_epoch(Some(1), 2, &[1, 5, 5])]), 2);
        assert_eq!(again(&[in_epoch(None, 0, &[2, 2])]), 0, "nobody knows of which epoch they are");
        let evidence = evidence(false);
        let twice = ReferenceElements::of(&[spot(0, 0, &[1, 1, 2])], &evidence);
        let found = twice.compare(Purpose::Measure, &evidence, &[in_epoch(Some(0), 0, &[1, 1])]);
        assert_eq!(found.again, 0, "the reference has it twice");
        let strange = known().compare(Purpose::Measure, &evidence, &[in_epoch(Some(0), 0, &[9, 9])]);
        assert_eq!((strange.again, strange.strangers), (0, 2));
    }

    #[test]
    fn an_element_that_was_seen_often_counts_as_little_more_than_one() {
        let often = [spot(0, 0, &[1; 100]), spot(1, 0, &[2])];
        let found = known().compare(Purpose::Measure, &evidence(false), &often);
        assert_eq!(found.distinct, 2);
        assert!((found.independent - 101.0_f64.powi(2) / 10_001.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn a_whole_epoch_is_the_same_in_any_order_and_no_element_may_stand_for_another() {
        let same =
            |hashes: &[u128]| known().compare(Purpose::Verify, &evidence(true), &[spot(0, 0, hashes)]).same;
        assert_eq!(same(&[6, 5, 4, 3, 2, 1]), Some(true));
        assert_eq!(same(&[1, 2, 3, 4, 5, 5]), Some(false));
        assert_eq!(same(&[1, 2, 3, 4, 5]), Some(false));
        assert_eq!(known().compare(Purpose::Measure, &evidence(true), &[]).same, None);
        let last = |hashes: &[u128]| {
            let last_epoch = Some(EpochSum::of(hashes.iter()));
            let evidence = Evidence { last_epoch, ..evidence(false) };
            known().compare(Purpose::Measure, &evidence, &[]).same
        };
        assert_eq!(last(&[6, 5, 4, 3, 2, 1]), Some(true), "the one after the measured ones as well");
        assert_eq!(last(&[1, 2, 3, 1, 2, 3]), Some(false));
    }

    /// A repeat of a body that takes 10 us and answers as `of` does.
    fn answered<T: std::fmt::Debug>(
        purpose: Purpose,
        key: HashKey,
        mut of: impl FnMut(&ManualClock, u64) -> T,
    ) -> RepeatResult {
        let hand = ManualClock::default();
        let budget = Budget { warmup: 3, batches: 40, min_time: Duration::from_millis(50), max_time: None };
        let settings = Settings { clock: hand.clock(), key, ..Settings::new(purpose, budget) };
        let bencher = Bencher::new(settings);
        let took = |drawn| {
            hand.advance(Duration::from_micros(10));
            of(&hand, drawn)
        };
        bencher.iter_verified(|drawn| drawn, took);
        bencher.finish().unwrap()
    }

    #[test]
    fn answers_of_drawn_calls_are_the_references_and_one_that_was_remembered_or_left_out_is_not() {
        let key = HashKey::draw();
        let half = |_: &ManualClock, drawn: u64| drawn / 2;
        let verified = answered(Purpose::Verify, key, half);
        let known = ReferenceElements::of(&verified.spots, &verified.evidence);
        assert_eq!((known.ordered.len(), known.unique), (16, 1.0));
        let strangers = |of: RepeatResult| {
            assert!(of.spots.len() >= 4, "a repeat of {} samples is looked at", of.seen.samples.len());
            let compared = known.compare(Purpose::Measure, &of.evidence, &of.spots);
            (compared.strangers, compared.elements)
        };
        assert_eq!(strangers(answered(Purpose::Measure, key, half)).0, 0);
        let mut first = None;
        let remembered = answered(Purpose::Measure, key, |_, drawn| *first.get_or_insert(drawn / 2));
        let (strange, all) = strangers(remembered);
        assert!(strange * 2 > all, "it is right for the input that it remembers alone: {strange} of {all}");
        let (mut odd, mut last) = (false, 0);
        let every_second = answered(Purpose::Measure, key, |_, drawn| {
            odd = !odd;
            if odd {
                last = drawn / 2;
            }
            last
        });
        let (strange, all) = strangers(every_second);
        assert!(
            strange * 3 >= all,
            "of two calls that follow each other one is left out: {strange} of {all}"
        );
        let others = answered(Purpose::Verify, key, |_, drawn| drawn / 3);
        assert_eq!(known.compare(Purpose::Verify, &others.evidence, &others.spots).same, Some(false));
        let again = answered(Purpose::Verify, HashKey::draw(), half);
        assert_ne!(again.evidence.answers.unwrap().shown, verified.evidence.answers.unwrap().shown);
    }

    #[test]
    fn an_answer_that_is_made_when_it_is_read_takes_long_to_read() {
        struct Late(ManualClock, std::cell::Cell<u64>);
        impl std::fmt::Debug for Late {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.advance(Duration::from_micros(self.1.take()));
                f.write_str("answer")
            }
        }
        let late = |hand: &ManualClock, _| Late(hand.clone(), 300.into());
        let reading = answered(Purpose::Measure, HashKey::draw(), late).evidence.answers.unwrap();
        assert!((reading.late - 300_000.0).abs() < 1e-6 && reading.again == 0.0, "{reading:?}");
        let at_once = answered(Purpose::Measure, HashKey::draw(), |_, drawn| drawn).evidence.answers.unwrap();
        assert_eq!((at_once.late, at_once.again), (0.0, 0.0));
    }
}
