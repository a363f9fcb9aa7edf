//! Duels of this program with itself: how soon they see a slowdown, and what a gate of many cases takes.

use std::time::Instant;

use weighbridge::data::{Comparison, Verdict};
use weighbridge::prelude::*;

use crate::Result;
use crate::role::Role;
use crate::table::{median, print as print_table, time};

/// Each slowdown is looked for this often.
const ROUNDS: usize = 3;

/// What is planted, and the seconds of measuring that the first verdict on it is to take at most.
const PLANTED: [(f64, f64); 2] = [(0.02, 4.0), (0.10, 2.5)];

/// A chain of multiplications of about a microsecond.
#[scenario(id = "MICRO-1", category = "Overhead")]
fn micro(bencher: &mut Bencher) {
    chain(bencher, 1000);
}

/// Forty chains of 30 ns to a microsecond.
#[scenario(id = "GATE-1", category = "Overhead")]
fn gate(
    bencher: &mut Bencher,
    #[sweep(0, 1, 2, 3)] tens: u64,
    #[sweep(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)] ones: u64,
) {
    chain(bencher, 25 * (10 * tens + ones + 1));
}

fn chain(bencher: &mut Bencher, links: u64) {
    let mut state = bencher.seed() | 1;
    bencher.iter(|| {
        for _ in 0..links {
            state = state.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17);
        }
        state
    });
}

/// Prints the seconds of measuring until the first verdict on a slowdown of a microsecond.
pub fn print_first_verdicts() -> Result<()> {
    println!("until the first verdict on a slower body of 1 us, its confirmation apart; median of {ROUNDS}");
    let mut rows = Vec::new();
    for (share, limit) in PLANTED {
        let mut seconds = Vec::new();
        let mut said = Vec::new();
        for _ in 0..ROUNDS {
            let comparison = duel(&["--scenario", "MICRO-1", "--inject", &share.to_string()])?;
            let row = comparison.rows.first().ok_or("the duel has no row")?;
            seconds.push(row.rounds.as_ref().ok_or("the duel has no rounds")?.seconds * 1e9);
            said.push(row.verdict.name());
        }
        let most = seconds.iter().copied().fold(0.0, f64::max);
        rows.push(vec![
            format!("+{:.0} %, to be under {limit} s", share * 100.0),
            time(median(&seconds)),
            time(most),
            said.join(", "),
        ]);
    }
    print_table(&["", "median", "longest", "verdicts"], &rows);
    Ok(())
}

/// Prints what a gate of forty micro cases takes where nothing changed; `param` leaves some of them out.
pub fn print_gate(param: Option<&str>) -> Result<()> {
    let mut arguments = vec!["--scenario", "GATE-1"];
    arguments.extend(param.map_or(&["--param", "tens=all", "--param", "ones=all"][..], |_| &["--param"]));
    arguments.extend(param);
    let begun = Instant::now();
    let comparison = duel(&arguments)?;
    let took = begun.elapsed().as_nanos() as f64;
    let count =
        |wanted: fn(&Verdict) -> bool| comparison.rows.iter().filter(|row| wanted(&row.verdict)).count();
    println!(
        "a gate of {} micro cases against the same program (to be under 4 min for 40)",
        comparison.rows.len()
    );
    let row = vec![
        time(took),
        count(|verdict| *verdict == Verdict::Unchanged).to_string(),
        count(|verdict| matches!(verdict, Verdict::Inconclusive(_))).to_string(),
        count(|verdict| *verdict == Verdict::Regressed).to_string(),
        count(|verdict| *verdict == Verdict::Improved).to_string(),
    ];
    print_table(&["took", "unchanged", "inconclusive", "regressed", "improved"], &[row]);
    Ok(())
}

/// Has this program measure some of its cases in turns with itself.
fn duel(arguments: &[&str]) -> Result<Comparison> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("comparison.json");
    let mut command = Role::Weighbridge.command()?;
    command.args(["--bench", "--no-lock", "--quiet"]).args(arguments);
    command.arg("--data").arg(directory.path().join("data"));
    command.arg("--versus").arg(std::env::current_exe()?).arg("--comparison").arg(&file);
    // A verdict other than Unchanged is another exit code than 0; without a file it was no verdict.
    let ran = command.output()?;
    let text = std::fs::read(&file).map_err(|error| {
        format!("no comparison was written ({error}): {}", String::from_utf8_lossy(&ran.stderr).trim_end())
    })?;
    Ok(serde_json::from_slice(&text)?)
}
