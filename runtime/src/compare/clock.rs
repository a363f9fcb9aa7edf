//! Time and cycles of a device: which of a change is the code's, and which the clock's.

use super::rule::Judgement;
use super::{ClockHalf, InconclusiveReason, Verdict};
use crate::metric::names;

/// The metric of a device's time, and those that follow from it.
const TIMES: [&str; 3] = [names::DEVICE_TIME, names::DEVICE_BANDWIDTH, names::DEVICE_FLOPS];

/// The same at the clock that the device had meanwhile.
const CYCLES: &str = names::DEVICE_CYCLES;

/// Lets a change of a device's time stand only where its cycles changed likewise, and a change of its cycles
/// only where its time did: a device that runs at another clock than in the baseline changes one of them, and
/// no code did that. (As nvbench's robust comparison, which asks for a gap both in time and in time by
/// clock.)
///
/// Nothing is asked where a side has no clock, and of an unchanged time: work that waits for memory takes as
/// long at any clock. A change whose other half is not judged yet is not judged either.
///
/// Takes the metrics of a case by name, and gives the names of those whose change the clock explains.
pub(super) fn hold_against_cycles<'a, 'b>(
    metrics: impl IntoIterator<Item = (&'a str, &'b mut Option<Judgement>)>,
) -> Vec<&'a str> {
    let mut metrics: Vec<_> = metrics.into_iter().collect();
    let verdict = |name: &str| {
        let named = metrics.iter().find(|(metric, _)| *metric == name);
        named.map(|(_, judgement)| judgement.as_ref().map(|judgement| judgement.verdict.clone()))
    };
    let (Some(time), Some(cycles)) = (verdict(TIMES[0]), verdict(CYCLES)) else { return Vec::new() };
    let mut explained = Vec::new();
    for (name, judged) in &mut metrics {
        let (half, other) = match *name {
            name if TIMES.contains(&name) => (ClockHalf::Cycles, &cycles),
            CYCLES => (ClockHalf::Time, &time),
            _ => continue,
        };
        let Some(judgement) = judged.as_mut() else { continue };
        if !matches!(judgement.verdict, Verdict::Regressed | Verdict::Improved) {
            continue;
        }
        let tends = match other {
            None => {
                **judged = None;
                continue;
            }
            Some(other) if *other == judgement.verdict => continue,
            Some(other) => other.tendency(),
        };
        let metric = judgement.verdict.tendency();
        judgement.verdict =
            Verdict::Inconclusive(InconclusiveReason::DeviceClock { metric, other: half, tends });
        explained.push(*name);
    }
    explained
}
