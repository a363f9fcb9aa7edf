//! What a panic says, and where in the source it happened.

use std::any::Any;
use std::borrow::Cow;
use std::panic;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread::{self, ThreadId};

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

/// The panics of this process in the repeat that runs. Of the process and not of the thread: a body on a
/// thread of its own panics there, and is caught here.
struct Panics {
    /// The thread that runs the repeat.
    body: Option<ThreadId>,
    /// The place of the last one: `benches/sort.rs:17:9`.
    last: Option<String>,
    /// The text of the first one on another thread than the body's.
    elsewhere: Option<String>,
}

static SEEN: Mutex<Panics> = Mutex::new(Panics { body: None, last: None, elsewhere: None });

fn seen() -> MutexGuard<'static, Panics> {
    SEEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes from now on the panics of a repeat that this thread runs, beside what is done about them anyhow.
pub(super) fn note_panics() {
    static NOTING: Once = Once::new();
    {
        let mut seen = seen();
        // The place stays: it is taken with the text of its panic, which may be under way on another thread.
        (seen.body, seen.elsewhere) = (Some(thread::current().id()), None);
    }
    NOTING.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panicked| {
            let place = panicked.location().map(|at| format!("{}:{}:{}", at.file(), at.line(), at.column()));
            let mut seen = seen();
            if seen.elsewhere.is_none() && seen.body != Some(thread::current().id()) {
                seen.elsewhere = Some(placed(panicked.payload(), place.as_deref()));
            }
            seen.last = place;
            drop(seen);
            // A text that is too long for a terminal is told, cut, by whoever catches the panic.
            if payload(panicked.payload()).is_none_or(|text| text.len() <= LONGEST) {
                before(panicked);
            }
        }));
    });
}

/// The text of a panic that was caught, and where it happened.
pub(super) fn text(panic: &(dyn Any + Send)) -> String {
    placed(panic, seen().last.take().as_deref())
}

/// The text of the first panic on another thread than the body's, if there was one, and where it happened.
pub(super) fn elsewhere() -> Option<String> {
    seen().elsewhere.take()
}

fn placed(panic: &dyn Any, place: Option<&str>) -> String {
    let text =
        payload(panic).map_or_else(|| "a panic that is no text".to_owned(), |text| visible(&bounded(text)));
    match place {
        Some(place) => format!("{text} ({})", visible(place)),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_fifty_megabytes_is_cut_and_the_cut_is_told() {
        let long = "ä".repeat(25 << 20);
        let kept = placed(&long, None);
        assert!(
            kept.len() < LONGEST + 100 && kept.contains("52412416 bytes were left out"),
            "{}",
            kept.len()
        );
        assert_eq!(bounded("short"), "short");
    }
}
