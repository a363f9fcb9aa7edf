//! `command`: whole processes, measured and judged as bench functions are.
//!
//! The program starts itself anew as a bench binary whose adapters are the commands: see `bench.rs`.

mod bench;

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use weighbridge::data::without_secrets;

use crate::command_output::CommandOutput;
use crate::stop;

pub(crate) use bench::bench;

/// The environment variable that hands the commands on.
const VARIABLE: &str = "WEIGHBRIDGE_COMMANDS";

/// Arguments of `command`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: command 'grep -r fn src' 'rg fn src' --prepare 'sync'")]
pub(crate) struct CommandArgs {
    /// The commands, each in quotes, as `sh -c` takes them.
    #[arg(required = true, value_name = "COMMAND")]
    commands: Vec<String>,
    /// Names of the commands, in their order [default: the commands themselves].
    #[arg(long = "name", short = 'n', value_name = "NAME")]
    names: Vec<String>,
    /// Run this before each run, outside the clock: once for all commands, or once for each in their order.
    #[arg(long, short = 'p', value_name = "COMMAND")]
    prepare: Vec<String>,
    /// Start programs without a shell between: for what takes a few milliseconds.
    #[arg(long, short = 'N')]
    no_shell: bool,
    /// A run that ends with another exit code than 0 is measured like any other.
    #[arg(long, short = 'i')]
    ignore_failure: bool,
    /// Show what the commands print.
    #[arg(long)]
    show_output: bool,
    /// Only rank them, and do not judge them against the first: several commands are measured in turns else.
    #[arg(long)]
    rank: bool,
    /// Flags of a bench target, such as `--profile quick`, `--repeats 9`, `--threshold 2%`.
    #[arg(last = true, value_name = "BENCH FLAGS")]
    flags: Vec<OsString>,
}

/// The commands as the bench binary and its children are told of them.
#[derive(Debug, Serialize, Deserialize)]
struct CommandFile {
    all: Vec<Shell>,
    ignore_failure: bool,
    show_output: bool,
}

/// One command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Shell {
    name: String,
    /// The program and its arguments.
    line: Vec<String>,
    /// The same of what is run before.
    prepare: Option<Vec<String>>,
}

/// Becomes a bench binary: this program, started anew.
///
/// # Errors
/// When the commands are none, or the program cannot be started; else it does not come back.
pub(crate) fn run(args: &CommandArgs, data: Option<PathBuf>) -> Result<CommandOutput> {
    let commands = commands(args)?;
    let program = std::env::current_exe().context("failed to find this program")?;
    let mut bench = process::Command::new(program);
    bench.env(VARIABLE, serde_json::to_string(&commands).context("failed to write the commands down")?);
    bench.arg("--bench").args(&args.flags).args(args.show_output.then_some("--show-output"));
    // What is measured is not this program: its own part of a process's time is some microseconds in any
    // build.
    bench.args(cfg!(debug_assertions).then_some("--allow-debug"));
    if let (false, [first, _, ..]) = (args.rank, &commands.all[..]) {
        bench.arg("--versus-adapter").arg(&first.name);
    }
    bench.arg("--data").arg(data.unwrap_or_else(|| kept("commands")));
    Err(bench.exec()).context("failed to start this program anew")
}

/// The folder that keeps runs of this kind, which belong to no workspace.
pub(crate) fn kept(kind: &str) -> PathBuf {
    let home = |name: &str, below: &str| {
        let folder = std::env::var_os(name).filter(|folder| !folder.is_empty());
        folder.map(|folder| PathBuf::from(folder).join(below))
    };
    let data = home("XDG_DATA_HOME", "").or_else(|| home("HOME", ".local/share"));
    data.unwrap_or_else(std::env::temp_dir).join("weighbridge").join(kind)
}

