//! What a panic says, and where in the source it happened.

use std::any::Any;
use std::cell::RefCell;
use std::panic;
use std::sync::{Mutex, Once, PoisonError};

use crate::bencher::visible;

/// Where the last panic of this process happened: `benches/sort.rs:17:9`. Of the process and not of the thread: a body on a
/// thread of its own panics there, and is caught here.
static LAST: Mutex<RefCell<Option<String>>> = Mutex::new(RefCell::new(None));

/// Notes from now on where panics happen, beside what is done about them anyhow.
pub(super) fn note_places() {
    static NOTING: Once = Once::new();
    NOTING.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panicked| {
            let place = panicked.location().map(|at| format!("{}:{}:{}", at.file(), at.line(), at.column()));
            LAST.lock().unwrap_or_else(PoisonError::into_inner).replace(place);
            before(panicked);
        }));
    });
}

/// The text of a panic that was caught, and where it happened.
pub(super) fn text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.map_or_else(|| "a panic that is no text".to_owned(), visible);
    match LAST.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(place) => format!("{text} ({})", visible(&place)),
        None => text,
    }
}
