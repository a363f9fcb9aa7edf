//! The words for reasons: why a case is skipped, what is said of a comparison, and what helps.

use std::fmt;
use std::time::Duration;

use crate::bencher::{
    ClaimedProcessorTime, ClaimedTime, ClockFault, CountedEvent, SkipReason, WorkFault, visible,
};
use crate::compare::{
    Advice, AxisChange, Basis, BreakOff, CaseFailure, ClockHalf, EnvironmentChange, IncomparableReason,
    InconclusiveReason, Refusal, Remedy, RowMark, Tendency, Verdict,
};
use crate::record::{FailureReason, MissingRanks, UnfinishedReason};
use crate::run::{ChildFault, Failure, How, Side};
use crate::tool::tool;
use crate::verify::UnverifiedReason;

impl Verdict {
    /// The reason, where there is one to give.
    pub fn why(&self) -> Option<String> {
        match self {
            Self::Inconclusive(reason) => Some(reason.to_string()),
            Self::Incomparable(reason) => Some(reason.to_string()),
            Self::Improved | Self::Unchanged | Self::Regressed | Self::Added | Self::Removed => None,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        self.why().map_or(Ok(()), |why| write!(f, " ({why})"))
    }
}

impl fmt::Display for InconclusiveReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| share * 100.0;
        match self {
            Self::FewProcesses { baseline, candidate, least } => write!(
                f,
                "{baseline} against {candidate} processes: at least {least} are needed on each side"
            ),
            Self::NoInterval => f.write_str("the values have no interval"),
            Self::NoRatio => f.write_str("the values are not all positive, so they have no ratio"),
            Self::Busy(share) => write!(
                f,
                "the machine was busy: threads were taken off their processors in {:.0} % of the blocks",
                percent(*share)
            ),
            Self::Throttled(share) => {
                write!(f, "the processor was throttled in {:.0} % of the blocks", percent(*share))
            }
            Self::Unsteady { baseline, candidate } => {
                let whose = match (baseline, candidate) {
                    (true, true) => "both sides'",
                    (true, false) => "the baseline's",
                    (false, _) => "the candidate's",
                };
                write!(
                    f,
                    "most of {whose} repeats never get steady: their samples do not settle, and no figure of \
                     them is one to go by"
                )
            }
            Self::TooBlunt { detectable, asked } => write!(
                f,
                "nothing was found, and what is smaller than {:.0} % could not have been, where {:.0} % is \
                 asked for",
                percent(*detectable),
                percent(*asked)
            ),
            Self::Spans { low, high, tolerance } => {
                let words = |effect: f64| {
                    let way = if effect < 0.0 { "better" } else { "worse" };
                    format!("{:.1} % {way}", percent(effect.abs()))
                };
                let bound = if tolerance.basis == Basis::Duel { "margin" } else { "tolerance" };
                let share = percent(tolerance.share);
                write!(f, "between {} and {}, {bound} {share:.1} %", words(*low), words(*high))
            }
            Self::DeviceClock { metric, other, tends } => {
                let (name, are) = match other {
                    ClockHalf::Cycles => ("cycles", "are"),
                    ClockHalf::Time => ("time", "is"),
                };
                let changed =
                    |tends: Tendency| if tends == Tendency::Worse { "regressed" } else { "improved" };
                match tends {
                    Tendency::Same => write!(f, "the device's clock changed: {name} {are} unchanged"),
                    Tendency::Better | Tendency::Worse => {
                        write!(f, "the device's clock changed: {name} {}", changed(*tends))
                    }
                    Tendency::Unclear | Tendency::Information => write!(
                        f,
                        "it {}, and whether the device's {name} did is not decided: the clock may have \
                         changed",
                        changed(*metric)
                    ),
                }
            }
            Self::FewRounds(rounds) => write!(f, "{rounds} rounds are too few to decide"),
            Self::BrokenOff(by) => write!(f, "{} before it was decided", broken_off(*by)),
            Self::NotConfirmed { rounds, layouts: 0..=1, p } => {
                write!(f, "regressed at first, not confirmed by {rounds} fresh rounds (p = {p:.3})")
            }
            Self::NotConfirmed { rounds, layouts, p } => write!(
                f,
                "regressed at first, not confirmed by {rounds} fresh rounds of programs linked in {layouts} \
                 orders (p = {p:.3}): it may be where the linker puts it"
            ),
            Self::FewFreshRounds { rounds, of } => {
                write!(f, "regressed at first, and {rounds} fresh rounds of {of} confirm nothing")
            }
            Self::BrokenOffUnconfirmed(by) => {
                write!(f, "regressed at first, {} before it was confirmed", broken_off(*by))
            }
        }
    }
}

