//! The error of scenarios and adapters: a message, or a skip with its reason.

use std::fmt;

use super::{ClockFault, SkipReason, WorkFault, visible, visible_in_line};
use crate::device::DeviceError;

/// The error of a scenario or an adapter that cannot go on.
///
/// Whatever becomes a `Box<dyn std::error::Error>` becomes one through `?` or `.into()`: an error, a text. It
/// does not implement `std::error::Error` itself, which is what makes that conversion possible.
///
/// ```
/// fn width(text: &str) -> weighbridge::Result<u32> {
///     if text.is_empty() {
///         return Err("no text".into());
///     }
///     Ok(text.parse()?) // any error of the standard library becomes one
/// }
/// assert_eq!(width("").unwrap_err().to_string(), "no text");
/// let error = width("wide").unwrap_err();
/// assert_eq!(error.to_string(), "invalid digit found in string");
/// assert!(!error.is_skip());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    message: String,
    kind: ErrorKind,
}

/// The kind of end that an error is.
///
/// ```
/// use weighbridge::{ErrorKind, fail, skip};
///
/// assert_eq!(fail("the index is broken").kind(), &ErrorKind::Failure);
/// assert_eq!(skip("no index here").kind(), &ErrorKind::Skip);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ErrorKind {
    /// Something failed.
    #[default]
    Failure,
    /// It cannot be done here: a recorded skip.
    Skip,
    /// Real data is not on this machine: a recorded skip as well.
    NoData,
    /// A clock does not verify, by these numbers.
    Clock(Box<ClockFault>),
    /// Work does not verify, by these numbers.
    Work(Box<WorkFault>),
    /// A process that was waited for said nothing until its deadline.
    Timeout,
    /// A process that was spoken to broke the protocol.
    Protocol,
    /// A process that was spoken to ended, with this exit code.
    Exit(i32),
    /// A process that was spoken to was ended by this signal.
    Signal(String),
    /// The disk that the harness gave has no room for it: nothing is said of the case, and the run can be
    /// taken up again.
    NoRoom,
    /// This process has lost a device: nothing that it does there from now on can succeed.
    Device,
    /// Another rank of the run has failed, has left or did not come.
    Ranks,
}

/// `Result` with the error of scenarios and adapters.
///
/// ```
/// use weighbridge::prelude::*;
///
/// /// Parse a number.
/// #[scenario(id = "PARSE-1")]
/// fn parse(bencher: &mut Bencher) -> Result<()> {
///     let text = String::from_utf8(vec![b'7'; 9])?;
///     bencher.iter(|| text.parse::<u64>());
///     Ok(())
/// }
/// ```
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A recorded skip, not a failure: return it as the error of a scenario, a filter or `new`.
///
/// ```
/// fn open(gigabytes: u64) -> weighbridge::Result<()> {
///     if gigabytes > 64 {
///         return Err(weighbridge::skip("needs 64 GB of memory"));
///     }
///     Ok(())
/// }
/// assert!(open(65).unwrap_err().is_skip());
/// ```
pub fn skip(why: impl fmt::Display) -> Error {
    Error::of(ErrorKind::Skip, why)
}

/// A recorded failure with this message: return it as the error of a scenario or of `new`.
///
/// ```
/// fn parse(text: &str) -> weighbridge::Result<u32> {
///     text.parse().map_err(|_| weighbridge::fail(format!("`{text}` is no number")))
/// }
/// assert_eq!(parse("x").unwrap_err().to_string(), "`x` is no number");
/// ```
///
/// `Err("why".into())` is the same, and a scenario may as well return any error that can be shown.
pub fn fail(why: impl fmt::Display) -> Error {
    Error::new(why)
}

impl Error {
    /// A failure with this message.
    pub fn new(message: impl fmt::Display) -> Self {
        Self::of(ErrorKind::Failure, message)
    }

    /// An end of this kind, with its message. Control characters in it are written out; a skip's reason is
    /// one line.
    pub fn of(kind: ErrorKind, message: impl fmt::Display) -> Self {
        let message = message.to_string();
        let message = if matches!(kind, ErrorKind::Skip | ErrorKind::NoData) {
            visible_in_line(&message)
        } else {
            visible(&message)
        };
        Self { message, kind }
    }

    /// The kind of the error; a skip is one too.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// Tells whether this is a skip and not a failure.
    pub fn is_skip(&self) -> bool {
        matches!(self.kind, ErrorKind::Skip | ErrorKind::NoData)
    }

    /// The reason why it is skipped, where it is.
    pub(crate) fn skip_reason(&self) -> Option<SkipReason> {
        match self.kind {
            ErrorKind::Skip => Some(SkipReason::Stated(self.message.clone())),
            ErrorKind::NoData => Some(SkipReason::NoData(self.message.clone())),
            _ => None,
        }
    }
}

impl Error {
    /// Tells whether this process has lost a device: nothing that it does there from now on can succeed.
    pub(crate) fn is_lost(&self) -> bool {
        self.kind == ErrorKind::Device
    }

    /// Tells whether it says what follows from its kind, and nothing else.
    pub(crate) fn is_told_by_its_kind(&self) -> bool {
        let words = match &self.kind {
            ErrorKind::Clock(fault) => fault.to_string(),
            ErrorKind::Work(fault) => fault.to_string(),
            _ => return false,
        };
        self.message == visible(&words)
    }

    /// Makes an error of the message of another one and of those of its sources.
    fn told(error: &dyn std::error::Error) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let cause_text = cause.to_string();
            if !message.ends_with(&cause_text) {
                message = format!("{message}: {cause_text}");
            }
            source = cause.source();
        }
        Self::new(message)
    }

    /// The same error, of a process that has lost a device.
    pub(crate) fn lost(self) -> Self {
        Self { kind: ErrorKind::Device, ..self }
    }
}

impl From<ClockFault> for Error {
    fn from(fault: ClockFault) -> Self {
        let words = fault.to_string();
        Self::of(ErrorKind::Clock(Box::new(fault)), words)
    }
}

impl From<WorkFault> for Error {
    fn from(fault: WorkFault) -> Self {
        let words = fault.to_string();
        Self::of(ErrorKind::Work(Box::new(fault)), words)
    }
}

impl From<DeviceError> for Error {
    fn from(error: DeviceError) -> Self {
        let plain = Self::new(&error);
        if error.fatal { plain.lost() } else { plain }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl<E: Into<Box<dyn std::error::Error>>> From<E> for Error {
    fn from(error: E) -> Self {
        Self::told(&*error.into())
    }
}
