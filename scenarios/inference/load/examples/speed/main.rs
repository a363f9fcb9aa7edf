//! The load client against the mock server on loopback: its speed beside a bare loop over hyper, and how
//! far its times are off those that the server stamped.
//!
//! `cargo run --release -p weighbridge-load --example speed` prints both; `-- SECONDS` sets the time of each
//! measurement.

mod bare;
mod rates;
mod speed;
mod truth;

use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(3.0);
    let length = Duration::from_secs_f64(seconds);
    speed::run(length, 5)?;
    truth::run(length, &[1, 10, 100, 1000])?;
    rates::run(length, &[100.0, 1_000.0, 10_000.0, 30_000.0])?;
    Ok(())
}
