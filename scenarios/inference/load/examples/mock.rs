//! The mock server by itself, to try the load client with: first token after 50 ms, then one each 10 ms.
//!
//! `cargo run -p weighbridge-load --example mock` prints its URL, and runs until its input ends. With the
//! argument `cache` it answers prompts that it has seen at once, with `queue` it takes one request at a time.

use std::io::Read as _;
use std::time::Duration;

use weighbridge_load::mock::{Behaviour, MockServer};

fn main() -> std::io::Result<()> {
    let server = MockServer::start(Behaviour {
        first: Duration::from_millis(50),
        between: Duration::from_millis(10),
        has_cache: std::env::args().any(|arg| arg == "cache"),
        one_at_a_time: std::env::args().any(|arg| arg == "queue"),
        is_labelled: true,
        is_noted: false,
        ..Behaviour::default()
    })?;
    println!("{}", server.url());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
