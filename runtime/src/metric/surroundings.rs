//! What went on around the measured samples of a repeat.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::device::{Noise, ProcessorLoss, ThreadSchedule};

/// The disturbances of a repeat, from the first measured window to the end of the last, pauses between them
/// included. `None` where the system does not say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Surroundings {
    /// Wall time from the first window to the end of the last, in nanoseconds, without that of yardsticks.
    pub span: u64,
    /// Time that the threads of the process that were there at the end were on a processor, in nanoseconds.
    pub ran: Option<u64>,
    /// Time that they were ready and waited for one, in nanoseconds.
    pub waited: Option<u64>,
    /// Time that a hypervisor took from the whole machine, in nanoseconds.
    pub stolen: Option<u64>,
    /// The number of times that the process was throttled: its control group's share was used up, or the
    /// package was too hot.
    pub throttled: Option<u64>,
    /// Processor time of processes below this one, in nanoseconds.
    pub helpers: Option<u64>,
    /// Frequency of the processor that the measuring thread ran on, in hertz: at the start and at the end.
    pub frequency: [Option<u64>; 2],
    /// Load average over a minute: at the start and at the end.
    pub load: [Option<f64>; 2],
}

impl Surroundings {
    /// The growth of the counters between two readings that lie `span` apart, less what was `apart` from the
    /// subject.
    pub fn between(before: &Noise, after: &Noise, span: Duration, apart: ExcludedTime) -> Self {
        let less = |time: Option<u64>, apart: u64| time.map(|time| time.saturating_sub(apart));
        Self {
            span: span.saturating_sub(apart.wall).as_nanos() as u64,
            ran: less(scheduled(before, after, |thread| thread.ran), apart.ran),
            waited: less(scheduled(before, after, |thread| thread.waited), apart.waited),
            stolen: grown(before.lost.stolen, after.lost.stolen),
            throttled: grown(before.lost.throttled, after.lost.throttled),
            helpers: grown(before.helpers, after.helpers),
            frequency: [None; 2],
            load: [None; 2],
        }
    }

    /// The share of the wall time in which threads were ready and waited, from 0 to 1. Where several threads
    /// together wanted to run for longer than that, it is the share of what they wanted.
    pub fn waiting_share(&self) -> Option<f64> {
        let (ran, waited) = (self.ran?, self.waited?);
        let of = (ran + waited).max(self.span);
        (of > 0).then(|| waited as f64 / of as f64)
    }
}

/// Work of the measuring thread between two readings that is nothing of the subject's: yardsticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExcludedTime {
    /// The time that it took.
    pub wall: Duration,
    /// The time that the thread was on a processor, in nanoseconds.
    pub ran: u64,
    /// The time that it waited for one, in nanoseconds.
    pub waited: u64,
}

/// Over the threads that are there at the end: those that have ended took their counters with them.
fn scheduled(before: &Noise, after: &Noise, time: fn(&ThreadSchedule) -> u64) -> Option<u64> {
    if after.threads.is_empty() {
        return None;
    }
    let mut sum = 0;
    for thread in &after.threads {
        let earlier = before.threads.iter().find(|earlier| earlier.thread == thread.thread);
        sum += time(thread).saturating_sub(earlier.map_or(0, time));
    }
    Some(sum)
}

/// A process that nobody waited for takes its counters with it: the sum may be less than it was.
fn grown(before: Option<u64>, after: Option<u64>) -> Option<u64> {
    Some(after?.saturating_sub(before?))
}

/// A known cause that disturbed a sample. Tagged samples are counted and kept like all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// A thread of the process was taken off its processor.
    Preempted,
    /// It had more page faults than the median sample of its repeat.
    Faulted,
    /// A hypervisor took time from the machine.
    Stolen,
    /// The process was throttled.
    Throttled,
    /// It came before the repeat was steady.
    Unsteady,
}

impl Cause {
    /// The cause as people read it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Preempted => "preempted",
            Self::Faulted => "faulted",
            Self::Stolen => "stolen",
            Self::Throttled => "throttled",
            Self::Unsteady => "unsteady",
        }
    }

    /// The causes whose counters grew between two looks.
    pub fn between(before: ProcessorLoss, after: ProcessorLoss) -> Vec<Self> {
        let mut found = Vec::new();
        if grown(before.stolen, after.stolen) > Some(0) {
            found.push(Self::Stolen);
        }
        if grown(before.throttled, after.throttled) > Some(0) {
            found.push(Self::Throttled);
        }
        found
    }
}

/// The samples that one cause disturbed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "DisturbedRuns", try_from = "DisturbedRuns")]
pub struct DisturbedSamples {
    /// The cause of the disturbance.
    pub cause: Cause,
    /// The indices of the samples among those of the repeat, ascending.
    pub samples: Vec<u32>,
}

/// The same in a record: first and number of samples that follow one another, since a cause disturbs whole
/// windows, which may have thousands of them.
#[derive(Serialize, Deserialize)]
struct DisturbedRuns {
    cause: Cause,
    #[serde(default)]
    runs: Vec<(u32, u32)>,
    /// The samples one by one, as records of before have them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    samples: Vec<u32>,
}

/// A record that says that more samples were disturbed is none of ours.
const MOST_SAMPLES: usize = 1 << 27;