fn broken_off(by: BreakOff) -> &'static str {
    match by {
        BreakOff::Budget => "the budget was spent",
        BreakOff::Interrupt => "interrupted",
    }
}

impl fmt::Display for IncomparableReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let before = |side: &Side| if *side == Side::Baseline { "in the baseline " } else { "" };
        match self {
            Self::Failed(Side::Candidate, why) => write!(f, "failed: {why}"),
            Self::Failed(Side::Baseline, why) => write!(f, "failed in the baseline: {why}"),
            Self::Incomplete(Side::Candidate, why) => write!(f, "incomplete: {why}"),
            Self::Incomplete(Side::Baseline, _) => f.write_str("incomplete in the baseline"),
            Self::Skipped(Side::Candidate, why) => write!(f, "skipped now: {why}"),
            Self::Skipped(Side::Baseline, why) => write!(f, "the baseline skips it: {why}"),
            Self::Differs(side, what) => {
                write!(f, "{}its work differs from the reference's: {}", before(side), what.join("; "))
            }
            Self::Unverified(side, finding) => write!(f, "{}it does not verify: {finding}", before(side)),
            Self::OtherWork(what) => write!(f, "the two do other work: {}", what.join("; ")),
            Self::OtherElements => {
                f.write_str("the two do other work: their elements differ by the hashes of this duel's key")
            }
            Self::Axis(AxisChange { axis, value, was, is }) => {
                write!(f, "axis {axis} changed: `{value}` was {was} and is {is}")
            }
            Self::Input([was, is]) => {
                let text = |input: &Option<String>| input.clone().unwrap_or_else(|| "none".to_owned());
                write!(f, "input changed: it was {} and is {}", text(was), text(is))
            }
            Self::Delivery([was, is]) => {
                write!(f, "delivery changed: batches were handed over on {was} and are on {is}")
            }
            Self::Transforms([was, is]) => {
                write!(f, "transforms changed: they were [{}] and are [{}]", was.join(", "), is.join(", "))
            }
            Self::PrimaryMetric([was, is]) => {
                write!(f, "the metric that stands for it changed: it was {was} and is {is}")
            }
            Self::NoValue(metric) => write!(f, "{metric} has no value on one side"),
            Self::Unit(metric) => write!(f, "unit or direction of {metric} changed"),
            Self::Information(metric) => {
                write!(f, "{metric} is for information: it has no better or worse")
            }
            Self::NowBelow { was, bound } => write!(
                f,
                "it took {} and is below {} now, as fast as an empty loop: was the body optimised away?",
                nanoseconds(*was),
                nanoseconds(*bound)
            ),
            Self::NoLongerBelow { bound, is } => write!(
                f,
                "it was below {}, as fast as an empty loop, and takes {} now: promote a run that has a \
                 figure",
                nanoseconds(*bound),
                nanoseconds(*is)
            ),
            Self::NoTime => f.write_str("a round showed no time at all"),
            Self::Interrupted => f.write_str("it was interrupted"),
            Self::RepeatFailed(Side::Candidate, failure) => write!(f, "{failure}"),
            Self::RepeatFailed(Side::Baseline, Failure { how: How::Child(fault), .. }) => write!(
                f,
                "the baseline's program cannot be measured beside this one ({fault}): both must be built on \
                 the same version of weighbridge. Compare with a stored baseline, or with a revision since \
                 the change"
            ),
            Self::RepeatFailed(Side::Baseline, failure) => write!(f, "the baseline {failure}"),
            Self::NotRunBy(adapter) => write!(f, "`{adapter}` does not run it"),
        }
    }
}

