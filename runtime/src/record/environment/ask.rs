//! Asking another program for a fact, without waiting until the answer is needed.

use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::fact::Fact;

/// A command that is running, and what it is called.
pub(super) struct RunningCommand {
    name: String,
    child: io::Result<Child>,
}

/// Starts a command in a directory. It must be one that ends by itself and asks nothing.
pub(super) fn ask(program: &str, arguments: &[&str], directory: &Path) -> RunningCommand {
    let child = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .env("GIT_OPTIONAL_LOCKS", "0") // a question must not write the index of somebody's repository
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    RunningCommand { name: format!("{program} {}", arguments.join(" ")), child }
}

impl RunningCommand {
    /// Returns its output on stdout, without the space at the end; or the reason why there is no answer.
    pub(super) fn answer(self) -> Fact {
        let name = self.name;
        let output = self
            .child
            .and_then(Child::wait_with_output)
            .map_err(|error| format!("`{name}` cannot be run: {error}"))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned());
        }
        let complaint = String::from_utf8_lossy(&output.stderr);
        Err(format!("`{name}` failed: {}", complaint.lines().next().unwrap_or("it did not say why").trim()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_what_was_written_to_stdout() {
        assert_eq!(ask("echo", &["a", "b"], Path::new("/")).answer(), Ok("a b".into()));
    }

    #[test]
    fn a_command_that_fails_or_is_not_there_says_so() {
        let failed = ask("sh", &["-c", "echo broken >&2; exit 3"], Path::new("/")).answer().unwrap_err();
        assert!(failed.ends_with("failed: broken"), "{failed}");
        let missing = ask("weighbridge-no-such-command", &[], Path::new("/")).answer().unwrap_err();
        assert!(missing.contains("cannot be run"), "{missing}");
    }
}
