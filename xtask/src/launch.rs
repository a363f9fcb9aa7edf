//! `launch`: bench programs on the hosts that an engine gives. What it does is in the crate
//! `weighbridge-launch`; here the programs are built that travel.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use weighbridge::data::{Layout, Policy};
use weighbridge_launch::{
    BaselineProgram, CompareAction, Launch, LaunchAnswer, LaunchArgs, LaunchError, Programs, Shown,
};

use crate::build_options::BuildOptions;
use crate::checkout::Checkout;
use crate::command_output::{CommandOutput, say};
use crate::compare_baseline::{GateRules, RulesOf};
use crate::inert;
use crate::place::Place;
use crate::programs::{self, BuiltProgram};
use crate::repository::{Repository, short};
use crate::stop;

/// Launches, follows to the end, and says what came of it.
///
/// # Errors
/// When the line cannot be meant, or programs do not build.
pub(crate) fn run(args: &LaunchArgs, place: &Place) -> Result<CommandOutput> {
    let launch = Launch::new(args, scratch(place)).map_err(told)?;
    let programs = if launch.has_programs() { None } else { Some(built(args, place)?) };
    let answer = launch.run(programs.as_ref(), place.layout.data(), &mut shown(args.dry_run));
    let LaunchAnswer { text, remarks, exit } = answer.map_err(told)?;
    Ok(CommandOutput { remarks, exit, ..CommandOutput::fine(text) })
}

/// True if nothing is to be built.
pub(crate) fn needs_no_workspace(args: &LaunchArgs) -> bool {
    args.program.is_some() || args.resume.is_some()
}

/// The place of programs that are of no workspace: that of the current one where there is one.
///
/// # Errors
/// When there is no current folder.
pub(crate) fn anywhere(data: Option<&Path>) -> Result<Place> {
    if let Ok(place) = Place::find(data) {
        return Ok(place);
    }
    let here = std::env::current_dir().context("failed to find the current folder")?;
    let data = data.map_or_else(|| crate::command::kept("launches"), Path::to_owned);
    let data = std::path::absolute(data).context("failed to find the data directory")?;
    Ok(Place::new(here, Layout::new(data)))
}

/// The folder that processes of this machine share: beside the runs.
fn scratch(place: &Place) -> PathBuf {
    place.layout.data().to_owned()
}

fn told(error: LaunchError) -> anyhow::Error {
    stop::with(error.exit(), error.to_string())
}

/// Shows lines, and on a terminal a bar that is drawn anew.
fn shown(is_dry: bool) -> impl FnMut(Shown<'_>) {
    let is_terminal = io::stderr().is_terminal() && !is_dry;
    let mut has_bar = false;
    move |shown| match shown {
        Shown::Bar(text) if is_terminal => {
            let line: String = inert::lines(text).trim_end().chars().take(110).collect();
            // That nobody may be reading is no reason to end.
            drop(io::stderr().write_all(format!("\r\u{1b}[K{line}").as_bytes()));
            has_bar = true;
        }
        Shown::Bar(_) => {}
        Shown::Line(text) => {
            if has_bar {
                drop(io::stderr().write_all(b"\r\x1b[K"));
                has_bar = false;
            }
            say(text);
        }
    }
}

