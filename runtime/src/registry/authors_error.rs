//! Errors of authors' functions, as the harness has them.

use std::any::Any;
use std::fmt::Display;

use crate::bencher;

/// The author's error as ours: the text of its longest form. Our own keeps whether it is a skip.
pub(super) fn told<E: Display + 'static>(error: E) -> bencher::Error {
    match (&error as &dyn Any).downcast_ref::<bencher::Error>() {
        Some(own) => own.clone(),
        None => bencher::Error::new(format!("{error:#}")),
    }
}
