//! `ci`: what continuous integration does, and nothing more. It says each command before it runs it.

mod peers;
mod skipped;
mod step;

use std::fmt::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::statvfs::statvfs;
use nix::sys::time::{TimeVal, TimeValLike};
use weighbridge::data::Exit;

use crate::cli::Ci;
use crate::output::Output;
use crate::place::Place;
use skipped::SkippedTest;
use step::{CiOutcome, CiStep, StepAction, StepCommand};

/// The names of steps, in their order.
pub(crate) const STEPS: [&str; 14] = [
    "tree", "supply", "test", "features", "lab", "fmt", "clippy", "doc", "lock", "bench", "slowdown", "lies",
    "storm", "peers",
];

/// The baseline that the steps make and judge by.
const NAME: &str = "ci";

/// Wide, since this tests the plumbing on a shared machine and not the verdict: twice the time is far beyond
/// it.
const WIDE: &str = "50%";

/// Features of the product that bring code of their own. That of a device is tried on the fake driver by the
/// laboratory's tests.
const FEATURES: &str = "burn,candle,zstd,weighbridge/criterion,weighbridge/nvml,weighbridge/tokio,\
                        weighbridge-loaders/cuda,weighbridge-criterion/async_tokio,\
                        weighbridge-criterion/async_futures,weighbridge-xtask/remote,\
                        weighbridge-xtask/png,weighbridge-xtask/load-mock,weighbridge-xtask/load-tls";

pub(crate) fn run(args: &Ci, place: &Place) -> Result<Output> {
    // Apart from the runs of people: the last one here is slowed down on purpose.
    let place = &Place { data: place.data.join("ci"), ..place.clone() };
    let skipped = place.data.join("skipped-tests");
    let steps = steps(place).into_iter().filter(|step| !args.skip.iter().any(|skip| skip == step.name));
    if args.dry_run {
        let lines = steps.map(|step| format!("{:10}$ {}\n", step.name, step.shown()));
        return Ok(Output::fine(lines.collect::<String>()));
    }
    skipped::begin(&skipped)?;
    remove(&place.data.join(step::USER))?;
    let mut left_out = String::new();
    let mut times = StepTimes::default();
    for step in steps {
        eprintln!("{:10}$ {}", step.name, step.shown());
        let (started, cpu) = (Instant::now(), cpu_time());
        let taken = step.take(place, &skipped)?;
        let (elapsed, cpu) = (started.elapsed().as_secs(), cpu_time().saturating_sub(cpu).as_secs());
        eprintln!("{:10}took {elapsed} s, {cpu} s of CPU time{}", step.name, room(&place.root));
        times.add(step.name, elapsed);
        match taken {
            CiOutcome::Passed => {}
            CiOutcome::LeftOut(why) => {
                writeln!(left_out, "left out: step `{}`: {why}", step.name)
                    .expect("a String takes all that is written");
            }
            CiOutcome::Failed(why) => {
                eprintln!("{times}");
                return Ok(failed(format!("error: step `{}` {why}", step.name)));
            }
        }
    }
    eprintln!("{times}");
    Ok(end(&left_out, &skipped::read(&skipped)?, &args.must_run))
}

/// Seconds that each step has taken, in the order of their first commands: the last lines of a long output
/// are those that are kept of it.
#[derive(Debug, Default)]
struct StepTimes(Vec<(&'static str, u64)>);

impl StepTimes {
    fn add(&mut self, step: &'static str, seconds: u64) {
        match self.0.iter_mut().find(|(name, _)| *name == step) {
            Some((_, sum)) => *sum += seconds,
            None => self.0.push((step, seconds)),
        }
    }
}

impl fmt::Display for StepTimes {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each: Vec<String> = self.0.iter().map(|(name, seconds)| format!("{name} {seconds}")).collect();
        let all: u64 = self.0.iter().map(|(_, seconds)| seconds).sum();
        write!(to, "seconds: {}; in all {all}", each.join(", "))
    }
}

/// CPU time of all processes that were started here and have ended, and of those that they waited for: on a
/// machine that others use as well it says more of a step than the time that has passed.
fn cpu_time() -> Duration {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else { return Duration::ZERO };
    let of = |time: TimeVal| Duration::from_micros(time.num_microseconds().unsigned_abs());
    of(usage.user_time()) + of(usage.system_time())
}

/// How much the disk of a folder can still take, as the end of a line: what a step has built stays for those
/// after it.
fn room(folder: &Path) -> String {
    let Ok(disk) = statvfs(folder) else { return String::new() };
    let left = disk.blocks_available() as f64 * disk.fragment_size() as f64;
    format!("; {:.1} GB left on the disk", left / 1e9)
}

/// Removes a folder with all that is in it, if it is there.
fn remove(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("failed to remove `{}`", folder.display()))
        }
        _ => Ok(()),
    }
}

