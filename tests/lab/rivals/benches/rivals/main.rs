//! How often harnesses call a program changed that was not, on the bodies of `benches/demonstration.rs`.
//!
//! `cargo bench --manifest-path tests/lab/Cargo.toml --bench rivals -- --passes 5` has each of them compare
//! the eight bodies five times with themselves, in turns, and prints how many cases each called changed:
//! forty comparisons for a harness, in ten to fifteen minutes. `--only NAME` leaves out all whose name begins
//! otherwise. `--plant 2` makes two of the bodies 2 % slower on one side and compares only those: what is
//! called slower then was found.
//!
//! The program runs itself as a bench target of each harness; [`role`] tells it which one it is to be.

#[path = "../demonstration/bodies.rs"]
mod bodies;
mod cases;
mod contest;
mod criterion_side;
mod divan_side;
#[path = "../overhead/machine.rs"]
mod machine;
#[path = "../overhead/role.rs"]
mod role;
#[path = "../demonstration/scenarios.rs"]
mod scenarios;
#[path = "../overhead/table.rs"]
mod table;
mod tango_side;
mod task;
mod weighbridge_side;

use std::process::ExitCode;

use role::Role;

/// Whatever went wrong; this program only tells it.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    match Role::of_this_process() {
        Some(Role::Weighbridge) => weighbridge_side::main(),
        Some(Role::Criterion) => {
            criterion_side::main();
            ExitCode::SUCCESS
        }
        Some(Role::Divan) => {
            divan_side::main();
            ExitCode::SUCCESS
        }
        Some(Role::Tango) => tango_side::main(),
        None => match measure() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("rivals: {error}");
                ExitCode::FAILURE
            }
        },
    }
}

fn measure() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    if !arguments.iter().any(|argument| argument == "--bench") {
        return Ok(()); // `cargo test --benches`: there is nothing to try out
    }
    let after = |flag: &str| {
        let at = arguments.iter().position(|argument| argument == flag)?;
        arguments.get(at + 1)
    };
    let passes = after("--passes").map_or(Ok(5), |passes| passes.parse())?;
    let plant = after("--plant").map(|percent| percent.parse()).transpose()?;
    println!("machine: {}\n", machine::line());
    contest::contest(passes, plant, after("--only").map_or("", String::as_str))
}
