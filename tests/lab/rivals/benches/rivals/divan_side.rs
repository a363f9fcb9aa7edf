//! divan, which compares nothing itself: two runs, whose medians differ by more than 5 % or do not.

use divan::{Bencher, Divan};

use crate::Result;
use crate::cases::{PLANT, each_case};
use crate::role::{Role, output};
use crate::task::{ComparedTask, HarnessFigure, Pass};

/// How it is called.
pub const COMMAND: &str = "$B --bench, twice; changed where the medians differ by more than 5 %";

/// How far apart medians are the same.
const APART: f64 = 0.05;

macro_rules! bench {
    ($id:tt, $name:ident, $body:expr) => {
        #[divan::bench(name = $id)]
        fn $name(bencher: Bencher<'_, '_>) {
            bencher.bench_local($body);
        }
    };
}

each_case!(bench);

/// Serves as a bench target.
pub fn main() {
    Divan::from_args().main();
}

/// Two runs, and what their medians say.
pub fn pass(task: &ComparedTask) -> Result<Pass> {
    let run = |plant: &str| {
        let mut command = Role::Divan.command()?;
        output(command.arg("--bench").args(task.cases).env(PLANT, plant))
    };
    let (before, after) = (run("0")?, run(&task.planted())?);
    let said = |case: &&str| -> Result<(String, HarnessFigure)> {
        let (old, new) = (median(&before, case)?, median(&after, case)?);
        let said = match () {
            () if new > old * (1.0 + APART) => HarnessFigure::Slower,
            () if new < old * (1.0 - APART) => HarnessFigure::Faster,
            () => HarnessFigure::Same,
        };
        Ok(((*case).to_owned(), said))
    };
    task.cases.iter().map(said).collect()
}

/// Nanoseconds of the median of a case: the third cell of its row in the printed table.
fn median(table: &str, case: &str) -> Result<f64> {
    let after_name = |line: &'_ str| {
        let (branch, rest) = line.split_once(case)?;
        (branch.ends_with("─ ") && rest.starts_with(' ')).then(|| rest.to_owned())
    };
    let row = table.lines().find_map(after_name);
    let cell = row.as_deref().and_then(|row| row.split('│').nth(2)).map(str::trim);
    let nanoseconds = cell.and_then(|cell| {
        let (number, unit) = cell.split_once(' ')?;
        let scale = match unit {
            "ps" => 1e-3,
            "ns" => 1.0,
            "µs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            _ => return None,
        };
        Some(number.parse::<f64>().ok()? * scale)
    });
    nanoseconds.ok_or_else(|| format!("divan's table has no median of {case}:\n{table}").into())
}
