//! What one round says: from pairs of blocks to one log-ratio per metric.

use crate::bencher::PerIteration;
use crate::metric::{Block, TimedBy};
use crate::stats;

/// Below this share of clean pairs, or below [`FEWEST_CLEAN`] of them, the CPU clock decides.
const CLEAN_SHARE: f64 = 0.25;

/// See [`CLEAN_SHARE`].
const FEWEST_CLEAN: usize = 8;

/// A block whose other threads took more than this share of its CPU time is not the work of one thread.
const OTHER_THREADS: f64 = 0.05;

/// One round of a body in blocks, condensed. Pairs have the baseline's block first.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CondensedRound {
    /// ln(candidate / baseline) of the time of one unit of work, by the clock that decides.
    pub(super) time: f64,
    /// The same of the CPU time of all threads.
    pub(super) cpu: f64,
    /// The same of page faults, each counted one too many so that none has a logarithm.
    pub(super) faults: f64,
    /// Medians of each side: wall time and CPU time of one iteration in seconds, faults of one block.
    pub(super) sides: [Medians; 2],
    /// True if the CPU clock decided.
    pub(super) by_cpu: bool,
    /// The standard error of `time`, from the spread of the pairs.
    pub(super) error: f64,
    /// Pairs in which neither block was preempted, and all.
    pub(super) clean: (usize, usize),
}

/// Medians over the blocks of one side.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Medians {
    pub(super) wall: f64,
    pub(super) cpu: f64,
    pub(super) faults: f64,
}

/// Condenses a round. `None` without pairs, or where a clock showed nothing at all.
///
/// The time is the median over pairs of ln(candidate / baseline). Pairs in which a block was preempted are
/// left out; where too few are left, all count, by the thread's CPU clock, as long as that clock sees what
/// the body does: one thread that does not wait.
pub(super) fn condense(work: &[PerIteration; 2], pairs: &[[Block; 2]]) -> Option<CondensedRound> {
    let per_unit = |side: usize, nanoseconds: u64| {
        let block = nanoseconds as f64;
        block / units(work, side)
    };
    let is_clean = |pair: &&[Block; 2]| !pair.iter().any(is_disturbed);
    let clean: Vec<[Block; 2]> = pairs.iter().filter(is_clean).copied().collect();
    let enough = clean.len() >= FEWEST_CLEAN.min(pairs.len())
        && clean.len() as f64 >= CLEAN_SHARE * pairs.len() as f64;
    let by_cpu = !enough && pairs.iter().all(|pair| pair.iter().all(is_one_busy_thread));
    let used: &[[Block; 2]] = if enough { &clean } else { pairs };
    let ratios = |pairs: &[[Block; 2]], time: fn(&Block) -> u64| {
        let mut ratios = Vec::with_capacity(pairs.len());
        for pair in pairs {
            let (old, new) = (per_unit(0, time(&pair[0])), per_unit(1, time(&pair[1])));
            if old > 0.0 && new > 0.0 {
                ratios.push((new / old).ln());
            }
        }
        (!ratios.is_empty()).then_some(ratios)
    };
    let median = |side: usize, read: fn(&Block) -> f64| {
        let values: Vec<f64> = used.iter().map(|pair| read(&pair[side])).collect();
        stats::median(&values)
    };
    let medians = |side: usize| Medians {
        wall: median(side, |block| block.wall as f64 / block.iterations.max(1) as f64) * 1e-9,
        cpu: median(side, |block| block.cpu as f64 / block.iterations.max(1) as f64) * 1e-9,
        faults: median(side, |block| block.faults as f64),
    };
    let sides = [medians(0), medians(1)];
    let times = ratios(used, if by_cpu { |block| block.thread } else { |block| block.wall })?;
    Some(CondensedRound {
        time: stats::median(&times),
        // Of a median: sqrt(pi / 2) times that of a mean, for values that are near to normal.
        error: stats::robust_spread(&times) * std::f64::consts::FRAC_PI_2.sqrt()
            / (times.len() as f64).sqrt(),
        cpu: stats::median(&ratios(used, |block| block.cpu)?),
        faults: ((sides[1].faults + 1.0) / (sides[0].faults + 1.0)).ln(),
        sides,
        by_cpu,
        clean: (clean.len(), pairs.len()),
    })
}

