//! criterion: a run, then another that it holds against the first.

use criterion::Criterion;

use crate::Result;
use crate::cases::{PLANT, each_case};
use crate::role::{Role, output};
use crate::task::{ComparedTask, HarnessFigure, Pass};

/// How it is called.
pub const COMMAND: &str = "$B --bench --noplot --warm-up-time 0.3 --measurement-time 1 \
                           --save-baseline before; the same with --baseline before";

const SETTINGS: [&str; 6] = ["--bench", "--noplot", "--warm-up-time", "0.3", "--measurement-time", "1"];

/// Serves as a bench target.
pub fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    macro_rules! bench {
        ($id:tt, $name:ident, $body:expr) => {
            criterion.bench_function($id, |bencher| bencher.iter($body));
        };
    }
    each_case!(bench);
}

/// Two runs, and its verdict on each case of the second.
pub fn pass(task: &ComparedTask) -> Result<Pass> {
    let home = tempfile::tempdir()?;
    let run = |baseline: &str, plant: &str| -> Result<String> {
        let mut command = Role::Criterion.command()?;
        command.args(SETTINGS).args([baseline, "before"]).arg(task.cases.join("|"));
        output(command.env("CRITERION_HOME", home.path()).env(PLANT, plant))
    };
    run("--save-baseline", "0")?;
    Ok(verdicts(&run("--baseline", &task.planted())?))
}

/// The verdicts in what it prints: each stands below the line with the case and its time.
fn verdicts(printed: &str) -> Pass {
    let mut case = "";
    let mut pass = Pass::new();
    for line in printed.lines() {
        if let Some((name, _)) = line.split_once(" time:") {
            case = name.trim();
        }
        let said = match line.trim() {
            "Performance has regressed." => HarnessFigure::Slower,
            "Performance has improved." => HarnessFigure::Faster,
            "Change within noise threshold." | "No change in performance detected." => HarnessFigure::Same,
            _ => continue,
        };
        pass.push((case.to_owned(), said));
    }
    pass
}
