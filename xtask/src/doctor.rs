//! `doctor`: what limits a training script that knows nothing of this project.

use anyhow::Result;
use weighbridge_doctor::{DoctorArgs, DoctorError};

use crate::command_output::{CommandOutput, say};
use crate::stop;

/// Runs the script, and says what limits it. Where the script itself fails, this program ends with its exit
/// code, and does not come back.
///
/// # Errors
/// A mistake on the command line; a machine that refuses a file, a process or a layer over files.
pub(crate) fn run(args: &DoctorArgs) -> Result<CommandOutput> {
    let answer = weighbridge_doctor::run(args, &mut |text| say(text)).map_err(|error| match error {
        DoctorError::Usage(text) => stop::usage(text),
        DoctorError::Failed { .. } => error.into(),
    })?;
    let output = CommandOutput { exit: answer.exit, ..CommandOutput::fine(answer.text) };
    if let Some(code) = answer.script {
        output.print();
        std::process::exit(code.into());
    }
    Ok(output)
}
