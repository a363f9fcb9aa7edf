//! What the repeats of a case saw, condensed to what a chart can show.

use super::use_over_time::UseView;
use serde::Serialize;
use weighbridge::data::{Claim, Ledger, Observation, Outcome, Purpose, Repeat, quantile};

/// With which confidence a count of samples bears a percentile out: that of the latency metrics.
const CONFIDENCE: f64 = 0.99;

/// The shares at which a distribution is read; those that the count does not bear out are left out.
const SHARES: [f64; 28] = [
    0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85,
    0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999, 0.9999,
];

/// The most that is kept of each case, so that a page of many cases stays small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DetailLimits {
    /// Samples of a case, over the repeats that are shown.
    pub(crate) samples: usize,
    /// `true` if all repeats are shown, and not the median one alone.
    pub(crate) all_repeats: bool,
    /// Metrics of a case: the first of them.
    pub(crate) metrics: usize,
    /// Characters of a text: the work report, the detail of a finding.
    pub(crate) text: usize,
}

impl DetailLimits {
    /// For a run of so many cases.
    pub(crate) fn of(cases: usize) -> Self {
        match cases {
            ..=400 => Self { samples: 1_600, all_repeats: true, metrics: usize::MAX, text: 600 },
            401..=2_500 => Self { samples: 240, all_repeats: false, metrics: usize::MAX, text: 300 },
            _ => Self { samples: 40, all_repeats: false, metrics: 7, text: 120 },
        }
    }
}

/// The samples of a case's repeats, condensed. Times are nanoseconds of one iteration or item, with four
/// digits.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Detail {
    /// The measured repeats, in order.
    pub(crate) repeats: Vec<RepeatView>,
    /// Samples of all repeats.
    pub(crate) count: usize,
    /// Share and time: the distribution of all samples, as far as their count bears it out.
    pub(crate) distribution: Vec<(f64, f64)>,
}

/// The samples of one measured repeat, and where its time went.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct RepeatView {
    pub(crate) number: u32,
    /// Samples that it took.
    pub(crate) count: usize,
    /// One of so many of them is in `samples`.
    pub(crate) every: usize,
    /// Samples in order.
    pub(crate) samples: Vec<f64>,
    /// The median of all its samples.
    pub(crate) median: Option<f64>,
    /// Nanoseconds of every entry of the ledger, in its order, and what is left unexplained.
    pub(crate) ledger: Vec<u64>,
    /// Nanoseconds from the start of its process to its end.
    pub(crate) slot: u64,
    /// The samples that were disturbed: by what, and how many.
    pub(crate) disturbed: Vec<(&'static str, usize)>,
    /// The use of the machine meanwhile, where somebody looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) used: Option<UseView>,
    /// The reason why it has no samples, where it failed or was skipped.
    pub(crate) failure: Option<String>,
}

impl Detail {
    /// Condenses repeats that come one by one, so that one at a time need be held.
    pub(crate) fn of(repeats: impl Iterator<Item = Repeat>, expected: usize, room: DetailLimits) -> Self {
        let share = room.samples / expected.max(1);
        let mut detail = Self::default();
        let mut all: Vec<f64> = Vec::new();
        for repeat in repeats.filter(|repeat| repeat.purpose == Purpose::Measure) {
            let (mut seen, times) = RepeatView::of(&repeat, share.max(4));
            if let Some(failure) = &mut seen.failure {
                *failure = clip(failure, room.text);
            }
            all.extend(times);
            detail.repeats.push(seen);
        }
        detail.count = all.len();
        all.sort_unstable_by(f64::total_cmp);
        if !all.is_empty() {
            let shares = SHARES.into_iter().filter(|share| is_borne_out(*share, all.len()));
            detail.distribution = shares.map(|share| (share, short(of_sorted(&all, share)))).collect();
        }
        detail
    }
}

impl RepeatView {
    fn of(repeat: &Repeat, room: usize) -> (Self, Vec<f64>) {
        let used = UseView::of(repeat);
        let bare = Self { number: repeat.number, slot: repeat.slot, used, ..Self::default() };
        match &repeat.outcome {
            Outcome::Measured { seen, .. } => bare.with(seen, room),
            Outcome::Failed(failure) => (Self { failure: Some(failure.to_string()), ..bare }, Vec::new()),
            Outcome::Skipped { why } => {
                (Self { failure: Some(format!("skipped: {why}")), ..bare }, Vec::new())
            }
        }
    }

