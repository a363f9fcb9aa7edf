//! The highest rate that holds the goals, with an interval: from the highest rate at which every window held
//! to the lowest at which none did.

/// The least share that both ends may be apart.
const SMALLEST: f64 = 0.001;

/// The outcome of the windows of a rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RateTrial {
    /// All of them held the goals.
    Holds,
    /// None of them did.
    Fails,
    /// Some did: the rate lies within the interval.
    Mixed,
}

/// The bounds of a search, in requests per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSearch {
    /// The lowest rate that is tried.
    pub low: f64,
    /// The highest.
    pub high: f64,
    /// Each end is sought until the rates beside it are as near, as a share.
    pub within: f64,
}

/// The result of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FoundRate {
    /// The highest rate at which every window held; `None` where not even the lowest did.
    pub holds: Option<f64>,
    /// The lowest rate at which none did; `None` where not even the highest failed.
    pub fails: Option<f64>,
}

impl RateSearch {
    /// Windows of a rate that must agree: were each as likely to hold as not, 5 would agree on one side in
    /// one of 32 cases.
    pub const WINDOWS: u32 = 5;

    /// The most windows that a search takes.
    pub fn most_windows(self) -> u32 {
        // Each end is sought by halving the ratio, until what is left is as small as that.
        let ratio = (self.high / self.low).ln() / (1.0 + self.within.max(SMALLEST)).ln();
        let halvings = ratio.max(1.0).log2().ceil() as u32;
        (2 + 2 * (halvings + 1)) * Self::WINDOWS
    }

    /// Searches, by halving the ratio of two rates.
    ///
    /// # Errors
    /// The first error of a trial.
    pub fn run<E>(self, mut trial: impl FnMut(f64) -> Result<RateTrial, E>) -> Result<FoundRate, E> {
        // Rates at which all windows held, at which some did or none, and so on.
        let mut found = FoundRate { holds: None, fails: None };
        let (mut not_held, mut not_failed) = (self.high, self.low);
        let mut note = |rate: f64, found: &mut FoundRate, ends: (&mut f64, &mut f64)| {
            let outcome = trial(rate)?;
            let (not_held, not_failed) = ends;
            if outcome == RateTrial::Holds {
                found.holds = Some(found.holds.map_or(rate, |best| best.max(rate)));
            } else {
                *not_held = not_held.min(rate);
            }
            if outcome == RateTrial::Fails {
                found.fails = Some(found.fails.map_or(rate, |best| best.min(rate)));
            } else {
                *not_failed = not_failed.max(rate);
            }
            Ok(outcome)
        };
        let at_low = note(self.low, &mut found, (&mut not_held, &mut not_failed))?;
        if at_low == RateTrial::Fails {
            return Ok(found);
        }
        if note(self.high, &mut found, (&mut not_held, &mut not_failed))? == RateTrial::Holds {
            return Ok(found);
        }
        let is_apart = |low: f64, high: f64| high > low * (1.0 + self.within.max(SMALLEST));
        while let Some(held) = found.holds.filter(|held| is_apart(*held, not_held)) {
            note((held * not_held).sqrt(), &mut found, (&mut not_held, &mut not_failed))?;
        }
        while let Some(failed) = found.fails.filter(|failed| is_apart(not_failed, *failed)) {
            note((failed * not_failed).sqrt(), &mut found, (&mut not_held, &mut not_failed))?;
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that holds up to one rate, fails from another on, and does either between.
    fn search(holds: f64, fails: f64) -> (FoundRate, usize) {
        let mut trials = 0;
        let search = RateSearch { low: 1.0, high: 100.0, within: 0.05 };
        let found = search.run(|rate| {
            trials += 1;
            Ok::<_, ()>(match rate {
                rate if rate <= holds => RateTrial::Holds,
                rate if rate >= fails => RateTrial::Fails,
                _ => RateTrial::Mixed,
            })
        });
        (found.unwrap(), trials)
    }

    #[test]
    fn the_interval_holds_the_rate_and_is_as_narrow_as_was_asked() {
        for limit in [1.5, 17.0, 40.0, 99.0] {
            let (found, trials) = search(limit, limit + 1e-9);
            let (holds, fails) = (found.holds.unwrap(), found.fails.unwrap());
            assert!(holds <= limit && limit <= fails && fails <= holds * 1.0501, "{limit}: {found:?}");
            assert!(trials <= 10, "{trials}");
        }
    }

    #[test]
    fn rates_at_which_windows_disagree_lie_within_the_interval() {
        let (found, _) = search(20.0, 40.0);
        let (holds, fails) = (found.holds.unwrap(), found.fails.unwrap());
        assert!((19.0..=20.0).contains(&holds) && (40.0..=42.0).contains(&fails), "{found:?}");
    }

    #[test]
    fn a_server_that_never_or_always_holds_has_one_end_alone() {
        assert_eq!(search(0.5, 0.6), (FoundRate { holds: None, fails: Some(1.0) }, 1));
        assert_eq!(search(1e3, 1e4), (FoundRate { holds: Some(100.0), fails: None }, 2));
        let (mixed, _) = search(0.5, 1e4);
        assert_eq!(mixed, FoundRate { holds: None, fails: None });
    }

    #[test]
    fn the_first_error_of_a_trial_ends_the_search() {
        let search = RateSearch { low: 1.0, high: 2.0, within: 0.1 };
        assert_eq!(search.run(|_| Err("saturated")), Err("saturated"));
    }
}
