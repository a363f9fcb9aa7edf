//! `load`: drives an inference server, and refuses the rows that would mislead.
//!
//! A level of load is a case, and a window of it a repeat, which a process of its own measures: the program
//! starts itself anew as a bench binary, see `bench.rs`. So its runs are stored, compared and exported as all
//! others are.

mod args;
mod bench;
mod handed;
mod import;
mod resumed;
mod search;
mod shown;
mod verdicts;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use weighbridge::data::{Comparison, Exit, Layout, RunStatus, Runs};

pub(crate) use self::args::LoadArgs;
pub(crate) use self::bench::bench;
use self::handed::HandedLoad;
use self::resumed::MeasuredRun;
use crate::command_output::CommandOutput;
use crate::stop;

/// The metrics that a verdict on two servers is of, the first of which stands for the case.
const JUDGED: [&str; 6] = ["answer_p50", "answer_p99", "ttft_p50", "ttft_p99", "answer_rate", "goodput"];

/// Measures all levels in windows, stores the run, and shows it.
///
/// # Errors
/// When the line cannot be meant, or the program cannot be started anew.
pub(crate) fn run(args: &LoadArgs, data: Option<PathBuf>) -> Result<CommandOutput> {
    let args = args.anywhere()?;
    check(&args)?;
    let data = data.unwrap_or_else(kept);
    let data = std::path::absolute(&data).context("failed to find the data directory")?;
    if !args.import.is_empty() {
        return import::run(&args, &data);
    }
    if let Some(run) = &args.resume {
        return resume(&args, &data, run);
    }
    search::check(&args, None)?;
    let probes = args.sides().iter().map(|side| args.session(*side)?.look_for_cache().map_err(args::told));
    let probes: Vec<_> = probes.collect::<Result<_>>()?;
    search::check(&args, probes.first().and_then(Option::as_ref))?;
    let handed = HandedLoad { probes, folder: resumed::folder(&data)?, args: args.clone() };
    let mut bench = Command::new(std::env::current_exe().context("failed to find this program")?);
    bench.args(["--bench", "--scenario", "LOAD", "--repeats", &args.windows().to_string()]);
    bench.args(["--timeout", &args.longest()?.as_secs().to_string()]);
    // The client tells itself where it is too slow.
    bench.args(cfg!(debug_assertions).then_some("--allow-debug"));
    if args.sides().len() > 1 {
        bench.args(["--versus-adapter", args.name_of(args::LoadSide::Other)]);
        bench.arg("--comparison").arg(compared(&handed));
        bench.args(["--gate", &JUDGED[1..].join(","), "--threshold", &format!("{}%", args.margin * 100.0)]);
    }
    measure(bench, &args.flags, &data, &handed, MeasuredRun::Beside(resumed::runs(&data)))
}

/// Goes on with a run that was broken off. What was found of a cache is looked for anew: the server may have
/// been started again.
fn resume(args: &LoadArgs, data: &Path, run: &str) -> Result<CommandOutput> {
    if !args.is_resume_alone()? {
        return Err(stop::usage("--resume takes the line from the run: nothing of it is typed again"));
    }
    let before = resumed::told(data, run)?;
    let probes = before
        .args
        .sides()
        .iter()
        .map(|side| before.args.session(*side)?.look_for_cache().map_err(args::told));
    let handed = HandedLoad { probes: probes.collect::<Result<_>>()?, ..before };
    let mut bench = Command::new(std::env::current_exe().context("failed to find this program")?);
    bench.args(["--bench", "--resume", run]);
    measure(bench, &args.flags, data, &handed, MeasuredRun::Known(run.to_owned()))
}

