//! What `#[divan::bench]`, `#[divan::bench_group]` and [`Divan`](super::Divan) may say.

use std::num::NonZero;
use std::sync::OnceLock;
use std::thread::available_parallelism;
use std::time::Duration;

use regex_lite::Regex;

use super::counts::Counts;
use weighbridge::PartialBudget;

/// Options for all benches, over what each says itself.
pub(super) static OVERALL: OnceLock<Options> = OnceLock::new();

/// The choice of benches that the program makes itself.
pub(super) static CHOICE: OnceLock<Choice> = OnceLock::new();

/// Benches that are left out, and whether those that say `ignore` are not.
#[derive(Clone, Debug, Default)]
pub(super) struct Choice {
    pub(super) skip_regex: Vec<Regex>,
    pub(super) skip_exact: Vec<String>,
    pub(super) ignored: bool,
}

/// Tells whether the program leaves out what has this path.
pub(super) fn skipped(path: &str) -> bool {
    CHOICE.get().is_some_and(|choice| {
        choice.skip_exact.iter().any(|name| name == path)
            || choice.skip_regex.iter().any(|expression| expression.is_match(path))
    })
}

/// A regular expression, or its text.
pub trait IntoRegex {
    /// The expression.
    fn into_regex(self) -> Regex;
}

impl IntoRegex for Regex {
    fn into_regex(self) -> Regex {
        self
    }
}

macro_rules! texts_of_expressions {
    ($($text:ty),*) => {
        $(
            impl IntoRegex for $text {
                fn into_regex(self) -> Regex {
                    Regex::new(&self).unwrap_or_else(|why| panic!("`{self}` is no expression: {why}"))
                }
            }
        )*
    };
}

texts_of_expressions!(&str, String, &String);

/// The options that were set for all benches.
pub(super) fn overall() -> Options {
    OVERALL.get().cloned().unwrap_or_default()
}

/// The options of one bench, group or program; the rest is left to the next.
#[derive(Clone, Debug, Default)]
#[expect(missing_docs, reason = "divan's words for what they are called")]
pub struct Options {
    pub sample_count: Option<u32>,
    pub sample_size: Option<u32>,
    pub threads: Option<Vec<usize>>,
    pub counters: Counts,
    pub min_time: Option<Duration>,
    pub max_time: Option<Duration>,
    pub skip_ext_time: Option<bool>,
    pub ignore: Option<bool>,
}

impl Options {
    /// Fills in from `other` what is not set here.
    #[must_use]
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            sample_count: self.sample_count.or(other.sample_count),
            sample_size: self.sample_size.or(other.sample_size),
            threads: self.threads.or(other.threads),
            counters: self.counters.or(other.counters),
            min_time: self.min_time.or(other.min_time),
            max_time: self.max_time.or(other.max_time),
            skip_ext_time: self.skip_ext_time.or(other.skip_ext_time),
            ignore: self.ignore.or(other.ignore),
        }
    }

    pub(super) fn budget(&self) -> PartialBudget {
        PartialBudget {
            samples: self.sample_count.map(u64::from),
            min_time: self.min_time,
            max_time: self.max_time,
            repeats: None,
        }
    }

    /// The numbers of threads, each once: 0 is as many as the machine runs at once.
    pub(super) fn threads(&self) -> Vec<usize> {
        let all = available_parallelism().map_or(1, NonZero::get);
        let stated = self.threads.as_deref().unwrap_or(&[1]);
        let mut counts: Vec<usize> =
            stated.iter().map(|&count| if count == 0 { all } else { count }).collect();
        counts.sort_unstable();
        counts.dedup();
        counts
    }

    /// The reason why nothing of it is measured, if that is so.
    pub(super) fn refusal(&self) -> Option<&'static str> {
        match self {
            Self { sample_count: Some(0), .. } => Some("`sample_count` is 0: nothing would be measured"),
            Self { sample_size: Some(0), .. } => Some("`sample_size` is 0: nothing would be measured"),
            Self { max_time: Some(Duration::ZERO), .. } => Some("`max_time` is 0: nothing would be measured"),
            Self { ignore: Some(true), .. } if !CHOICE.get().is_some_and(|choice| choice.ignored) => {
                Some("it says `ignore`")
            }
            _ => None,
        }
    }
}

