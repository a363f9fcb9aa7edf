//! Work on many things at once: files to read, cases to judge.

use std::num::NonZero;
use std::thread;

/// Fewer of them are not worth a thread.
const LEAST_PART: usize = 64;

/// Applies `each` to every item and keeps their order, worked out on all processors in turns of one run of
/// items each. Where no thread can be had, this one does the work.
///
/// # Panics
/// With what `each` panics with.
pub fn on_all_processors<T: Sync, R: Send>(items: &[T], each: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let (first, others) = items.split_at(items.len().div_ceil(threads).max(LEAST_PART).min(items.len()));
    let work = |items: &[T]| items.iter().map(&each).collect::<Vec<R>>();
    thread::scope(|scope| {
        let work = &work;
        let start = |part| {
            let started = thread::Builder::new().spawn_scoped(scope, move || work(part));
            started.map_err(|_| part)
        };
        let parts: Vec<_> = others.chunks(first.len().max(1)).map(start).collect();
        let mut made = work(first);
        for part in parts {
            made.extend(match part {
                Ok(part) => part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                Err(part) => work(part),
            });
        }
        made
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_worked_out_once_and_in_order() {
        for length in [0, 1, LEAST_PART, LEAST_PART + 1, 10 * LEAST_PART + 7] {
            let items: Vec<usize> = (0..length).collect();
            let doubled: Vec<usize> = items.iter().map(|item| item * 2).collect();
            assert_eq!(on_all_processors(&items, |item| item * 2), doubled);
        }
    }

    #[test]
    fn a_panic_on_another_processor_is_passed_on() {
        let items: Vec<usize> = (0..100 * LEAST_PART).collect();
        let last = items.len() - 1;
        let told = std::panic::catch_unwind(|| {
            on_all_processors(&items, |item| assert_ne!(*item, last, "on purpose"))
        });
        assert!(told.unwrap_err().downcast_ref::<String>().is_some_and(|said| said.contains("on purpose")));
    }
}
