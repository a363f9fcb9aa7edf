//! `ci`: what continuous integration does, and nothing more. It says each command before it runs it.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::statvfs::statvfs;
use nix::sys::time::{TimeVal, TimeValLike};
use weighbridge::data::Layout;

use crate::cli::{Ci, CompareBaseline, ComparisonFormat, Inconclusive, Lies, Lock, Storm};
use crate::compare_baseline;
use crate::fresh::Fresh;
use crate::lies;
use crate::lock;
use crate::peers;
use crate::place::Place;
use crate::said::Said;
use crate::skipped::{self, Skipped};
use crate::stop;
use crate::storm;
use weighbridge::data::Exit;

/// The baseline that the steps make and judge by.
const NAME: &str = "ci";
/// Wide, since this tests the plumbing on a shared machine and not the verdict: twice the time is far beyond
/// it.
const WIDE: f64 = 0.5;

/// One step.
struct CiStep {
    name: &'static str,
    does: StepAction,
}

/// What a step does.
enum StepAction {
    /// Runs cargo with these arguments and variables; it must succeed.
    Cargo(Vec<String>, Vec<(&'static str, &'static str)>),
    /// The same as somebody runs it who came a minute ago: in a fresh clone, with an empty cache of cargo. The two commands
    /// of the README are run so.
    Fresh(Vec<String>),
    /// Runs cargo with these arguments and variables in the work tree, over the data sets that the last `Fresh` has made: with
    /// other files a loader of files was 41 % slower once, which is nothing of the code.
    Again(Vec<String>, Vec<(&'static str, &'static str)>),
    /// Judges the latest run; it must end so.
    Judge(Exit),
    /// Checks the committed list of ids, where there is one.
    Lock,
    /// Sees that one lie of each class is found out, where there is a crate of lies.
    Lies,
    /// Breaks off runs and damages records, one fault of thirteen, where there is the crate for it.
    Storm,
    /// Installs and checks the light Python frameworks, where they can be had in time.
    Peers,
}

pub(crate) fn run(args: &Ci, place: &Place) -> Result<Said> {
    // Apart from the runs of people: the last one here is slowed down on purpose.
    let layout = Layout::new(place.layout.data().join("ci")).with_workspace(&place.root);
    let place = &Place { layout, ..place.clone() };
    let skipped = place.layout.data().join("skipped-tests");
    let all = steps(place);
    for skip in &args.skip {
        if !all.iter().any(|step| step.name == skip) {
            return Err(stop::unknown("step", skip, all.iter().map(|step| step.name)));
        }
    }
    let steps = all.into_iter().filter(|step| !args.skip.iter().any(|skip| skip == step.name));
    let mut plan = String::new();
    if !args.dry_run {
        skipped::begin(&skipped)?;
    }
    let mut left_out = String::new();
    for step in steps {
        let command = step.shown(place);
        if args.dry_run {
            writeln!(plan, "{:10}$ {command}", step.name).expect("a String takes all that is written");
            continue;
        }
        eprintln!("{:10}$ {command}", step.name);
        let (started, cpu) = (Instant::now(), cpu_time());
        let taken = step.take(place, &skipped)?;
        let (elapsed, cpu) = (started.elapsed().as_secs(), cpu_time().saturating_sub(cpu).as_secs());
        eprintln!("{:10}took {elapsed} s, {cpu} s of CPU time{}", step.name, room(&place.root));
        match taken {
            CiOutcome::Passed => {}
            CiOutcome::LeftOut(why) => {
                writeln!(left_out, "left out: step `{}`: {why}", step.name)
                    .expect("a String takes all that is written");
            }
            CiOutcome::Failed(why) => return Ok(failed(format!("error: step `{}` {why}", step.name))),
        }
    }
    if args.dry_run {
        return Ok(Said::fine(plan));
    }
    Ok(end(&left_out, &skipped::read(&skipped)?, &args.must_run))
}

/// CPU time of all processes that were started here and have ended, and of those that they waited for: on a machine that others
/// use as well it says more of a step than the time that has passed.
fn cpu_time() -> Duration {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else { return Duration::ZERO };
    let of = |time: TimeVal| Duration::from_micros(time.num_microseconds().unsigned_abs());
    of(usage.user_time()) + of(usage.system_time())
}

/// How much the disk of a folder can still take, as the end of a line: what a step has built stays for those after it.
fn room(folder: &Path) -> String {
    let Ok(disk) = statvfs(folder) else { return String::new() };
    let left = disk.blocks_available() as f64 * disk.fragment_size() as f64;
    format!("; {:.1} GB left on the disk", left / 1e9)
}

