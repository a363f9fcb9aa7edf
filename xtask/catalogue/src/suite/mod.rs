//! `suite`: reads suites of Orbax's benchmarks, as Orbax ships them, and runs what they say.

mod orbax;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, Subcommand};
use weighbridge_xtask::command_output::{CommandOutput, say};
use weighbridge_xtask::place::Place;
use weighbridge_xtask::{stop, suite};

use self::orbax::{OrbaxPlan, Overrides};

/// Arguments of `suite`.
#[derive(Debug, Args)]
pub(crate) struct OrbaxSuiteArgs {
    #[command(subcommand)]
    action: OrbaxSuiteAction,
}

/// The actions on suites of Orbax.
#[derive(Debug, Subcommand)]
enum OrbaxSuiteAction {
    /// Read suites and say what would run: how many points, and what is refused, skipped or dropped, and why.
    /// Exit 2: a file is wrong; 4: nothing of any would run.
    Check {
        /// The files.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        #[command(flatten)]
        how: ReadingFlags,
    },
    /// Run a suite with `cargo bench`. What is refused of it is told, and the rest runs.
    Run {
        /// The file.
        file: PathBuf,
        #[command(flatten)]
        how: ReadingFlags,
        #[command(flatten)]
        target: suite::SuiteTarget,
    },
}

/// The flags that say how suites of Orbax are read.
#[derive(Clone, Debug, Default, Args)]
struct ReadingFlags {
    /// Ignore unknown keys, as Orbax does, and list them.
    #[arg(long)]
    lenient: bool,
    /// Save this state instead of the checkpoints that a suite names: `default`, `a:float32[32x16]{data,-}`,
    /// or the files of safetensors at `path:/models/llama`.
    #[arg(long, value_name = "STATE")]
    input: Option<String>,
    /// Lay it on this mesh instead of those that a suite names: `data=2+model=4`, or `none`.
    #[arg(long, value_name = "MESH")]
    mesh: Option<String>,
    /// Save the state from this mesh where a suite loads it onto another: `data=8+fsdp=2`. Without it, the
    /// state is whole.
    #[arg(long, value_name = "MESH")]
    saved_from: Option<String>,
    /// Run this adapter beside Orbax (repeat for more).
    #[arg(long, value_name = "NAME")]
    beside: Vec<String>,
}

pub(crate) fn run(args: &OrbaxSuiteArgs, place: &Place) -> Result<CommandOutput> {
    match &args.action {
        OrbaxSuiteAction::Check { files, how } => Ok(check(files, how)),
        OrbaxSuiteAction::Run { file, how, target } => start(file, how, target, place),
    }
}

/// Reads and plans a suite.
fn understand(file: &Path, how: &ReadingFlags) -> Result<OrbaxPlan> {
    let name = file.display();
    let root = suite::read(file)?;
    if !suite::is_of_orbax(&root) {
        let tool = weighbridge::tool();
        return Err(stop::usage(format!(
            "{name}: it is no suite of Orbax's benchmarks; `{tool} suite` reads those of our own form"
        )));
    }
    let read = |flag: &str, why: String| stop::usage(format!("{flag}: {why}"));
    let mesh = |flag: &str, text: &Option<String>| {
        text.as_deref().map(str::parse).transpose().map_err(|why| read(flag, why))
    };
    let over = Overrides {
        input: how.input.as_deref().map(str::parse).transpose().map_err(|why| read("--input", why))?,
        mesh: mesh("--mesh", &how.mesh)?,
        saved_from: mesh("--saved-from", &how.saved_from)?,
        beside: how.beside.clone(),
    };
    orbax::plan(&root, how.lenient, &over).map_err(|mistake| {
        let is_unknown = mistake.what.starts_with("unknown key");
        let hint = if is_unknown { "; --lenient ignores such keys, as Orbax does" } else { "" };
        stop::usage(format!("{name}: {mistake}{hint}"))
    })
}

fn check(files: &[PathBuf], how: &ReadingFlags) -> CommandOutput {
    suite::checked(files, |file| {
        let plan = understand(file, how)?;
        Ok((plan.points, plan.to_string()))
    })
}

fn start(
    file: &Path,
    how: &ReadingFlags,
    target: &suite::SuiteTarget,
    place: &Place,
) -> Result<CommandOutput> {
    let plan = understand(file, how)?;
    let nothing = || stop::nothing(format!("nothing of {} can run here\n{plan}", file.display()));
    let suite = plan.suite.as_ref().ok_or_else(nothing)?;
    say(&plan.to_string()); // before the run, which takes its time
    suite::start(file, suite, target, place)
}