/// Units of work of one iteration: doing twice the work in twice the time is no regression.
fn units(work: &[PerIteration; 2], side: usize) -> f64 {
    let stated = |read: fn(&PerIteration) -> u64| {
        (read(&work[0]) > 0 && read(&work[1]) > 0).then(|| read(&work[side]) as f64)
    };
    stated(|work| work.elements).or_else(|| stated(|work| work.bytes)).unwrap_or(1.0)
}

/// Tells whether a thread of it was preempted, where that is in its time.
fn is_disturbed(block: &Block) -> bool {
    block.by == TimedBy::Host && block.preemptions > 0
}

fn is_one_busy_thread(block: &Block) -> bool {
    if block.by != TimedBy::Host {
        return false;
    }
    let others = block.cpu.saturating_sub(block.thread) as f64;
    block.waits == 0 && others <= OTHER_THREADS * block.cpu as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: [PerIteration; 2] = [PerIteration { elements: 0, bytes: 0, flops: 0 }; 2];

    fn block(wall: u64, preemptions: u64) -> Block {
        let thread = 1000 + (wall % 7);
        Block { iterations: 10, wall, thread, cpu: thread, preemptions, ..Block::default() }
    }

    #[test]
    fn pairs_in_which_a_block_was_preempted_are_left_out() {
        let mut pairs = vec![[block(1000, 0), block(1100, 0)]; 9];
        pairs.extend([[block(1000, 0), block(90_000, 1)]; 10]);
        let round = condense(&ONE, &pairs).unwrap();
        assert!((round.time - 1.1f64.ln()).abs() < 1e-12 && !round.by_cpu);
        assert_eq!(round.clean, (9, 19));
    }

    #[test]
    fn with_too_few_clean_pairs_the_cpu_clock_decides_over_all() {
        let pairs = vec![[block(70_000, 2), block(140_000, 1)]; 10];
        let round = condense(&ONE, &pairs).unwrap();
        assert!(round.by_cpu && round.time.abs() < 1e-12, "{round:?}");
    }

    #[test]
    fn a_body_that_waits_or_has_threads_is_never_judged_by_the_cpu_clock() {
        let waiting = |wall| Block { waits: 1, ..block(wall, 1) };
        let many = |wall| Block { cpu: 3000, ..block(wall, 1) };
        for pair in [[waiting(1000), waiting(2000)], [many(1000), many(2000)]] {
            let round = condense(&ONE, &[pair; 10]).unwrap();
            assert!(!round.by_cpu && (round.time - 2f64.ln()).abs() < 1e-12, "{round:?}");
        }
    }

    #[test]
    fn what_the_host_did_meanwhile_is_nothing_of_a_time_by_a_devices_clock() {
        for by in [TimedBy::Device, TimedBy::Fake] {
            let of = |wall| Block { by, ..block(wall, 1) };
            let mut pairs = vec![[of(1000), of(2000)]; 10];
            // The host's thread was as fast on both sides.
            pairs.iter_mut().flatten().for_each(|block| (block.thread, block.cpu) = (500, 500));
            let round = condense(&ONE, &pairs).unwrap();
            assert!(!round.by_cpu && (round.time - 2f64.ln()).abs() < 1e-12, "{round:?}");
            assert_eq!(round.clean, (10, 10));
        }
    }

    #[test]
    fn twice_the_work_in_twice_the_time_is_no_change() {
        let work = [10, 20].map(|elements| PerIteration { elements, ..PerIteration::default() });
        let round = condense(&work, &[[block(1000, 0), block(2000, 0)]; 8]).unwrap();
        assert!(round.time.abs() < 1e-12);
        // What only one side states is no unit.
        let one = [work[0], PerIteration::default()];
        assert!(condense(&one, &[[block(1000, 0), block(2000, 0)]; 8]).unwrap().time > 0.6);
    }

    #[test]
    fn no_pairs_and_clocks_that_stand_still_say_nothing() {
        assert_eq!(condense(&ONE, &[]), None);
        assert_eq!(condense(&ONE, &[[block(0, 0), block(0, 0)]; 8]), None);
    }
}