fn commands(args: &CommandArgs) -> Result<CommandFile> {
    let all = args.commands.len();
    if !args.names.is_empty() && args.names.len() != all {
        return Err(stop::usage(format!("{} names for {all} commands: name all or none", args.names.len())));
    }
    if args.prepare.len() > 1 && args.prepare.len() != all {
        return Err(stop::usage(format!(
            "`--prepare` is given once for all commands or once for each: {} for {all} is neither",
            args.prepare.len()
        )));
    }
    let mut commands = Vec::new();
    for (at, command) in args.commands.iter().enumerate() {
        let prepare =
            args.prepare.get(at).or_else(|| args.prepare.first().filter(|_| args.prepare.len() == 1));
        commands.push(Shell {
            name: name(&without_secrets(args.names.get(at).unwrap_or(command)), &commands),
            line: line(command, args.no_shell)?,
            prepare: prepare.map(|command| line(command, false)).transpose()?,
        });
    }
    Ok(CommandFile { all: commands, ignore_failure: args.ignore_failure, show_output: args.show_output })
}

/// The name, which records and pages show, or one that file names tell apart from those before.
fn name(wanted: &str, before: &[Shell]) -> String {
    let wanted = wanted.trim();
    let alike = |name: &str| before.iter().any(|other| other.name.eq_ignore_ascii_case(name));
    let letters =
        |name: &str| name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    let confused = |name: &str| before.iter().any(|other| letters(&other.name) == letters(name));
    if !wanted.is_empty() && !alike(wanted) && !confused(wanted) {
        return wanted.to_owned();
    }
    format!("{wanted} ({})", before.len() + 1)
}

fn line(command: &str, no_shell: bool) -> Result<Vec<String>> {
    if command.trim().is_empty() {
        return Err(stop::usage("a command is empty"));
    }
    if !no_shell {
        return Ok(vec!["sh".to_owned(), "-c".to_owned(), command.to_owned()]);
    }
    if let Some(sign) = command.chars().find(|sign| "'\"\\|&;<>()$`*?[#~".contains(*sign)) {
        return Err(stop::usage(format!(
            "`{command}` has a `{sign}`, which a shell reads: leave `--no-shell` out"
        )));
    }
    Ok(command.split_whitespace().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: CommandArgs,
    }

    fn read(line: &[&str]) -> Result<CommandFile> {
        let line = ["command"].iter().chain(line);
        commands(&Line::try_parse_from(line).expect("the line is right").args)
    }

    #[test]
    fn each_command_has_a_name_that_no_other_one_has() {
        let names = |line: &[&str]| -> Vec<String> {
            read(line).unwrap().all.into_iter().map(|command| command.name).collect()
        };
        assert_eq!(names(&["sleep 1", "sleep  2"]), ["sleep 1", "sleep  2"]);
        assert_eq!(names(&["ls a", "ls  a", "ls -a"]), ["ls a", "ls  a (2)", "ls -a (3)"]);
        assert_eq!(names(&["x", "y", "-n", "old", "-n", "new"]), ["old", "new"]);
        let line = ["get --token a", "get --token b"];
        assert_eq!(names(&line), ["get --token <hidden>", "get --token <hidden> (2)"]);
        assert_eq!(read(&line).unwrap().all[0].line[2], "get --token a", "it is run as it was typed");
    }

    #[test]
    fn what_is_run_before_is_one_for_all_or_one_for_each() {
        let before = |line: &[&str]| -> Vec<Option<String>> {
            let commands = read(line).unwrap().all;
            commands.into_iter().map(|command| command.prepare.map(|line| line[2].clone())).collect()
        };
        assert_eq!(before(&["a", "b"]), [None, None]);
        assert_eq!(before(&["a", "b", "-p", "sync"]), [Some("sync".into()), Some("sync".into())]);
        assert_eq!(before(&["a", "b", "-p", "one", "-p", "two"]), [Some("one".into()), Some("two".into())]);
        let error = read(&["a", "b", "c", "-p", "one", "-p", "two"]).unwrap_err().to_string();
        assert!(error.contains("2 for 3 is neither"), "{error}");
    }

    #[test]
    fn without_a_shell_a_line_is_split_and_what_only_a_shell_reads_is_refused() {
        assert_eq!(read(&["ls -l a", "-N"]).unwrap().all[0].line, ["ls", "-l", "a"]);
        assert_eq!(read(&["ls -l a"]).unwrap().all[0].line, ["sh", "-c", "ls -l a"]);
        let error = read(&["ls | wc", "-N"]).unwrap_err().to_string();
        assert!(error.contains("a `|`, which a shell reads"), "{error}");
        assert!(read(&[" "]).unwrap_err().to_string().contains("empty"));
    }
}
