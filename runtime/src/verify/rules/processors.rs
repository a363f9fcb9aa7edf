//! A case uses no more processors than the workers that it says it has.

use super::rule::{Accusation, Rule};
use crate::metric::SampleKind;
use crate::verify::ExaminedCase;
use crate::verify::examined_case::EndedRepeat;
use crate::verify::finding::{PROCESSORS, Severity};

pub(super) const RULE: Rule = Rule {
    name: PROCESSORS,
    lie: "threads that nobody is told of, ranked by wall time beside systems that work in one",
    looks: "the processor time of all threads and processes in the measured windows of a stream, beside its \
        wall time: in the repeat in which it is least it may be 1.3 processors and one for each worker that \
        the work report has, and 20 us for each pass, since counters are read around it. Who uses more \
        keeps a rank, among those alone that do so too",
    blind: "passes of less than some 20 us, beside which reading counters is much; work \
        of another program that was there before; processors that nobody used, since others had them; \
        bodies, which may have as many threads as they like",
    remedy: "say how many workers there are, or keep the system to one thread",
    test: "verify::rules::tests::threads_that_nobody_is_told_of_stand_apart",
    check,
};

/// Processors that a case may use beside those of its workers: its own thread's, and what the harness and
/// signals take.
const ALONE: f64 = 1.3;

/// The processor time that reading the counters around the windows of a pass may take, in nanoseconds: 3,000
/// were seen in this process and 12,000 in a worker. Passes of 5 us on one thread used "1.7 processors".
const READING: f64 = 2e4;

fn check(examined: &ExaminedCase<'_>) -> Vec<Accusation> {
    let measured = examined.ended().filter(EndedRepeat::is_measured);
    let beyond = |one: EndedRepeat<'_>| {
        let is_stream = matches!(one.seen.taken, Some(SampleKind::Items | SampleKind::Passes));
        let workers = one.work.filter(|_| is_stream && one.seen.wall > 0)?.report.workers;
        let reading = READING * one.seen.passes as f64;
        let used = (one.seen.usage.cpu.as_nanos() as f64 - reading) / one.seen.wall as f64;
        Some((used - workers as f64, used, workers))
    };
    let least = measured.filter_map(beyond).min_by(|one, other| one.0.total_cmp(&other.0));
    let Some((_, used, workers)) = least.filter(|(beyond, ..)| *beyond >= ALONE) else { return Vec::new() };
    let has = match workers {
        0 => "no workers".to_owned(),
        1 => "one worker".to_owned(),
        many => format!("{many} workers"),
    };
    let detail = format!(
        "it says that it has {has}, and uses {used:.1} processors: it stands apart from those that do not"
    );
    vec![Accusation { severity: Severity::Caveat, repeats: Vec::new(), detail }]
}
