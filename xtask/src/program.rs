//! From a command line to an exit code: what every program of commands does around them.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use weighbridge::data::{Exit, visible_in_line};

use crate::command_output::{CommandOutput, say};
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
    let read = commands.try_get_matches_from(line).and_then(|matches| C::from_arg_matches(&matches));
    let command = match read {
        Ok(typed) => typed,
        Err(error) => {
            return refuse(&error, &typed).into();
        }
    };
    match answer(command) {
        Ok(said) => said.print().into(),
        Err(error) => {
            say(&format!("error: {}", stop::told(&error)));
            stop::exit(&error).into()
        }
    }
}

/// Prints help that was asked for, or what is wrong with a command line. What was typed stays in its line.
fn refuse(error: &clap::Error, typed: &[String]) -> Exit {
    if !error.use_stderr() {
        return match error.print() {
            Err(failed) if failed.kind() != ErrorKind::BrokenPipe => {
                say(&format!("error: failed to write to the standard output: {failed}"));
                Exit::Unexpected
            }
            _ => Exit::Fine,
        };
    }
    let echoed = typed.iter().map(|word| (word, visible_in_line(word)));
    let odd = echoed.filter(|(word, shown)| *word != shown);
    say(&odd.fold(error.render().to_string(), |text, (word, shown)| text.replace(word, &shown)));
    Exit::Usage
}

/// The name of the program that a command line begins with.
fn program(line: &[OsString]) -> String {
    let name = line.first().and_then(|program| std::path::Path::new(program).file_name());
    name.unwrap_or_default().to_string_lossy().into_owned()
}
