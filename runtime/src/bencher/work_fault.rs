//! Work that is not what is said of it: the numbers of what a subject says, beside what was there. `verify`
//! judges by them, and `report` has the words.

use serde::{Deserialize, Serialize};

use super::dtype::row_bytes;
use super::{Dtype, ExpectedEpoch};

/// A claim about work, beside what was seen of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkFault {
    /// Items that a source was asked for.
    Items {
        /// The number that it was asked for.
        asked: u64,
        /// The number that it says that it went through.
        said: u64,
        /// The number that it showed.
        shown: u64,
    },
    /// Elements that no field stands for.
    Fields {
        /// The number of elements.
        elements: u64,
        /// The number of fields.
        fields: u64,
    },
    /// The bytes of a field.
    Bytes {
        /// Its name.
        field: String,
        /// The type of its numbers.
        dtype: Dtype,
        /// The shape of one element.
        shape: Vec<usize>,
        /// The number of elements that it is to have.
        elements: u64,
        /// The number of bytes that there are.
        bytes: u64,
    },
    /// A copy of a part of a batch.
    Copy {
        /// The number of elements that were copied.
        elements: u64,
        /// The first of them in the batch.
        first: u64,
        /// Elements of the whole batch.
        of: u64,
    },
    /// A whole epoch that was timed.
    Epoch {
        /// The content that it must have.
        expected: ExpectedEpoch,
        /// The number of elements that it had.
        elements: u64,
        /// The number of batches.
        batches: u64,
    },
    /// Numbers of a tensor of a checkpoint, looked at when a load was over.
    Tensor {
        /// Its name.
        tensor: String,
        /// The number of numbers that were looked at.
        looked: u64,
        /// Of them, those that are not the state's.
        wrong: u64,
    },
    /// A load of a checkpoint: what had come when it was over, in bytes.
    Load {
        /// The bytes of the files.
        files: u64,
        /// The bytes that calls read.
        read: u64,
        /// The bytes of the state.
        state: u64,
        /// The growth of memory, at its most.
        grown: u64,
    },
    /// A save of a checkpoint: what was there when it was over, in bytes.
    Save {
        /// The bytes of its files that no checkpoint before it has, less those of a state that are zero.
        files: u64,
        /// The bytes that calls wrote.
        written: u64,
        /// The bytes that the file system has room taken for.
        allocated: u64,
    },
    /// Places in the files of a checkpoint, looked at when its save was over and again later.
    Files {
        /// The number of places.
        looked: u64,
        /// Of them, those that had changed.
        changed: u64,
    },
    /// The two sides of a duel: which of them measures a body in blocks.
    Blocks {
        /// True if the baseline does.
        baseline: bool,
        /// True if the candidate does.
        candidate: bool,
    },
}

impl WorkFault {
    /// Tells whether the numbers contradict each other.
    pub fn is_proven(&self) -> bool {
        match self {
            Self::Items { asked, said, shown } => !are_shown(*asked, *said, *shown),
            Self::Fields { elements, fields } => *elements > 0 && *fields == 0,
            Self::Bytes { dtype, shape, elements, bytes, .. } => {
                let row = row_bytes(*dtype, shape).map(|row| row as u64);
                row.and_then(|row| row.checked_mul(*elements)) != Some(*bytes)
            }
            Self::Copy { elements, first, of } => {
                *elements == 0 || first.checked_add(*elements).is_none_or(|end| end > *of)
            }
            Self::Epoch { expected, elements, batches } => !expected.holds(*elements, *batches, true),
            Self::Tensor { wrong, .. } => *wrong > 0,
            Self::Load { files, read, state, grown } => lacks(*read, *files) && lacks(*grown, *state),
            Self::Save { files, written, allocated } => lacks(*written, *files) && lacks(*allocated, *files),
            Self::Files { changed, .. } => *changed > 0,
            Self::Blocks { baseline, candidate } => baseline != candidate,
        }
    }

    /// Tells whether it is of a checkpoint.
    pub(crate) fn is_of_checkpoint(&self) -> bool {
        matches!(self, Self::Tensor { .. } | Self::Load { .. } | Self::Save { .. } | Self::Files { .. })
    }

    /// Ends what was asked for, where the numbers contradict each other and there is nothing to go on with.
    ///
    /// # Errors
    /// This, if it is proven.
    pub fn or_go_on(self) -> Result<(), Self> {
        if self.is_proven() { Err(self) } else { Ok(()) }
    }
}

/// Tells whether a source shows the items that it says that it went through, and was asked for so many.
#[inline]
pub(super) fn are_shown(asked: u64, said: u64, shown: u64) -> bool {
    said == shown && said <= asked
}

/// The share of the bytes that are due that must be there.
const DUE: f64 = 0.9;

/// A file or a state of fewer bytes says nothing: counters of processes are not so exact.
const LEAST: u64 = 4 << 20;

/// Tells whether so much is missing that the rest cannot be all.
fn lacks(bytes: u64, due: u64) -> bool {
    due >= LEAST && (bytes as f64) < DUE * due as f64
}
