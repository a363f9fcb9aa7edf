//! One repeat, in the process that measures: make the adapter, run the scenario, drop the adapter, answer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::{any::Any, cell::Cell};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::panic_text::{self, bounded};
use super::profiler::Profiler;
use super::protocol::{ChildAnswer, RepeatRequest};
use super::{Failure, How};
use crate::bencher::{
    Bencher, Error, ErrorKind, INJECT, Pace, Phase, Purpose, RepeatResult, Settings, SkipReason, read_share,
    visible_in_line,
};
use crate::device::Clock;
use crate::metric::Note;
use crate::process;
use crate::ranks::{Meeting, MeetingPlace};
use crate::registry::{AdapterEntry, Equivalence, find_adapter, find_scenario};

/// A body in the place of a scenario's own function.
pub type Body<'a> = &'a mut dyn FnMut(&mut Bencher) -> Result<(), Error>;

/// Runs the repeat that is asked for. `tell` hears of every phase, never inside a timed window.
/// A panic is caught and becomes an answer; what ends the process is the parent's to see.
pub fn execute(
    ask: &RepeatRequest,
    resident: &mut Resident,
    tell: impl Fn(Phase) + 'static,
    pace: Option<Box<dyn Pace>>,
    body: Option<Body<'_>>,
) -> ChildAnswer {
    panic_text::note_panics();
    let process = std::process::id();
    let phase = Rc::new(Cell::new(Phase::SetUp));
    let now = phase.clone();
    let on_phase = move |next| {
        now.set(next);
        tell(next);
    };
    let attempted = catch_unwind(AssertUnwindSafe(|| {
        let profiler = Profiler::from_env()?;
        let result = attempt(ask, resident, Box::new(on_phase), pace, body)?;
        profiler.map(Profiler::end).transpose()?;
        Ok::<_, Error>(result)
    }));
    if std::process::id() != process {
        end_this_copy();
    }
    match attempted {
        Ok(Ok(result)) => answer(result),
        Ok(Err(error)) => match error.skip_reason() {
            Some(why) => ChildAnswer::Skipped(short(why)),
            None if error.is_told_by_its_kind() => failed(how(&error), phase.get(), String::new()),
            None => failed(how(&error), phase.get(), bounded(&error.to_string()).into_owned()),
        },
        Err(panic) => failed(How::Panic, phase.get(), panic_text::text(panic.as_ref())),
    }
}

/// A reason in which no text is longer than a frame may be.
fn short(why: SkipReason) -> SkipReason {
    match why {
        SkipReason::Stated(why) => SkipReason::Stated(bounded(&why).into_owned()),
        SkipReason::NoData(why) => SkipReason::NoData(bounded(&why).into_owned()),
        other => other,
    }
}

