//! How a measuring child breaks the protocol with its parent: facts. `report` has the words.

use serde::{Deserialize, Serialize};

/// A breach of the protocol between parent and child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChildFault {
    /// The program could not be started.
    NotStarted {
        /// Its path.
        program: String,
        /// The reason, in the words of the system.
        why: String,
    },
    /// It speaks another version.
    Version {
        /// The child's.
        child: u32,
        /// The parent's.
        parent: u32,
    },
    /// It greeted twice.
    GreetedTwice,
    /// It said twice that a repeat was over.
    OverTwice,
    /// It sent what is no message, in the words of whoever reads them.
    Garbled(String),
    /// It ran blocks that nobody asked for.
    UnaskedBlocks,
    /// It ended before its blocks had been asked for.
    NoBlocks,
    /// It left so many processes running, which were ended.
    LeftProcesses(usize),
    /// It says what no file can hold, in the words of whoever was to write it.
    Unwritable(String),
    /// Nothing tells how it ended.
    Unknown,
}
