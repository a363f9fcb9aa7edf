//! Leaves of a state that are no arrays, as the specs of Orbax's benchmarks have them.

use weighbridge::{Dtype, FieldKind};

/// A value of Python's own in the tree of a state. A data set has its bytes, as a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaf {
    /// The number 0: eight bytes of it.
    Int,
    /// The text `default_string`: its letters.
    Str,
}

impl Leaf {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Int, Self::Str];

    /// Its type as Python calls it, and as a spec does.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Int => "int",
            Self::Str => "str",
        }
    }

    /// Its bytes.
    pub(super) const fn bytes(self) -> &'static [u8] {
        match self {
            Self::Int => &[0; 8],
            Self::Str => b"default_string",
        }
    }

    /// The field that has its bytes.
    pub fn kind(self, name: &str) -> FieldKind {
        let (dtype, shape) = match self {
            Self::Int => (Dtype::I64, Vec::new()),
            Self::Str => (Dtype::U8, vec![self.bytes().len()]),
        };
        FieldKind { name: name.into(), dtype, shape }
    }
}
