//! A save in the background.

use std::thread::{self, JoinHandle};

use weighbridge::{Error, Result};

/// The thread of a save, if one is under way.
#[derive(Debug, Default)]
pub(super) struct SaveUnderWay(Option<JoinHandle<Result<()>>>);

impl SaveUnderWay {
    /// Begins a save. None is under way: whoever begins one has waited for the one before.
    pub(super) fn begin(&mut self, save: impl FnOnce() -> Result<()> + Send + 'static) {
        self.0 = Some(thread::spawn(save));
    }

    /// Returns whether none is under way, or it is about to end.
    pub(super) fn is_complete(&self) -> bool {
        self.0.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for it.
    ///
    /// # Errors
    /// What it failed with.
    pub(super) fn wait(&mut self) -> Result<()> {
        let Some(thread) = self.0.take() else { return Ok(()) };
        thread.join().unwrap_or_else(|_| Err(Error::new("the thread of a save in the background panicked")))
    }
}