impl fmt::Display for CaseFailure {
    /// Writes the reason alone, for whoever has said already that the case failed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            IncomparableReason::Failed(_, why) => why.fmt(f),
            why => why.fmt(f),
        }
    }
}

fn nanoseconds(seconds: f64) -> String {
    format!("{:.2} ns", seconds * 1e9)
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mebibytes = |bytes: &u64| bytes.div_ceil(1 << 20);
        match self {
            Self::Stated(why) | Self::NoData(why) => f.write_str(why),
            Self::NotInstalled { reason, install } => {
                write!(f, "not installed: {reason}; install it with `{install}`")
            }
            Self::Memory { needs, limit, profile } => write!(
                f,
                "it needs about {} MiB of memory, and profile `{profile}` allows {} MiB here",
                mebibytes(needs),
                mebibytes(limit)
            ),
            Self::BatchSize { size, most, profile } => {
                write!(f, "its batch size {size} is above the limit {most} of profile `{profile}`")
            }
            Self::NoAdapter(contract) => {
                write!(f, "no adapter is registered for the contract `{contract}`")
            }
            Self::Ended => f.write_str("the run was ended before it"),
            Self::OutOfTime { had, needs } => {
                write!(
                    f,
                    "no time was left for it in the {had} s of this run; `--budget {needs}` is about enough"
                )
            }
        }
    }
}

impl fmt::Display for UnverifiedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stated(why) => f.write_str(why),
            Self::NoReport => f.write_str("the scenario handed in no work report"),
            Self::NotVerified => f.write_str("its verifying repeat gave none"),
            Self::NotRun => f.write_str("the case was not run"),
            Self::NoReference => f.write_str("there is no reference adapter (tier 0) for its contract"),
            Self::ReferenceWithoutReport(id) => write!(f, "{id} handed in no work report"),
            Self::ReferenceFailed(id, failure) => write!(f, "{id} {failure}"),
            Self::ReferenceSkipped(id, why) => write!(f, "{id} was skipped: {why}"),
            Self::ReferenceNotVerified(id) => write!(f, "{id} was not verified"),
        }
    }
}

impl fmt::Display for UnfinishedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended => f.write_str("the run ended before all repeats were done"),
            Self::Ranks(missing) => {
                let each: Vec<String> = missing.iter().map(MissingRanks::to_string).collect();
                f.write_str(&each.join("; "))
            }
        }
    }
}

impl fmt::Display for MissingRanks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranks: Vec<String> = self.ranks.iter().map(usize::to_string).collect();
        write!(f, "rank {} of {} (from 0) ", ranks.join(", "), self.of)?;
        match &self.metric {
            Some(metric) => write!(f, "did not tell `{metric}`"),
            None => f.write_str("is missing"),
        }
    }
}

impl fmt::Display for FailureReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Repeat { number: 0, failure } => write!(f, "the verifying repeat {failure}"),
            Self::Repeat { number, failure } => write!(f, "repeat {number} {failure}"),
            Self::Unwritable(why) => f.write_str(why),
        }
    }
}

impl How {
    /// The words for its data; `None` where it has none.
    fn data(&self) -> Option<String> {
        let mebibytes = |bytes: &u64| bytes >> 20;
        let words = match self {
            Self::Clock(fault) => fault.to_string(),
            Self::Work(fault) => fault.to_string(),
            Self::Child(fault) => fault.to_string(),
            Self::Deadline(nanoseconds) => {
                format!("no answer after {:?}", Duration::from_nanos(*nanoseconds))
            }
            Self::Memory { held: None, limit } => format!("the limit is {} MiB", mebibytes(limit)),
            Self::Memory { held: Some(held), limit } => {
                format!("its processes held {} MiB, the limit is {} MiB", mebibytes(held), mebibytes(limit))
            }
            _ => return None,
        };
        Some(visible(&words))
    }
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panic => f.write_str("panicked"),
            Self::Error => f.write_str("returned an error"),
            Self::Exit(code) => write!(f, "exited with code {code} before it answered"),
            Self::Signal(name) => write!(f, "was ended by {name}"),
            Self::Deadline(_) | Self::Timeout => f.write_str("ran past its deadline"),
            Self::Memory { .. } => f.write_str("went past its memory limit"),
            Self::Protocol | Self::Child(_) => f.write_str("broke the protocol between parent and child"),
            Self::Clock(_) => f.write_str("has a clock that does not verify"),
            Self::Work(_) => f.write_str("did work that does not verify"),
            Self::NoRoom => f.write_str("had no room on the disk"),
            Self::Device => f.write_str("lost the device"),
            Self::Ranks => f.write_str("waited for other ranks in vain"),
        }
    }
}

