//! Duels of two mock servers: how often one that is 5 % slower is found, and how often its copy is accused.
//!
//! `cargo run --release -p weighbridge-xtask --features load-mock --example two_servers -- 50` makes 50 tries
//! of each, and prints what came of them. `-- 50 slower` and `-- 50 copy` make those of one kind.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use weighbridge_load::mock::{Behaviour, MockServer};

/// From a request to its answer.
const USUAL: Duration = Duration::from_millis(20);

/// The same of a server that is 5 % slower.
const SLOWER: Duration = Duration::from_millis(21);

/// The load: windows of 200 requests, so that each has a p99. Another process may take a processor away for
/// some milliseconds, which falls on both servers.
const LINE: [&str; 16] = [
    "--users",
    "16",
    "--tokens",
    "1",
    "--words",
    "5",
    "--requests",
    "200",
    "--length",
    "30s",
    "--warm-up",
    "40ms",
    "--target-latency",
    "25ms",
    "--max-delay",
    "1h",
];

fn main() -> ExitCode {
    // This program is the command as well, and its children.
    let is_command = std::env::args().nth(1).is_some_and(|word| word == "load");
    if is_command || std::env::var_os("LOAD_OF_WEIGHBRIDGE").is_some() {
        return weighbridge_xtask::main();
    }
    let tries = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(50);
    let kind = std::env::args().nth(2).unwrap_or_default();
    match run(tries, &kind) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(tries: usize, kind: &str) -> Result<(), Box<dyn std::error::Error>> {
    let data = tempfile::tempdir()?;
    for (name, time) in [("5 % slower", SLOWER), ("a copy", USUAL)] {
        if !name.contains(kind) {
            continue;
        }
        let begun = Instant::now();
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for _ in 0..tries {
            for line in judged(time, data.path())? {
                *counts.entry(line).or_default() += 1;
            }
        }
        println!("{name}, {tries} tries, {:.1} s each:", begun.elapsed().as_secs_f64() / tries as f64);
        for (line, count) in &counts {
            println!("  {count:3} x {line}");
        }
    }
    Ok(())
}

/// The verdict on the server, and those on its metrics, each with its name.
fn judged(time: Duration, data: &Path) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let start = |first| MockServer::start(Behaviour { first, is_noted: false, ..Behaviour::default() });
    let (usual, judged) = (start(USUAL)?, start(time)?);
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["load", &judged.url(), "--versus", &usual.url()]).args(LINE).arg("--data").arg(data);
    let output = command.args(["--", "--no-lock"]).stdin(Stdio::null()).stderr(Stdio::null()).output()?;
    let text = String::from_utf8(output.stdout)?;
    let row = text.lines().find_map(|line| line.strip_prefix("LOAD/16 users/server: "));
    let mut found = vec![format!("server {}", row.unwrap_or("nothing"))];
    let metrics = ["answer_p50", "answer_p99", "ttft_p50", "ttft_p99", "answer_rate", "goodput"];
    for line in text.lines() {
        let mut words = line.split_whitespace();
        if let (Some(metric), Some(verdict)) = (words.next(), words.next())
            && metrics.contains(&metric)
        {
            found.push(format!("{metric} {verdict}"));
        }
    }
    Ok(found)
}
