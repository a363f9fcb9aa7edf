//! What the life of a pipeline takes for each element that it has more is what a pass takes for one.

use super::rule::{Accusation, Rule};
use crate::bencher::{LifePair, PipelineLife};
use crate::stats::median;
use crate::verify::ExaminedCase;
use crate::verify::examined_case::EndedRepeat;
use crate::verify::finding::Severity;

pub(super) const RULE: Rule = Rule {
    name: "growth",
    lie: "an epoch, or a part of it, is made in `open`, in `begin`, with the first batch or when something \
        else is asked, however short it is",
    looks: "the unmeasured repeat: whole lives of a native pipeline, from before its opening to after its \
        end, and epochs of one in a worker from before they are begun, over all data and over a quarter of \
        it, in turns. For each element that they differ by they \
        may differ by three times what an element takes in the measured passes, in three pairs of four, by \
        the wall clock and by half as much processor time. What a compiler, threads or an arena take does \
        not grow with the data, and is free",
    blind: "a gain below the bound, or below a quarter of a life whose start is dear, or below what its \
        page faults may have taken; what an earlier pipeline of the process has left to the next; a \
        pipeline of less than four batches, of more than 2 s a quarter, on a device or of ranks in \
        processes; work for which no processor is busy; who knows a pipeline that will be measured from \
        one that will not; what a worker does where it opens, for which `outside` looks, and one whose \
        opening and a quarter of an epoch take over 5 s",
    remedy: "make batches when they are asked for; a cache is what IO-4 measures",
    test: "verify::rules::tests::what_grows_with_the_data_is_work_wherever_it_is_done",
    check,
};

/// An element may take so many times what it takes in a pass, in three pairs of four.
const BOUND: f64 = 3.0;

/// Differences below this say nothing, in nanoseconds. The processor's time must say half as much.
const LEAST: f64 = 0.25e6;
const ON_PROCESSOR: f64 = 0.5;

/// A smaller share of a life accuses nobody: what a dear start takes is not the same twice. (300 million
/// steps of a loop differed by 1.2 % of a life at most.) One below the second is none.
const SHARE: f64 = 0.25;
const LOST: f64 = 0.05;

/// Memory that is touched for the first time takes longer than many a batch: a fault takes so long at most,
/// in nanoseconds, or what one costs on the machine, and is no work. A life that may have spent a larger
/// share on faults clears nobody.
const FAULTS: f64 = 0.25;
const FAULT: u64 = 4_000;
const LEAST_FAULT: u64 = 1_000;

/// Threads that ran and waited together for no longer than the passes took, but for this share, are one.
const ONE_THREAD: f64 = 1.05;

/// The growth of lives over that of passes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growth {
    ratio: f64,
    /// Nanoseconds of an epoch that are made in no pass, by the wall clock.
    hidden: f64,
    /// The same on a processor.
    on_processor: f64,
    /// Its share of the whole life.
    share: f64,
    /// True if little of the life may have gone by with page faults.
    is_clear: bool,
}

impl Growth {
    /// Returns the growth of a case; `None` where its lives were not timed, or say nothing.
    pub(super) fn of(examined: &ExaminedCase<'_>) -> Option<Self> {
        let measured = || examined.ended().filter(EndedRepeat::is_measured);
        let each: Vec<f64> = measured().filter_map(|one| each(&one)).collect();
        let fault = measured().filter_map(|one| one.evidence.page_fault).max();
        let fault = fault.unwrap_or(FAULT).clamp(LEAST_FAULT, FAULT);
        let on_processor: Vec<f64> = measured().filter_map(|one| on_processor(&one)).collect();
        if each.is_empty() {
            return None;
        }
        let (each, on_processor) = (median(&each), median(&on_processor));
        let lives = examined.ended().map(|one| &one.evidence.lives).find(|lives| !lives.is_empty())?;
        let growth = |pair: &LifePair| Self::between(pair, each, on_processor, fault);
        let mut pairs: Vec<Self> = lives.iter().filter_map(growth).collect();
        // Memory is touched for the first time in the first of many lives alone.
        if pairs.iter().any(|pair| pair.is_clear) {
            pairs.retain(|pair| pair.is_clear);
        }
        pairs.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
        pairs.get(pairs.len().saturating_sub(1) / 4).copied()
    }

    fn between(pair: &LifePair, each: f64, on_processor: f64, fault: u64) -> Option<Self> {
        let LifePair { whole, part } = pair;
        let more = whole.elements.checked_sub(part.elements).filter(|more| *more > 0)? as f64;
        let faults = |life: &PipelineLife| life.faults.saturating_mul(fault);
        let is_clear = whole.faults.saturating_mul(FAULT) as f64 <= own_time(whole) as f64 * FAULTS;
        let own = |life| own_time(life).saturating_sub(if is_clear { 0 } else { faults(life) }) as f64;
        let elements = whole.elements as f64;
        let wall = (own(whole) - own(part)) / more;
        let cpu = (whole.cpu as f64 - part.cpu as f64) / more;
        let hidden = (wall - each) * elements;
        let on_processor = (cpu - on_processor) * elements;
        let share = hidden / own(whole).max(1.0);
        Some(Self { ratio: wall / each, hidden, on_processor, share, is_clear })
    }

    /// Tells whether it clears a pipeline of making batches where no clock runs: a further element takes no
    /// longer than in a pass, or what it takes is lost in a start that is the same for all data. Whom it does
    /// not accuse it need not clear.
    pub(super) fn clears(self) -> bool {
        self.is_clear && (self.ratio <= BOUND || self.share < LOST)
    }

    fn accuses(self) -> bool {
        let is_on_processor = self.on_processor >= self.hidden * ON_PROCESSOR;
        self.ratio > BOUND && self.hidden >= LEAST && self.share >= SHARE && is_on_processor
    }
}

/// Nanoseconds of the measured windows for an element. Waiting for a processor is the machine's time there as
/// in a life; where several threads wait, whoever is waited for is not known.
fn each(one: &EndedRepeat<'_>) -> Option<f64> {
    let each = one.each()?;
    let around = &one.seen.around;
    let has_workers = one.work.is_some_and(|work| work.report.workers > 0);
    let busy = around.ran.unwrap_or(0) + around.waited.unwrap_or(0);
    if has_workers || one.has_processes() || busy as f64 > around.span as f64 * ONE_THREAD {
        return Some(each);
    }
    Some(each * (1.0 - around.waiting_share().unwrap_or(0.0)))
}

/// Nanoseconds on a processor for an element of the measured passes, in their windows alone.
fn on_processor(one: &EndedRepeat<'_>) -> Option<f64> {
    (one.seen.elements > 0).then(|| one.seen.usage.cpu.as_nanos() as f64 / one.seen.elements as f64)
}

/// The nanoseconds of a life that are its own: waiting for a processor is the machine's time.
fn own_time(life: &PipelineLife) -> u64 {
    let off = life.wall.saturating_sub(life.cpu);
    life.wall - life.wait.unwrap_or(0).min(off)
}

fn check(examined: &ExaminedCase<'_>) -> Vec<Accusation> {
    let Some(growth) = Growth::of(examined).filter(|growth| growth.accuses()) else {
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