impl From<DisturbedSamples> for DisturbedRuns {
    fn from(DisturbedSamples { cause, samples }: DisturbedSamples) -> Self {
        let runs = samples.chunk_by(|before, after| before.checked_add(1) == Some(*after));
        let runs = runs.map(|run| (run[0], run.len() as u32)).collect();
        Self { cause, runs, samples: Vec::new() }
    }
}

impl TryFrom<DisturbedRuns> for DisturbedSamples {
    type Error = &'static str;

    fn try_from(DisturbedRuns { cause, runs, mut samples }: DisturbedRuns) -> Result<Self, Self::Error> {
        for (first, count) in runs {
            let end = first.checked_add(count).filter(|_| samples.len() + count as usize <= MOST_SAMPLES);
            samples.extend(first..end.ok_or("it has more disturbed samples than a record holds")?);
        }
        Ok(Self { cause, samples })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(thread: u32, ran: u64, waited: u64) -> ThreadSchedule {
        ThreadSchedule { thread, ran, waited }
    }

    #[test]
    fn samples_that_follow_one_another_are_written_as_one_and_lists_of_before_are_read() {
        let tag = |samples: Vec<u32>| DisturbedSamples { cause: Cause::Preempted, samples };
        for (samples, text) in
            [(vec![], "[]"), (vec![7], "[[7,1]]"), (vec![0, 1, 2, 9, 11, 12], "[[0,3],[9,1],[11,2]]")]
        {
            let written = serde_json::to_string(&tag(samples.clone())).unwrap();
            assert_eq!(written, format!(r#"{{"cause":"preempted","runs":{text}}}"#));
            assert_eq!(serde_json::from_str::<DisturbedSamples>(&written).unwrap(), tag(samples));
        }
        let read = |text: &str| serde_json::from_str::<DisturbedSamples>(text);
        let before = read(r#"{"cause":"preempted","samples":[3,4,5]}"#).unwrap();
        assert_eq!(before, tag(vec![3, 4, 5]));
        for absurd in ["[[1,4294967295]]", "[[0,4000000000]]", "[[0,100000000],[0,100000000]]"] {
            let error = read(&format!(r#"{{"cause":"preempted","runs":{absurd}}}"#)).unwrap_err();
            assert!(error.to_string().contains("more disturbed samples than a record holds"), "{error}");
        }
    }

    #[test]
    fn waiting_is_counted_over_the_threads_that_are_there_at_the_end() {
        let before = Noise { threads: vec![thread(1, 100, 10), thread(2, 5000, 5000)], ..Noise::default() };
        let after = Noise { threads: vec![thread(1, 160, 30), thread(3, 20, 0)], ..Noise::default() };
        let around = between(&before, &after, 100, ExcludedTime::default());
        assert_eq!((around.ran, around.waited), (Some(80), Some(20)));
        assert_eq!(around.waiting_share(), Some(0.2));
    }

    fn between(before: &Noise, after: &Noise, span: u64, apart: ExcludedTime) -> Surroundings {
        Surroundings::between(before, after, Duration::from_nanos(span), apart)
    }

    #[test]
    fn a_body_that_sleeps_waited_for_a_share_of_the_wall_time_and_not_of_the_little_that_it_ran() {
        // Three seconds asleep, ten microseconds at work, four of waiting.
        let after = Noise { threads: vec![thread(1, 10_000, 4_000)], ..Noise::default() };
        let around = between(&Noise::default(), &after, 3_000_000_000, ExcludedTime::default());
        assert!(around.waiting_share().unwrap() < 1e-5, "{around:?}");
        // Eight threads that wanted two processors waited for three quarters of what they wanted.
        let after = Noise { threads: vec![thread(1, 200, 600)], ..Noise::default() };
        assert_eq!(
            between(&Noise::default(), &after, 100, ExcludedTime::default()).waiting_share(),
            Some(0.75)
        );
    }

    #[test]
    fn what_yardsticks_ran_and_waited_is_nothing_of_the_bodys() {
        let after = Noise { threads: vec![thread(1, 5_010, 3_004)], ..Noise::default() };
        let apart = ExcludedTime { wall: Duration::from_micros(8), ran: 5_000, waited: 3_000 };
        let around = between(&Noise::default(), &after, 9_000, apart);
        assert_eq!((around.span, around.ran, around.waited), (1_000, Some(10), Some(4)));
        assert_eq!(around.waiting_share(), Some(0.004));
    }

    #[test]
    fn what_the_system_does_not_say_is_not_known_and_never_nothing() {
        let around = between(&Noise::default(), &Noise::default(), 7, ExcludedTime::default());
        assert_eq!(around, Surroundings { span: 7, ..Surroundings::default() });
        assert_eq!(around.waiting_share(), None);
        assert_eq!(
            Cause::between(ProcessorLoss::default(), ProcessorLoss { stolen: Some(7), throttled: Some(1) }),
            []
        );
    }

    #[test]
    fn time_that_was_taken_has_its_cause() {
        let lost = |stolen, throttled| ProcessorLoss { stolen: Some(stolen), throttled: Some(throttled) };
        assert_eq!(Cause::between(lost(1, 1), lost(1, 1)), []);
        assert_eq!(Cause::between(lost(1, 1), lost(2, 1)), [Cause::Stolen]);
        assert_eq!(Cause::between(lost(1, 1), lost(2, 3)), [Cause::Stolen, Cause::Throttled]);
    }
}
