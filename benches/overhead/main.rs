//! What the harness itself costs, beside criterion and divan in one run.
//!
//! `cargo bench --features overhead --bench overhead` prints the table of `docs/overhead.md` in about two minutes;
//! `... -- --build-cost` builds three minimal crates instead, in about four.
//!
//! The program runs itself again as a bench target of each harness; [`role`] tells it which one it is to be.

mod bodies;
mod build_cost;
mod criterion_side;
mod divan_side;
mod listing;
mod machine;
mod records;
mod reported;
mod role;
mod start;
mod table;
mod weighbridge_side;

use std::process::ExitCode;

use role::Role;

/// Whatever went wrong; this program only tells it.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    match Role::of_this_process() {
        Some(Role::Weighbridge) => return weighbridge_side::main(),
        Some(Role::Criterion) => criterion_side::main(),
        Some(Role::Divan) => divan_side::main(),
        None => {
            if let Err(error) = measure() {
                eprintln!("overhead: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

fn measure() -> Result<()> {
    let has = |flag: &str| std::env::args().any(|argument| argument == flag);
    if !has("--bench") {
        return Ok(()); // `cargo test --benches`: there is nothing to try out
    }
    println!("machine: {}\n", machine::line());
    if has("--build-cost") {
        return build_cost::print();
    }
    let starts_of_repeats = reported::print()?;
    start::print()?;
    listing::print()?;
    start::print_repeats(&starts_of_repeats);
    records::print()
}
