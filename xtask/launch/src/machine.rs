//! The states of a launch as one table: pure, with a deadline for every state.
//!
//! `follow` hands events in and carries out what is asked for; nothing here waits, prints or asks an engine.

use std::time::Duration;

/// A state of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The engine is handed the job.
    Submitting,
    /// The engine has the job, and it does not run.
    Queued,
    /// The engine says that it runs, and no rank has reported.
    Starting,
    /// Ranks report.
    Running,
    /// The engine is asked what it knows of a job that is to be ended.
    Diagnosing,
    /// The job is being ended.
    Cancelling,
    /// Files come back from the hosts.
    Collecting,
    /// Hosts are given back.
    TearingDown,
    /// Nothing more is done.
    Ended,
}

impl Phase {
    /// All of them, in the order of a launch to which nothing happens.
    pub(crate) const ALL: [Self; 9] = [
        Self::Submitting,
        Self::Queued,
        Self::Starting,
        Self::Running,
        Self::Diagnosing,
        Self::Cancelling,
        Self::Collecting,
        Self::TearingDown,
        Self::Ended,
    ];

    /// The name, for people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Submitting => "submitting",
            Self::Queued => "queued",
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Diagnosing => "asking what is wrong",
            Self::Cancelling => "cancelling",
            Self::Collecting => "collecting",
            Self::TearingDown => "giving hosts back",
            Self::Ended => "ended",
        }
    }

    fn is_before_the_end(self) -> bool {
        matches!(self, Self::Submitting | Self::Queued | Self::Starting | Self::Running)
    }
}

/// The time that each state may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadlines {
    pub(crate) submit: Duration,
    /// Of a job that has no rank: queued and starting together.
    pub(crate) launch: Duration,
    /// Between two lines of any rank.
    pub(crate) stall: Duration,
    /// Of each step after the run.
    pub(crate) end: Duration,
}

impl Deadlines {
    /// The deadline of a state; `None` where nothing is waited for.
    pub(crate) fn of(&self, phase: Phase) -> Option<Duration> {
        match phase {
            Phase::Submitting => Some(self.submit),
            Phase::Queued | Phase::Starting => Some(self.launch),
            Phase::Running => Some(self.stall),
            Phase::Diagnosing | Phase::Cancelling | Phase::Collecting | Phase::TearingDown => Some(self.end),
            Phase::Ended => None,
        }
    }
}

/// The answer of an engine to the question for a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JobState {
    /// It does not run yet, or not any more: it was taken off its hosts and is to run again.
    Queued {
        why: String,
        restarts: u32,
    },
    Running {
        restarts: u32,
    },
    /// It ended, with an exit code where the engine tells one.
    Done {
        code: Option<i32>,
        why: String,
    },
    /// Somebody ended it.
    Cancelled {
        why: String,
    },
    /// The engine does not know it.
    Unknown,
}

/// Something that happens to a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Submitted,
    /// The engine did not take the job: why.
    NotSubmitted(String),
    /// The engine said this of the job.
    Seen(JobState),
    /// The first rank reported.
    FirstRank,
    /// A rank has a new line.
    NewLine,
    /// Ranks have no sign of life any more: which, and where.
    Lost(String),
    /// The deadline of the state has passed.
    Due,
    /// The job that is late was looked for.
    LookedFor {
        is_there: bool,
    },
    /// The user or the system wants an end.
    Interrupted,
    /// The act that was asked for is done.
    Done,
    /// The act that was asked for failed: why.
    Failed(String),
}

/// Something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LaunchAct {
    Nothing,
    /// Hand the job over.
    Submit,
    /// Ask the engine whether it still has the job.
    LookFor,
    /// Start the same job once more where it is.
    Retry,
    /// Give the hosts back, and hand the job over for hosts that may be taken away again.
    FallBackToSpot,
    Diagnose,
    Cancel,
    Collect,
    TearDown,
}

/// The reason why a launch came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LaunchEnd {
    /// The job ended by itself, with 0.
    Completed,
    /// The job ended by itself, with something else.
    JobFailed(String),
    NotSubmitted(String),
    /// No rank reported in time.
    LaunchTimedOut(String),
    /// No rank had a new line for too long.
    Stalled(String),
    /// Somebody else ended the job.
    CancelledElsewhere(String),
    /// Ranks are gone without a word.
    RanksLost(String),
    Interrupted,
}

