//! What a command has to say.

use std::io::{self, Write};

use weighbridge::data::Exit;

/// What a command has to say, and how it ends.
#[derive(Debug)]
pub(crate) struct Output {
    /// The answer, for stdout.
    pub(crate) text: String,
    /// Things to know beside it, for stderr.
    pub(crate) remarks: Vec<String>,
    /// How the command ends.
    pub(crate) exit: Exit,
}

impl Output {
    /// An answer without remarks.
    pub(crate) fn fine(text: impl Into<String>) -> Self {
        Self { text: text.into(), remarks: Vec::new(), exit: Exit::Fine }
    }

    /// Prints it. A reader that went away (`| head`) is no error of ours.
    pub(crate) fn print(&self) {
        let remarks: String = self.remarks.iter().map(|remark| format!("{remark}\n")).collect();
        drop(io::stderr().write_all(remarks.as_bytes()));
        drop(io::stdout().write_all(self.text.as_bytes()));
    }
}