impl fmt::Display for ChildFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted { program, why } => write!(f, "failed to start {program}: {why}"),
            Self::Version { child, parent } => {
                write!(f, "the child speaks version {child}, the parent {parent}")
            }
            Self::GreetedTwice => f.write_str("the child greeted twice"),
            Self::OverTwice => f.write_str("the child said twice that its repeat was over"),
            Self::Garbled(why) | Self::Unwritable(why) => f.write_str(why),
            Self::UnaskedBlocks => f.write_str("the child ran blocks that nobody asked for"),
            Self::NoBlocks => f.write_str("it ended before its blocks had been asked for"),
            Self::LeftProcesses(left) => write!(f, "it left {left} processes running, which were ended"),
            Self::Unknown => f.write_str("nothing tells how it ended"),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in the {}", self.how, self.phase.name())?;
        match self.how.data() {
            Some(words) if self.detail.is_empty() => write!(f, ": {words}"),
            None if self.detail.is_empty() => Ok(()),
            _ => write!(f, ": {}", self.detail),
        }
    }
}

impl fmt::Display for ClockFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |nanoseconds: &u64| Duration::from_nanos(*nanoseconds);
        match self {
            Self::Time { of, claimed, passed } => {
                let of = match of {
                    ClaimedTime::Measured => "of measured time",
                    ClaimedTime::Samples => "of samples",
                    ClaimedTime::First => "for its first batch",
                    ClaimedTime::Begin => "to begin epochs",
                    ClaimedTime::Stopped => "in which its clock stood",
                    ClaimedTime::Compile => "to compile",
                    ClaimedTime::Ledger => "in its ledger",
                };
                write!(f, "it claims {:?} {of}, but {:?} passed", time(claimed), time(passed))
            }
            Self::Processors { of, claimed, processors, had } => {
                let of = match of {
                    ClaimedProcessorTime::Running => "while its clock ran",
                    ClaimedProcessorTime::Stopped => "while its clock stood",
                    ClaimedProcessorTime::OthersStopped => "of others while its clock stood",
                    ClaimedProcessorTime::All => "in all",
                };
                write!(
                    f,
                    "it claims {:?} of processor time {of}, but {processors} processors had {:?}",
                    time(claimed),
                    time(had)
                )
            }
            Self::Events { of, claimed, most: _, passed } => {
                let of = match of {
                    CountedEvent::MinorFaults => "page faults",
                    CountedEvent::MajorFaults => "page faults of the disk",
                    CountedEvent::Switches => "switches",
                };
                write!(f, "it claims {claimed} {of} in {:?}", time(passed))
            }
            Self::Epoch { wall, begin, first, copied, passed } => write!(
                f,
                "it claims {:?} for an epoch, {:?} to begin it, {:?} for its first batch and {:?} for \
                 copies, but {:?} passed",
                time(wall),
                time(begin),
                time(first),
                time(copied),
                time(passed)
            ),
            Self::Steps { asked, told, claimed, passed } => {
                write!(f, "it claims {:?} for {asked} steps, and {:?} passed", time(claimed), time(passed))?;
                let unlike = told.iter().find(|(_, times)| times != asked);
                unlike.map_or(Ok(()), |(name, times)| write!(f, "; it tells {times} times of `{name}`"))
            }
            Self::Save { asked, idle, during, steps, stall, complete, passed } => write!(
                f,
                "it claims {idle} steps of {asked} before a save and {during} during it in {:?}, a stall of \
                 {:?} and a save of {:?}, but {:?} passed",
                time(steps),
                time(stall),
                time(complete),
                time(passed)
            ),
        }
    }
}

