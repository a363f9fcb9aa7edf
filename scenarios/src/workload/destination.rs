//! Where a batch is to be when it is handed over.

use std::fmt;
use std::str::FromStr;

/// Where a batch is to be, complete, when it is handed over. It is part of what is asked: whoever makes it elsewhere has
/// a transfer more, and that is timed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Destination {
    /// In the host's memory.
    #[default]
    Host,
    /// In the memory of the platform's device, ready for a kernel of the consumer.
    Device,
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Host => "host",
            Self::Device => "device",
        })
    }
}

impl FromStr for Destination {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "host" => Ok(Self::Host),
            "device" => Ok(Self::Device),
            _ => Err(format!("`{text}` is neither `host` nor `device`")),
        }
    }
}