/// A time, or a number of seconds.
pub trait IntoDuration {
    /// The time.
    fn into_duration(self) -> Duration;
}

impl IntoDuration for Duration {
    fn into_duration(self) -> Duration {
        self
    }
}

impl IntoDuration for u64 {
    fn into_duration(self) -> Duration {
        Duration::from_secs(self)
    }
}

impl IntoDuration for f64 {
    fn into_duration(self) -> Duration {
        Duration::from_secs_f64(self)
    }
}

/// A time that an option states.
///
/// # Panics
/// If it is a negative number of seconds, or none.
pub fn duration(time: impl IntoDuration) -> Duration {
    time.into_duration()
}

/// Numbers of threads. `Form` tells the forms apart that may be written, so that one type may not be two of
/// them.
pub trait IntoThreads<Form> {
    /// The numbers.
    fn into_threads(self) -> Vec<usize>;
}

/// One number, or a truth.
#[derive(Debug)]
pub struct OneValue;

/// Numbers.
#[derive(Debug)]
pub struct Many;

/// Numbers that are elsewhere.
#[derive(Debug)]
pub struct LentNumbers;

impl IntoThreads<OneValue> for usize {
    fn into_threads(self) -> Vec<usize> {
        vec![self]
    }
}

impl IntoThreads<OneValue> for bool {
    fn into_threads(self) -> Vec<usize> {
        vec![usize::from(!self)]
    }
}

impl<I: IntoIterator<Item = usize>> IntoThreads<Many> for I {
    fn into_threads(self) -> Vec<usize> {
        self.into_iter().collect()
    }
}

impl<'a, I: IntoIterator<Item = &'a usize>> IntoThreads<LentNumbers> for I {
    fn into_threads(self) -> Vec<usize> {
        self.into_iter().copied().collect()
    }
}

/// Numbers of threads that an option states: one, several, or `true` for as many as the machine runs at once.
pub fn threads<Form>(stated: impl IntoThreads<Form>) -> Vec<usize> {
    stated.into_threads()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_threads_are_written_as_divan_takes_them() {
        const LENT: &[usize] = &[4, 2];
        let all = available_parallelism().unwrap().get();
        let of = |stated: Vec<usize>| Options { threads: Some(stated), ..Options::default() }.threads();
        assert_eq!(of(threads(3)), [3]);
        assert_eq!(of(threads(true)), [all]);
        assert_eq!(of(threads(false)), [1]);
        assert_eq!(of(threads([9, 1, 9])), [1, 9]);
        assert_eq!(of(threads(LENT)), [2, 4]);
        assert_eq!(of(threads(1..=3)), [1, 2, 3]);
        assert_eq!(Options::default().threads(), [1]);
    }

    #[test]
    fn times_are_durations_or_seconds() {
        assert_eq!(duration(2), Duration::from_secs(2));
        assert_eq!(duration(0.5), Duration::from_millis(500));
        assert_eq!(duration(Duration::from_millis(7)), Duration::from_millis(7));
    }

    #[test]
    fn what_is_said_nearer_holds_and_nothing_is_measured_of_nothing() {
        let own = Options { sample_count: Some(3), ..Options::default() };
        let of_group = Options { sample_count: Some(9), ignore: Some(true), ..Options::default() };
        let both = own.clone().or(of_group);
        assert_eq!((both.sample_count, both.refusal()), (Some(3), Some("it says `ignore`")));
        assert_eq!(own.refusal(), None);
        assert!(Options { sample_size: Some(0), ..own }.refusal().is_some());
    }
}
