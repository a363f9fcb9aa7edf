//! `load`: drives an inference server, and refuses the rows that would mislead.
//!
//! A level of load is a case, and a window of it a repeat, which a process of its own measures: the program
//! starts itself anew as a bench binary, see `bench.rs`. So its runs are stored, compared and exported as all
//! others are.

mod args;
mod bench;
mod handed;
mod import;
mod search;
mod shown;
mod verdicts;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use weighbridge::data::{Comparison, Exit, Layout, Runs};

pub(crate) use self::args::LoadArgs;
pub(crate) use self::bench::bench;
use self::handed::HandedLoad;
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
    if let Some(range) = args.find_rate {
        return search::run(&args, range);
    }
    let state = tempfile::tempdir().context("failed to make a temporary folder")?;
    let probes = args.sides().iter().map(|side| args.session(*side)?.look_for_cache().map_err(args::told));
    let handed = HandedLoad {
        probes: probes.collect::<Result<_>>()?,
        folder: state.path().to_owned(),
        args: args.clone(),
    };
    let is_duel = args.sides().len() > 1;
    let compared = state.path().join("comparison.json");
    let mut bench = Command::new(std::env::current_exe().context("failed to find this program")?);
    handed.hand_to(&mut bench)?;
    bench.args(["--bench", "--scenario", "LOAD", "--repeats", &args.windows.to_string()]);
    bench.args(["--timeout", &args.longest()?.as_secs().to_string()]);
    // The client tells itself where it is too slow.
    bench.args(cfg!(debug_assertions).then_some("--allow-debug"));
    bench.arg("--data").arg(&data);
    if is_duel {
        bench.args(["--versus-adapter", args.name_of(args::LoadSide::Other), "--comparison"]).arg(&compared);
        bench.args(["--gate", &JUDGED[1..].join(","), "--threshold", &format!("{}%", args.margin * 100.0)]);
    }
    bench.args(&args.flags);
    let before = newest(&data);
    let ended = bench.status().context("failed to start this program anew")?;
    let exit = Exit::BY_PRECEDENCE.into_iter().find(|exit| ended.code() == Some(exit.code().into()));
    let text = if is_duel { duel(&compared)? } else { newest_but(&data, before.as_deref())? };
    Ok(CommandOutput { exit: exit.unwrap_or(Exit::Unexpected), ..CommandOutput::fine(text) })
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

/// The newest run of this data directory.
fn newest(data: &Path) -> Option<String> {
    let runs = Runs::new(Layout::new(data));
    runs.newest_first().ok()?.next().map(|manifest| manifest.id.to_string())
}

/// The table of the newest run, unless it is that of before: then nothing was measured.
fn newest_but(data: &Path, before: Option<&str>) -> Result<String> {
    let runs = Runs::new(Layout::new(data));
    let Some(manifest) = runs.newest_first()?.next() else { return Ok(String::new()) };
    if before.is_some_and(|before| manifest.id.to_string() == before) {
        return Ok(String::new());
    }
    Ok(shown::table(&runs.load(&manifest.id)?))
}

/// The verdicts of a duel that was stored in this file; nothing where it did not come so far.
fn duel(file: &Path) -> Result<String> {
    let Ok(text) = weighbridge::data::read_text(file) else { return Ok(String::new()) };
    let comparison: Comparison = serde_json::from_str(&text).context("failed to read the verdicts")?;
    Ok(verdicts::table(&comparison, &JUDGED))
}
