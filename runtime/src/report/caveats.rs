//! The words for findings: above all for what the estimates of a case say of themselves.

use std::fmt;

use crate::metric::Stationarity;
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

impl fmt::Display for Caveat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Note(text) => f.write_str(text),
            Self::ShortData(of) => write!(
                f,
                "the data set is too small for a pass of {} batches after {} of warm-up: the epoch was begun \
                 again inside it",
                of.batches, of.warmup
            ),
            Self::FakeDevice(name) => f.write_str(&fake_device(name)),
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
                write!(
                    f,
                    "waited for a processor in {share:.0} % of the wall time: wall times are unreliable; "
                )?;
                match instead {
                    Some(metric) => write!(f, "{metric} leads instead"),
                    None => f.write_str("nothing tells what it takes without that"),
                }
            }
            Self::Uneven { least, most } => write!(
                f,
                "repeats have {least} to {most} iterations a sample: something disturbed their calibration, \
                 and what they measured is not alike"
            ),
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
