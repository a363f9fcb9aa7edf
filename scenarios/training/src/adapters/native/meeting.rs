//! Where ranks that are threads of this process average their gradients: each comes with its own, and leaves
//! with the mean.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use weighbridge::{Error, Result};

use super::gradient_lines::GradientLines;
use crate::network::{Gradients, Real};

/// A place at which so many ranks meet, again and again.
#[derive(Debug)]
pub(crate) struct Meeting<T> {
    round: Mutex<MeetingRound<T>>,
    changed: Condvar,
    /// The time that a rank waits for the others.
    patience: Duration,
    /// The lines to ranks in other processes, where there are some.
    across: Option<Mutex<GradientLines>>,
}

#[derive(Debug)]
struct MeetingRound<T> {
    /// The gradients that each rank came with; `None` of those that are still to come.
    came: Vec<Option<Gradients<T>>>,
    number: u64,
    mean: Arc<Gradients<T>>,
    /// The rank that will not come again, and why.
    left: Option<(usize, String)>,
}

impl<T> Meeting<T> {
    pub(crate) fn of(ranks: usize, patience: Duration) -> Self {
        let came = (0..ranks).map(|_| None).collect();
        let round = MeetingRound { came, number: 0, mean: Arc::default(), left: None };
        Self { round: Mutex::new(round), changed: Condvar::new(), patience, across: None }
    }

    /// The same for ranks that are not all of this process.
    pub(crate) fn across(self, lines: GradientLines) -> Self {
        Self { across: Some(Mutex::new(lines)), ..self }
    }

    /// Says that a rank will not come again: nobody waits for it any more.
    pub(crate) fn leave(&self, rank: usize, why: &str) {
        let mut round = self.round.lock().unwrap_or_else(PoisonError::into_inner);
        round.left.get_or_insert_with(|| (rank, why.to_owned()));
        self.changed.notify_all();
    }
}

impl<T: Real> Meeting<T> {
    /// The mean of what all ranks come with, summed in the order of ranks: every rank gets the same bits.
    ///
    /// # Errors
    /// The ranks that did not come in time, or the one that has left with its reason.
    pub(crate) fn mean(&self, rank: usize, own: Gradients<T>) -> Result<Arc<Gradients<T>>> {
        let mut round = self.round.lock().unwrap_or_else(PoisonError::into_inner);
        let number = round.number;
        round.came[rank] = Some(own);
        if round.came.iter().all(Option::is_some) {
            let all: Vec<Gradients<T>> = round.came.iter_mut().filter_map(Option::take).collect();
            let all = match &self.across {
                Some(lines) => {
                    lines.lock().unwrap_or_else(PoisonError::into_inner).all(all).inspect_err(|error| {
                        round.left.get_or_insert_with(|| (rank, error.to_string()));
                        self.changed.notify_all();
                    })?
                }
                None => all,
            };
            round.mean = Arc::new(mean(all));
            round.number += 1;
            self.changed.notify_all();
            return Ok(round.mean.clone());
        }
        let waits = |round: &mut MeetingRound<T>| round.number == number && round.left.is_none();
        let (round, _) = self
            .changed
            .wait_timeout_while(round, self.patience, waits)
            .unwrap_or_else(PoisonError::into_inner);
        if round.number > number {
            return Ok(round.mean.clone());
        }
        let of = round.came.len();
        Err(Error::new(match &round.left {
            Some((gone, why)) => {
                format!("rank {rank} of {of} waited for rank {gone}, which has left: {why}")
            }
            None => {
                let missing = (0..of).filter(|other| round.came[*other].is_none());
                let missing: Vec<String> = missing.map(|other| other.to_string()).collect();
                format!(
                    "rank {rank} of {of} waited {:?} in the exchange of gradients for rank {}, \
                     which did not come",
                    self.patience,
                    missing.join(" and rank ")
                )
            }
        }))
    }
}

fn mean<T: Real>(all: Vec<Gradients<T>>) -> Gradients<T> {
    let share = T::one() / T::of(all.len() as f64);
    let sum = all.into_iter().reduce(|mut sum, next| {
        for (sum, next) in sum.iter_mut().zip(&next) {
            *sum += next;
        }
        sum
    });
    let mut sum = sum.unwrap_or_default();
    for one in &mut sum {
        one.mapv_inplace(|number| number * share);
    }
    sum
}

/// A rank's place in a meeting. Where a thread panics with it, the others learn it.
#[derive(Debug)]
pub(crate) struct RankSeat<T> {
    /// Whose share of a batch it takes.
    pub(crate) share: usize,
    /// Shares of a batch.
    pub(crate) of: usize,
    /// Who it is in the meeting.
    pub(crate) rank: usize,
    pub(crate) meeting: Arc<Meeting<T>>,
}

impl<T> Drop for RankSeat<T> {
    fn drop(&mut self) {
        self.meeting.leave(self.rank, "it ended");
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use ndarray::Array2;

    use super::*;

    const LONG: Duration = Duration::from_mins(1);

    fn numbers(number: f64) -> Gradients<f64> {
        vec![Array2::from_elem((2, 2), number), Array2::from_elem((1, 3), 10.0 * number)]
    }

    #[test]
    fn every_rank_leaves_with_the_mean_of_each_round() {
        let meeting = Meeting::of(3, LONG);
        thread::scope(|scope| {
            for rank in 0..3 {
                let meeting = &meeting;
                scope.spawn(move || {
                    for round in 0..50 {
                        let own = numbers(f64::from(3 * round + rank));
                        let due = numbers(f64::from(3 * round + 1));
                        let mean = meeting.mean(rank as usize, own).unwrap();
                        let far = mean.iter().zip(&due).map(|(mean, due)| (mean - due).mapv(f64::abs).sum());
                        assert!(far.sum::<f64>() < 1e-9, "{mean:?} where {due:?} is due");
                    }
                });
            }
        });
    }

    #[test]
    fn a_rank_that_does_not_come_is_named_and_one_that_has_left_with_its_reason() {
        let meeting = Meeting::of(2, Duration::from_millis(1));
        let said = meeting.mean(0, numbers(1.0)).unwrap_err().to_string();
        assert!(
            said.contains("rank 0 of 2 waited 1ms") && said.contains("for rank 1, which did not come"),
            "{said}"
        );
        let meeting = Meeting::of(2, LONG);
        meeting.leave(1, "the loss of step 3 is NaN");
        let said = meeting.mean(0, numbers(1.0)).unwrap_err().to_string();
        assert_eq!(said, "rank 0 of 2 waited for rank 1, which has left: the loss of step 3 is NaN");
    }
}
