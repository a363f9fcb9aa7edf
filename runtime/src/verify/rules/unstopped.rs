//! An epoch without a stop takes about as long for an element as the passes that are ranked.

use super::growth::Growth;
use super::rule::{Accusation, Rule};
use crate::verify::ExaminedCase;
use crate::verify::examined_case::EndedRepeat;
use crate::verify::finding::Severity;

pub(super) const RULE: Rule = Rule {
    name: "unstopped",
    lie: "batches are made where no clock runs: while it stands, before a pass begins, or in an earlier pass \
        that is remembered",
    looks: "one epoch, or its first 10 s, as the first thing of every measured repeat: nothing was made \
        before, and nothing stops. After its first batch an element may take three times what it takes in \
        the ranked passes, in the middle one of the repeats. Where that hides less than 5 ms, three of four \
        must say so, and the lives of the pipeline (`growth`) must not say otherwise. The wall clock \
        decides; where threads waited for a processor, processor time must say the same",
    blind: "a gain below the bound; in a run of one repeat, where it is a caveat, less than 5 ms, or what no \
        processor is busy with; work in `open`, which `outside` looks for; what an earlier process has left \
        in a file, which `files` looks for",
    remedy: "make batches when they are asked for; a cache is what IO-4 measures",
    test: "verify::rules::tests::an_epoch_that_nobody_stops_takes_no_longer",
    check,
};

/// From here on the ratio stands beside the rank, and from here on it takes it away:
/// `docs/development/log/2026-11-bounds.md` has the ratios of honest systems that the bounds follow from.
pub(super) const BESIDE: f64 = 2.0;
pub(super) const BOUND: f64 = 3.0;

/// The time that a page fault may cost an epoch in which memory is touched for the first time, in
/// nanoseconds; or what one costs on the machine, where that is more: 1,900 on a virtual one. What a native
/// subject's own process says is bounded.
const FAULT: u64 = 1_000;
const DEAR_FAULT: u64 = 3_000;

/// Differences below this say nothing, in nanoseconds: the epoch is too short. Up to the second the
/// processor's time must say the same: an interrupt is as long.
const LEAST: f64 = 0.25e6;
const SHORT: f64 = 5e6;

/// So does it where threads waited for a processor for this share of the epoch: those that wait for each
/// other wait longer.
const WAITED: f64 = 0.1;

fn check(examined: &ExaminedCase<'_>) -> Vec<Accusation> {
    let mut ratios: Vec<(GainRatio, u32)> = examined
        .ended()
        .filter(EndedRepeat::is_measured)
        .filter_map(|one| Some((ratio(&one)?, one.repeat.number)))
        .collect();
    // A machine that is busy for the length of an epoch makes one repeat's ratio anything: the middle one
    // counts.
    ratios.sort_by(|a, b| a.0.ratio.total_cmp(&b.0.ratio));
    let middle = deciding(&ratios);
    let Some((GainRatio { ratio, hidden, by_processor }, _)) = ratios.get(middle) else { return Vec::new() };
    // A short epoch begins with cold caches. Where lives of the pipeline were timed, again and again, they
    // know better: what no life takes is made nowhere.
    if *hidden < SHORT && Growth::of(examined).is_some_and(Growth::clears) {
        return Vec::new();
    }
    // Nor is one epoch, beside which no other stands, enough to take a rank away where it is one of
    // milliseconds, or where no processor was busy for so long: a machine may stop for a quarter of a second.
    let idle = by_processor.is_some_and(|ratio| ratio <= BOUND);
    let alone = ratios.len() == 1 && (*hidden < SHORT || idle);
    let severity = match ratio {
        _ if *hidden < LEAST => return Vec::new(),
        ratio if *ratio > BOUND && !alone => Severity::Fail,
        ratio if *ratio > BESIDE => Severity::Caveat,
        _ => return Vec::new(),
    };
    let mut repeats: Vec<u32> = ratios[middle..].iter().map(|(_, number)| *number).collect();
    repeats.sort_unstable();
    let detail = format!(
        "in an epoch that nobody stops an element takes {ratio:.1} times as long as in the measured passes: \
         {:.1} ms of it are made where no clock runs",
        hidden * 1e-6
    );
    vec![Accusation { severity, repeats, detail }]
}

/// The position of the repeat that decides, in ascending order of ratios: the middle one. What is over in a
/// millisecond begins with cold caches, and on a busy machine most epochs do: there three repeats of four
/// must say so.
fn deciding(ratios: &[(GainRatio, u32)]) -> usize {
    let middle = ratios.len().saturating_sub(1) / 2;
    let is_short = ratios.get(middle).is_some_and(|(gain, _)| gain.hidden < SHORT);
    if is_short { middle / 2 } else { middle }
}

/// The factor by which an element takes longer, and what that makes in the epoch, in nanoseconds.
struct GainRatio {
    ratio: f64,
    hidden: f64,
    /// The same ratio of processor times, where they are known.
    by_processor: Option<f64>,
}

fn ratio(one: &EndedRepeat<'_>) -> Option<GainRatio> {
    let epoch = one.evidence.unstopped?;
    let each = one.each()?;
    if epoch.batches < 2 {
        return None;
    }
    let elements = epoch.elements as f64 * (epoch.batches - 1) as f64 / epoch.batches as f64;
    let tail =
        epoch.wall.saturating_sub(epoch.begin).saturating_sub(epoch.first).saturating_sub(epoch.copied);
    // Waiting for a processor is the machine's time, and faults of memory that is touched for the first time
    // are no batch's. Threads that have nothing to do with batches wait as well: whoever was on a processor
    // all the time waited for none.
    let off = epoch.cpu.map_or(epoch.wall, |cpu| epoch.wall.saturating_sub(cpu));
    let wait = epoch.wait.unwrap_or(0).min(off).min(tail / 4 * 3);
    let fault = one.evidence.page_fault.unwrap_or_default().clamp(FAULT, DEAR_FAULT);
    let faults = epoch.faults.saturating_mul(fault).min((tail - wait) / 2);
    let tail = tail.saturating_sub(wait).saturating_sub(faults) as f64;
    let waited = epoch.wait.unwrap_or(0) as f64 > epoch.wall as f64 * WAITED;
    let by_processor = || {
        let ran = one.seen.around.ran.filter(|_| one.evidence.account.is_some());
        let measured = ran.unwrap_or(one.seen.usage.cpu.as_nanos() as u64) as f64 / one.seen.elements as f64;
        let epoch = epoch.cpu? as f64 * tail / epoch.wall.max(1) as f64 / elements;
        (measured > 0.0).then_some(epoch / measured)
    };
    let (by_processor, hidden) = (by_processor(), tail - elements * each);
    let ratio = tail / elements / each;
    let ratio = by_processor.filter(|_| hidden < SHORT || waited).map_or(ratio, |other| other.min(ratio));
    Some(GainRatio { ratio, hidden, by_processor })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_short_epoch_three_repeats_of_four_must_say_so() {
        let repeats = |count: u32, hidden: f64| {
            let gain = |number| (GainRatio { ratio: f64::from(number), hidden, by_processor: None }, number);
            deciding(&(0..count).map(gain).collect::<Vec<_>>())
        };
        assert_eq!([1, 2, 3, 6, 7].map(|count| repeats(count, SHORT - 1.0)), [0, 0, 0, 1, 1]);
        assert_eq!([0, 1, 2, 3, 6, 7].map(|count| repeats(count, SHORT)), [0, 0, 0, 1, 2, 3]);
    }
}