impl LaunchEnd {
    /// The kind, for programs.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::JobFailed(_) => "job_failed",
            Self::NotSubmitted(_) => "not_submitted",
            Self::LaunchTimedOut(_) => "launch_timed_out",
            Self::Stalled(_) => "stalled",
            Self::CancelledElsewhere(_) => "cancelled_elsewhere",
            Self::RanksLost(_) => "ranks_lost",
            Self::Interrupted => "interrupted",
        }
    }

    /// A sentence on it.
    pub(crate) fn told(&self) -> String {
        match self {
            Self::Completed => "the job came to its end".to_owned(),
            Self::JobFailed(why) => format!("the job failed: {why}"),
            Self::NotSubmitted(why) => format!("the engine did not take the job: {why}"),
            Self::LaunchTimedOut(why) => format!("no rank reported in time: {why}"),
            Self::Stalled(why) => format!("no rank had a new line for too long: {why}"),
            Self::CancelledElsewhere(why) => format!("somebody else ended the job: {why}"),
            Self::RanksLost(which) => format!("ranks are gone without a word: {which}"),
            Self::Interrupted => "the launch was interrupted".to_owned(),
        }
    }
}

/// A launch on its way.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    phase: Phase,
    /// The moment from which the deadline of the state counts.
    since: Duration,
    deadlines: Deadlines,
    /// Waits for a job that is late but there.
    retries: u32,
    may_fall_back: bool,
    is_kept: bool,
    /// True while the engine has a job that has not ended.
    has_job: bool,
    /// True once the engine was asked for hosts at all.
    has_asked: bool,
    restarts: u32,
    queue_reason: String,
    end: Option<LaunchEnd>,
    /// Troubles after the end, which do not take its place.
    notes: Vec<String>,
}