/// Runs the program as a bench binary that was told so, and shows what it has measured.
fn measure(
    mut bench: Command,
    flags: &[String],
    data: &Path,
    handed: &HandedLoad,
    measured: MeasuredRun,
) -> Result<CommandOutput> {
    handed.hand_to(&mut bench)?;
    bench.arg("--data").arg(data).args(flags);
    let child = bench.spawn().context("failed to start this program anew")?;
    let (ended, run) = resumed::wait(child, data, measured, handed)?;
    let exit = Exit::BY_PRECEDENCE.into_iter().find(|exit| ended.code() == Some(exit.code().into()));
    let exit = exit.unwrap_or(Exit::Unexpected);
    let shown = outcome(data, handed, run.as_deref())?;
    if is_over(data, run.as_deref()) {
        resumed::drop_kept(data, run.as_deref(), handed);
        return Ok(CommandOutput { exit, ..CommandOutput::fine(shown) });
    }
    let hint = run.map_or_else(String::new, |run| format!("go on with: load --resume {run}\n"));
    Ok(CommandOutput { exit, ..CommandOutput::fine(shown + &hint) })
}

/// The file of the verdicts of a duel.
fn compared(handed: &HandedLoad) -> PathBuf {
    handed.folder.join("comparison.json")
}

/// A mistake costs no run: that of a session, and what a name may be.
fn check(args: &LoadArgs) -> Result<()> {
    for side in args.sides() {
        args.session(*side)?;
        let name = args.name_of(*side);
        if name.trim().is_empty() || name.contains('/') {
            return Err(stop::usage(format!("`{name}` is no name of a server: it is a word without `/`")));
        }
    }
    let names: Vec<&str> = args.sides().iter().map(|side| args.name_of(*side)).collect();
    if let [other, own] = names[..]
        && other.eq_ignore_ascii_case(own)
    {
        return Err(stop::usage(format!("both servers are called `{own}`: name one, with --versus-name")));
    }
    if let Some(flag) = args.flags.iter().find(|flag| OWN_FLAGS.iter().any(|own| is_flag(flag, own))) {
        return Err(stop::usage(format!(
            "`{flag}` is set by the line of `load` itself: see --windows, --versus"
        )));
    }
    Ok(())
}

/// The flags of the bench target that follow from the line.
const OWN_FLAGS: [&str; 7] =
    ["--repeats", "--versus-adapter", "--versus", "--comparison", "--scenario", "--resume", "--data"];

fn is_flag(typed: &str, flag: &str) -> bool {
    typed.strip_prefix(flag).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
}

/// The folder that keeps runs of servers, which belong to no workspace.
fn kept() -> PathBuf {
    crate::command::kept("load")
}

/// Tells whether nothing is left to go on with.
fn is_over(data: &Path, run: Option<&str>) -> bool {
    let Some(run) = run else { return true };
    let mut all = resumed::both(data)
        .into_iter()
        .filter_map(|runs| runs.newest_first().ok()?.find(|one| one.id.to_string() == run));
    all.next().is_none_or(|manifest| manifest.status == RunStatus::Complete)
}

/// Shows the measured: verdicts of a duel, the ends of a search, else a table.
fn outcome(data: &Path, handed: &HandedLoad, run: Option<&str>) -> Result<String> {
    if handed.args.sides().len() > 1 {
        return duel(&compared(handed));
    }
    let runs = Runs::new(Layout::new(data));
    let found = runs.newest_first()?.find(|manifest| run == Some(manifest.id.to_string().as_str()));
    let Some(manifest) = found else { return Ok(String::new()) };
    let run = runs.load(&manifest.id)?;
    Ok(match handed.args.find_rate {
        Some(_) => search::shown(&handed.args, &run),
        None => shown::table(&run),
    })
}

/// The verdicts of a duel that was stored in this file; nothing where it did not come so far.
fn duel(file: &Path) -> Result<String> {
    let Ok(text) = weighbridge::data::read_text(file) else { return Ok(String::new()) };
    let comparison: Comparison = serde_json::from_str(&text).context("failed to read the verdicts")?;
    Ok(verdicts::table(&comparison, &JUDGED))
}
