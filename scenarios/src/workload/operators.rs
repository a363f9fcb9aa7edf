//! Whose operators do the transforms.

use std::fmt;
use std::str::FromStr;

/// Whose operators do the transforms of a pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Operators {
    /// Every system does them bit for bit as `docs/transforms.md` has them: by operators of its own where those do, else by one
    /// numpy function that all share. What differs then is how a system feeds its steps.
    #[default]
    Shared,
    /// Every system does them by its own operators, with draws of its own. What is delivered is alike, and not the same.
    Own,
}

impl fmt::Display for Operators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Shared => "shared",
            Self::Own => "own",
        })
    }
}

impl FromStr for Operators {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "shared" => Ok(Self::Shared),
            "own" => Ok(Self::Own),
            _ => Err(format!("`{text}` is neither `shared` nor `own`")),
        }
    }
}