/// What is said when every step was taken: what was left out, and which tests were skipped. One that was
/// skipped for want of something that this machine is to have is a failure.
fn end(left_out: &str, skipped: &[SkippedTest], must_run: &[String]) -> Output {
    let count = format!("skipped: {} test{}\n", skipped.len(), if skipped.len() == 1 { "" } else { "s" });
    let listed: String = skipped.iter().map(|test| format!("  {}: {}\n", test.name, test.why)).collect();
    let text = format!("{left_out}{count}{listed}");
    let owed: Vec<&str> =
        skipped.iter().filter(|test| must_run.contains(&test.need)).map(|test| &*test.name).collect();
    if owed.is_empty() {
        return Output::fine(format!("ci: all steps passed\n{text}"));
    }
    let why = format!("error: these tests were skipped, and are to run here: {}", owed.join(", "));
    Output { text, ..failed(why) }
}

fn failed(why: String) -> Output {
    Output { text: String::new(), remarks: vec![why], exit: Exit::Unexpected }
}

fn steps(place: &Place) -> Vec<CiStep> {
    let data = place.data.display().to_string();
    let cargo =
        |name: &'static str, line: &str| CiStep { name, does: StepAction::Command(StepCommand::cargo(line)) };
    let doc = |line: &str| CiStep {
        name: "doc",
        does: StepAction::Command(StepCommand::cargo(line).with("RUSTDOCFLAGS", "-D warnings")),
    };
    // Over data sets that are made here once: with other files a loader of files was 41 % slower once, which
    // is nothing of the code.
    let bench = |name: &'static str, more: &str, slowdown: Option<&'static str>| {
        let command =
            StepCommand::cargo(&format!("bench -- --profile quick --repeats 6{more}")).and(["--data", &data]);
        let command = command.by_a_new_user();
        let command = match slowdown {
            Some(times) => command.with("WEIGHBRIDGE_SLOWDOWN", times),
            None => command,
        };
        CiStep { name, does: StepAction::Command(command) }
    };
    let judge = |name: &'static str, exit: Exit| {
        let line = format!("xtask compare-baseline {NAME} --threshold {WIDE} --inconclusive=pass");
        let command = StepCommand::cargo(&line).and(["--data", &data]).ends_with(exit);
        CiStep { name, does: StepAction::Command(command) }
    };
    let lab = |name: &'static str, line: &str| CiStep {
        name,
        does: StepAction::Command(StepCommand::cargo(&format!("lab {line}"))),
    };
    let features = "--package weighbridge-suite --package weighbridge --package weighbridge-criterion \
                    --package weighbridge-scenarios --package weighbridge-loaders \
                    --package weighbridge-checkpoints --package weighbridge-training \
                    --package weighbridge-xtask --features";
    let lab_manifest = "--manifest-path tests/lab/Cargo.toml";
    vec![
        CiStep { name: "tree", does: StepAction::Tree },
        CiStep { name: "supply", does: StepAction::Supply },
        CiStep {
            name: "test",
            does: StepAction::Command(StepCommand::cargo("test --workspace").by_a_new_user()),
        },
        // All at once, so that nothing is built for each of them: `burn` is one more loader, learner and
        // trainer, and `candle` one more trainer, for what goes through all of them. Apart from `test`, since
        // it is tested too what is said without them.
        cargo(
            "features",
            &format!("test {features} {FEATURES} --lib --test smoke --test conformance --test tokio"),
        ),
        cargo("features", &format!("test {features} {FEATURES} --doc")),
        cargo("lab", &format!("test {lab_manifest} --workspace")),
        cargo("fmt", "fmt --all --check"),
        cargo("fmt", &format!("fmt {lab_manifest} --all --check")),
        cargo("clippy", "clippy --workspace --all-targets -- -D warnings"),
        cargo("clippy", &format!("clippy --workspace --all-targets --features {FEATURES} -- -D warnings")),
        // The suite has both or neither.
        cargo("clippy", "clippy --package weighbridge --features cuda -- -D warnings"),
        cargo("clippy", &format!("clippy {lab_manifest} --workspace --all-targets -- -D warnings")),
        doc("doc --workspace --no-deps"),
        doc(&format!("doc --workspace --no-deps --features {FEATURES}")),
        cargo("lock", "xtask lock --check"),
        bench("bench", &format!(" --save-baseline {NAME}"), None),
        bench("bench", "", None),
        judge("bench", Exit::Fine),
        bench("slowdown", "", Some("2")),
        judge("slowdown", Exit::Regressed),
        lab("lies", "lies --variant-per-class"),
        lab("storm", "storm --small"),
        CiStep { name: "peers", does: StepAction::Peers },
    ]
}

