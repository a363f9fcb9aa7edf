//! `lies`: runs loaders, workers and loops that lie about what they do, beside honest ones, and judges what
//! becomes of each.
//!
//! They are a package of their own, `lies`, and are run by `cargo bench` as anybody's would be.

mod bench;
mod catalogue;
mod judge;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use weighbridge::data::Exit;

use crate::cli::Lies;
use crate::output::Output;
use crate::place::Place;
use crate::programs;
use catalogue::{By, CLASSES, CataloguedLie, HonestTwin, LieClass, Needs};
use judge::Fate;
use weighbridge::data::Columns;

pub(crate) fn run(args: &Lies, place: &Place) -> Result<Output> {
    let crate_of_lies = Crate { folder: place.lab().join("lies"), target: place.target.clone() };
    crate_of_lies.build()?;
    let data = place.data.join("lies");
    empty(&data)?; // made anew: nobody compares with these runs
    let mut tried = Vec::new();
    let mut wrong = Vec::new();
    let mut remarks = Vec::new();
    for class in CLASSES.iter().filter(|class| args.class.as_ref().is_none_or(|only| only == class.name)) {
        if let Some(why) = class.needs.and_then(missing) {
            remarks.push(format!("not tried: {}: {why}", class.name));
            continue;
        }
        let lies = class.lies(args.variant_per_class);
        for honest in [false, true] {
            let some: Vec<&CataloguedLie> =
                lies.iter().copied().filter(|lie| lie.is_honest() == honest).collect();
            let what = if honest { "honest twins" } else { "lies" };
            eprintln!("{}: {what}: {}", class.name, names(&some));
            let of = Tried { class, lies: &some, honest, of: &crate_of_lies };
            let mut told = of.tell(&data.join(of.name()))?;
            if honest && !told.wrong.is_empty() {
                // A chance of a busy machine, or an accusation that stands: a second run tells which.
                remarks.extend(told.wrong.iter().map(|what| format!("measured again: {what}")));
                told = of.tell(&data.join(format!("{}-again", of.name())))?;
            }
            tried.extend(told.trials);
            wrong.extend(told.wrong);
        }
    }
    crate_of_lies.forget()?;
    let mut said = said(&tried, &wrong, &data);
    said.remarks.extend(remarks);
    Ok(said)
}

/// Why lies that need this cannot be tried; nothing where it is there.
fn missing(needs: Needs) -> Option<String> {
    match needs {
        Needs::Program(program) => {
            let asked = Command::new(program).arg("--version").stdin(Stdio::null()).output();
            (!asked.is_ok_and(|said| said.status.success())).then(|| format!("there is no {program}"))
        }
        Needs::Peer(short) => {
            let Some(home) = std::env::var_os(PEERS).map(PathBuf::from) else {
                return Some(format!("{PEERS} names no folder of frameworks"));
            };
            let is_there = home.join(short).join("installed.json").exists();
            (!is_there).then(|| format!("{short} is not installed in {}", home.display()))
        }
    }
}

/// The environment variable that names the folder of frameworks.
const PEERS: &str = "WEIGHBRIDGE_PEERS";

/// The names of all classes.
pub(crate) fn classes() -> Vec<&'static str> {
    CLASSES.iter().map(|class| class.name).collect()
}

/// The crate of lies, and where cargo builds it: where it builds the workspace, so that what both need is
/// built once.
#[derive(Debug)]
struct Crate {
    folder: PathBuf,
    target: PathBuf,
}

impl Crate {
    fn build(&self) -> Result<()> {
        let built = programs::build(&self.folder, &self.target, &["bench", "--no-run", "--bench", "lies"])?;
        programs::of_target(&built, "lies").map(drop)
    }

    /// Removes the epochs that lies have kept where no run's folder is: in cargo's folder for what benches
    /// leave behind.
    fn forget(&self) -> Result<()> {
        for entry in fs::read_dir(self.target.join("tmp")).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with("kept-on-disk") {
                fs::remove_file(entry.path())
                    .with_context(|| format!("failed to remove `{}`", entry.path().display()))?;
            }
        }
        Ok(())
    }
}

/// Removes a folder with all that is in it, if it is there.
fn empty(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("failed to empty `{}`", folder.display()))
        }
        _ => Ok(()),
    }
}

fn names(lies: &[&CataloguedLie]) -> String {
    lies.iter().map(|lie| lie.name).collect::<Vec<_>>().join(", ")
}

/// One lie in one scenario, and what became of it.
struct LieTrial {
    lie: &'static CataloguedLie,
    scenario: &'static str,
    fate: Fate,
}

/// Lies of a class, or its honest twins, that are run together.
#[derive(Clone, Copy)]
struct Tried<'a> {
    class: &'a LieClass,
    lies: &'a [&'static CataloguedLie],
    honest: bool,
    of: &'a Crate,
}