/// What is said when every step was taken: what was left out, and which tests were skipped. One that was skipped for want of
/// something that this machine is to have is a failure.
fn end(left_out: &str, skipped: &[Skipped], must_run: &[String]) -> Said {
    let count = format!("skipped: {} test{}\n", skipped.len(), if skipped.len() == 1 { "" } else { "s" });
    let listed: String = skipped.iter().map(|test| format!("  {}: {}\n", test.name, test.why)).collect();
    let text = format!("{left_out}{count}{listed}");
    let owed: Vec<&str> =
        skipped.iter().filter(|test| must_run.contains(&test.need)).map(|test| &*test.name).collect();
    if owed.is_empty() {
        return Said::fine(format!("ci: all steps passed\n{text}"));
    }
    let why = format!("error: these tests were skipped, and are to run here: {}", owed.join(", "));
    Said { text, ..failed(why) }
}

fn failed(why: String) -> Said {
    Said { text: String::new(), remarks: vec![why], exit: Exit::Unexpected }
}

fn steps(place: &Place) -> Vec<CiStep> {
    let cargo = |name, line: &str, variables: &[(&'static str, &'static str)]| {
        let words = line.split(' ').map(str::to_owned).collect();
        CiStep { name, does: StepAction::Cargo(words, variables.to_vec()) }
    };
    let bench = |name, line: &str, variables: &[(&'static str, &'static str)]| {
        let mut step = cargo(name, line, variables);
        if let StepAction::Cargo(words, _) = &mut step.does {
            words.extend(["--data".to_owned(), place.layout.data().display().to_string()]);
        }
        step
    };
    // Whatever the tests and the bench targets ask cargo for, and whatever they read, they do it here.
    let fresh = |step: CiStep| match step.does {
        StepAction::Cargo(words, _) => CiStep { does: StepAction::Fresh(words), ..step },
        _ => step,
    };
    let again = |step: CiStep| match step.does {
        StepAction::Cargo(words, variables) => CiStep { does: StepAction::Again(words, variables), ..step },
        _ => step,
    };
    let judge = |name, end| CiStep { name, does: StepAction::Judge(end) };
    let all = [
        fresh(cargo("test", "test --workspace", &[])),
        // Apart, since the feature would be on for the whole workspace, where its absence is tested.
        cargo("tokio", "test --package weighbridge --features tokio --test tokio", &[]),
        // All at once, so that nothing is built for each of them. `burn` is one more loader, learner and trainer, and `candle` one more
        // trainer, for what goes through all of them. `cuda` is on the fake driver: no device and no toolkit is needed.
        cargo(
            "features",
            "test --package weighbridge-suite --package weighbridge --package weighbridge-scenarios --features burn,candle,cuda,zstd --lib \
             --test smoke --test conformance --test gpu --test device_conformance --test fake_symbols --test cuda_loader",
            &[],
        ),
        cargo("features", "test --package weighbridge --features nvml,criterion --doc", &[]),
        // Apart, since without it another error is tested.
        cargo("features", "test --package weighbridge-xtask --features remote --lib baseline_path", &[]),
        cargo("fmt", "fmt --all --check", &[]),
        cargo(
            "clippy",
            "clippy --workspace --all-targets --features burn,candle,cuda,zstd -- -D warnings",
            &[],
        ),
        // What stands in for a feature is compiled without it alone.
        cargo("clippy", "clippy --workspace --all-targets -- -D warnings", &[]),
        // What pages name and nothing else compiles.
        cargo(
            "clippy",
            "clippy --package weighbridge-suite --benches --features overhead,originals,demonstration,roofline -- -D warnings",
            &[],
        ),
        // The suite has both or neither.
        cargo("clippy", "clippy --package weighbridge --features cuda -- -D warnings", &[]),
        cargo(
            "clippy",
            "clippy --package weighbridge-xtask --all-targets --features remote -- -D warnings",
            &[],
        ),
        cargo("doc", "doc --workspace --no-deps", &[("RUSTDOCFLAGS", "-D warnings")]),
        cargo(
            "doc",
            "doc --workspace --no-deps --features burn,candle,cuda,zstd",
            &[("RUSTDOCFLAGS", "-D warnings")],
        ),
        CiStep { name: "lock", does: StepAction::Lock },
        fresh(bench("bench", &format!("bench -- --quick --repeats 6 --save-baseline {NAME}"), &[])),
        again(bench("bench", "bench -- --quick --repeats 6", &[])),
        judge("bench", Exit::Fine),
        again(bench("slowdown", "bench -- --quick --repeats 6", &[("WEIGHBRIDGE_SLOWDOWN", "2")])),
        judge("slowdown", Exit::Regressed),
        CiStep { name: "lies", does: StepAction::Lies },
        CiStep { name: "storm", does: StepAction::Storm },
        CiStep { name: "peers", does: StepAction::Peers },
    ];
    let (has_lock, has_lies) = (lock::path(place).exists(), lies::folder(place).exists());
    let has_storm = storm::folder(place).exists();
    let is_there = |step: &CiStep| match step.does {
        StepAction::Lock => has_lock,
        StepAction::Lies => has_lies,
        StepAction::Storm => has_storm,
        _ => true,
    };
    all.into_iter().filter(is_there).collect()
}

