//! What a command has to say.

use std::io::{self, Write};

use weighbridge::data::Exit;

use crate::inert;

/// The answer of a command, and how it ends.
#[derive(Debug)]
pub struct CommandOutput {
    /// The answer, for stdout.
    pub text: String,
    /// Things to know beside it, for stderr.
    pub remarks: Vec<String>,
    /// The end of the command.
    pub exit: Exit,
}

impl CommandOutput {
    /// An answer without remarks.
    pub fn fine(text: impl Into<String>) -> Self {
        Self { text: text.into(), remarks: Vec::new(), exit: Exit::Fine }
    }

    /// The remarks as they are printed.
    pub fn printed_remarks(&self) -> String {
        self.remarks.iter().map(|remark| inert::lines(remark)).collect()
    }

    /// Prints it. A reader that went away (`| head`) is no error of ours.
    pub fn print(&self) {
        drop(io::stderr().write_all(self.printed_remarks().as_bytes()));
        drop(io::stdout().write_all(self.text.as_bytes()));
    }
}
