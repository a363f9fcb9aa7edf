//! Several ranks at once: asking all of them together, closing them together, and naming the one that is at
//! fault where several fail. And ranks in the other processes of a launch, as rank 0 has them.

mod launch;
mod line;
mod remote_epochs;

use std::thread;
use std::time::Instant;

use weighbridge::{Error, ErrorKind, Result};

pub use launch::{LaunchPlace, LaunchedRanks, OpenOrder};
pub use line::{LineMessage, RankLine};
pub use remote_epochs::{AnswerPlace, RemoteEpochs, answer_epochs, item, of_item};

/// Asks all ranks at the same time, from threads of their own, and returns each one's answer: for whatever
/// they wait for each other in.
///
/// # Errors
/// As [`blame`].
pub fn at_once<R: Send, T: Send>(
    ranks: &mut [R],
    ask: impl Fn(usize, &mut R) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let ask = &ask;
    let answers = thread::scope(|scope| {
        let asked = |(index, rank): (usize, _)| {
            scope.spawn(move || {
                let answer = ask(index, rank);
                (Instant::now(), answer)
            })
        };
        let threads: Vec<_> = ranks.iter_mut().enumerate().map(asked).collect();
        let panicked = |_| (Instant::now(), Err(Error::new("its thread panicked")));
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(panicked)).collect()
    });
    blame("rank", answers)
}

/// Ranks that are closed all at once: one that leaves may wait for the others to leave as well.
pub struct ClosedTogether<T: Send>(pub Vec<T>);

impl<T: Send> Drop for ClosedTogether<T> {
    fn drop(&mut self) {
        thread::scope(|scope| {
            for rank in self.0.drain(..) {
                scope.spawn(move || drop(rank));
            }
        });
    }
}

/// The answers of all, each with the time at which it came; or the failure of the one that is at fault, by
/// its number.
///
/// Who waits for another one that has died fails as well, and may say so first. So a process that died comes
/// before one that said nothing, that one before one that says that it failed, and among equals the earliest
/// is at fault. What was declined is a skip as it is.
///
/// # Errors
/// `NOUN 2 of 4 (from 0): ...`, of the same kind as its own.
pub fn blame<T>(noun: &str, answers: Vec<(Instant, Result<T>)>) -> Result<Vec<T>> {
    let of = answers.len();
    let mut good = Vec::with_capacity(of);
    let mut worst: Option<(u8, Instant, usize, Error)> = None;
    for (index, (at, answer)) in answers.into_iter().enumerate() {
        match answer {
            Ok(answer) => good.push(answer),
            Err(error) => {
                let order = (guilt(error.kind()), at);
                if worst.as_ref().is_none_or(|(guilt, at, ..)| order < (*guilt, *at)) {
                    worst = Some((order.0, at, index, error));
                }
            }
        }
    }
    match worst {
        None => Ok(good),
        Some((.., error)) if error.is_skip() => Err(error),
        Some((.., index, error)) => {
            Err(Error::of(error.kind().clone(), format!("{noun} {index} of {of} (from 0): {error}")))
        }
    }
}

/// The order of a failure of this kind by its distance to the cause: the nearest is the least.
fn guilt(kind: &ErrorKind) -> u8 {
    match kind {
        ErrorKind::Exit(_) | ErrorKind::Signal(_) => 0,
        ErrorKind::Timeout => 1,
        ErrorKind::Skip => 3,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    type Failures<'a> = &'a [(u64, Option<(ErrorKind, &'a str)>)];

    /// Returns what is said of ranks of which each answered after so many milliseconds, well or with this
    /// failure.
    fn told(answers: Failures<'_>) -> Result<Vec<usize>> {
        let zero = Instant::now();
        let answers = answers.iter().enumerate().map(|(index, (after, failure))| {
            let answer = match failure {
                None => Ok(index),
                Some((kind, what)) => Err(Error::of(kind.clone(), what)),
            };
            (zero + Duration::from_millis(*after), answer)
        });
        blame("rank", answers.collect())
    }

    #[test]
    fn one_that_died_is_at_fault_though_those_that_waited_for_it_failed_earlier() {
        let closed = || Some((ErrorKind::Failure, "connection closed by peer"));
        let said =
            told(&[(1, closed()), (1, None), (9, Some((ErrorKind::Exit(9), "it exited"))), (2, closed())]);
        let said = said.unwrap_err();
        assert_eq!(
            (said.kind(), &*said.to_string()),
            (&ErrorKind::Exit(9), "rank 2 of 4 (from 0): it exited")
        );
        let silent = Some((ErrorKind::Timeout, "it said nothing"));
        let said = told(&[(1, closed()), (50, silent)]).unwrap_err();
        assert_eq!(said.to_string(), "rank 1 of 2 (from 0): it said nothing");
    }

    #[test]
    fn of_several_that_died_the_first_is_at_fault() {
        let died = |code| Some((ErrorKind::Exit(code), "it exited"));
        let said = told(&[(7, died(1)), (3, died(9)), (5, died(1))]).unwrap_err();
        assert_eq!(said.kind(), &ErrorKind::Exit(9));
    }

    #[test]
    fn what_is_declined_is_a_skip_in_its_own_words_and_what_fails_beside_it_is_told() {
        let declined = || Some((ErrorKind::Skip, "no ranks here"));
        let said = told(&[(1, declined()), (1, declined())]).unwrap_err();
        assert!(said.is_skip() && said.to_string() == "no ranks here", "{said}");
        let said = told(&[(1, declined()), (2, Some((ErrorKind::Failure, "it broke")))]).unwrap_err();
        assert!(!said.is_skip(), "{said}");
        assert_eq!(told(&[(1, None), (2, None)]).unwrap(), [0, 1]);
    }

    #[test]
    fn all_are_asked_before_any_has_answered() {
        let all = std::sync::Barrier::new(4);
        let mut ranks = [10, 20, 30, 40];
        let answers = at_once(&mut ranks, |index, rank| {
            all.wait();
            *rank += index;
            Ok(*rank)
        });
        assert_eq!(answers.unwrap(), [10, 21, 32, 43]);
        let said = at_once(&mut ranks, |index, _| if index == 2 { panic!("on purpose") } else { Ok(()) });
        assert_eq!(said.unwrap_err().to_string(), "rank 2 of 4 (from 0): its thread panicked");
    }
}