impl CiStep {
    /// The command as one would type it.
    fn shown(&self, place: &Place) -> String {
        match &self.does {
            StepAction::Cargo(words, variables) | StepAction::Again(words, variables) => {
                let quoted =
                    |value: &str| if value.contains(' ') { format!("'{value}'") } else { value.to_owned() };
                let variables = variables.iter().map(|(name, value)| format!("{name}={} ", quoted(value)));
                let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
                let over = if matches!(self.does, StepAction::Again(..)) { "  # over the same data" } else { "" };
                format!("{}cargo {}{over}", variables.collect::<String>(), words.join(" "))
            }
            StepAction::Fresh(words) => {
                format!("cargo {}  # in a fresh clone, with an empty cache of cargo", words.join(" "))
            }
            StepAction::Lock => "cargo xtask lock --check".to_owned(),
            StepAction::Lies => "cargo xtask lies --variant-per-class".to_owned(),
            StepAction::Storm => "cargo xtask storm --small".to_owned(),
            StepAction::Peers => "cargo xtask peers install numpy grain spdl deeplake lance, ruff, pytest, \
                            cargo xtask peers check, cargo test of what must not see them  # in five minutes, else left out"
                .to_owned(),
            StepAction::Judge(end) => format!(
                "cargo xtask compare-baseline {NAME} --threshold {}% --inconclusive=pass --data {}  \
                 # exits {}",
                WIDE * 100.0,
                place.layout.data().display(),
                end.code()
            ),
        }
    }