    fn with(self, seen: &Observation, room: usize) -> (Self, Vec<f64>) {
        let iterations = seen.iterations_per_sample.max(1) as f64;
        let times: Vec<f64> = seen.samples.iter().map(|sample| *sample as f64 / iterations).collect();
        let every = times.len().div_ceil(room).max(1);
        let mut ledger: Vec<u64> =
            Ledger::ENTRIES.into_iter().map(|(entry, _)| seen.ledger.get(entry)).collect();
        ledger.push(self.slot.saturating_sub(seen.ledger.sum()));
        let kept = Self {
            count: times.len(),
            every,
            samples: times.iter().step_by(every).map(|time| short(*time)).collect(),
            median: (!times.is_empty()).then(|| short(quantile(&times, 0.5))),
            ledger: if seen.ledger == Ledger::default() { Vec::new() } else { ledger },
            disturbed: seen.tags.iter().map(|tag| (tag.cause.name(), tag.samples.len())).collect(),
            ..self
        };
        (kept, times)
    }
}

/// Returns whether so many samples bear a share of them out. The lower half of a distribution is of the half
/// that is there.
fn is_borne_out(share: f64, count: usize) -> bool {
    let claim = Claim { percentile: share, tolerance: 0.0, confidence: CONFIDENCE };
    share <= 0.5 || claim.least_count().is_some_and(|least| count as u64 >= least)
}

/// The value below which a share of sorted values lies, between its neighbours in proportion.
fn of_sorted(values: &[f64], share: f64) -> f64 {
    let at = share * (values.len() - 1) as f64;
    let (low, high) = (values[at.floor() as usize], values[at.ceil() as usize]);
    low + (high - low) * at.fract()
}

/// The value with four digits: what a chart can show.
pub(crate) fn short(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// The text, cut to so many characters.
pub(crate) fn clip(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeat(number: u32, samples: Vec<u64>) -> Repeat {
        let seen = Observation { samples, iterations_per_sample: 10, ..Observation::default() };
        let outcome = Outcome::Measured { seen: Box::new(seen), work: None, evidence: Box::default() };
        Repeat {
            number,
            purpose: Purpose::Measure,
            slot: 9_000,
            start: None,
            tree: None,
            utilisation: None,
            surroundings: 0,
            outcome,
        }
    }

    #[test]
    fn samples_are_thinned_evenly_and_the_median_is_of_all() {
        let room = DetailLimits { samples: 10, ..DetailLimits::of(1) };
        let detail = Detail::of([repeat(1, (1..=1_000).map(|at| at * 10).collect())].into_iter(), 1, room);
        let seen = &detail.repeats[0];
        assert_eq!((seen.count, seen.every, seen.samples.len()), (1_000, 100, 10));
        assert_eq!(seen.samples[..3], [1.0, 101.0, 201.0]);
        assert_eq!(seen.median, Some(500.5));
    }

    #[test]
    fn a_distribution_ends_where_the_count_of_samples_does_not_bear_it_out() {
        let last = |count: u64| {
            let detail = Detail::of([repeat(1, (1..=count).collect())].into_iter(), 1, DetailLimits::of(1));
            detail.distribution.last().expect("it has some").0
        };
        // 64 samples bear p90 out and 662 p99, by the rule of the latency metrics.
        assert_eq!(
            [last(10), last(64), last(661), last(662)].map(|share| (share * 1e4) as u32),
            [5_000, 9_000, 9_800, 9_900]
        );
    }

    #[test]
    fn a_repeat_that_failed_says_so_and_is_no_sample() {
        let skipped = Repeat { outcome: Outcome::Skipped { why: "no device".into() }, ..repeat(2, vec![]) };
        let detail = Detail::of([repeat(1, vec![10; 4]), skipped].into_iter(), 2, DetailLimits::of(1));
        assert_eq!(detail.count, 4);
        assert_eq!(detail.repeats[1].failure.as_deref(), Some("skipped: no device"));
        assert_eq!(clip("añb", 2), "añ…");
    }
}