impl Machine {
    /// A launch before its first step, which is [`LaunchAct::Submit`].
    pub(crate) fn new(deadlines: Deadlines, may_fall_back: bool, is_kept: bool) -> Self {
        Self {
            phase: Phase::Submitting,
            since: Duration::ZERO,
            deadlines,
            retries: 1,
            may_fall_back,
            is_kept,
            has_job: false,
            has_asked: false,
            restarts: 0,
            queue_reason: String::new(),
            end: None,
            notes: Vec::new(),
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }

    pub(crate) fn end(&self) -> Option<&LaunchEnd> {
        self.end.as_ref()
    }

    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The number of times that the engine started the job again.
    pub(crate) fn restarts(&self) -> u32 {
        self.restarts
    }

    /// The engine's reason for a job that does not run.
    pub(crate) fn queue_reason(&self) -> &str {
        &self.queue_reason
    }

    /// The moment at which [`Event::Due`] is due.
    pub(crate) fn due(&self) -> Option<Duration> {
        self.deadlines.of(self.phase).map(|time| self.since + time)
    }

    /// Takes an event in, and returns what is to be done.
    pub(crate) fn next(&mut self, event: Event, now: Duration) -> LaunchAct {
        match (self.phase, event) {
            (Phase::Ended, _) => LaunchAct::Nothing,
            // Whoever is at the end goes on with it: a second Ctrl-C leaves no job behind.
            (phase, Event::Interrupted) if !phase.is_before_the_end() => LaunchAct::Nothing,
            (_, Event::Interrupted) => self.stop(LaunchEnd::Interrupted, now),

            (Phase::Submitting, Event::Submitted) => {
                (self.has_job, self.has_asked) = (true, true);
                self.enter(Phase::Queued, now)
            }
            (Phase::Submitting, Event::NotSubmitted(why)) => {
                // A cluster may have been begun.
                self.has_asked = true;
                self.stop(LaunchEnd::NotSubmitted(why), now)
            }
            (Phase::Submitting, Event::Due) => {
                self.has_asked = true;
                self.stop(LaunchEnd::NotSubmitted("it did not answer in time".to_owned()), now)
            }

            (phase, Event::Seen(state)) if phase.is_before_the_end() => self.seen(state, now),
            (Phase::Queued | Phase::Starting, Event::FirstRank) => self.enter(Phase::Running, now),
            (Phase::Running, Event::NewLine) => {
                self.since = now;
                LaunchAct::Nothing
            }
            (Phase::Running, Event::Lost(which)) => self.diagnose(LaunchEnd::RanksLost(which), now),
            (Phase::Running, Event::Due) => {
                let told = format!("{} s without one", self.deadlines.stall.as_secs());
                self.diagnose(LaunchEnd::Stalled(told), now)
            }
            (Phase::Queued | Phase::Starting, Event::Due) => {
                self.since = now; // the answer is waited for
                LaunchAct::LookFor
            }
            (Phase::Queued | Phase::Starting, Event::LookedFor { is_there }) => self.late(is_there, now),
            (Phase::Queued | Phase::Starting, Event::Failed(why)) => {
                self.notes.push(why);
                LaunchAct::Nothing
            }

            (Phase::Diagnosing, Event::Done) => self.after_diagnosis(now),
            (Phase::Diagnosing, event @ (Event::Failed(_) | Event::Due)) => {
                self.note("the engine was not asked what is wrong", event);
                self.after_diagnosis(now)
            }
            // The job itself has ended meanwhile, which its cancelling was to bring about.
            (Phase::Cancelling, Event::Seen(JobState::Queued { .. } | JobState::Running { .. })) => {
                LaunchAct::Nothing
            }
            (Phase::Cancelling, Event::Done | Event::Seen(_)) => {
                self.has_job = false;
                self.act(Phase::Collecting, LaunchAct::Collect, now)
            }
            (Phase::Cancelling, event @ (Event::Failed(_) | Event::Due)) => {
                self.note("the job may still run: it was not seen to end", event);
                self.act(Phase::Collecting, LaunchAct::Collect, now)
            }
            (Phase::Collecting, event @ (Event::Done | Event::Failed(_) | Event::Due)) => {
                if event != Event::Done {
                    self.note("files did not come back from the hosts", event);
                }
                self.give_back(now)
            }
            (Phase::TearingDown, event @ (Event::Done | Event::Failed(_) | Event::Due)) => {
                if event != Event::Done {
                    self.note("hosts were not given back: look for them yourself", event);
                }
                self.enter(Phase::Ended, now)
            }
            _ => LaunchAct::Nothing,
        }
    }

    fn seen(&mut self, state: JobState, now: Duration) -> LaunchAct {
        match (self.phase, state) {
            (Phase::Submitting, _) => LaunchAct::Nothing,
            (Phase::Queued, JobState::Queued { why, restarts }) => {
                (self.queue_reason, self.restarts) = (why, restarts);
                LaunchAct::Nothing
            }
            // Taken off its hosts: a new wait begins.
            (_, JobState::Queued { why, restarts }) => {
                (self.queue_reason, self.restarts) = (why, restarts);
                self.enter(Phase::Queued, now)
            }
            (Phase::Queued, JobState::Running { restarts }) => {
                self.restarts = restarts;
                self.phase = Phase::Starting; // within the same deadline
                LaunchAct::Nothing
            }
            // So fast that nobody saw it wait.
            (_, JobState::Running { restarts }) if restarts > self.restarts => {
                self.restarts = restarts;
                self.enter(Phase::Starting, now)
            }
            (_, JobState::Running { .. }) => LaunchAct::Nothing,
            (_, JobState::Done { code: Some(0), .. }) => self.ended(LaunchEnd::Completed, now),
            (_, JobState::Done { why, .. }) => self.ended(LaunchEnd::JobFailed(why), now),
            (_, JobState::Cancelled { why }) => self.ended(LaunchEnd::CancelledElsewhere(why), now),
            (_, JobState::Unknown) => {
                self.ended(LaunchEnd::JobFailed("the engine does not know it any more".to_owned()), now)
            }
        }
    }

    /// A job that is late: waited for once more if it is there, else tried on other hosts.
    fn late(&mut self, is_there: bool, now: Duration) -> LaunchAct {
        if is_there && self.retries > 0 {
            self.retries -= 1;
            self.since = now;
            return LaunchAct::Retry;
        }
        if self.may_fall_back {
            self.may_fall_back = false;
            self.retries = 1;
            self.has_job = false;
            return self.act(Phase::Submitting, LaunchAct::FallBackToSpot, now);
        }
        let reason = if self.queue_reason.is_empty() { "it gives no reason" } else { &self.queue_reason };
        let told = match is_there {
            true => format!("the engine still has the job after {} s twice: {reason}", self.launch_secs()),
            false => format!("the engine does not have the job after {} s", self.launch_secs()),
        };
        self.diagnose(LaunchEnd::LaunchTimedOut(told), now)
    }

    fn launch_secs(&self) -> u64 {
        self.deadlines.launch.as_secs()
    }

    /// Ends a launch whose job has ended.
    fn ended(&mut self, end: LaunchEnd, now: Duration) -> LaunchAct {
        self.has_job = false;
        self.stop(end, now)
    }

    /// Ends a launch, its job first if it has one.
    fn stop(&mut self, end: LaunchEnd, now: Duration) -> LaunchAct {
        self.end.get_or_insert(end);
        if self.has_job && !self.is_kept {
            return self.act(Phase::Cancelling, LaunchAct::Cancel, now);
        }
        if self.has_asked {
            return self.act(Phase::Collecting, LaunchAct::Collect, now);
        }
        self.enter(Phase::Ended, now)
    }

    fn diagnose(&mut self, end: LaunchEnd, now: Duration) -> LaunchAct {
        self.end.get_or_insert(end);
        self.act(Phase::Diagnosing, LaunchAct::Diagnose, now)
    }

    fn after_diagnosis(&mut self, now: Duration) -> LaunchAct {
        let end = self.end.clone().unwrap_or(LaunchEnd::Interrupted);
        self.stop(end, now)
    }

    fn give_back(&mut self, now: Duration) -> LaunchAct {
        if self.is_kept {
            self.notes.push("kept: the job and its hosts are as they were".to_owned());
            return self.enter(Phase::Ended, now);
        }
        self.act(Phase::TearingDown, LaunchAct::TearDown, now)
    }

    fn note(&mut self, what: &str, event: Event) {
        self.notes.push(match event {
            Event::Failed(why) => format!("{what}: {why}"),
            _ => format!("{what}: no answer in time"),
        });
    }

    fn act(&mut self, phase: Phase, act: LaunchAct, now: Duration) -> LaunchAct {
        self.enter(phase, now);
        act
    }

    fn enter(&mut self, phase: Phase, now: Duration) -> LaunchAct {
        (self.phase, self.since) = (phase, now);
        LaunchAct::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEADLINES: Deadlines = Deadlines {
        submit: Duration::from_mins(2),
        launch: Duration::from_mins(5),
        stall: Duration::from_secs(200),
        end: Duration::from_secs(100),
    };

    fn queued(why: &str) -> Event {
        Event::Seen(JobState::Queued { why: why.into(), restarts: 0 })
    }

    fn running() -> Event {
        Event::Seen(JobState::Running { restarts: 0 })
    }

    fn done(code: i32) -> Event {
        Event::Seen(JobState::Done { code: Some(code), why: format!("exit {code}") })
    }

    /// A machine to which these happen, one a second, with what it asked for.
    fn through(mut machine: Machine, events: impl IntoIterator<Item = Event>) -> (Machine, Vec<LaunchAct>) {
        let mut acts = Vec::new();
        for (second, event) in events.into_iter().enumerate() {
            let act = machine.next(event, Duration::from_secs(second as u64 + 1));
            if act != LaunchAct::Nothing {
                acts.push(act);
            }
        }
        (machine, acts)
    }

    fn new() -> Machine {
        Machine::new(DEADLINES, false, false)
    }

    fn at_work() -> Vec<Event> {
        vec![Event::Submitted, queued("Priority"), running(), Event::FirstRank]
    }

    use LaunchAct::{Cancel, Collect, Diagnose, FallBackToSpot, LookFor, Retry, TearDown};

    #[test]
    fn a_launch_to_which_nothing_happens_collects_and_gives_back() {
        let (machine, acts) =
            through(new(), [at_work(), vec![Event::NewLine, done(0), Event::Done, Event::Done]].concat());
        assert_eq!(acts, [Collect, TearDown]);
        assert_eq!((machine.phase(), machine.end()), (Phase::Ended, Some(&LaunchEnd::Completed)));
        assert!(machine.notes().is_empty());
    }

    #[test]
    fn every_state_but_the_last_has_a_deadline_and_leaves_itself_by_it() {
        for phase in Phase::ALL {
            assert_eq!(DEADLINES.of(phase).is_none(), phase == Phase::Ended, "{phase:?}");
        }
        // Nothing but deadlines: it comes to its end from wherever it is.
        for events in 0..=at_work().len() {
            let (mut machine, _) = through(new(), at_work().into_iter().take(events));
            let mut now = Duration::from_secs(100);
            for _ in 0..9 {
                let Some(due) = machine.due() else { break };
                now = now.max(due);
                if machine.next(Event::Due, now) == LookFor {
                    machine.next(Event::LookedFor { is_there: true }, now);
                }
            }
            assert_eq!(machine.phase(), Phase::Ended, "after {events} events");
            assert!(machine.end().is_some_and(|end| *end != LaunchEnd::Completed));
        }
    }

    #[test]
    fn a_late_job_is_looked_for_waited_for_once_more_and_then_ended() {
        let there = || Event::LookedFor { is_there: true };
        let events = [
            Event::Submitted,
            queued("Resources"),
            Event::Due,
            there(),
            Event::Due,
            there(),
            Event::Done,
            Event::Done,
            Event::Done,
            Event::Done,
        ];
        let (machine, acts) = through(new(), events);
        assert_eq!(acts, [LookFor, Retry, LookFor, Diagnose, Cancel, Collect, TearDown]);
        let told = machine.end().expect("it has one").told();
        assert!(told.contains("still has the job after 300 s twice: Resources"), "{told}");
    }

    #[test]
    fn a_job_that_is_not_there_or_late_twice_falls_back_to_spot_once_if_it_may() {
        let gone = || Event::LookedFor { is_there: false };
        let spot = Machine::new(DEADLINES, true, false);
        let events = vec![Event::Submitted, Event::Due, gone(), Event::Submitted];
        let (machine, acts) = through(spot.clone(), events.clone());
        assert_eq!(acts, [LookFor, FallBackToSpot]);
        assert_eq!(machine.phase(), Phase::Queued);
        let more = vec![Event::Due, gone(), Event::Done, Event::Done];
        let (machine, acts) = through(spot, [events, more].concat());
        assert_eq!(acts, [LookFor, FallBackToSpot, LookFor, Diagnose, Cancel, Collect]);
        assert_eq!(machine.end().map(LaunchEnd::name), Some("launch_timed_out"));
    }

    #[test]
    fn silence_is_diagnosed_and_ended_and_never_falls_back() {
        let (machine, acts) = through(
            Machine::new(DEADLINES, true, false),
            [at_work(), vec![Event::Due, Event::Done, Event::Done, Event::Done, Event::Done]].concat(),
        );
        assert_eq!(acts, [Diagnose, Cancel, Collect, TearDown]);
        assert_eq!(machine.end().map(LaunchEnd::name), Some("stalled"));
    }

    #[test]
    fn a_line_puts_the_end_of_the_wait_off_and_a_look_at_the_engine_does_not() {
        let (mut machine, _) = through(new(), at_work());
        machine.next(Event::NewLine, Duration::from_secs(50));
        assert_eq!(machine.due(), Some(Duration::from_secs(250)));
        machine.next(running(), Duration::from_mins(1));
        assert_eq!(machine.due(), Some(Duration::from_secs(250)));
    }

    #[test]
    fn waiting_in_the_queue_and_starting_have_one_deadline_together() {
        let (mut machine, _) = through(new(), [Event::Submitted]);
        let due = machine.due();
        machine.next(queued("Priority"), Duration::from_secs(20));
        machine.next(running(), Duration::from_secs(30));
        assert_eq!((machine.phase(), machine.due()), (Phase::Starting, due));
    }

    #[test]
    fn whoever_takes_the_job_away_is_told_and_no_second_cancel_is_sent() {
        for (event, name) in [
            (Event::Seen(JobState::Cancelled { why: "by 0".into() }), "cancelled_elsewhere"),
            (Event::Seen(JobState::Unknown), "job_failed"),
            (done(7), "job_failed"),
        ] {
            let (machine, acts) = through(new(), [at_work(), vec![event]].concat());
            assert_eq!((acts, machine.end().map(LaunchEnd::name)), (vec![Collect], Some(name)));
        }
    }

    #[test]
    fn a_job_that_is_put_back_into_the_queue_waits_anew_and_its_attempt_is_counted() {
        let back = Event::Seen(JobState::Queued { why: "BeginTime".into(), restarts: 1 });
        let (mut machine, acts) = through(new(), [at_work(), vec![back]].concat());
        assert_eq!((machine.phase(), machine.restarts(), acts), (Phase::Queued, 1, vec![]));
        assert_eq!(machine.due(), Some(Duration::from_secs(305)));
        machine.next(Event::Seen(JobState::Running { restarts: 1 }), Duration::from_secs(9));
        machine.next(Event::FirstRank, Duration::from_secs(10));
        assert_eq!(machine.phase(), Phase::Running);
        // It was put back and started again between two looks.
        machine.next(Event::Seen(JobState::Running { restarts: 2 }), Duration::from_secs(11));
        assert_eq!((machine.phase(), machine.restarts()), (Phase::Starting, 2));
    }

    #[test]
    fn an_interruption_ends_the_job_wherever_it_is_and_a_second_one_changes_nothing() {
        for events in 1..=at_work().len() {
            let mut events: Vec<Event> = at_work().into_iter().take(events).collect();
            events.extend([Event::Interrupted, Event::Interrupted, Event::Done, Event::Interrupted]);
            events.extend([Event::Done, Event::Done]);
            let (machine, acts) = through(new(), events);
            assert_eq!(acts, [Cancel, Collect, TearDown]);
            assert_eq!((machine.phase(), machine.end()), (Phase::Ended, Some(&LaunchEnd::Interrupted)));
        }
        let (machine, acts) = through(new(), [Event::Interrupted]);
        assert_eq!((machine.phase(), acts), (Phase::Ended, vec![]), "no engine was asked for anything");
    }

    #[test]
    fn a_failure_at_the_end_is_noted_and_does_not_hide_the_first_one() {
        let fail = |why: &str| Event::Failed(why.to_owned());
        let end = vec![Event::Due, fail("no queue"), fail("no scancel"), fail("disk full"), fail("no cloud")];
        let (machine, acts) = through(new(), [at_work(), end].concat());
        assert_eq!(acts, [Diagnose, Cancel, Collect, TearDown]);
        assert_eq!(machine.end().map(LaunchEnd::name), Some("stalled"));
        for why in ["no queue", "no scancel", "disk full", "no cloud"] {
            assert!(machine.notes().iter().any(|note| note.contains(why)), "{why}: {:?}", machine.notes());
        }
    }

    #[test]
    fn what_is_kept_is_neither_cancelled_nor_given_back() {
        let kept = || Machine::new(DEADLINES, false, true);
        let (machine, acts) = through(kept(), [at_work(), vec![done(0), Event::Done]].concat());
        assert_eq!((acts, machine.phase()), (vec![Collect], Phase::Ended));
        let (_, acts) = through(kept(), [at_work(), vec![Event::Interrupted, Event::Done]].concat());
        assert_eq!(acts, [Collect]);
    }

    #[test]
    fn a_job_that_is_not_taken_may_have_left_hosts_behind() {
        let (machine, acts) =
            through(new(), [Event::NotSubmitted("sbatch: error".into()), Event::Done, Event::Done]);
        assert_eq!(acts, [Collect, TearDown]);
        assert!(machine.end().expect("one").told().contains("sbatch: error"));
    }

    #[test]
    fn a_cancelled_job_is_waited_for_until_the_engine_says_that_it_has_ended() {
        let (mut machine, _) = through(new(), [at_work(), vec![Event::Interrupted]].concat());
        assert_eq!(machine.next(running(), Duration::from_secs(20)), LaunchAct::Nothing);
        let gone = Event::Seen(JobState::Cancelled { why: "by us".into() });
        assert_eq!(machine.next(gone, Duration::from_secs(21)), Collect);
        assert_eq!(machine.end(), Some(&LaunchEnd::Interrupted));
    }
}
