//! The words for findings: above all for what the estimates of a case say of themselves.

use std::fmt;
use std::time::Duration;

use crate::metric::{Note, Stationarity};
use crate::verify::{Caveat, Finding, FindingDetail, SpentLimit};

const MEBIBYTE: f64 = (1 << 20) as f64;

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.detail)
    }
}

impl fmt::Display for FindingDetail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Evidence(words) => f.write_str(words),
            Self::Estimate(caveat) => caveat.fmt(f),
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scenario(words) => f.write_str(words),
            Self::PlantedSlowdown { twice, of } => {
                let share = *twice as f64 / (*of).max(1) as f64 * 100.0;
                write!(f, "a slowdown was planted: {twice} of {of} iterations ran twice, {share:.2} %")
            }
            Self::FewSamples { asked, time, needed, timeout } => {
                let timeout = timeout.map_or_else(String::new, |seconds| format!(" --timeout {seconds}"));
                write!(
                    f,
                    "one iteration takes so long that fewer than {asked} samples fit into {:?} a repeat: \
                     --measurement-time {needed}{timeout} takes them all",
                    Duration::from_nanos(*time)
                )
            }
            Self::OneSample(timeout) => write!(
                f,
                "one iteration takes so long that a second does not fit the timeout of {:?}: the first, \
                 which is cold, is the only sample; --timeout allows for more",
                Duration::from_nanos(*timeout)
            ),
            Self::Collectors(each) => write!(
                f,
                "`measure` blocks in a body on a device: their collectors took {:.1} us a body, which is in \
                 its time where the device did not work meanwhile; `measure_with(name, &[], ...)` takes the \
                 clock alone",
                each * 1e-3
            ),
            Self::FirstCall { first, each } => write!(
                f,
                "its first call took {:.1?}, {:.0} times a measured one: what is made once is in no figure",
                Duration::from_nanos(*first),
                *first as f64 / each
            ),
            Self::Dropping { dropped, called } => write!(
                f,
                "dropping its results takes {:.1} times what its calls take, outside the clock: what belongs \
                 to the work is to be done in the call",
                *dropped as f64 / *called as f64
            ),
            Self::LittleStated { stated, passed } => write!(
                f,
                "its own loop states {:.1} % of the time that it took: the rest is in no figure",
                *stated as f64 / *passed as f64 * 100.0
            ),
            Self::Chunks(batches) => write!(
                f,
                "its batches are made many at a time: each pass has {batches} of them, and the first of an \
                 epoch is among them"
            ),
            Self::LongBeginning { stood, measured, asked } => {
                let [stood, measured, asked] =
                    [stood, measured, asked].map(|time| Duration::from_nanos(*time));
                write!(
                    f,
                    "beginning an epoch takes too long for what was asked: the clock stood for {stood:?}, \
                     and {measured:?} were measured instead of {asked:?}"
                )
            }
            Self::NotFinite { metric, rank, value } => {
                let rank = rank.map_or_else(String::new, |rank| format!(" of rank {rank}"));
                write!(f, "the metric `{metric}`{rank} was handed in as {value}: left out")
            }
            Self::CutName(name) => write!(f, "the name of the metric `{name}` was cut"),
            Self::ManyMetrics(most) => {
                write!(f, "more than {most} metrics were handed in: the rest is left out")
            }
            Self::ManyValues(most) => {
                write!(f, "more than {most} values of metrics were handed in: the rest is left out")
            }
            Self::ThreadPanic(words) => write!(
                f,
                "a thread that the body had started panicked, and the body went on without it: {words}"
            ),
            Self::Copies(count) => write!(
                f,
                "the body forked, and was still there {count} times beside itself at its end: what the \
                 copies did ran beside what was measured"
            ),
        }
    }
}

/// The most facts in which ranks differ that a line has.
const MOST_FACTS: usize = 4;

