//! The seam between baselines and the places that several writers share.

use std::fmt;
use std::io;

/// The mark that tells one content of a key from another: an entity tag, a digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ObjectVersion(pub(super) String);

/// Whole contents by key, which is a path with `/` between its parts. A content is put only by who knows what
/// it replaces.
pub(super) trait Objects: fmt::Debug + Send + Sync {
    /// Makes the place itself, if that is anybody's business here.
    ///
    /// # Errors
    /// When it cannot be made.
    fn make(&self) -> io::Result<()> {
        Ok(())
    }

    /// The names below a prefix, up to the next `/`; all of them where the prefix is empty. None is no error.
    ///
    /// # Errors
    /// When the place cannot be reached, or is not there. Never [`io::ErrorKind::NotFound`].
    fn names(&self, prefix: &str) -> io::Result<Vec<String>>;

    /// The content of a key, and its version.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] where the place says that there is none, and only then; else as
    /// [`Objects::names`].
    fn read(&self, key: &str) -> io::Result<(Vec<u8>, ObjectVersion)>;

    /// Puts a content where nothing is (`None`), or where this version is, and gives its version.
    ///
    /// # Errors
    /// [`overtaken`] where something else is there, which stays; else as [`Objects::names`].
    fn put(&self, key: &str, content: &[u8], expected: Option<&ObjectVersion>) -> io::Result<ObjectVersion>;

    /// Removes the content of a key if it has this version.
    ///
    /// # Errors
    /// As [`Objects::put`].
    fn remove(&self, key: &str, expected: &ObjectVersion) -> io::Result<()>;
}

/// The error of a writer that came second.
pub(super) fn overtaken() -> io::Error {
    io::Error::new(
        io::ErrorKind::AlreadyExists,
        "another writer has changed it in the meantime, and what that one left stays: \
         look at it, and repeat the command to replace it",
    )
}

/// An error that is not taken for a missing file, and of which the store of the runtime does not say how to
/// mend it.
pub(super) fn plain(error: io::Error) -> io::Error {
    io::Error::other(error.to_string())
}