impl fmt::Display for WorkFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Items { asked, said, shown } => {
                write!(f, "the source says that it went through {said} items and showed {shown}")?;
                if said > asked { write!(f, ", and was asked for {asked}") } else { Ok(()) }
            }
            Self::Fields { elements, .. } => write!(f, "a batch counts {elements} elements and has no field"),
            Self::Bytes { field, dtype, shape, elements, bytes } => write!(
                f,
                "field `{field}` has {bytes} bytes, which are not those of {elements} elements of shape \
                 {shape:?} and type {}",
                dtype.name()
            ),
            Self::Copy { elements, first, of } => write!(
                f,
                "the worker hands over {elements} elements from {first} on of a batch of {of} to be verified"
            ),
            Self::Epoch { expected, elements, batches } => write!(
                f,
                "the epoch that was timed has {elements} elements in {batches} batches instead of {} in {}",
                expected.elements,
                expected.batches()
            ),
            Self::Tensor { tensor, looked, wrong } => write!(
                f,
                "of {looked} numbers of the tensor `{tensor}` that were looked at when a load was over, \
                 at least {wrong} are not those that were saved"
            ),
            Self::Load { files, read, state, grown } => write!(
                f,
                "when a load was over, {} kB of {} kB in files had been read, and memory had grown by {} \
                 kB for a state of {} kB",
                read / 1000,
                files / 1000,
                grown / 1000,
                state / 1000
            ),
            Self::Save { files, written, allocated } => write!(
                f,
                "when a save was over, {} kB had been written of {} kB that are new in its files, and the \
                 file system had {} kB of them",
                written / 1000,
                files / 1000,
                allocated / 1000
            ),
            Self::Files { looked, changed } => write!(
                f,
                "of {looked} places in the files of a checkpoint, {changed} changed after its save was over"
            ),
            Self::Blocks { .. } => f.write_str("one side measures a body in blocks, the other does not"),
        }
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.remedy {
            Remedy::Repeats(least) => write!(f, "measure both sides with `--repeats {least}` or more")?,
            Remedy::SteadyClock => {
                f.write_str("let the device cool, or fix its clock on both sides, and measure again")?;
            }
            Remedy::QuieterMachine => f.write_str("measure again on a quieter machine")?,
            Remedy::Settling => {
                f.write_str("let it settle with more `--warmup` or a longer `--measurement-time`")?;
            }
            Remedy::StoredRuns => f.write_str("more stored runs tell what is noise here")?,
            Remedy::MoreRepeats => f.write_str("more repeats narrow the interval")?,
        }
        let revision = self.revision.as_deref().unwrap_or("REVISION");
        write!(f, ", or in turns with the revision: `{} compare-baseline --rebuild {revision}`", tool())
    }
}

impl fmt::Display for RowMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FirstRuns => "first runs",
            Self::ByCpuClock => "cpu clock",
            Self::Undelayed => "undelayed",
            Self::ByYardstick => "yardstick",
            Self::Accepted => "beyond the accepted change",
            Self::Warning => "warning",
        })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SameRun => {
                f.write_str("the run is the baseline itself: measure again and compare that run")
            }
            Self::OtherSuite { baseline } => write!(f, "the baseline is of another suite, `{baseline}`"),
            Self::OtherWorkspace { baseline, here } => {
                write!(f, "the baseline is of another workspace, {baseline}, and this is {here}")
            }
            Self::OtherMachine(differences) => {
                f.write_str(
                    "the baseline was taken on another machine (--allow-different-machine compares all the \
                     same)",
                )?;
                differences.iter().try_for_each(|difference| write!(f, "\n  {difference}"))
            }
            Self::NothingCompared => f.write_str("no case of the run could be compared with the baseline"),
        }
    }
}

impl fmt::Display for EnvironmentChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.difference.fmt(f)
    }
}
