//! A `cargo bench` of some lies, and what it left behind.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use weighbridge::data::{CaseRecord, Comparison, Layout, Runs};

use super::catalogue::{By, CataloguedLie, LieClass, POINTS};

/// Seconds after which a repeat has hung: each takes less than one.
const TIMEOUT: &str = "60";

/// A `cargo bench` that has ended.
#[derive(Debug)]
pub(super) struct EndedBench {
    /// Its exit code; none where a signal ended it.
    pub(super) code: Option<i32>,
    /// Where it kept its runs.
    data: PathBuf,
    /// What it said.
    pub(super) log: PathBuf,
}

/// What a `cargo bench` has found out.
#[derive(Debug)]
pub(super) enum Results {
    /// The cases of its run.
    Run(Vec<CaseRecord>),
    /// What came of measuring in turns.
    Duel(Box<Comparison>),
}

/// Runs some lies of a class, or its honest twins, with a data directory of their own. `cargo` is at home in
/// their crate.
///
/// # Errors
/// When cargo cannot be started. How the bench ends is no error.
pub(super) fn take(
    class: &LieClass,
    lies: &[&CataloguedLie],
    cargo: Command,
    data: &Path,
) -> Result<EndedBench> {
    fs::create_dir_all(data).with_context(|| format!("failed to make `{}`", data.display()))?;
    let log = data.join("said.txt");
    let said = File::create(&log).with_context(|| format!("failed to write `{}`", log.display()))?;
    let mut command = clean(cargo);
    command.args(["bench", "--bench", "lies", "--"]).args(arguments(class, lies));
    command.arg("--data").arg(data).stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said);
    if class.told_by == By::Duel {
        command.args(["--versus-adapter", class.reference, "--comparison"]).arg(comparison(data));
    }
    command.envs(class.variables.iter().copied());
    let status = command.status().context("failed to start cargo")?;
    Ok(EndedBench { code: status.code(), data: data.to_owned(), log })
}

/// What selects the cases, and how long each is measured.
fn arguments(class: &LieClass, lies: &[&CataloguedLie]) -> Vec<String> {
    let mut scenarios: Vec<&str> = lies.iter().flat_map(|lie| lie.scenarios).copied().collect();
    scenarios.sort_unstable();
    scenarios.dedup();
    let mut names: Vec<&str> = lies.iter().map(|lie| lie.name).collect();
    let mut words = vec!["--profile=quick".to_owned(), format!("--measurement-time={}", class.seconds)];
    words.extend(["--repeats=2".to_owned(), format!("--timeout={TIMEOUT}")]);
    for id in &scenarios {
        words.push(format!("--scenario={id}"));
        let points = POINTS.iter().chain(class.points).filter(|(of, _)| of == id);
        words.extend(points.map(|(_, point)| format!("--param={id}.{point}")));
        if class.told_by == By::Values {
            let tells = lies.iter().filter(|lie| lie.scenarios.contains(id)).map(|lie| lie.name);
            words.push(format!("--param={id}.tells={}", tells.collect::<Vec<_>>().join(",")));
        }
    }
    if class.told_by == By::Adapters {
        names.push(class.reference);
    }
    if class.told_by != By::Values {
        words.extend(names.iter().map(|name| format!("--adapter={name}")));
    }
    words
}

/// Our own settings, and those of whoever runs this, are not what is tried here. Where data are kept and
/// frameworks are installed may stay.
fn clean(mut command: Command) -> Command {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let stays = KEPT.iter().any(|kept| text.starts_with(kept));
        if text.starts_with("WEIGHBRIDGE_") && !stays {
            command.env_remove(&name);
        }
    }
    command
}

const KEPT: [&str; 2] = ["WEIGHBRIDGE_DATA_CACHE", "WEIGHBRIDGE_PEERS"];

fn comparison(data: &Path) -> PathBuf {
    data.join("comparison.json")
}

impl EndedBench {
    /// What it has found out.
    ///
    /// # Errors
    /// When it came to no end: there is no run or no comparison, or it cannot be read.
    pub(super) fn results(&self, class: &LieClass) -> Result<Results> {
        if class.told_by == By::Duel {
            let bytes = fs::read(comparison(&self.data))
                .with_context(|| format!("there is no comparison: see `{}`", self.log.display()))?;
            let comparison = serde_json::from_slice(&bytes).context("failed to read the comparison")?;
            return Ok(Results::Duel(Box::new(comparison)));
        }
        let runs = Runs::new(Layout::new(&self.data));
        let listed = runs.list()?.runs;
        let Some(run) = listed.first() else {
            bail!("no run was stored: see `{}`", self.log.display());
        };
        Ok(Results::Run(runs.load(&run.id)?.cases))
    }

    /// The first line of what it said that the words of a liar have made: one that a terminal would obey, or
    /// that looks like one of the harness.
    pub(super) fn forged(&self) -> Option<String> {
        let said = fs::read(&self.log).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        forged(&said).map(str::escape_debug).map(|line| line.to_string())
    }
}

fn forged(said: &str) -> Option<&str> {
    let is_forged = |line: &&str| {
        let obeyed = |letter: char| letter.is_control() && letter != '\t';
        line.contains(obeyed) || FORGED.iter().any(|start| line.trim_start().starts_with(start))
    };
    said.split('\n').find(is_forged)
}

/// How lines begin that `workers/liar.py` wants to be seen.
const FORGED: [&str; 2] = ["weighbridge: run=forged", "forged:"];

#[cfg(test)]
mod tests {
    use super::super::catalogue::CLASSES;
    use super::*;

    #[test]
    fn a_class_is_asked_for_by_its_scenarios_points_and_names() {
        let said = |name: &str| {
            let class = CLASSES.iter().find(|class| class.name == name).expect("a class");
            arguments(class, &class.lies(true)[..1]).join(" ")
        };
        let later = said("later-passes");
        assert!(
            later.contains("--scenario=CV-1 --param=CV-1.variant=small --param=CV-1.workers=0"),
            "{later}"
        );
        assert!(later.ends_with("--adapter=zeros --adapter=Reference"), "{later}");
        let loops = said("custom-loop");
        assert!(loops.ends_with("--scenario=LOOP-1 --param=LOOP-1.tells=ignores-iterations"), "{loops}");
        assert!(
            said("worker").contains("--measurement-time=2 "),
            "a tenth of it is more than what is let pass"
        );
        assert!(said("duel").ends_with("--adapter=raw-bytes"), "the flag of the duel names the reference");
    }

    #[test]
    fn a_line_that_a_liar_has_made_is_found() {
        let honest = "skipped: x: a\\nforged: b\n\tweighbridge: run=1 exit=0\n";
        assert_eq!(forged(honest), None);
        for line in ["\u{1b}[2Kgone", "gone\r", "forged: b", "    weighbridge: run=forged exit=0"] {
            assert_eq!(forged(&format!("{honest}{line}\nmore")), Some(line));
        }
    }
}