/// A resident adapter between two repeats of one process. One whose repeat panicked is not kept.
#[derive(Default)]
pub struct Resident(Option<(&'static AdapterEntry, Box<dyn Any>)>);

impl Resident {
    /// The adapter that is here, or one that is made. Another one that was here ends first.
    fn take(&mut self, entry: &'static AdapterEntry) -> Result<Box<dyn Any>, Error> {
        match self.0.take() {
            Some((there, adapter)) if std::ptr::eq(there, entry) => Ok(adapter),
            other => {
                drop(other);
                (entry.make)()
            }
        }
    }
}

fn attempt(
    ask: &RepeatRequest,
    resident: &mut Resident,
    on_phase: Box<dyn Fn(Phase)>,
    pace: Option<Box<dyn Pace>>,
    body: Option<Body<'_>>,
) -> Result<RepeatResult, Error> {
    on_phase(Phase::SetUp);
    let unknown = |what: &str, name: &str| Error::new(format!("this binary has no {what} `{name}`"));
    let scenario = find_scenario(&ask.scenario).ok_or_else(|| unknown("scenario", &ask.scenario))?;
    let entry = match (&ask.adapter, scenario.contract) {
        (Some(name), Some(contract)) => {
            Some(find_adapter((contract.id)(), name).ok_or_else(|| unknown("adapter", name))?)
        }
        _ => None,
    };
    let clock = Clock::monotonic();
    let meeting = ask.meeting.as_ref().map(|place| meet(place, ask.purpose, &clock)).transpose()?;
    let mut bencher = Bencher::new(Settings {
        scenario: ask.scenario.clone(),
        adapter: ask.adapter.clone(),
        purpose: ask.purpose,
        budget: ask.budget,
        run: ask.run,
        epoch: ask.epoch,
        key: ask.key,
        scratch: ask.scratch.clone(),
        clock,
        on_phase,
        pace,
        inject: injected()?,
        device: None,
        traits: matches!(scenario.equivalence_at(&ask.point), Equivalence::Alike(_)),
        alone: true,
        meeting: meeting.flatten(),
    });
    let mut adapter = entry.map(|entry| bencher.open(|| resident.take(entry))).transpose()?;
    let ran = match body {
        Some(body) => body(&mut bencher),
        None => (scenario.run)(&mut bencher, adapter.as_deref_mut(), &ask.point),
    };
    // What the device has not told yet is of this case, and no other is to be blamed for it.
    let ran = match (ran, bencher.check_device()) {
        (Ok(()), told) => told,
        (Err(error), Err(told)) if told.is_lost() => Err(error.lost()),
        (ran, _) => ran,
    };
    if ran.is_ok() {
        bencher.enter(Phase::TearDown); // an error is told in the phase that it comes from
    }
    match (entry, adapter) {
        (Some(entry), Some(adapter)) if entry.resident && ask.keep => resident.0 = Some((entry, adapter)),
        (_, adapter) => drop(adapter),
    }
    ran?;
    let mut result = bencher.finish()?;
    // What the adapter says of itself once and for all stands on every work report of it.
    if let (Some(work), Some(unequal)) = (&mut result.work, entry.and_then(|entry| entry.unequal)) {
        work.report.unequal.get_or_insert_with(|| unequal.to_owned());
    }
    Ok(result)
}

/// The meeting with the processes of other ranks. What measures nothing waits for nobody, but where all do
/// one thing together.
fn meet(place: &MeetingPlace, purpose: Purpose, clock: &Clock) -> Result<Option<Meeting>, Error> {
    if purpose == Purpose::Verify && !place.collective {
        return Ok(None);
    }
    let failed = |error| Error::of(ErrorKind::Ranks, format!("the other ranks cannot be met: {error}"));
    Meeting::come(place, clock).map(Some).map_err(failed)
}

/// The slowdown that the environment asks to be planted.
fn injected() -> Result<f64, Error> {
    match std::env::var(INJECT) {
        Ok(text) if !text.is_empty() => read_share(&text).map_err(Error::new),
        _ => Ok(0.0),
    }
}

/// Ends a copy of the measuring process that a body has made, and that came to the end of the body as well:
/// the repeat is the other's to answer. At once, since what is buffered here is buffered there too.
fn end_this_copy() -> ! {
    let _ = kill(Pid::this(), Signal::SIGKILL);
    loop {
        std::thread::park();
    }
}

/// Notes on what a body did beside what it measured, and nobody would see.
fn asides() -> Vec<Note> {
    let panic = panic_text::elsewhere().map(|words| Note::ThreadPanic(visible_in_line(&words)));
    let copies = Some(process::copies()).filter(|count| *count > 0).map(Note::Copies);
    panic.into_iter().chain(copies).collect()
}

fn answer(result: RepeatResult) -> ChildAnswer {
    let RepeatResult { mut seen, work, spots, evidence } = result;
    seen.notes.extend(asides());
    ChildAnswer::Measured { seen: Box::new(seen), work, evidence: Box::new(evidence), spots }
}

fn failed(how: How, phase: Phase, detail: String) -> ChildAnswer {
    ChildAnswer::Failed(Failure { how, phase, detail, stderr: String::new() })
}

fn how(error: &Error) -> How {
    match error.kind() {
        ErrorKind::Failure | ErrorKind::Skip | ErrorKind::NoData => How::Error,
        ErrorKind::Clock(fault) => How::Clock(fault.clone()),
        ErrorKind::Work(fault) => How::Work(fault.clone()),
        ErrorKind::Timeout => How::Timeout,
        ErrorKind::Protocol => How::Protocol,
        ErrorKind::Exit(code) => How::Exit(*code),
        ErrorKind::Signal(name) => How::Signal(name.clone()),
        ErrorKind::NoRoom => How::NoRoom,
        ErrorKind::Device => How::Device,
        ErrorKind::Ranks => How::Ranks,
    }
}

#[cfg(test)]
mod tests {
    use weighbridge_macros::scenario;

    use super::*;
    use crate::bencher::{Budget, ClaimedTime, ClockFault, skip};
    use crate::registry::Point;

    #[scenario(id = "REPEAT-ERROR", crate = crate)]
    fn fails(_: &mut Bencher) -> Result<(), Error> {
        Err(Error::new("no data"))
    }

    #[scenario(id = "REPEAT-LATE-ERROR", crate = crate)]
    fn fails_late(bencher: &mut Bencher) -> Result<(), Error> {
        bencher.iter(|| ());
        Err(Error::new("digests differ"))
    }

    #[scenario(id = "REPEAT-CLOCK", crate = crate)]
    fn claims(_: &mut Bencher) -> Result<(), Error> {
        Ok(fault().or_go_on()?)
    }

    #[scenario(id = "REPEAT-CLOCK-OF-A-RANK", crate = crate)]
    fn claims_of_a_rank(_: &mut Bencher) -> Result<(), Error> {
        let error = Error::from(fault());
        Err(Error::of(error.kind().clone(), format!("rank 1: {error}")))
    }

    fn fault() -> ClockFault {
        ClockFault::Time { of: ClaimedTime::First, claimed: 2_000, passed: 1_000 }
    }

    #[scenario(id = "REPEAT-SKIP", crate = crate)]
    fn skips(_: &mut Bencher) -> Result<(), Error> {
        Err(skip("no such device"))
    }

    #[scenario(id = "REPEAT-PANIC", crate = crate)]
    fn panics(bencher: &mut Bencher) {
        bencher.iter(|| panic!("planted"));
    }

    fn run(scenario: &str) -> ChildAnswer {
        execute(
            &RepeatRequest {
                scenario: scenario.to_owned(),
                point: Point::default(),
                adapter: None,
                purpose: Purpose::Smoke,
                budget: Budget::SMOKE,
                run: crate::bencher::RunSettings::DEFAULT,
                epoch: 0,
                key: crate::bencher::HashKey::draw(),
                scratch: std::env::temp_dir().join("weighbridge-no-such-scratch"),
                memory: None,
                paced: false,
                keep: false,
                meeting: None,
            },
            &mut Resident::default(),
            |_| {},
            None,
            None,
        )
    }

    fn failure(scenario: &str) -> (How, Phase, String) {
        match run(scenario) {
            ChildAnswer::Failed(failure) => (failure.how, failure.phase, failure.detail),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_error_is_told_in_the_phase_that_it_comes_from() {
        assert_eq!(failure("REPEAT-ERROR"), (How::Error, Phase::SetUp, "no data".to_owned()));
        assert_eq!(failure("REPEAT-LATE-ERROR"), (How::Error, Phase::TearDown, "digests differ".to_owned()));
    }

    #[test]
    fn numbers_that_contradict_each_other_are_told_as_such_and_the_words_are_made_of_them() {
        let how = || How::Clock(Box::new(fault()));
        assert_eq!(failure("REPEAT-CLOCK"), (how(), Phase::SetUp, String::new()));
        let words = "it claims 2µs for its first batch, but 1µs passed";
        let ChildAnswer::Failed(failed) = run("REPEAT-CLOCK") else { panic!("it fails") };
        let said = format!("has a clock that does not verify in the set-up: {words}");
        assert_eq!(failed.to_string(), said);
        let stored = serde_json::to_string(&failed).unwrap();
        assert!(stored.contains(r#""how":{"clock":{"time":{"of":"first","claimed":2000,"passed":1000}}}"#));
        assert_eq!(serde_json::from_str::<Failure>(&stored).unwrap(), failed);
        let told = failure("REPEAT-CLOCK-OF-A-RANK");
        assert_eq!(told, (how(), Phase::SetUp, format!("rank 1: {words}")));
    }

    #[test]
    fn a_panic_is_caught_and_a_skip_is_no_failure() {
        let (how, phase, detail) = failure("REPEAT-PANIC");
        assert_eq!((how, phase), (How::Panic, Phase::WarmUp));
        let place = detail.strip_prefix("planted (").and_then(|place| place.strip_suffix(')')).unwrap();
        assert!(place.starts_with(file!()) && place.split(':').count() == 3, "{detail}");
        assert_eq!(run("REPEAT-SKIP"), ChildAnswer::Skipped("no such device".into()));
    }

    #[test]
    fn a_scenario_that_this_binary_has_not_is_named() {
        assert!(failure("NO-SUCH").2.contains("no scenario `NO-SUCH`"));
    }
}
