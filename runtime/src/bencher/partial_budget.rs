//! What may be said of how much is measured: by whoever runs, by a workspace, by the author of a scenario.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Budget;

/// The part of a scenario's [`Budget`] and repeats that somebody states; the rest is left to the next one.
///
/// ```
/// use std::time::Duration;
/// use weighbridge::PartialBudget;
///
/// let max_time = Some(Duration::from_secs(2));
/// let of_the_author = PartialBudget { samples: Some(100), max_time, ..PartialBudget::NONE };
/// let typed = PartialBudget { samples: Some(10), ..PartialBudget::NONE };
/// assert_eq!(typed.or(of_the_author), PartialBudget { samples: Some(10), ..of_the_author });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PartialBudget {
    /// The least number of samples in a repeat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<u64>,
    /// The least time that a repeat measures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_time: Option<Duration>,
    /// The most time that the samples of a body may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_time: Option<Duration>,
    /// Measured repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats: Option<u32>,
}

impl PartialBudget {
    /// Nothing is stated.
    pub const NONE: Self = Self { samples: None, min_time: None, max_time: None, repeats: None };

    /// Fills in from `other` what is not stated here. Where a least and a most contradict each other, the one
    /// that is stated here holds.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let most = |max: Duration| self.min_time.map_or(max, |min| min.max(max));
        let least = |min: Duration| self.max_time.map_or(min, |max| max.min(min));
        Self {
            samples: self.samples.or(other.samples),
            min_time: self.min_time.or(other.min_time.map(least)),
            max_time: self.max_time.or(other.max_time.map(most)),
            repeats: self.repeats.or(other.repeats),
        }
    }

    /// The budget with what is stated here.
    #[must_use]
    pub fn over(self, budget: Budget) -> Budget {
        let Budget { warmup, batches, min_time, max_time } = budget;
        let rest = Self { samples: Some(batches), min_time: Some(min_time), max_time, repeats: None };
        let all = self.or(rest);
        Budget {
            warmup,
            batches: all.samples.unwrap_or(batches),
            min_time: all.min_time.unwrap_or(min_time),
            max_time: all.max_time,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: Budget =
        Budget { warmup: 3, batches: 20, min_time: Duration::from_millis(500), max_time: None };

    #[test]
    fn what_is_stated_first_holds_and_the_rest_is_left_to_the_next() {
        let typed = PartialBudget { repeats: Some(3), ..PartialBudget::NONE };
        let author = PartialBudget { repeats: Some(9), samples: Some(50), ..PartialBudget::NONE };
        assert_eq!(
            typed.or(author),
            PartialBudget { repeats: Some(3), samples: Some(50), ..PartialBudget::NONE }
        );
        assert_eq!(author.over(BUDGET), Budget { batches: 50, ..BUDGET });
        assert_eq!(PartialBudget::NONE.over(BUDGET), BUDGET);
    }

    #[test]
    fn whichever_of_least_and_most_was_stated_holds() {
        let second = Duration::from_secs(1);
        let short = PartialBudget { max_time: Some(second / 10), ..PartialBudget::NONE }.over(BUDGET);
        assert_eq!((short.min_time, short.max_time), (second / 10, Some(second / 10)));
        let bounded = Budget { max_time: Some(second), ..BUDGET };
        let long = PartialBudget { min_time: Some(second * 3), ..PartialBudget::NONE }.over(bounded);
        assert_eq!((long.min_time, long.max_time), (second * 3, Some(second * 3)));
    }
}
