//! The load client against the mock server on loopback: its speed beside a bare loop over hyper, and how
//! far its times are off those that the server stamped.
//!
//! `cargo bench -p weighbridge-load` prints both; `-- SECONDS` sets the time of each measurement.

mod bare;
mod rates;
mod speed;
mod truth;

use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // A bench target without `--bench` is what `cargo test` runs.
    let is_bench = args.iter().any(|arg| arg == "--bench");
    let seconds = args.iter().find_map(|arg| arg.parse().ok()).unwrap_or(3.0);
    let length = Duration::from_secs_f64(if is_bench { seconds } else { 0.05 });
    speed::run(length, if is_bench { 5 } else { 1 })?;
    truth::run(length, if is_bench { &[1, 10, 100, 1000] } else { &[2] })?;
    rates::run(length, if is_bench { &[100.0, 1_000.0, 10_000.0, 30_000.0] } else { &[100.0] })?;
    Ok(())
}
