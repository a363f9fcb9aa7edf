//! Time and cycles of a device: which of a change is the code's, and which the clock's.

use super::Verdict;
use super::change::{Tendency, Weighed};

/// What a device's time is read from, and what else follows from it.
const TIMES: [&str; 3] = ["device_time", "device_bandwidth", "device_flops"];

/// The same at the clock that the device had meanwhile.
const CYCLES: &str = "device_cycles";

/// Lets a change of a device's time stand only where its cycles changed likewise, and a change of its cycles only where
/// its time did: a device that runs at another clock than in the baseline changes one of them, and no code did that. (As
/// nvbench's robust comparison, which asks for a gap both in time and in time by clock.)
///
/// Nothing is asked where a side has no clock, and of an unchanged time: work that waits for memory takes as long at any
/// clock.
pub(super) fn hold_against_cycles(metrics: &mut [Weighed]) {
    let verdict = |name: &str| {
        let named = metrics.iter().find(|weighed| weighed.change.metric == name);
        named.and_then(|weighed| Some(weighed.judgement.as_ref()?.verdict.clone()))
    };
    let (Some(time), Some(cycles)) = (verdict(TIMES[0]), verdict(CYCLES)) else { return };
    for weighed in metrics {
        let other = match weighed.change.metric.as_str() {
            name if TIMES.contains(&name) => &cycles,
            CYCLES => &time,
            _ => continue,
        };
        let Some(judgement) = &mut weighed.judgement else { continue };
        let changed = matches!(judgement.verdict, Verdict::Regressed | Verdict::Improved);
        if !changed || judgement.verdict == *other {
            continue;
        }
        let whose = if weighed.change.metric == CYCLES { "time" } else { "cycles" };
        let why = match other {
            Verdict::Unchanged if whose == "cycles" => {
                "the device's clock changed: cycles are unchanged".to_owned()
            }
            Verdict::Unchanged => "the device's clock changed: time is unchanged".to_owned(),
            Verdict::Inconclusive(_) => format!(
                "it {}, and whether the device's {whose} did is not decided: the clock may have changed",
                judgement.verdict.name().to_lowercase()
            ),
            _ => format!("the device's clock changed: {whose} {}", other.name().to_lowercase()),
        };
        judgement.verdict = Verdict::Inconclusive(why);
        weighed.change.tendency = Tendency::Unclear;
        weighed.doubts.clock = true;
    }
}
