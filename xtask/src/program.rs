//! From a command line to an exit code: what every program of commands does around them.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use weighbridge::data::{Exit, visible_in_line};

use crate::command_output::{CommandOutput, end_of, say};
use crate::stop;

/// The exit codes, as they stand below a help text.
pub const EXITS: &str = "Exit codes: 0 fine, 1 unexpected, 2 usage, 3 regressed, 4 nothing to judge by, \
                         5 inconclusive, \
                         6 a case failed or did not verify.";

/// Reads a command line, program first, hands it to `answer`, prints what that says, and ends with one of the
/// documented exit codes. `name` is what people type for the program: `cargo weighbridge`.
pub fn run<C: Parser>(
    name: &'static str,
    line: impl IntoIterator<Item = impl Into<OsString>>,
    answer: impl FnOnce(C) -> Result<CommandOutput>,
) -> ExitCode {
    let mut line: Vec<OsString> = line.into_iter().map(Into::into).collect();
    // Cargo names a subcommand once more: `cargo-weighbridge weighbridge ...`.
    let subcommand = name.strip_prefix("cargo ").filter(|_| program(&line).starts_with("cargo-"));
    if subcommand.is_some_and(|subcommand| line.get(1).is_some_and(|word| word == subcommand)) {
        line.remove(1);
    }
    let commands = C::command().bin_name(name);
    let typed: Vec<String> = line.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let read = commands.clone().try_get_matches_from(line).and_then(|matches| C::from_arg_matches(&matches));
    let command = match read {
        Ok(typed) => typed,
        Err(error) => return refuse(&error, commands, &typed).into(),
    };
    match answer(command) {
        Ok(said) => said.print().into(),
        Err(error) => {
            say(&format!("error: {}", stop::told(&error)));
            stop::exit(&error).into()
        }
    }
}

/// Prints help that was asked for, or what is wrong with a command line.
fn refuse(error: &clap::Error, commands: clap::Command, typed: &[String]) -> Exit {
    if !error.use_stderr() {
        return end_of(error.print());
    }
    // What was typed stays in its line: the same line is read once more, with that written out.
    let shown = commands.try_get_matches_from(typed.iter().map(|word| visible_in_line(word)));
    say(&shown.err().unwrap_or_else(|| clap::Error::new(error.kind())).render().to_string());
    Exit::Usage
}

/// The name of the program that a command line begins with.
fn program(line: &[OsString]) -> String {
    let name = line.first().and_then(|program| std::path::Path::new(program).file_name());
    name.unwrap_or_default().to_string_lossy().into_owned()
}
