//! What a panic says, and where in the source it happened.

use std::any::Any;
use std::borrow::Cow;
use std::cell::RefCell;
use std::panic;
use std::sync::{Mutex, Once, PoisonError};

use crate::bencher::visible;

/// The most bytes of a text of others that are kept.
const LONGEST: usize = 16 << 10;

/// The text as it is, or its beginning and how much was left out.
pub(super) fn bounded(text: &str) -> Cow<'_, str> {
    if text.len() <= LONGEST {
        return Cow::Borrowed(text);
    }
    let end = text.floor_char_boundary(LONGEST);
    Cow::Owned(format!("{}... ({} bytes were left out)", &text[..end], text.len() - end))
}

/// The message of a panic, if it is a text.
fn payload(panic: &dyn Any) -> Option<&str> {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
}

/// The place of the last panic of this process: `benches/sort.rs:17:9`. Of the process and not of the thread:
/// a body on a thread of its own panics there, and is caught here.
static LAST: Mutex<RefCell<Option<String>>> = Mutex::new(RefCell::new(None));

/// Notes from now on where panics happen, beside what is done about them anyhow.
pub(super) fn note_places() {
    static NOTING: Once = Once::new();
    NOTING.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panicked| {
            let place = panicked.location().map(|at| format!("{}:{}:{}", at.file(), at.line(), at.column()));
            LAST.lock().unwrap_or_else(PoisonError::into_inner).replace(place);
            // A text that is too long for a terminal is told, cut, by whoever catches the panic.
            if payload(panicked.payload()).is_none_or(|text| text.len() <= LONGEST) {
                before(panicked);
            }
        }));
    });
}

/// The text of a panic that was caught, and where it happened.
pub(super) fn text(panic: &(dyn Any + Send)) -> String {
    let text =
        payload(panic).map_or_else(|| "a panic that is no text".to_owned(), |text| visible(&bounded(text)));
    match LAST.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(place) => format!("{text} ({})", visible(&place)),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_fifty_megabytes_is_cut_and_the_cut_is_told() {
        let long = "ä".repeat(25 << 20);
        let kept = text(&long as &(dyn Any + Send));
        assert!(
            kept.len() < LONGEST + 100 && kept.contains("52412416 bytes were left out"),
            "{}",
            kept.len()
        );
        assert_eq!(bounded("short"), "short");
    }
}
