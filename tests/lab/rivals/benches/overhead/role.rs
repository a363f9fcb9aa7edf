//! The program as a bench target of one of the harnesses.

use std::process::{Command, Stdio};

use crate::Result;

/// The variable that says which one; the children of a child inherit it.
pub const VARIABLE: &str = "HARNESS_ROLE";

/// A harness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Ours.
    Weighbridge,
    /// criterion.
    Criterion,
    /// divan.
    Divan,
    /// tango.
    Tango,
}

impl Role {
    /// All of them, ours first.
    pub const ALL: [Self; 4] = [Self::Weighbridge, Self::Criterion, Self::Divan, Self::Tango];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Weighbridge => "weighbridge",
            Self::Criterion => "criterion",
            Self::Divan => "divan",
            Self::Tango => "tango",
        }
    }

    /// What this process was started as; `None` for the one that measures.
    pub fn of_this_process() -> Option<Self> {
        let role = std::env::var(VARIABLE).ok()?;
        Self::ALL.into_iter().find(|known| known.name() == role)
    }

    /// This program as a bench target of the harness.
    pub fn command(self) -> Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command.env(VARIABLE, self.name()).stdin(Stdio::null());
        Ok(command)
    }
}

/// Runs a command to its end and gives what it wrote to stdout.
///
/// # Errors
/// When it cannot be started, or fails; then with what it wrote to stderr.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?} ended with {}: {}", output.status, said.trim_end()).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}