/// The programs that travel, built here: hosts need no toolchain.
fn built(args: &LaunchArgs, place: &Place) -> Result<Programs> {
    let tool = std::env::current_exe().context("failed to find this program")?;
    let rebuild = args.compare.as_ref().map(|CompareAction::CompareBaseline { rebuild, .. }| rebuild);
    if let Some(program) = &args.program {
        if rebuild.is_some() {
            return Err(stop::usage("--program is of no revision: leave it out to compare with one"));
        }
        let versions = [("built".to_owned(), "earlier".to_owned())].into();
        let baseline = args.versus.as_ref().map(|versus| BaselineProgram {
            path: versus.clone(),
            name: versus.display().to_string(),
            suite: "launched/program".to_owned(),
            policy: Policy::default(),
        });
        return Ok(Programs { tool, program: program.clone(), baseline, versions });
    }
    let ours = programs::build(&place.root)?;
    let program = the_one(&ours, args.suite.as_deref())?;
    let mut versions = versions(place);
    let mut baseline = None;
    if let Some(revision) = rebuild {
        let repository = Repository::find(&place.root)?;
        let commit = repository.commit(revision)?;
        let mut checkout = Checkout::of(&repository, &commit, place)?;
        let theirs = checkout
            .build(&BuildOptions::default())
            .with_context(|| format!("the baseline {revision} ({}) does not build", short(&commit)))?;
        let theirs = theirs.into_iter().find(|other| other.suite == program.suite).ok_or_else(|| {
            stop::nothing(format!(
                "{} is new since {revision}: there is nothing to compare it with",
                program.suite
            ))
        })?;
        versions.insert("baseline".into(), commit.clone());
        let of = RulesOf { repository: &repository, commit: commit.clone(), name: revision.clone() };
        let rules = GateRules::of_revision(place, &of)?;
        baseline = Some(BaselineProgram {
            path: theirs.path,
            name: format!("{revision} ({})", short(&commit)),
            suite: program.suite.clone(),
            policy: rules.policy,
        });
    }
    versions.insert("suite".into(), program.suite.clone());
    Ok(Programs { tool, program: program.path.clone(), baseline, versions })
}

/// Facts of the work tree, as far as there are such.
fn versions(place: &Place) -> BTreeMap<String, String> {
    let mut versions = BTreeMap::new();
    versions.insert("weighbridge".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    if let Ok(repository) = Repository::find(&place.root) {
        if let Ok(commit) = repository.commit("HEAD") {
            versions.insert("commit".into(), commit);
        }
        if let Ok(is_dirty) = repository.is_dirty() {
            versions.insert("dirty".into(), is_dirty.to_string());
        }
    }
    versions
}

/// The bench program that is meant.
fn the_one<'a>(built: &'a [BuiltProgram], named: Option<&str>) -> Result<&'a BuiltProgram> {
    let is_meant = |suite: &str| {
        named.is_none_or(|named| suite == named || suite.rsplit('/').next().is_some_and(|last| last == named))
    };
    let meant: Vec<&BuiltProgram> = built.iter().filter(|program| is_meant(&program.suite)).collect();
    match meant[..] {
        [one] => Ok(one),
        [] if named.is_none() => {
            Err(stop::nothing("no bench target of this workspace is built on weighbridge"))
        }
        [] => Err(stop::unknown(
            "bench target",
            named.unwrap_or_default(),
            built.iter().map(|program| program.suite.as_str()),
        )),
        _ => {
            let names: Vec<&str> = meant.iter().map(|program| program.suite.as_str()).collect();
            Err(stop::usage(format!("name one of the bench targets with --suite: {}", names.join(", "))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bench_program_is_meant_or_it_is_said_which_there_are() {
        let program = |suite: &str| BuiltProgram {
            suite: suite.into(),
            target: String::new(),
            path: format!("/t/{suite}").into(),
            directory: "/w".into(),
        };
        let all = [program("a/suite"), program("a/training"), program("b/training")];
        let named = |name: Option<&str>| {
            the_one(&all, name).map(|one| one.suite.clone()).map_err(|error| error.to_string())
        };
        assert_eq!(named(Some("suite")), Ok("a/suite".into()));
        assert_eq!(named(Some("b/training")), Ok("b/training".into()));
        assert!(named(Some("training")).unwrap_err().contains("a/training, b/training"));
        assert!(named(None).unwrap_err().contains("--suite"));
        assert!(named(Some("siute")).unwrap_err().contains("did you mean"));
        assert!(the_one(&[], None).is_err());
    }
}
