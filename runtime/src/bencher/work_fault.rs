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
            Self::Blocks { baseline, candidate } => baseline != candidate,
        }
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
