//! The values of flags, read off the text: each of these reads one kind, or says what the flag takes.

use std::time::Duration;

use super::flag::Flag;
use super::usage::{ListFormat, UsageError};
use crate::device::Platform;
use crate::metric::Mode;
use crate::plan::{CaseOrder, Isolation, Param};
use crate::process::TraceKind;

fn bad(flag: &Flag, value: &str, form: &str) -> UsageError {
    UsageError(format!("--{} takes {form}, not `{value}`", flag.name))
}

fn one_of(flag: &Flag, value: &str, known: &[&str]) -> Result<String, UsageError> {
    if known.contains(&value) { Ok(value.to_owned()) } else { Err(bad(flag, value, &known.join(", "))) }
}

/// A trace by a profiler, in a repeat of its own.
pub(super) fn trace(flag: &Flag, value: &str) -> Result<TraceKind, UsageError> {
    kind_of(flag, value, &[TraceKind::Torch, TraceKind::Jax, TraceKind::Perf, TraceKind::Tracemalloc])
}

/// A dump by a compiler, likewise.
pub(super) fn dump(flag: &Flag, value: &str) -> Result<TraceKind, UsageError> {
    kind_of(flag, value, &[TraceKind::Hlo])
}

fn kind_of(flag: &Flag, value: &str, known: &[TraceKind]) -> Result<TraceKind, UsageError> {
    let found = TraceKind::named(value).filter(|kind| known.contains(kind));
    let names: Vec<&str> = known.iter().map(|kind| kind.name()).collect();
    found.ok_or_else(|| bad(flag, value, &names.join(", ")))
}

pub(super) fn number(flag: &Flag, value: &str) -> Result<u64, UsageError> {
    value.parse().map_err(|_| bad(flag, value, "a whole number"))
}

pub(super) fn count(flag: &Flag, value: &str) -> Result<u32, UsageError> {
    value
        .parse()
        .ok()
        .filter(|count| *count > 0)
        .ok_or_else(|| bad(flag, value, "a whole number of at least 1"))
}

pub(super) fn seconds(flag: &Flag, value: &str) -> Result<Duration, UsageError> {
    let seconds = value.strip_suffix('s').unwrap_or(value).parse::<f64>().ok();
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.filter(|time| !time.is_zero()).ok_or_else(|| bad(flag, value, "a number of seconds above 0"))
}

/// A size stays text: it is read by whoever uses it.
pub(super) fn size(flag: &Flag, value: &str) -> Result<String, UsageError> {
    let number = ["KiB", "MiB", "GiB", "TiB"].iter().find_map(|unit| value.strip_suffix(unit));
    let inside = number.and_then(|number| number.trim().parse::<f64>().ok()).filter(|number| *number > 0.0);
    inside.map(|_| value.to_owned()).ok_or_else(|| bad(flag, value, "a size such as 16GiB"))
}

pub(super) fn percent(flag: &Flag, value: &str) -> Result<f64, UsageError> {
    let number = value.strip_suffix('%').unwrap_or(value).parse::<f64>().ok();
    let inside = number.filter(|percent| *percent > 0.0 && *percent < 1000.0);
    inside.map(|percent| percent / 100.0).ok_or_else(|| bad(flag, value, "a percentage such as 5%"))
}

pub(super) fn share(flag: &Flag, value: &str) -> Result<f64, UsageError> {
    let inside = value.parse::<f64>().ok().filter(|share| *share > 0.0 && *share < 10.0);
    inside.ok_or_else(|| bad(flag, value, "a share such as 0.05"))
}

pub(super) fn isolation(flag: &Flag, value: &str) -> Result<Isolation, UsageError> {
    let levels = [
        ("repeat", Isolation::Repeat),
        ("case", Isolation::Case),
        ("run", Isolation::Run),
        ("none", Isolation::None),
    ];
    let level = levels.iter().find(|(name, _)| *name == value).map(|(_, level)| *level);
    level.ok_or_else(|| bad(flag, value, "repeat, case, run, none"))
}

pub(super) fn order(flag: &Flag, value: &str) -> Result<CaseOrder, UsageError> {
    match value {
        "shuffled" => Ok(CaseOrder::Shuffled),
        "declared" => Ok(CaseOrder::Declared),
        _ => Err(bad(flag, value, "shuffled or declared")),
    }
}

pub(super) fn at_least_one(flag: &Flag, value: &str) -> Result<u64, UsageError> {
    count(flag, value).map(u64::from)
}

pub(super) fn param(_: &Flag, value: &str) -> Result<Param, UsageError> {
    Param::parse(value).map_err(|error| UsageError(error.to_string()))
}

pub(super) fn platform(flag: &Flag, value: &str) -> Result<Platform, UsageError> {
    Platform::named(value).ok_or_else(|| bad(flag, value, &Platform::ALL.map(Platform::name).join(", ")))
}

pub(super) fn mode(flag: &Flag, value: &str) -> Result<Mode, UsageError> {
    Mode::named(value).ok_or_else(|| bad(flag, value, &Mode::ALL.map(Mode::name).join(", ")))
}

pub(super) fn planted_share(_: &Flag, value: &str) -> Result<f64, UsageError> {
    crate::bencher::read_share(value).map_err(UsageError)
}

/// Tells whether an inconclusive verdict passes.
pub(super) fn passes(flag: &Flag, value: &str) -> Result<bool, UsageError> {
    Ok(one_of(flag, value, &["pass", "fail"])? == "pass")
}

pub(super) fn list_format(flag: &Flag, value: &str) -> Result<ListFormat, UsageError> {
    Ok(match one_of(flag, value, &["terse", "pretty", "json"])?.as_str() {
        "terse" => ListFormat::Terse,
        "json" => ListFormat::Json,
        _ => ListFormat::Pretty,
    })
}

/// Tells whether there is colour; `None` where the terminal decides.
pub(super) fn colour(flag: &Flag, value: &str) -> Result<Option<bool>, UsageError> {
    let value = one_of(flag, value, &["auto", "always", "never"])?;
    Ok((value != "auto").then_some(value == "always"))
}

/// Tells whether the lines are those of libtest's benches.
pub(super) fn is_bencher(flag: &Flag, value: &str) -> Result<bool, UsageError> {
    Ok(one_of(flag, value, &["criterion", "bencher"])? == "bencher")
}