/// Whether the work tree has nothing that a fresh clone lacks, but for what git is told to ignore.
fn tree(root: &Path) -> Result<CiOutcome> {
    let mut git = Command::new("git");
    git.current_dir(root).args(["ls-files", "--others", "--exclude-standard"]).stdin(Stdio::null());
    let listed = git.output().context("failed to start git")?;
    if !listed.status.success() {
        bail!("git failed: {}", String::from_utf8_lossy(&listed.stderr).trim());
    }
    let files = String::from_utf8_lossy(&listed.stdout).lines().collect::<Vec<_>>().join(", ");
    Ok(if files.is_empty() {
        CiOutcome::Passed
    } else {
        CiOutcome::Failed(format!(
            "found files that are not added to git, so that a clone lacks them: {files}"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Place {
        Place { root: "/w".into(), target: "/t".into(), data: "/d".into() }
    }

    fn dry(skip: &[&str]) -> String {
        let skip = skip.iter().map(|step| (*step).to_owned()).collect();
        run(&Ci { dry_run: true, skip, must_run: Vec::new() }, &place()).expect("nothing is run").text
    }

    #[test]
    fn a_dry_run_says_every_step_that_is_not_left_out() {
        let skip = ["test", "features", "clippy", "doc", "peers"];
        let expected = "\
tree      $ git ls-files --others --exclude-standard  # lists nothing
supply    $ cargo deny --config .config/deny.toml check
lab       $ cargo test --manifest-path tests/lab/Cargo.toml --workspace
fmt       $ cargo fmt --all --check
fmt       $ cargo fmt --manifest-path tests/lab/Cargo.toml --all --check
lock      $ cargo xtask lock --check
bench     $ cargo bench -- --profile quick --repeats 6 --save-baseline ci --data /d/ci  # as a new user
bench     $ cargo bench -- --profile quick --repeats 6 --data /d/ci  # as a new user
bench     $ cargo xtask compare-baseline ci --threshold 50% --inconclusive=pass --data /d/ci  # exits 0
slowdown  $ WEIGHBRIDGE_SLOWDOWN=2 cargo bench -- --profile quick --repeats 6 --data /d/ci  # as a new user
slowdown  $ cargo xtask compare-baseline ci --threshold 50% --inconclusive=pass --data /d/ci  # exits 3
lies      $ cargo lab lies --variant-per-class
storm     $ cargo lab storm --small
";
        assert_eq!(dry(&skip), expected);
    }

    #[test]
    fn the_time_of_a_step_is_that_of_all_its_commands() {
        let mut times = StepTimes::default();
        for (step, seconds) in [("fmt", 1), ("lies", 300), ("fmt", 2)] {
            times.add(step, seconds);
        }
        assert_eq!(times.to_string(), "seconds: fmt 3, lies 300; in all 303");
    }

    #[test]
    fn every_step_has_a_name_of_the_list_and_every_name_has_a_step() {
        let all = steps(&place());
        let mut names: Vec<&str> = all.iter().map(|step| step.name).collect();
        names.sort_unstable();
        names.dedup();
        let mut listed = STEPS.to_vec();
        listed.sort_unstable();
        assert_eq!(names, listed);
    }

    #[test]
    fn a_file_that_is_not_added_to_git_is_told() {
        let place = tempfile::tempdir().expect("a folder");
        let root = place.path();
        let made =
            Command::new("git").args(["init", "--quiet"]).current_dir(root).status().expect("git starts");
        assert!(made.success());
        assert!(matches!(tree(root).expect("listed"), CiOutcome::Passed));
        std::fs::write(root.join(".gitignore"), "ignored\n.gitignore\n").expect("writable");
        std::fs::write(root.join("ignored"), "").expect("writable");
        assert!(matches!(tree(root).expect("listed"), CiOutcome::Passed));
        std::fs::write(root.join("forgotten"), "").expect("writable");
        let CiOutcome::Failed(why) = tree(root).expect("listed") else { panic!("it is not told") };
        assert!(why.ends_with(": forgotten"), "{why}");
    }

    #[test]
    fn the_end_names_what_was_skipped_and_fails_for_what_this_machine_is_to_have() {
        let test = |name: &str, need: &str| SkippedTest {
            need: need.to_owned(),
            name: name.to_owned(),
            why: format!("there is no `{need}`"),
        };
        assert_eq!(end("", &[], &["python3".to_owned()]).text, "ci: all steps passed\nskipped: 0 tests\n");
        let both = [test("workers::a_b", "python3"), test("nextest::c_d", "nextest")];
        let list = "skipped: 2 tests\n  workers::a_b: there is no `python3`\n  nextest::c_d: \
                    there is no `nextest`\n";
        let said = end("left out: step `peers`: no `uv`\n", &both, &[]);
        assert_eq!(said.text, format!("ci: all steps passed\nleft out: step `peers`: no `uv`\n{list}"));
        assert_eq!(said.exit, Exit::Fine);
        let said = end("", &both, &["mount".to_owned(), "python3".to_owned()]);
        assert_eq!((said.exit, &*said.text), (Exit::Unexpected, list));
        assert_eq!(said.remarks, ["error: these tests were skipped, and are to run here: workers::a_b"]);
    }
}
