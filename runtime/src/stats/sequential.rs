//! Looking at rounds before the last one: ranks at which looking often makes no more false alarms than asked.

/// One look at the rounds so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// The number of rounds before it.
    pub rounds: usize,
    /// The rank, from either end, of the Walsh average that bounds the interval
    /// ([`walsh_interval`](super::walsh_interval)).
    pub rank: usize,
}

/// The looks of a duel, and how wide its intervals are then: at each look the largest rank that misses with
/// at most 2 %, so that all looks together miss with at most 5 % (a constant boundary, as Pocock's: *Group
/// Sequential Methods in the Design and Analysis of Clinical Trials*, 1977).
///
/// The exact probability that the interval of any of the looks misses the centre of continuous symmetric
/// values is 4.8055 %, as the tests count.
pub const LOOKS: [Look; 4] = [
    Look { rounds: 8, rank: 2 },
    Look { rounds: 12, rank: 10 },
    Look { rounds: 16, rank: 24 },
    Look { rounds: 24, rank: 70 },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::signed_rank::tests::{walsh_level, walsh_rank};
    use crate::stats::{SplitMix64, walsh_interval};

    impl Look {
        /// The probability with which the interval of this look alone misses the centre of symmetric values.
        fn level(self) -> f64 {
            walsh_level(self.rounds, self.rank)
        }
    }

    /// The largest number of rounds that [`crossing_probability`] can count.
    const MOST_ROUNDS: usize = 26;

    /// The probability with which the interval of at least one of these looks, in order of their rounds,
    /// misses the centre of independent, continuous, symmetric values: the two-sided rate of false alarms
    /// over all looks. `None` where the rounds do not ascend or are more than [`MOST_ROUNDS`].
    ///
    /// Exact, and the same for every such distribution, since the signed ranks alone decide: in the order of
    /// their distance from the centre the signs of n values are n fair coins, and the value that came last is
    /// any of the n with the same probability. So the probability q that no look has missed yet, given the
    /// pattern of signs, is the mean of q over the n patterns with one sign removed, and zero where this look
    /// misses. It takes 2^n steps and numbers for n rounds, seconds for 24.
    fn crossing_probability(looks: &[Look]) -> Option<f64> {
        let mut inside = vec![1.0]; // q by pattern: bit k is the sign of the value k-th nearest to the centre
        let mut rounds = 0;
        for look in looks {
            if look.rounds <= rounds || look.rounds > MOST_ROUNDS {
                return None;
            }
            while rounds < look.rounds {
                rounds += 1;
                inside = one_more(&inside, rounds);
            }
            let all = look.rounds * (look.rounds + 1) / 2;
            for (pattern, inside) in inside.iter_mut().enumerate() {
                let positive = rank_sum(pattern);
                // As many Walsh averages as this lie above the centre, and the others below it.
                if positive < look.rank || all - positive < look.rank {
                    *inside = 0.0;
                }
            }
        }
        let sum: f64 = inside.iter().sum();
        Some(1.0 - sum / inside.len() as f64)
    }

    /// The probabilities for patterns of `rounds` signs from those for one sign less.
    fn one_more(before: &[f64], rounds: usize) -> Vec<f64> {
        let mut after = vec![0.0; 2 * before.len()];
        for pattern in 0..before.len() {
            let mut sum = 0.0;
            let mut bit = 0;
            // Removing any sign of a run of equal ones leaves the same pattern.
            while bit < rounds {
                let rest = pattern >> bit;
                let run = if rest & 1 == 1 { rest.trailing_ones() } else { rest.trailing_zeros() };
                let run = (run as usize).min(rounds - bit);
                let low = pattern & ((1 << bit) - 1);
                sum += run as f64 * before[(rest >> 1 << bit) | low];
                bit += run;
            }
            // Turning all signs round changes nothing.
            after[pattern] = sum / rounds as f64;
            after[2 * before.len() - 1 - pattern] = after[pattern];
        }
        after
    }

    /// The sum of the ranks of the positive ones.
    fn rank_sum(pattern: usize) -> usize {
        let mut rest = pattern;
        let mut sum = 0;
        while rest != 0 {
            sum += rest.trailing_zeros() as usize + 1;
            rest &= rest - 1;
        }
        sum
    }

    #[test]
    fn each_look_has_the_largest_rank_that_misses_in_at_most_two_percent() {
        for look in LOOKS {
            assert_eq!(walsh_rank(look.rounds, 0.02), look.rank, "{look:?}");
            assert!(look.level() <= 0.02);
        }
    }

    #[test]
    fn all_looks_together_miss_in_less_than_five_percent() {
        let found = crossing_probability(&LOOKS).unwrap();
        assert!((found - 0.048_055).abs() < 1e-6, "{found}");
    }

    /// Counts, in 20,000 duels of identical programs, how often an interval misses zero. The standard error
    /// of the rate is 0.15 %; the values are drawn from a distribution so heavy in its tails that it has no
    /// mean.
    #[test]
    fn drawn_rounds_miss_as_often_as_was_counted() {
        let mut random = SplitMix64::new(7);
        let mut misses = 0;
        for _ in 0..20_000 {
            let mut values = Vec::new();
            while values.len() < 24 {
                let even = (random.draw() >> 11) as f64 / (1u64 << 53) as f64;
                values.push((std::f64::consts::PI * (even - 0.5)).tan());
            }
            let missed = |look: &Look| {
                // The interval's bounds by the sum of ranks: sorting all averages 80,000 times takes long.
                let p = |values: &[f64]| signed_rank_sum(&values[..look.rounds]) < look.rank;
                p(&values) || p(&values.iter().map(|value| -value).collect::<Vec<_>>())
            };
            misses += usize::from(LOOKS.iter().any(missed));
        }
        let rate = misses as f64 / 20_000.0;
        assert!((rate - 0.048_055).abs() < 0.006, "{rate}");
    }

    /// The sum of the ranks of the positive values, by its definition.
    fn signed_rank_sum(values: &[f64]) -> usize {
        let rank = |value: &f64| values.iter().filter(|other| other.abs() <= value.abs()).count();
        values.iter().filter(|value| **value > 0.0).map(rank).sum()
    }

    #[test]
    fn an_interval_misses_when_the_sum_of_ranks_is_below_its_rank() {
        let mut random = SplitMix64::new(9);
        for _ in 0..200 {
            let values: Vec<f64> = (0..8).map(|_| random.below(1 << 40) as f64 - 4e11).collect();
            let (low, high) = walsh_interval(&values, 2).unwrap();
            let turned: Vec<f64> = values.iter().map(|value| -value).collect();
            assert_eq!(high < 0.0, signed_rank_sum(&values) < 2);
            assert_eq!(low > 0.0, signed_rank_sum(&turned) < 2);
        }
    }

    #[test]
    fn looks_that_do_not_ascend_or_are_too_many_have_no_probability() {
        let look = |rounds| Look { rounds, rank: 1 };
        assert_eq!(crossing_probability(&[]), Some(0.0));
        assert_eq!(crossing_probability(&[look(0)]), None);
        assert_eq!(crossing_probability(&[look(3), look(3)]), None);
        assert_eq!(crossing_probability(&[look(MOST_ROUNDS + 1)]), None);
        assert_eq!(crossing_probability(&[look(1)]), Some(1.0));
        assert_eq!(crossing_probability(&[Look { rounds: 4, rank: 0 }]), Some(0.0));
    }

    #[test]
    fn one_look_misses_with_its_own_level_and_each_further_one_adds_no_more() {
        for look in LOOKS.into_iter().take(3) {
            assert!((crossing_probability(&[look]).unwrap() - look.level()).abs() < 1e-12);
        }
        let two = crossing_probability(&LOOKS[..2]).unwrap();
        let three = crossing_probability(&LOOKS[..3]).unwrap();
        assert!(LOOKS[1].level() < two && two < three);
        assert!(two < LOOKS[0].level() + LOOKS[1].level() && three < two + LOOKS[2].level());
    }
}
