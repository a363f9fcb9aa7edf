//! The process's clock goes as fast as the kernel's.

use std::time::Duration;

use super::rule::{Accusation, Rule};
use crate::bencher::ClockPair;
use crate::verify::ExaminedCase;
use crate::verify::examined_case::EndedRepeat;
use crate::verify::finding::Severity;

pub(super) const RULE: Rule = Rule {
    name: "clock",
    lie: "a clock that goes slowly: a library that is loaded before the program answers for the system's",
    looks: "the time of each measured repeat by the clock of its process, beside the kernel's own count of \
        the time since the machine was started (`/proc/uptime`, in steps of 10 ms). In three repeats of \
        four, and in two at least, the kernel's may be longer by a tenth and 30 ms. A machine that slept \
        makes one longer, and not most",
    blind: "a clock that is slower by less than a tenth; repeats below 0.1 s; a library that answers for \
        reading files as well; what is no Linux",
    remedy: "measure without what answers for the clock (`LD_PRELOAD`)",
    test: "verify::rules::tests::a_clock_that_goes_slowly_is_told_and_a_machine_that_slept_once_is_not",
    check,
};

/// The part of a repeat by which the kernel's count may be longer, and a time beside it: two readings are
/// each up to 10 ms behind, and are taken one after the other.
const SHARE: f64 = 0.1;
const STEPS: Duration = Duration::from_millis(30);

/// Repeats that must say so at least.
const LEAST: usize = 2;

fn check(examined: &ExaminedCase<'_>) -> Vec<Accusation> {
    let measured = examined.ended().filter(EndedRepeat::is_measured);
    let clocks: Vec<(u32, ClockPair)> =
        measured.filter_map(|one| Some((one.repeat.number, one.evidence.clocks?))).collect();
    let slow: Vec<&(u32, ClockPair)> = clocks.iter().filter(|(_, pair)| is_slow(*pair)).collect();
    if slow.len() < LEAST || 4 * slow.len() < 3 * clocks.len() {
        return Vec::new();
    }
    let ClockPair { own, kernel } = slow[0].1;
    let detail = format!(
        "its clock says that {:?} passed where {:?} did by the kernel's: it goes slowly, and all of its \
         figures are wrong",
        Duration::from_nanos(own),
        Duration::from_nanos(kernel)
    );
    let repeats = slow.iter().map(|(number, _)| *number).collect();
    vec![Accusation { severity: Severity::Fail, repeats, detail }]
}

fn is_slow(ClockPair { own, kernel }: ClockPair) -> bool {
    kernel.saturating_sub(own) as f64 > SHARE * kernel as f64 + STEPS.as_nanos() as f64
}
