//! What `#[adapter]` registers.

use std::any::{Any, TypeId};
use std::fmt::{self, Display};

use super::Location;
use super::authors_error::told;
use crate::bencher;

/// One adapter for one contract: how it is called, made and asked for.
#[derive(Clone, Copy, Debug)]
pub struct AdapterEntry {
    /// The name: `Google Grain`.
    pub name: &'static str,
    /// The distance from the floor of what is possible: 0 is the reference that others are verified against.
    pub tier: u8,
    /// The contract it fulfils.
    pub contract: Contract,
    /// The first line of its documentation.
    pub description: &'static str,
    /// The reason why its work is known to differ from the reference's, if its author declares so: it is
    /// listed apart.
    pub unequal: Option<&'static str>,
    /// True if it is made once for all its cases of a round, which run one after the other in one process:
    /// starting the system behind it takes long. It must give nothing of one case on to the next.
    pub resident: bool,
    /// The version of the crate it is written in: what is shown for an adapter without a probe.
    pub version: &'static str,
    /// The place where it is written.
    pub location: Location,
    /// Makes it: a box with a `Box<dyn Contract>` inside.
    pub make: fn() -> Result<Box<dyn Any>, bencher::Error>,
    /// Probes whether it is installed, without starting anything.
    pub probe: Option<fn() -> Availability>,
}

inventory::collect!(AdapterEntry);

impl AdapterEntry {
    /// Tells whether it is installed. Runs the author's probe.
    pub fn availability(&self) -> Availability {
        match self.probe {
            Some(probe) => probe(),
            None => Availability::Available { version: self.version.to_owned() },
        }
    }
}

/// Availability of an adapter here.
///
/// ```
/// use weighbridge::Availability;
///
/// let missing = Availability::Missing {
///     reason: "radix is not installed".to_owned(),
///     install: "cargo install radix".to_owned(),
/// };
/// assert_eq!(missing.to_string(), "radix is not installed; install it with `cargo install radix`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Availability {
    /// It can.
    Available {
        /// The version of the system behind the adapter.
        version: String,
    },
    /// It cannot: it is listed with the reason.
    Missing {
        /// The part that is missing.
        reason: String,
        /// The command that installs it.
        install: String,
    },
}

impl Display for Availability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Available { version } => write!(f, "available ({version})"),
            Self::Missing { reason, install } => write!(f, "{reason}; install it with `{install}`"),
        }
    }
}

/// The trait that a scenario asks of an adapter.
#[derive(Clone, Copy)]
pub struct Contract {
    /// The type of `dyn Contract`: scenario and adapter meet by it, so a misspelt name cannot match nothing.
    pub id: fn() -> TypeId,
    /// The trait's name, for people.
    pub name: &'static str,
}

impl PartialEq for Contract {
    fn eq(&self, other: &Self) -> bool {
        (self.id)() == (other.id)()
    }
}

impl Eq for Contract {}

impl fmt::Debug for Contract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Contract({})", self.name)
    }
}

/// A value that `new` of an adapter may give back: the adapter, or a `Result` with it and an error that can
/// be shown.
#[diagnostic::on_unimplemented(
    message = "`new` gives back `{T}` or `Result<{T}, E>` with `E: Display + 'static`, and not `{Self}`"
)]
pub trait AdapterOutput<T> {
    /// The adapter.
    ///
    /// # Errors
    /// When the author's function failed, or asked to be skipped.
    fn made(self) -> Result<T, bencher::Error>;
}

impl<T> AdapterOutput<T> for T {
    fn made(self) -> Result<T, bencher::Error> {
        Ok(self)
    }
}

#[diagnostic::do_not_recommend]
impl<T, E: Display + 'static> AdapterOutput<T> for Result<T, E> {
    fn made(self) -> Result<T, bencher::Error> {
        self.map_err(told)
    }
}