    /// Takes the step. Tests that are skipped are written into a file.
    fn take(&self, place: &Place, skipped: &Path) -> Result<CiOutcome> {
        let cargo = || PathBuf::from(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        let run = |mut command: Command| -> Result<CiOutcome> {
            let status = command.env(skipped::FILE, skipped).status().context("failed to start cargo")?;
            Ok(if status.success() {
                CiOutcome::Passed
            } else {
                CiOutcome::Failed(format!("failed: {status}"))
            })
        };
        Ok(match &self.does {
            StepAction::Cargo(words, variables) | StepAction::Again(words, variables) => {
                let mut command = Command::new(cargo());
                command.current_dir(&place.root).args(words).envs(variables.iter().copied());
                if let StepAction::Again(..) = self.does {
                    Fresh::last(place)?.as_their_user(&mut command);
                }
                run(command)?
            }
            StepAction::Fresh(words) => run(Fresh::make(place)?.command(&cargo(), words)?)?,
            StepAction::Lock => {
                let said = lock::run(&Lock { check: true }, place)?;
                said.print();
                passed_if(said.exit == Exit::Fine, "found ids missing")
            }
            StepAction::Lies => {
                let said = lies::run(&Lies { class: None, variant_per_class: true }, place)?;
                said.print();
                passed_if(said.exit == Exit::Fine, "found a lie ranked, or an honest twin that is not")
            }
            StepAction::Storm => {
                let said = storm::run(&Storm::SMALL, place)?;
                said.print();
                passed_if(said.exit == Exit::Fine, "lost something, left something behind or panicked")
            }
            StepAction::Peers => peers::light(place)?,
            StepAction::Judge(end) => {
                let said = compare_baseline::run(&judging(), place)?;
                said.print();
                let ended = format!("should end with {} and ended with {}", end.code(), said.exit.code());
                passed_if(said.exit == *end, &ended)
            }
        })
    }
}

/// How a step ended.
#[derive(Debug)]
pub(crate) enum CiOutcome {
    Passed,
    /// What it needs of the machine is not there, and why that is no failure.
    LeftOut(String),
    /// What it did, as the end of a sentence.
    Failed(String),
}

pub(crate) fn passed_if(holds: bool, else_it: &str) -> CiOutcome {
    if holds { CiOutcome::Passed } else { CiOutcome::Failed(else_it.to_owned()) }
}

fn judging() -> CompareBaseline {
    CompareBaseline {
        name: Some(NAME.to_owned()),
        rebuild: None,
        program: None,
        bench_args: Vec::new(),
        run: None,
        threshold: Some(WIDE),
        inconclusive: Some(Inconclusive::Pass),
        markdown: None,
        format: ComparisonFormat::Table,
        suite: None,
        allow_different_machine: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::home;

    /// A dry run without a step.
    fn asked(skip: &str) -> Ci {
        Ci { dry_run: true, skip: vec![skip.to_owned()], must_run: Vec::new() }
    }

    #[test]
    fn a_dry_run_says_every_step() {
        let home = home();
        std::fs::write(lock::path(&home.place), "").expect("writable");
        for folder in [lies::folder(&home.place), storm::folder(&home.place)] {
            std::fs::create_dir_all(folder).expect("writable");
        }
        let said = run(&asked("fmt"), &home.place).expect("nothing is run");
        let data = home.place.layout.data().join("ci");
        let data = data.display();
        let expected = format!(
            "test      $ cargo test --workspace  # in a fresh clone, with an empty cache of cargo\n\
             tokio     $ cargo test --package weighbridge --features tokio --test tokio\n\
             features  $ cargo test --package weighbridge-suite --package weighbridge --package weighbridge-scenarios \
             --features burn,candle,cuda,zstd --lib --test smoke --test conformance --test gpu --test device_conformance --test \
             fake_symbols --test cuda_loader\n\
             features  $ cargo test --package weighbridge --features nvml,criterion --doc\n\
             features  $ cargo test --package weighbridge-xtask --features remote --lib baseline_path\n\
             clippy    $ cargo clippy --workspace --all-targets --features burn,candle,cuda,zstd -- -D warnings\n\
             clippy    $ cargo clippy --workspace --all-targets -- -D warnings\n\
             clippy    $ cargo clippy --package weighbridge-suite --benches --features overhead,originals,demonstration,roofline \
             -- -D warnings\n\
             clippy    $ cargo clippy --package weighbridge --features cuda -- -D warnings\n\
             clippy    $ cargo clippy --package weighbridge-xtask --all-targets --features remote -- -D warnings\n\
             doc       $ RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps\n\
             doc       $ RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --features burn,candle,cuda,zstd\n\
             lock      $ cargo xtask lock --check\n\
             bench     $ cargo bench -- --quick --repeats 6 --save-baseline ci --data {data}  \
             # in a fresh clone, with an empty cache of cargo\n\
             bench     $ cargo bench -- --quick --repeats 6 --data {data}  # over the same data\n\
             bench     $ cargo xtask compare-baseline ci --threshold 50% --inconclusive=pass --data \
             {data}  # exits 0\n\
             slowdown  $ WEIGHBRIDGE_SLOWDOWN=2 cargo bench -- --quick --repeats 6 --data {data}  \
             # over the same data\n\
             slowdown  $ cargo xtask compare-baseline ci --threshold 50% --inconclusive=pass --data \
             {data}  # exits 3\n\
             lies      $ cargo xtask lies --variant-per-class\n\
             storm     $ cargo xtask storm --small\n\
             peers     $ cargo xtask peers install numpy grain spdl deeplake lance, ruff, pytest, cargo xtask \
             peers check, cargo test of what must not see them  # in five minutes, else left out\n"
        );
        assert_eq!(said.text, expected);
    }

    #[test]
    fn an_unknown_step_gets_the_nearest() {
        let said = run(&asked("clipy"), &home().place).expect_err("misspelt").to_string();
        assert_eq!(said, "there is no step `clipy`: did you mean `clippy`?");
    }

    #[test]
    fn the_end_names_what_was_skipped_and_fails_for_what_this_machine_is_to_have() {
        let test = |name: &str, need: &str| Skipped {
            need: need.to_owned(),
            name: name.to_owned(),
            why: format!("there is no `{need}`"),
        };
        assert_eq!(end("", &[], &["python3".to_owned()]).text, "ci: all steps passed\nskipped: 0 tests\n");
        let both = [test("workers::a_b", "python3"), test("nextest::c_d", "nextest")];
        let list = "skipped: 2 tests\n  workers::a_b: there is no `python3`\n  nextest::c_d: there is no `nextest`\n";
        let said = end("left out: step `peers`: no `uv`\n", &both, &[]);
        assert_eq!(said.text, format!("ci: all steps passed\nleft out: step `peers`: no `uv`\n{list}"));
        assert_eq!(said.exit, Exit::Fine);
        let said = end("", &both, &["mount".to_owned(), "python3".to_owned()]);
        assert_eq!((said.exit, &*said.text), (Exit::Unexpected, list));
        assert_eq!(said.remarks, ["error: these tests were skipped, and are to run here: workers::a_b"]);
    }
}
