//! Mistakes on a command line, and values that only it has.

/// The form of `--list`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ListFormat {
    #[default]
    Pretty,
    Terse,
    Json,
}

/// A mistake on the command line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct UsageError(pub(super) String);