/// What became of them.
#[derive(Default)]
struct Told {
    trials: Vec<LieTrial>,
    wrong: Vec<String>,
}

impl Tried<'_> {
    fn name(&self) -> String {
        format!("{}-{}", self.class.name, if self.honest { "honest" } else { "lies" })
    }

    /// Runs them with a data directory of their own and looks at what became of them.
    fn tell(&self, data: &Path) -> Result<Told> {
        let Self { class, lies, honest, of } = *self;
        of.forget()?;
        let ended = bench::take(class, lies, programs::cargo(&of.folder, &of.target), data)?;
        let code = ended.code;
        let log = ended.log.display();
        if code == Some(i32::from(Exit::Interrupted.code())) {
            bail!("interrupted");
        }
        let mut told = Told::default();
        // A duel ends with what came of it, which for an honest adapter may be anything but a failure.
        let expected: &[Exit] = match (honest, class.told_by) {
            (false, _) => &[Exit::Failed],
            (true, By::Duel) => &[Exit::Fine, Exit::Regressed, Exit::Inconclusive],
            (true, _) => &[Exit::Fine],
        };
        let results = ended.results(class)?;
        if !expected.iter().any(|exit| code == Some(i32::from(exit.code()))) {
            let code = code.map_or_else(|| "a signal".to_owned(), |code| format!("exit code {code}"));
            let which = if honest { "honest twins" } else { "lies" };
            told.wrong
                .push(format!("{}: `cargo bench` of the {which} ended with {code}: see {log}", class.name));
            // Who stands beside a twin, the reference above all, is in no row of the table.
            let accused = if honest { judge::accused(&results) } else { Vec::new() };
            told.wrong.extend(accused.into_iter().map(|what| format!("{}: {what}", class.name)));
        }
        if let Some(line) = ended.forged() {
            told.wrong
                .push(format!("{}: `cargo bench` shows the line `{line}` as it is: see {log}", class.name));
        }
        for lie in lies {
            for scenario in lie.scenarios {
                let called = format!("{}: {scenario}/{}", class.name, lie.name);
                let Some(fate) = Fate::of(lie, scenario, &results) else {
                    told.wrong.push(format!("{called} was not run: see {log}"));
                    continue;
                };
                told.wrong.extend(fate.wrong(lie).map(|what| format!("{called} {what}")));
                told.trials.push(LieTrial { lie, scenario, fate });
            }
        }
        Ok(told)
    }
}

fn said(tried: &[LieTrial], wrong: &[String], data: &Path) -> Output {
    let mut table = Columns::new(["lie", "class", "scenario", "ranked", "speed>", "found", "expected"]);
    for LieTrial { lie, scenario, fate } in tried {
        let expected = match lie.truth {
            HonestTwin::Honest => "honest".to_owned(),
            HonestTwin::Lie(told) => told.join(" or "),
            HonestTwin::Words => "skipped, and forges nothing".to_owned(),
        };
        let ranked = if fate.is_ranked { "yes" } else { "no" };
        let speed = fate.speed.map_or_else(|| "-".to_owned(), |speed| format!("{speed:.2}x"));
        table.row([lie.name, lie.class, scenario, ranked, &speed, &fate.found(), &expected]);
    }
    let mut text = table.text();
    text.push('\n');
    for what in wrong {
        text.push_str(&format!("wrong: {what}\n"));
    }
    let count = |is_meant: fn(&LieTrial) -> bool| tried.iter().filter(|one| is_meant(one)).count();
    let lies = count(|one| !one.lie.is_honest());
    let honest = count(|one| one.lie.is_honest());
    let ranked = count(|one| !one.lie.is_honest() && one.fate.is_ranked);
    text.push_str(&format!("lies: tried={lies} ranked={ranked} honest={honest} wrong={}\n", wrong.len()));
    let exit = if wrong.is_empty() { Exit::Fine } else { Exit::Unexpected };
    Output { text, remarks: vec![format!("files: {}", data.display())], exit }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_says_what_became_of_each_and_what_is_wrong_ends_the_command() {
        let lie = &catalogue::LIES[0];
        let fate = Fate { is_ranked: true, speed: Some(3.0), rules: Vec::new(), words: String::new() };
        let wrong = vec!["later-passes: CV-1/zeros is a lie and is ranked".to_owned()];
        let found = said(&[LieTrial { lie, scenario: "CV-1", fate }], &wrong, Path::new("/d"));
        let expected = "lie    class         scenario  ranked  speed  found    expected\n\
                        zeros  later-passes  CV-1      yes     3.00x  nothing  spot-check\n\n\
                        wrong: later-passes: CV-1/zeros is a lie and is ranked\n\
                        lies: tried=1 ranked=1 honest=0 wrong=1\n";
        assert_eq!((found.text.as_str(), found.exit), (expected, Exit::Unexpected));
    }
}
