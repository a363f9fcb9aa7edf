//! The tool as a stranger installs it: into an empty home, beside a workspace that knows nothing of this one.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use tempfile::TempDir;

use crate::external::{ProcessEnd, clean, root};
use crate::help::ListedCommand;
use crate::repository::{PLANTED, Repository};

/// A command of the tool, as it is tried.
struct Trial {
    /// Its words, and what is given to it behind them.
    line: &'static str,
    /// The exit codes that are right.
    exits: &'static [i32],
    /// A part of what it says.
    says: &'static str,
}

/// Short duels, whose verdict is nobody's business here.
const SHORT: &str = " -- --profile quick --no-lock --measurement-time 0.002 --threshold 50%";

const fn fine(line: &'static str, says: &'static str) -> Trial {
    Trial { line, exits: &[0], says }
}

/// Every command, in an order in which each finds what it needs.
const TRIALS: &[Trial] = &[
    fine("runs list", "worker/work"),
    fine("runs show latest", "WORK-1"),
    // Of a body alone there are its times by two clocks.
    fine("runs judge latest", "judged by evidence: 1 case"),
    fine("runs digest RUN", "run.json"),
    fine("summary", "WORK-1"),
    fine("explain WORK-1", "WORK-1"),
    fine("baseline set other", "other"),
    fine("baseline list", "main"),
    fine("baseline show main", "WORK-1"),
    fine("baseline remove other", "other"),
    // A slowdown; on a busy machine nothing is sure, and then there is no change to accept.
    Trial { line: "compare-baseline main", exits: &[3, 5], says: "compared=1" },
    fine("report html", "report.html"),
    fine("report comment", "WORK-1"),
    fine("report charts --out charts", "throughput_bars"),
    fine("export csv", "WORK-1"),
    fine("history WORK-1", "WORK-1"),
    Trial { line: "history accept WORK-1 --baseline main --because reasons", exits: &[0, 4], says: "WORK-1" },
    fine("history backfill HEAD~1..HEAD", "before"),
    // Nothing is slower.
    Trial { line: "history bisect HEAD~1 HEAD WORK-1", exits: &[4, 5], says: "WORK-1" },
    fine("lock", "scenarios.lock"),
    fine("calibrate --tries 1", "false alarms"),
    fine("suite check mine.toml", "mine"),
    fine("suite run mine.toml --bench work", "WORK-1"),
    fine("command true", "true"),
    fine("launch --dry-run -n 2", "plan"),
    fine("launch --dry-run -n 2 compare-baseline --rebuild HEAD~1", "plan"),
    Trial { line: "launch compare-baseline", exits: &[2], says: "--rebuild <REV>" },
    // A program that takes no steps; a machine may have no way to throw away what it writes.
    Trial { line: "doctor --only-look --seconds 1 -- true", exits: &[4], says: "no step was seen" },
    fine("runs prune --keep 9", "removed"),
];

/// The commands whose bench programs are given the short flags.
const MEASURES: [&str; 5] = ["history backfill", "history bisect", "calibrate", "suite run", "command"];

/// A home with the tool in it, and nothing else.
struct Home(TempDir);

impl Home {
    /// Installs the tool as the guide says. What it is built of is shared with the other tests.
    fn with_the_tool() -> Self {
        let home = Self(TempDir::new().unwrap());
        let mut install = home.cargo();
        install.args(["install", "--path", "xtask", "--locked", "--debug", "--quiet", "--root"]);
        let ran = ProcessEnd::of(install.arg(home.0.path()).current_dir(root()));
        assert_eq!(ran.code, Some(0), "{}", ran.all());
        home
    }

    /// Cargo for whoever lives there: it finds what is installed, and nothing of what the machine's user has.
    /// The compiler and downloaded sources are the machine's.
    fn cargo(&self) -> Command {
        let mut command = Command::new(env!("CARGO"));
        clean(command.stdin(Stdio::null()));
        let own = |variable: &str, folder: &str| {
            env::var_os(variable).or_else(|| Some(Path::new(&env::var_os("HOME")?).join(folder).into()))
        };
        for (variable, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
            command.envs(own(variable, folder).map(|place| (variable, place)));
        }
        let path = env::var_os("PATH").unwrap_or_default();
        let path: Vec<PathBuf> =
            [self.0.path().join("bin")].into_iter().chain(env::split_paths(&path)).collect();
        command.env("HOME", self.0.path()).env("PATH", env::join_paths(path).unwrap());
        command.env_remove("XDG_DATA_HOME").env_remove("XDG_CACHE_HOME").env_remove("CARGO_MAKEFLAGS");
        command
    }

    /// `cargo weighbridge`.
    fn tool(&self) -> Command {
        let mut command = self.cargo();
        command.arg("weighbridge");
        command
    }
}

/// Returns whether a command does something without the name of one below it.
fn acts(command: &&ListedCommand) -> bool {
    let usage = command.help.lines().find(|line| line.starts_with("Usage: ")).expect("a usage");
    !usage.ends_with(" <COMMAND>")
}

/// The file of the newest run.
fn newest_run() -> PathBuf {
    let runs = fs::read_dir(Repository::data().join("runs")).unwrap();
    let newest = runs.map(|run| run.unwrap().path()).max().expect("there is a run");
    newest.join("run.json")
}

#[test]
fn every_command_of_the_installed_tool_works_in_a_strangers_workspace() {
    let repository = Repository::new();
    repository.write("notes.txt", "before\n");
    repository.commit("before");
    repository.write("src/lib.rs", PLANTED);
    repository.write("mine.toml", "name = 'mine'\n\n[[benchmarks]]\nscenario = 'WORK-1'\n");
    for folder in ["runs", "baselines", "duels", "backfill"] {
        drop(fs::remove_dir_all(Repository::data().join(folder)));
    }

    let home = Home::with_the_tool();
    for (factor, more) in [("1", &["--save-baseline", "main"][..]), ("3", &[])] {
        let mut bench = home.cargo();
        bench.args(["bench", "--quiet", "--", "--no-lock", "--repeats", "7", "--measurement-time", "0.002"]);
        let ran = ProcessEnd::of(repository.within(bench.args(more)).env("WORKER_FACTOR", factor));
        assert_eq!(ran.code, Some(0), "{}", ran.all());
    }

    for Trial { line, exits, says } in TRIALS {
        let short = if MEASURES.iter().any(|words| line.starts_with(words)) { SHORT } else { "" };
        let words = format!("{line}{short}");
        let words = words.split(' ').map(|word| match word {
            "RUN" => newest_run().into_os_string(),
            word => OsString::from(word),
        });
        let ran = ProcessEnd::of(repository.within(home.tool().args(words)));
        assert!(ran.code.is_some_and(|code| exits.contains(&code)), "{line}: {}", ran.all());
        assert!(ran.all().contains(says), "{line} says nothing of `{says}`: {}", ran.all());
    }

    let listed = ListedCommand::all(&|| home.tool());
    for words in listed.iter().filter(acts).map(|command| command.words.join(" ")) {
        let tries = |trial: &Trial| trial.line == words || trial.line.starts_with(&format!("{words} "));
        assert!(TRIALS.iter().any(tries), "nothing here tries `cargo weighbridge {words}`");
    }
}
