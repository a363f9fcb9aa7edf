//! `--python PATH`: the interpreter that workers run under, where nothing is installed for them.

use std::env;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use super::error::TargetError;
use super::usage::UsageError;

/// The variable by which probes, workers and the search for libraries find the interpreter.
pub(super) const PYTHON: &str = "WEIGHBRIDGE_PYTHON";

/// Has the interpreter that was named in the environment. A process cannot safely change its own, and probes
/// are asked in this one: the program is started anew in its place, once.
///
/// # Errors
/// When there is no such file; when the program cannot be started.
pub(super) fn settle(named: Option<&str>) -> Result<(), TargetError> {
    let Some(named) = named else { return Ok(()) };
    let wrong = |why: &dyn std::fmt::Display| {
        TargetError::from(UsageError(format!(
            "--python {named}: {why}; name an interpreter of Python 3.11 or newer"
        )))
    };
    // What it is a link to is not asked: an environment of Python is known by the link.
    let path = std::path::absolute(Path::new(named)).map_err(|error| wrong(&error))?;
    if !path.is_file() {
        return Err(wrong(&"there is no such file"));
    }
    if env::var_os(PYTHON).is_some_and(|set| set == path.as_os_str()) {
        return Ok(());
    }
    let program = env::current_exe().map_err(TargetError::Program)?;
    Err(TargetError::Program(Command::new(program).args(env::args_os().skip(1)).env(PYTHON, path).exec()))
}
