//! `ci`: what continuous integration does, and nothing more. It says each command before it runs it.

use std::fmt::Write;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};
use weighbridge::data::Layout;

use crate::cli::{Ci, CompareBaseline, Format, Inconclusive, Lock};
use crate::compare_baseline;
use crate::lock;
use crate::peers;
use crate::place::Place;
use crate::said::Said;
use crate::stop;
use weighbridge::data::Exit;

/// The baseline that the steps make and judge by.
const NAME: &str = "ci";
/// Wide, since this tests the plumbing on a shared machine and not the verdict: twice the time is far beyond
/// it.
const WIDE: f64 = 0.5;

/// One step.
struct Step {
    name: &'static str,
    does: Does,
}

/// What a step does.
enum Does {
    /// Runs cargo with these arguments and variables; it must succeed.
    Cargo(Vec<String>, Vec<(&'static str, &'static str)>),
    /// Judges the latest run; it must end so.
    Judge(Exit),
    /// Checks the committed list of ids, where there is one.
    Lock,
    /// Installs and checks the light Python frameworks, where they can be had in time.
    Peers,
}

pub(crate) fn run(args: &Ci, place: &Place) -> Result<Said> {
    // Apart from the runs of people: the last one here is slowed down on purpose.
    let layout = Layout::new(place.layout.data().join("ci")).with_workspace(&place.root);
    let place = &Place { layout, ..place.clone() };
    let all = steps(place);
    for skip in &args.skip {
        if !all.iter().any(|step| step.name == skip) {
            return Err(stop::unknown("step", skip, all.iter().map(|step| step.name)));
        }
    }
    let steps = all.into_iter().filter(|step| !args.skip.iter().any(|skip| skip == step.name));
    let mut plan = String::new();
    for step in steps {
        let command = step.shown(place);
        if args.dry_run {
            writeln!(plan, "{:10}$ {command}", step.name).expect("a String takes all that is written");
            continue;
        }
        eprintln!("{:10}$ {command}", step.name);
        let started = Instant::now();
        let taken = step.take(place)?;
        eprintln!("{:10}took {} s", step.name, started.elapsed().as_secs());
        if let Err(why) = taken {
            return Ok(Said {
                text: String::new(),
                remarks: vec![format!("error: step `{}` {why}", step.name)],
                exit: Exit::Unexpected,
            });
        }
    }
    Ok(Said::fine(if args.dry_run { plan } else { "ci: all steps passed\n".to_owned() }))
}

fn steps(place: &Place) -> Vec<Step> {
    let cargo = |name, line: &str, variables: &[(&'static str, &'static str)]| {
        let words = line.split(' ').map(str::to_owned).collect();
        Step { name, does: Does::Cargo(words, variables.to_vec()) }
    };
    let bench = |name, line: &str, variables: &[(&'static str, &'static str)]| {
        let mut step = cargo(name, line, variables);
        if let Does::Cargo(words, _) = &mut step.does {
            words.extend(["--data".to_owned(), place.layout.data().display().to_string()]);
        }
        step
    };
    let judge = |name, end| Step { name, does: Does::Judge(end) };
    let all = [
        cargo("test", "test --workspace", &[]),
        // Apart, since the feature would be on for the whole workspace, where its absence is tested.
        cargo("tokio", "test --package weighbridge --features tokio --test tokio", &[]),
        // About 150 CPU-s of a cold build: under two minutes on two processors.
        cargo("burn", "test --package weighbridge-scenarios --features burn", &[]),
        // On the stand-in driver: no device and no toolkit is needed.
        cargo(
            "cuda",
            "test --package weighbridge-suite --package weighbridge --package weighbridge-scenarios --features cuda --lib \
             --test gpu --test device_conformance --test fake_symbols --test cuda_loader",
            &[],
        ),
        cargo("cuda", "test --package weighbridge --features nvml,criterion --doc", &[]),
        cargo("fmt", "fmt --all --check", &[]),
        cargo("clippy", "clippy --workspace --all-targets --features burn,cuda -- -D warnings", &[]),
        // What stands in for a feature is compiled without it alone.
        cargo("clippy", "clippy --workspace --all-targets -- -D warnings", &[]),
        // The suite has both or neither.
        cargo("clippy", "clippy --package weighbridge --features cuda -- -D warnings", &[]),
        cargo("doc", "doc --workspace --no-deps", &[("RUSTDOCFLAGS", "-D warnings")]),
        cargo("doc", "doc --workspace --no-deps --features burn,cuda", &[("RUSTDOCFLAGS", "-D warnings")]),
        Step { name: "lock", does: Does::Lock },
        bench("bench", &format!("bench -- --quick --repeats 6 --save-baseline {NAME}"), &[]),
        bench("bench", "bench -- --quick --repeats 6", &[]),
        judge("bench", Exit::Fine),
        bench("slowdown", "bench -- --quick --repeats 6", &[("WEIGHBRIDGE_SLOWDOWN", "2")]),
        judge("slowdown", Exit::Regressed),
        Step { name: "peers", does: Does::Peers },
    ];
    let has_lock = lock::path(place).exists();
    all.into_iter().filter(|step| has_lock || !matches!(step.does, Does::Lock)).collect()
}