impl fmt::Display for Caveat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Surroundings(repeats) => {
                let numbers: Vec<String> = repeats.iter().map(ToString::to_string).collect();
                let (s, were) = if numbers.len() == 1 { ("", "was") } else { ("s", "were") };
                write!(
                    f,
                    "repeat{s} {} {were} measured in other surroundings than the run began in",
                    numbers.join(", ")
                )
            }
            Self::Note(note) => note.fmt(f),
            Self::ShortData(of) => write!(
                f,
                "the data set is too small for a pass of {} batches after {} of warm-up: the epoch was begun \
                 again inside it",
                of.batches, of.warmup
            ),
            Self::FakeDevice(name) => f.write_str(&fake_device(name)),
            Self::OwnLoop(share) => write!(
                f,
                "{:.0} % of an item's time is the worker's own loop: leads are given without it",
                share * 100.0
            ),
            Self::FewRepeats(count) => {
                let repeats = if *count == 1 { "repeat gives" } else { "repeats give" };
                write!(f, "{count} {repeats} a median without an interval, which needs {}", Self::FEW)
            }
            Self::Unsteady { metric, variation } => write!(
                f,
                "{metric} varies by {:.1} % over repeats (coefficient of variation, under {:.0} % asked)",
                variation * 100.0,
                Self::UNSTEADY * 100.0
            ),
            Self::Outlier { repeat, metric, off, score } => write!(
                f,
                "repeat {repeat} is an outlier: its {metric} lies {:.1} % {} the median (modified z-score \
                 {:.1}); it is kept",
                off.abs() * 100.0,
                if *off < 0.0 { "below" } else { "above" },
                score.abs()
            ),
            Self::SampledMemory(tree) => write!(
                f,
                "peak_memory is sampled: the largest sum over up to {} processes that was seen, not an exact \
                 peak",
                tree.processes
            ),
            Self::Memory { planned, peak } => write!(
                f,
                "peak_memory is {:.0} MiB, the plan expected {:.0} MiB: the scenario's `needs` are more than \
                 {:.0} % off",
                peak / MEBIBYTE,
                *planned as f64 / MEBIBYTE,
                Self::OFF * 100.0
            ),
            Self::Missing { metric, absent, of, why } => {
                write!(f, "{metric} has no value in {absent} of {of} repeats: {why}")
            }
            Self::Stationarity(Stationarity::Flat) => f.write_str("most repeats are level"),
            Self::Stationarity(Stationarity::Unsteady) => f.write_str(
                "most repeats never get steady: their samples do not settle, and no figure of them is one to \
                 go by",
            ),
            Self::Stationarity(stationarity) => write!(
                f,
                "most repeats are {} before they get \
                steady",
                stationarity.name()
            ),
            Self::OffTarget { target, half, ended } => {
                let half =
                    half.map_or("no".to_owned(), |half| format!("plus or minus {:.1} %", half * 100.0));
                let ended = match ended {
                    SpentLimit::Repeats => "repeats",
                    SpentLimit::Budget => "budget",
                };
                write!(f, "the {ended} ran out before the target of {} %: {half} interval", target * 100.0)
            }
            Self::Waited { share, instead } => {
                let share = share * 100.0;
                write!(f, "waited for a processor in {share:.0} % of the wall time, ")?;
                match instead {
                    Some(metric) => write!(f, "so {metric} leads"),
                    None => f.write_str("and nothing tells what it takes without that"),
                }
            }
            Self::Uneven { least, most } => write!(
                f,
                "repeats have {least} to {most} iterations a sample: something disturbed their calibration, \
                 and what they measured is not alike"
            ),
            Self::RanksDiffer(facts) => {
                write!(f, "ranks differ: {}", facts[..facts.len().min(MOST_FACTS)].join("; "))?;
                match facts.len().saturating_sub(MOST_FACTS) {
                    0 => Ok(()),
                    more => write!(f, "; and {more} more"),
                }
            }
            Self::Skew { spread, region, last } => {
                let [spread, region] = [spread, region].map(|time| Duration::from_nanos(*time));
                write!(
                    f,
                    "ranks began the measured part {spread:?} apart, {:.1} % of its {region:?}; the last to \
                     come was rank {last}",
                    spread.as_secs_f64() / region.as_secs_f64() * 100.0
                )
            }
            Self::Nothing => f.write_str("as fast as an empty loop: is the input a constant?"),
            Self::NoPrimaryMetric(metric) => {
                write!(f, "{metric} was to stand for the case and has no value: another metric stands for it")
            }
        }
    }
}

/// The sentence that every report of a run on a fake has.
pub(super) fn fake_device(name: &str) -> String {
    format!("FAKE DEVICE: {name} is a fake, and its figures are of no device")
}
