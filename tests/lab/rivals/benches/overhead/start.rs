//! Wall time from the start of a process to what it is for.

use crate::bodies::now;
use crate::role::Role;
use crate::table::{median, print as print_table, time};
use crate::{Result, criterion_side, divan_side, weighbridge_side};

/// Each harness starts this often, in turn.
const ROUNDS: usize = 3;

/// Tango is not among them: it does not tell how many calls it measured.
const WHO: [Role; 3] = [Role::Weighbridge, Role::Criterion, Role::Divan];

/// Prints, for each harness with its own settings, the time from the start of a bench target to its first
/// iteration and to the first iteration that is measured.
pub fn print() -> Result<()> {
    let mut seen = WHO.map(|role| (role, Vec::new(), Vec::new()));
    for _ in 0..ROUNDS {
        for (role, firsts, samples) in &mut seen {
            let (first, sample) = one(*role)?;
            firsts.push(first);
            samples.push(sample);
        }
    }
    println!("from the start of a bench target, its harness's own settings; median of {ROUNDS}");
    let ours = median(&seen[0].2);
    let rows = seen.iter().map(|(role, firsts, samples)| {
        let sample = median(samples);
        let ratio = format!("{:.2}", sample / ours);
        vec![role.name().to_owned(), time(median(firsts)), time(sample), ratio]
    });
    print_table(&["", "first iteration", "first sample", "ratio"], &rows.collect::<Vec<_>>());
    Ok(())
}

fn one(role: Role) -> Result<(f64, f64)> {
    let directory = tempfile::tempdir()?;
    let launched = now();
    let measured = match role {
        Role::Weighbridge => weighbridge_side::run_start(directory.path())?,
        Role::Criterion => criterion_side::run_start(directory.path())?,
        Role::Divan => divan_side::run_start(directory.path())?,
        Role::Tango => return Err("tango does not tell how many calls it measured".into()),
    };
    // One list of calls for each process; the last calls of the first that made enough are those that were
    // measured.
    let mut processes: Vec<Vec<u64>> = Vec::new();
    for entry in directory.path().read_dir()? {
        let lines = std::fs::read_to_string(entry?.path())?;
        processes.push(lines.lines().map(str::parse).collect::<std::result::Result<_, _>>()?);
    }
    processes.sort();
    let first = processes.first().ok_or("no call was noted")?[0];
    let measuring = processes.iter().find(|calls| measured > 0 && calls.len() >= measured);
    let calls = measuring.ok_or("fewer calls were noted than measured")?;
    let sample = calls[calls.len() - measured];
    Ok(((first - launched) as f64, (sample - launched) as f64))
}

/// Prints what a repeat costs before it measures.
pub fn print_repeats(starts: &[f64]) {
    println!("from the start of a repeat's process to its first iteration (to be under 10 ms)");
    let most = starts.iter().copied().fold(0.0, f64::max);
    let row = vec![format!("{} repeats", starts.len()), time(median(starts)), time(most)];
    print_table(&["", "median", "longest"], &[row]);
}
