//! All mistakes of one item, told at once.

use std::fmt::Display;

use quote::ToTokens;

/// Gathers mistakes, each on its own span. Must be asked for them before it goes, so that none can be
/// forgotten.
#[derive(Default)]
pub(crate) struct Errors {
    gathered: Option<syn::Error>,
    asked: bool,
}

impl Errors {
    /// Adds a mistake. It is underlined from the first to the last of the tokens.
    pub(crate) fn at(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.add(syn::Error::new_spanned(tokens, message));
    }

    /// Adds a mistake that the parser found.
    pub(crate) fn add(&mut self, error: syn::Error) {
        match &mut self.gathered {
            Some(gathered) => gathered.combine(error),
            None => self.gathered = Some(error),
        }
    }

    /// The value, if there were no mistakes.
    pub(crate) fn unless_any<T>(mut self, value: Option<T>) -> syn::Result<T> {
        self.asked = true;
        match (self.gathered.take(), value) {
            (Some(errors), _) => Err(errors),
            (None, Some(value)) => Ok(value),
            (None, None) => unreachable!("what is missing was told as a mistake"),
        }
    }
}

impl Drop for Errors {
    fn drop(&mut self) {
        assert!(self.asked || std::thread::panicking(), "mistakes were gathered and never told");
    }
}
