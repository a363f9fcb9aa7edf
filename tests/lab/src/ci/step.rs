//! A step: what it is called, what it runs, and how that must end.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use weighbridge::data::Exit;

use super::{peers, tree};
use crate::place::Place;
use crate::programs::{cargo, of_product};
use crate::supply::{self, SupplyOutcome};

/// The folder, below the data directory, where somebody who came a minute ago keeps their things: nothing was
/// made or installed there before.
pub(super) const USER: &str = "user";

/// One step.
#[derive(Debug)]
pub(super) struct CiStep {
    pub(super) name: &'static str,
    pub(super) does: StepAction,
}

/// The action of a step.
#[derive(Debug)]
pub(super) enum StepAction {
    /// Runs a command.
    Command(StepCommand),
    /// Sees that the work tree has nothing that a fresh clone lacks.
    Tree,
    /// Holds the packages of others against what they may be.
    Supply,
    /// Installs and checks the light Python frameworks, where they can be had in time.
    Peers,
}

/// A command of cargo; one of the tool is that of the program behind `cargo xtask`.
#[derive(Clone, Debug)]
pub(super) struct StepCommand {
    words: Vec<String>,
    variables: Vec<(&'static str, &'static str)>,
    exit: Exit,
    by_a_new_user: bool,
}

/// The end of a step.
#[derive(Debug)]
pub(super) enum CiOutcome {
    Passed,
    /// What it needs of the machine is not there, and why that is no failure.
    LeftOut(String),
    /// What it did, as the end of a sentence.
    Failed(String),
}

impl StepCommand {
    /// `cargo` with the words of a line.
    pub(super) fn cargo(line: &str) -> Self {
        let words = line.split_whitespace().map(str::to_owned).collect();
        Self { words, variables: Vec::new(), exit: Exit::Fine, by_a_new_user: false }
    }

    /// With these words at its end.
    pub(super) fn and<'a>(mut self, words: impl IntoIterator<Item = &'a str>) -> Self {
        self.words.extend(words.into_iter().map(str::to_owned));
        self
    }

    /// With this variable.
    pub(super) fn with(mut self, name: &'static str, value: &'static str) -> Self {
        self.variables.push((name, value));
        self
    }

    /// It must end so.
    pub(super) fn ends_with(self, exit: Exit) -> Self {
        Self { exit, ..self }
    }

    /// As somebody runs it who has made no data set and installed no framework before.
    pub(super) fn by_a_new_user(self) -> Self {
        Self { by_a_new_user: true, ..self }
    }

    /// As one would type it.
    fn shown(&self) -> String {
        let quoted = |value: &str| if value.contains(' ') { format!("'{value}'") } else { value.to_owned() };
        let variables = self.variables.iter().map(|(name, value)| format!("{name}={} ", quoted(value)));
        let words: Vec<String> = self.words.iter().map(|word| quoted(word)).collect();
        let is_judge = self.words.iter().any(|word| word == "compare-baseline");
        let exits = if is_judge { format!("  # exits {}", self.exit.code()) } else { String::new() };
        let user = if self.by_a_new_user { "  # as a new user" } else { "" };
        format!("{}cargo {}{exits}{user}", variables.collect::<String>(), words.join(" "))
    }

    fn run(&self, place: &Place, skipped: &Path) -> Result<CiOutcome> {
        let mut command = match &self.words[..] {
            [first, rest @ ..] if first == "xtask" => tool(place, "xtask", rest)?,
            words => {
                let mut command = cargo(&place.root, &place.target);
                command.args(words);
                command
            }
        };
        command.envs(self.variables.iter().copied()).env(needs::FILE, skipped);
        if self.by_a_new_user {
            let user = place.data.join(USER);
            command.env("XDG_CACHE_HOME", user.join("cache")).env("XDG_DATA_HOME", user.join("data"));
            command.env_remove("WEIGHBRIDGE_DATA_CACHE").env_remove("WEIGHBRIDGE_PEERS");
        }
        let ended = command.status().context("failed to start cargo")?;
        Ok(if ended.code() == Some(i32::from(self.exit.code())) {
            CiOutcome::Passed
        } else {
            CiOutcome::Failed(format!("should end with exit code {}: {ended}", self.exit.code()))
        })
    }
}

/// A command of this program of the product, in the product's workspace.
pub(super) fn tool<T: AsRef<OsStr>>(place: &Place, program: &str, words: &[T]) -> Result<Command> {
    let mut command = Command::new(of_product(place, program)?);
    command.args(words).current_dir(&place.root).env("CARGO_TARGET_DIR", &place.target);
    Ok(command)
}

/// Whether the packages of others are what they may be.
fn supplied(place: &Place) -> Result<CiOutcome> {
    Ok(match supply::check(place)? {
        SupplyOutcome::Sound => CiOutcome::Passed,
        SupplyOutcome::Unadvised(why) => CiOutcome::LeftOut(why),
        SupplyOutcome::Wrong(what) => CiOutcome::Failed(what),
    })
}

impl CiStep {
    /// What it runs, as one would type it.
    pub(super) fn shown(&self) -> String {
        match &self.does {
            StepAction::Command(command) => command.shown(),
            StepAction::Tree => "git ls-files --others --exclude-standard  # lists nothing".to_owned(),
            StepAction::Supply => supply::SHOWN.to_owned(),
            StepAction::Peers => peers::shown(),
        }
    }

    /// Takes the step. Tests that are skipped are written into a file.
    pub(super) fn take(&self, place: &Place, skipped: &Path) -> Result<CiOutcome> {
        match &self.does {
            StepAction::Command(command) => command.run(place, skipped),
            StepAction::Tree => tree(&place.root),
            StepAction::Supply => supplied(place),
            StepAction::Peers => peers::light(place),
        }
    }
}
