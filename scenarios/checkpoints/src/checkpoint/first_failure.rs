//! The first thing that went wrong among bodies that cannot return it.

use std::cell::RefCell;

use weighbridge::{Error, Result};

/// The first error, if there was one.
#[derive(Debug, Default)]
pub(super) struct FirstFailure(RefCell<Option<Error>>);

impl FirstFailure {
    /// Runs something unless something before it failed.
    pub(super) fn try_to<T>(&self, run: impl FnOnce() -> Result<T>) -> Option<T> {
        if self.0.borrow().is_some() {
            return None;
        }
        match run() {
            Ok(done) => Some(done),
            Err(error) => {
                self.0.borrow_mut().get_or_insert(error);
                None
            }
        }
    }

    /// Returns the first error, if there was one, and forgets it.
    ///
    /// # Errors
    /// That, where something did.
    pub(super) fn result(&self) -> Result<()> {
        self.0.take().map_or(Ok(()), Err)
    }
}
