//! The commands of a program, as its help texts list them.

use std::process::Command;

use crate::external::ProcessEnd;

/// A command, and what it prints for `--help`.
pub(crate) struct ListedCommand {
    /// Its words, without the program's: `baseline set`. None is the program itself.
    pub(crate) words: Vec<String>,
    /// The text.
    pub(crate) help: String,
}

impl ListedCommand {
    /// Every command of a program, itself first, each before those below it, in the order of the listings.
    pub(crate) fn all(program: &dyn Fn() -> Command) -> Vec<Self> {
        let mut found = Vec::new();
        Self::below(program, Vec::new(), &mut found);
        found
    }

    fn below(program: &dyn Fn() -> Command, words: Vec<String>, found: &mut Vec<Self>) {
        let help = help(program().args(&words));
        let names: Vec<String> = subcommands(&help).into_iter().map(str::to_owned).collect();
        found.push(Self { words: words.clone(), help });
        for name in names {
            Self::below(program, [&words[..], &[name]].concat(), found);
        }
    }
}

/// The text that a command prints for `--help`.
pub(crate) fn help(command: &mut Command) -> String {
    let ran = ProcessEnd::of(command.arg("--help"));
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    ran.stdout.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// The names of the subcommands in a help text.
fn subcommands(help: &str) -> Vec<&str> {
    let listed =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let name = |line: &'_ str| line.starts_with("  ") && !line.starts_with("   ");
    listed.filter(|line| name(line)).filter_map(|line| line.split_whitespace().next()).collect()
}

#[test]
fn subcommands_are_read_off_a_help_text() {
    let help =
        "Usage: x\n\nCommands:\n  list    List.\n          More of it.\n  set     Set.\n\nOptions:\n  -h";
    assert_eq!(subcommands(help), ["list", "set"]);
}
