//! What the life of a pipeline takes for each element that it has more is what a pass takes for one.

use super::rule::{Accusation, Rule};
use crate::bencher::{LifePair, PipelineLife};
use crate::stats::median;
use crate::verify::ExaminedCase;
use crate::verify::examined::EndedRepeat;
use crate::verify::finding::Severity;

pub(super) const RULE: Rule = Rule {
    name: "growth",
    lie: "an epoch, or a part of it, is made in `open`, in `begin`, with the first batch or when something \
        else is asked, however short it is",
    looks: "the unmeasured repeat of a native pipeline: whole lives of it, from before its opening to after \
        its end, over all data and over a quarter of it, in turns. For each element that they differ by they \
        may differ by twice what an element takes in the measured passes, by the wall clock and by \
        processor time, in three pairs of four; in the first one by four times where that hides 5 ms. What a \
        compiler, threads or an arena take does not grow with the data, and is free",
    blind: "a gain below the bound; a pipeline of less than four batches, on a device or of several ranks; \
        work for which no processor is busy; who knows a pipeline that will be measured from one that will \
        not; work in a worker, for which `outside` looks",
    remedy: "make batches when they are asked for; a cache is what IO-4 measures",
    test: "verify::rules::tests::what_grows_with_the_data_is_work_wherever_it_is_done",
    check,
};

/// An element may take so many times what it takes in a pass: in three pairs of four, and in the first one,
/// whose later ones may have what it has left in the process.
const BOUND: f64 = 2.0;
const FIRST_BOUND: f64 = 4.0;

/// Differences below this say nothing, and below this the first pair alone does not, in nanoseconds.
const LEAST: f64 = 0.25e6;
const SHORT: f64 = 5e6;

/// The time of a page fault, in nanoseconds: what one costs on the machine, within these.
const FAULT: u64 = 1_000;
const DEAR_FAULT: u64 = 3_000;

/// The growth of lives over that of passes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growth {
    ratio: f64,
    /// What is made in no pass, of all data, in nanoseconds.
    hidden: f64,
}

impl Growth {
    /// Returns the growth of a case; `None` where its lives were not timed.
    pub(super) fn of(examined: &ExaminedCase<'_>) -> Option<Self> {
        let measured = || examined.ended().filter(EndedRepeat::is_measured);
        let each: Vec<f64> = measured().filter_map(|one| one.each()).collect();
        let on_processor: Vec<f64> = measured().filter_map(|one| processor_time(&one)).collect();
        if each.is_empty() {
            return None;
        }
        let (each, on_processor) = (median(&each), median(&on_processor));
        let fault = measured().find_map(|one| one.evidence.page_fault);
        let fault = fault.unwrap_or_default().clamp(FAULT, DEAR_FAULT);
        let lives = examined.ended().map(|one| &one.evidence.lives).find(|lives| !lives.is_empty())?;
        let growth = |pair: &LifePair| Self::between(pair, fault, each, on_processor);
        let pairs: Vec<Self> = lives.iter().filter_map(growth).collect();
        let first = *pairs.first()?;
        if first.hidden >= SHORT && first.ratio > FIRST_BOUND {
            return Some(first);
        }
        let mut sorted = pairs;
        sorted.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
        sorted.get((sorted.len() - 1) / 4).copied()
    }

    fn between(pair: &LifePair, fault: u64, each: f64, on_processor: f64) -> Option<Self> {
        let LifePair { whole, part } = pair;
        let more = whole.elements.checked_sub(part.elements).filter(|more| *more > 0)? as f64;
        let wall = (own_time(whole, fault) - own_time(part, fault)) / more;
        let cpu = (whole.cpu as f64 - part.cpu as f64) / more;
        let by_processor = if on_processor > 0.0 { cpu / on_processor } else { f64::INFINITY };
        let hidden = (wall - each) * whole.elements as f64;
        Some(Self { ratio: (wall / each).min(by_processor), hidden })
    }

    /// Tells whether lives take for an element no more than passes may.
    pub(super) fn is_work_of_passes(self) -> bool {
        self.ratio <= BOUND || self.hidden < LEAST
    }
}

/// Nanoseconds on a processor for an element of the measured passes.
fn processor_time(one: &EndedRepeat<'_>) -> Option<f64> {
    let ran = one.seen.around.ran.unwrap_or(one.seen.usage.cpu.as_nanos() as u64);
    (one.seen.elements > 0 && ran > 0).then(|| ran as f64 / one.seen.elements as f64)
}

/// The nanoseconds of a life that are its own: waiting for a processor is the machine's time, and faults of
/// memory that is touched for the first time are no batch's.
fn own_time(life: &PipelineLife, fault: u64) -> f64 {
    let off = life.wall.saturating_sub(life.cpu);
    let own = life.wall - life.wait.unwrap_or(0).min(off);
    (own - life.faults.saturating_mul(fault).min(own / 2)) as f64
}

fn check(examined: &ExaminedCase<'_>) -> Vec<Accusation> {
    let Some(growth) = Growth::of(examined).filter(|growth| !growth.is_work_of_passes()) else {
        return Vec::new();
    };
    let detail = format!(
        "from its opening to its end a pipeline takes {:.1} times as long for each further element as a \
         measured pass: {:.1} ms of an epoch are made where no clock runs",
        growth.ratio,
        growth.hidden * 1e-6
    );
    vec![Accusation { severity: Severity::Fail, repeats: Vec::new(), detail }]
}