impl Step {
    /// The command as one would type it.
    fn shown(&self, place: &Place) -> String {
        match &self.does {
            Does::Cargo(words, variables) => {
                let quoted =
                    |value: &str| if value.contains(' ') { format!("'{value}'") } else { value.to_owned() };
                let variables = variables.iter().map(|(name, value)| format!("{name}={} ", quoted(value)));
                let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
                format!("{}cargo {}", variables.collect::<String>(), words.join(" "))
            }
            Does::Lock => "cargo xtask lock --check".to_owned(),
            Does::Peers => "cargo xtask peers install numpy grain webdataset spdl deeplake, ruff, pytest, \
                            cargo xtask peers check  # in five minutes, else skipped"
                .to_owned(),
            Does::Judge(end) => format!(
                "cargo xtask compare-baseline {NAME} --threshold {}% --inconclusive=pass --data {}  \
                 # exits {}",
                WIDE * 100.0,
                place.layout.data().display(),
                end.code()
            ),
        }
    }

    /// Takes the step; the inner error says why it failed.
    fn take(&self, place: &Place) -> Result<Result<(), String>> {
        match &self.does {
            Does::Cargo(words, variables) => {
                let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
                let mut command = Command::new(cargo);
                command.current_dir(&place.root).args(words).envs(variables.iter().copied());
                let status = command.status().context("failed to start cargo")?;
                Ok(if status.success() { Ok(()) } else { Err(format!("failed: {status}")) })
            }
            Does::Lock => {
                let said = lock::run(&Lock { check: true }, place)?;
                said.print();
                Ok(if said.exit == Exit::Fine { Ok(()) } else { Err("found ids missing".to_owned()) })
            }
            Does::Peers => peers::light(place),
            Does::Judge(end) => {
                let said = compare_baseline::run(&judging(), place)?;
                said.print();
                let ended = format!("should end with {} and ended with {}", end.code(), said.exit.code());
                Ok(if said.exit == *end { Ok(()) } else { Err(ended) })
            }
        }
    }
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
        format: Format::Table,
        suite: None,
        allow_different_machine: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::home;

    #[test]
    fn a_dry_run_says_every_step() {
        let home = home();
        std::fs::write(lock::path(&home.place), "").expect("writable");
        let said =
            run(&Ci { dry_run: true, skip: vec!["fmt".to_owned()] }, &home.place).expect("nothing is run");
        let data = home.place.layout.data().join("ci");
        let data = data.display();
        let expected = format!(
            "test      $ cargo test --workspace\n\
             tokio     $ cargo test --package weighbridge --features tokio --test tokio\n\
             burn      $ cargo test --package weighbridge-scenarios --features burn\n\
             cuda      $ cargo test --package weighbridge-suite --package weighbridge --package weighbridge-scenarios \
             --features cuda --lib --test gpu --test device_conformance --test fake_symbols --test cuda_loader\n\
             cuda      $ cargo test --package weighbridge --features nvml,criterion --doc\n\
             clippy    $ cargo clippy --workspace --all-targets --features burn,cuda -- -D warnings\n\
             clippy    $ cargo clippy --workspace --all-targets -- -D warnings\n\
             clippy    $ cargo clippy --package weighbridge --features cuda -- -D warnings\n\
             doc       $ RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps\n\
             doc       $ RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --features burn,cuda\n\
             lock      $ cargo xtask lock --check\n\
             bench     $ cargo bench -- --quick --repeats 6 --save-baseline ci --data {data}\n\
             bench     $ cargo bench -- --quick --repeats 6 --data {data}\n\
             bench     $ cargo xtask compare-baseline ci --threshold 50% --inconclusive=pass --data \
             {data}  # exits 0\n\
             slowdown  $ WEIGHBRIDGE_SLOWDOWN=2 cargo bench -- --quick --repeats 6 --data {data}\n\
             slowdown  $ cargo xtask compare-baseline ci --threshold 50% --inconclusive=pass --data \
             {data}  # exits 3\n\
             peers     $ cargo xtask peers install numpy grain webdataset spdl deeplake, ruff, pytest, cargo xtask \
             peers check  # in five minutes, else skipped\n"
        );
        assert_eq!(said.text, expected);
    }

    #[test]
    fn an_unknown_step_gets_the_nearest() {
        let args = Ci { dry_run: true, skip: vec!["clipy".to_owned()] };
        let said = run(&args, &home().place).expect_err("misspelt").to_string();
        assert_eq!(said, "there is no step `clipy`: did you mean `clippy`?");
    }
}
