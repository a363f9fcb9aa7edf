//! Ways to run one and the same list of transforms.

use std::fmt;

/// The mode in which a list of transforms is run. The bytes that come out are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExecutionMode {
    /// Element by element, each transform called through a pointer and giving a new array.
    Eager,
    /// Transform by transform, each over the whole batch.
    Vectorised,
    /// Element by element, through a list of transforms that was put together when the program was compiled.
    Compiled,
    /// In one pass: every number that is delivered is computed from its source at once, and nothing lies
    /// between.
    Fused,
}

impl ExecutionMode {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Eager, Self::Vectorised, Self::Compiled, Self::Fused];

    /// The mode as work reports tell it, after the transforms.
    pub fn work(self) -> String {
        format!("mode {self}")
    }
}

impl fmt::Display for ExecutionMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Eager => "eager",
            Self::Vectorised => "vectorised",
            Self::Compiled => "compiled",
            Self::Fused => "fused",
        })
    }
}
