//! `--html`: the run that was just made as a page. A bench binary stays small: the command of its workspace
//! writes the page.

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::record::RunId;
use crate::report::Terminal;
use crate::tool::{INSTALL, tool};

/// Cargo's message about a subcommand that is not installed.
const NO_SUCH: &str = "no such command";

/// Has the page of a run written, and says where it lies, or why there is none. The run is what it is either
/// way.
pub(super) fn write(run: &RunId, data: &Path, workspace: &Path, terminal: Terminal) {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let words: Vec<&str> = tool().split(' ').skip(1).collect();
    // This process and the command need not stand in the same folder.
    let data = std::path::absolute(data).unwrap_or_else(|_| data.to_owned());
    let mut command = Command::new(cargo);
    command.args(words).args(["report", "html", run.as_str(), "--data"]).arg(data);
    // The first time it is built: what cargo says of that is progress.
    command.current_dir(workspace).stdin(Stdio::null());
    match command.output() {
        Err(error) => terminal.error(&format!("no page: failed to start cargo: {error}")),
        Ok(ended) if ended.status.success() => {
            terminal.remark(&format!("page: {}", String::from_utf8_lossy(&ended.stdout).trim()));
        }
        Ok(ended) => terminal.error(&why(&String::from_utf8_lossy(&ended.stderr), run)),
    }
}

/// The reason why there is no page, by what cargo or the command has said.
fn why(said: &str, run: &RunId) -> String {
    if said.contains(NO_SUCH) {
        return format!("no page: it takes a command that is not there: {INSTALL}");
    }
    let command = format!("{} report html {run}", tool());
    // A build says much before it says why.
    let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
    format!("no page: `{command}` failed: {last}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_command_is_told_by_the_line_that_installs_it_and_another_failure_by_its_last_line() {
        let run = RunId::new(1_000, 7);
        let said = why("error: no such command: `weighbridge`\n\nhelp: view all installed commands\n", &run);
        assert!(said.ends_with("weighbridge-xtask --bin cargo-weighbridge"), "{said}");
        let said = why("   Compiling x\nerror: there is no run `7`\n\n", &run);
        assert!(
            said.contains("report html 19700101-001640-000007` failed: error: there is no run `7`"),
            "{said}"
        );
        assert!(why("", &run).ends_with("it says nothing"));
    }
}
