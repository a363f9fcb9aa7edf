//! What a command has to say.

use std::io::{self, ErrorKind, Write};

use weighbridge::data::Exit;

use crate::inert;

/// The answer of a command, and how it ends.
#[derive(Debug)]
pub struct CommandOutput {
    /// The answer, for stdout: lines that people read. Nothing in it is obeyed, by a terminal or a build
    /// server.
    pub text: String,
    /// The part of the answer that programs read, byte by byte as it is: a format, or orders to a build
    /// server that are meant.
    pub exact: String,
    /// Things to know beside it, for stderr.
    pub remarks: Vec<String>,
    /// The end of the command.
    pub exit: Exit,
}

impl CommandOutput {
    /// An answer without remarks.
    pub fn fine(text: impl Into<String>) -> Self {
        Self { text: text.into(), exact: String::new(), remarks: Vec::new(), exit: Exit::Fine }
    }

    /// The answer as it is printed.
    pub fn printed(&self) -> String {
        inert::lines(&self.text) + &self.exact
    }

    /// The remarks as they are printed.
    pub fn printed_remarks(&self) -> String {
        self.remarks.iter().map(|remark| inert::lines(remark)).collect()
    }

    /// Prints it, and gives the end of the command: that the answer could not be written is one, and is
    /// said. A reader that went away (`| head`) is no error of ours.
    pub fn print(&self) -> Exit {
        drop(io::stderr().write_all(self.printed_remarks().as_bytes()));
        let mut to = io::stdout().lock();
        self.exit.or(end_of(to.write_all(self.printed().as_bytes()).and_then(|()| to.flush())))
    }
}

/// The end of a program that wrote its answer so: that it could not is said.
pub(crate) fn end_of(written: io::Result<()>) -> Exit {
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            say(&format!("error: failed to write to the standard output: {error}"));
            Exit::Unexpected
        }
        _ => Exit::Fine,
    }
}

/// Says something at once, on stderr, as a remark is printed.
pub fn say(text: &str) {
    // That nobody may be reading is no reason to end.
    drop(io::stderr().write_all(inert::lines(text).as_bytes()));
}
