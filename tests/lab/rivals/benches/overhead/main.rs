//! What the harness itself costs, beside criterion, divan and tango in one run.
//!
//! `cargo bench --manifest-path tests/lab/Cargo.toml --bench overhead` prints the tables behind
//! `docs/overhead.md` in about three minutes; `... -- --build-cost` builds three minimal crates instead, in
//! about four, and `... -- --gate` compares forty micro cases with themselves (`--gate --param ones=0` those
//! of one column). `--only PART` prints one part: `reported`, `start`, `listing`, `analysis`, `records` or
//! `duels`.
//!
//! The program runs itself again as a bench target of each harness; [`role`] tells it which one it is to be.

mod analysis;
mod bodies;
mod build_cost;
mod criterion_side;
mod divan_side;
mod duels;
mod listing;
mod machine;
mod records;
mod reported;
mod role;
mod start;
mod table;
mod tango_side;
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
        Some(Role::Tango) => return tango_side::main(),
        None => {
            if let Err(error) = measure() {
                eprintln!("overhead: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

/// A part of the table: its name, and what measures and prints it.
type Part = (&'static str, fn() -> Result<()>);

fn measure() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let after = |flag: &str| {
        let at = arguments.iter().position(|argument| argument == flag)?;
        arguments.get(at + 1).map(String::as_str)
    };
    if !has("--bench") {
        return Ok(()); // `cargo test --benches`: there is nothing to try out
    }
    println!("machine: {}\n", machine::line());
    if has("--build-cost") {
        return build_cost::print();
    }
    if has("--gate") {
        return duels::print_gate(after("--param"));
    }
    let parts: [Part; 6] = [
        ("reported", reported::print),
        ("start", start::print),
        ("listing", listing::print),
        ("analysis", analysis::print),
        ("records", records::print),
        ("duels", duels::print_first_verdicts),
    ];
    let only = after("--only");
    if let Some(unknown) = only.filter(|only| parts.iter().all(|(name, _)| name != only)) {
        return Err(format!("there is no part `{unknown}`").into());
    }
    parts
        .into_iter()
        .filter(|(name, _)| only.is_none_or(|only| only == *name))
        .try_for_each(|(_, print)| print())
}
