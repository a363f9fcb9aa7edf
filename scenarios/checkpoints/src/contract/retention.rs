//! Which steps of a training a manager saves, and which checkpoints it keeps. Names and rules are those of
//! Orbax 0.12.8.
//!
//! Some rules ask how much time has passed. Whoever watches a manager knows the moment of a save only as
//! lying between two others, so an answer may be open: `None`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::Serialize;

/// Rules for the steps that are saved and the checkpoints that are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retention {
    /// A step is saved if this divides its number. Steps are counted from 0. It counts where no policy says
    /// what is saved.
    pub save_interval_steps: u64,
    /// So many checkpoints are kept, the newest ones; older ones are deleted. It counts where no policy says
    /// what is kept.
    pub max_to_keep: u64,
    /// The number of threads that delete a checkpoint.
    pub num_deletion_threads: u64,
    /// A step is saved if one of these says so.
    pub save_policies: SavePolicies,
    /// A checkpoint is kept if one of these says so.
    pub keep_policies: KeepPolicies,
}

/// A reason to save a step. A worker is told `{"interval": 10}`, `"initial"` and so on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SavePolicy {
    /// This divides its number.
    Interval(u64),
    /// It is one of these.
    Steps(Vec<u64>),
    /// So many seconds have passed since the newest checkpoint that is kept.
    Continuous(u64),
    /// There is no checkpoint.
    Initial,
    /// The machine is about to be taken away. That never happens here.
    Preemption,
}

/// A reason to keep a checkpoint. A worker is told `{"latest": 5}` and so on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum KeepPolicy {
    /// It is one of so many newest ones; any is, if there is no number.
    Latest(Option<u64>),
    /// This divides the number of its step.
    #[serde(rename = "interval")]
    StepInterval(u64),
    /// It is the oldest that is there, or so many seconds younger than the one before it that this policy
    /// keeps.
    Seconds(u64),
    /// Its step is one of these.
    Steps(Vec<u64>),
}

/// Reasons to save a step, of which one suffices: `interval=10 or steps=3+12`. Without any
/// `save_interval_steps` counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SavePolicies(Vec<SavePolicy>);

/// Reasons to keep a checkpoint, of which one suffices: `latest=5 or steps=11+22`. Without any `max_to_keep`
/// counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeepPolicies(Vec<KeepPolicy>);

/// A moment since the training began that lies between two others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// It is not before this.
    pub earliest: Duration,
    /// It is not after this.
    pub latest: Duration,
}

/// A checkpoint that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedStep {
    /// The number of its step.
    pub step: u64,
    /// The moment at which it was saved.
    pub saved: Moment,
}

impl Moment {
    /// A moment that is known.
    pub fn at(moment: Duration) -> Self {
        Self { earliest: moment, latest: moment }
    }

    /// Returns whether it is so many seconds after another, which was before it; `None` if that is open.
    fn is_since(self, other: Self, seconds: u64) -> Option<bool> {
        let wait = Duration::from_secs(seconds);
        if seconds == 0 || self.earliest >= other.latest.saturating_add(wait) {
            Some(true)
        } else if self.latest < other.earliest.saturating_add(wait) {
            Some(false)
        } else {
            None
        }
    }
}

/// Returns whether one of several answers is yes; `None` if that is open.
fn any(answers: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    let mut any = Some(false);
    for answer in answers {
        match answer {
            Some(true) => return answer,
            Some(false) => {}
            None => any = None,
        }
    }
    any
}

impl Retention {
    /// The longest training: what it keeps is worked out before it runs.
    pub const MOST_STEPS: u64 = 10_000;

    /// The newest so many of every so many steps, and no other policy.
    pub fn newest(save_interval_steps: u64, max_to_keep: u64, num_deletion_threads: u64) -> Self {
        Self {
            save_interval_steps,
            max_to_keep,
            num_deletion_threads,
            save_policies: SavePolicies::default(),
            keep_policies: KeepPolicies::default(),
        }
    }

    /// Returns whether a step is saved at a moment, if these checkpoints are there, oldest first; `None` if
    /// that is open.
    pub fn is_due(&self, step: u64, now: Moment, there: &[SavedStep]) -> Option<bool> {
        if self.save_policies.0.is_empty() {
            return Some(step.is_multiple_of(self.save_interval_steps));
        }
        any(self.save_policies.0.iter().map(|policy| match policy {
            SavePolicy::Interval(steps) => Some(step.is_multiple_of(*steps)),
            SavePolicy::Steps(steps) => Some(steps.contains(&step)),
            SavePolicy::Continuous(seconds) => {
                there.last().map_or(Some(true), |newest| now.is_since(newest.saved, *seconds))
            }
            SavePolicy::Initial => Some(there.is_empty()),
            SavePolicy::Preemption => Some(false),
        }))
    }

    /// Returns for each checkpoint that is there, oldest first, whether it is kept when the last of them was
    /// just saved; `None` if that is open.
    pub fn kept(&self, there: &[SavedStep]) -> Vec<Option<bool>> {
        let by_number = [KeepPolicy::Latest(Some(self.max_to_keep))];
        let policies = if self.keep_policies.0.is_empty() { &by_number[..] } else { &self.keep_policies.0 };
        let each: Vec<Vec<Option<bool>>> = policies.iter().map(|policy| policy.kept(there)).collect();
        (0..there.len()).map(|at| any(each.iter().map(|answers| answers[at]))).collect()
    }

    /// Works out a training of so many steps, at most [`Retention::MOST_STEPS`], in which no second passes:
    /// the steps whose checkpoints are there in the end, and how many were there at most with the one that
    /// was just saved.
    pub fn at_once(&self, train_steps: u64) -> (Vec<u64>, u64) {
        let now = Moment::at(Duration::ZERO);
        let (mut there, mut most): (Vec<SavedStep>, usize) = (Vec::new(), 0);
        for step in 0..train_steps.min(Self::MOST_STEPS) {
            if self.is_due(step, now, &there) == Some(true) {
                there.push(SavedStep { step, saved: now });
                most = most.max(there.len());
                let mut kept = self.kept(&there).into_iter();
                there.retain(|_| kept.next().flatten().unwrap_or(false));
            }
        }
        (there.iter().map(|saved| saved.step).collect(), most as u64)
    }

    /// Returns whether a policy goes by time.
    pub fn goes_by_time(&self) -> bool {
        self.save_policies.0.iter().any(|policy| matches!(policy, SavePolicy::Continuous(_)))
            || self.keep_policies.0.iter().any(|policy| matches!(policy, KeepPolicy::Seconds(_)))
    }
}

impl KeepPolicy {
    fn kept(&self, there: &[SavedStep]) -> Vec<Option<bool>> {
        match self {
            Self::Latest(None) => vec![Some(true); there.len()],
            Self::Latest(Some(most)) => {
                let old = there.len().saturating_sub(usize::try_from(*most).unwrap_or(usize::MAX));
                (0..there.len()).map(|at| Some(at >= old)).collect()
            }
            Self::StepInterval(steps) => {
                there.iter().map(|saved| Some(saved.step.is_multiple_of(*steps))).collect()
            }
            Self::Seconds(seconds) => {
                let mut last: Option<Moment> = None;
                let mut answer = |saved: Moment| {
                    let answer = last.map_or(Some(true), |last| saved.is_since(last, *seconds));
                    last = match answer {
                        Some(true) => Some(saved),
                        Some(false) => last,
                        // One of the two.
                        None => last.map(|last| Moment { earliest: last.earliest, latest: saved.latest }),
                    };
                    answer
                };
                there.iter().map(|saved| answer(saved.saved)).collect()
            }
            Self::Steps(steps) => there.iter().map(|saved| Some(steps.contains(&saved.step))).collect(),
        }
    }
}

impl SavePolicies {
    /// The policies; none where `save_interval_steps` counts.
    pub fn all(&self) -> &[SavePolicy] {
        &self.0
    }
}

impl KeepPolicies {
    /// The policies; none where `max_to_keep` counts.
    pub fn all(&self) -> &[KeepPolicy] {
        &self.0
    }
}

impl FromIterator<SavePolicy> for SavePolicies {
    fn from_iter<I: IntoIterator<Item = SavePolicy>>(policies: I) -> Self {
        Self(policies.into_iter().collect())
    }
}

impl FromIterator<KeepPolicy> for KeepPolicies {
    fn from_iter<I: IntoIterator<Item = KeepPolicy>>(policies: I) -> Self {
        Self(policies.into_iter().collect())
    }
}

/// The text between two policies.
const OR: &str = " or ";
const BY_INTERVAL: &str = "save_interval_steps";
const BY_NUMBER: &str = "max_to_keep";

fn steps_text(steps: &[u64]) -> String {
    steps.iter().map(u64::to_string).collect::<Vec<_>>().join("+")
}

fn steps_of(text: &str) -> Option<Vec<u64>> {
    text.split('+').map(|step| step.parse().ok()).collect()
}

/// A number above 0.
fn count_of(text: &str) -> Option<u64> {
    text.parse().ok().filter(|count| *count > 0)
}

/// Policies of a text, each `name` or `name=value`.
fn policies_of<T>(text: &str, policy: impl Fn(&str, Option<&str>) -> Option<T>) -> Result<Vec<T>, String> {
    let each = text.split(OR).map(|part| {
        let (name, value) = part.split_once('=').map_or((part, None), |(name, value)| (name, Some(value)));
        policy(name, value).ok_or_else(|| format!("`{part}` is no policy"))
    });
    each.collect()
}

impl fmt::Display for SavePolicies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str(BY_INTERVAL);
        }
        let each = self.0.iter().map(|policy| match policy {
            SavePolicy::Interval(steps) => format!("interval={steps}"),
            SavePolicy::Steps(steps) => format!("steps={}", steps_text(steps)),
            SavePolicy::Continuous(seconds) => format!("continuous={seconds}"),
            SavePolicy::Initial => "initial".to_owned(),
            SavePolicy::Preemption => "preemption".to_owned(),
        });
        f.write_str(&each.collect::<Vec<_>>().join(OR))
    }
}

impl FromStr for SavePolicies {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == BY_INTERVAL {
            return Ok(Self::default());
        }
        let policy = |name: &str, value: Option<&str>| match (name, value) {
            ("interval", Some(steps)) => count_of(steps).map(SavePolicy::Interval),
            ("steps", Some(steps)) => steps_of(steps).map(SavePolicy::Steps),
            ("continuous", Some(seconds)) => seconds.parse().ok().map(SavePolicy::Continuous),
            ("initial", None) => Some(SavePolicy::Initial),
            ("preemption", None) => Some(SavePolicy::Preemption),
            _ => None,
        };
        let form = "such as `interval=10`, `steps=3+12`, `continuous=4` (seconds), `initial`, `preemption`";
        policies_of(text, policy).map(Self).map_err(|why| {
            format!("{why} {form}; `{OR}` stands between several, and `{BY_INTERVAL}` for none")
        })
    }
}

impl fmt::Display for KeepPolicies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str(BY_NUMBER);
        }
        let each = self.0.iter().map(|policy| match policy {
            KeepPolicy::Latest(None) => "latest=all".to_owned(),
            KeepPolicy::Latest(Some(number)) => format!("latest={number}"),
            KeepPolicy::StepInterval(steps) => format!("interval={steps}"),
            KeepPolicy::Seconds(seconds) => format!("seconds={seconds}"),
            KeepPolicy::Steps(steps) => format!("steps={}", steps_text(steps)),
        });
        f.write_str(&each.collect::<Vec<_>>().join(OR))
    }
}

impl FromStr for KeepPolicies {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == BY_NUMBER {
            return Ok(Self::default());
        }
        let policy = |name: &str, value: Option<&str>| match (name, value) {
            ("latest", Some("all")) => Some(KeepPolicy::Latest(None)),
            ("latest", Some(number)) => number.parse().ok().map(|number| KeepPolicy::Latest(Some(number))),
            ("interval", Some(steps)) => count_of(steps).map(KeepPolicy::StepInterval),
            ("seconds", Some(seconds)) => seconds.parse().ok().map(KeepPolicy::Seconds),
            ("steps", Some(steps)) => steps_of(steps).map(KeepPolicy::Steps),
            _ => None,
        };
        let form = "such as `latest=5`, `latest=all`, `interval=13`, `seconds=60`, `steps=11+22`";
        policies_of(text, policy)
            .map(Self)
            .map_err(|why| format!("{why} {form}; `{OR}` stands between several, and `{BY_NUMBER}` for none"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retention(save: &str, keep: &str) -> Retention {
        Retention {
            save_policies: save.parse().unwrap(),
            keep_policies: keep.parse().unwrap(),
            ..Retention::newest(2, 2, 1)
        }
    }

    fn saved(step: u64, earliest: u64, latest: u64) -> SavedStep {
        let [earliest, latest] = [earliest, latest].map(Duration::from_millis);
        SavedStep { step, saved: Moment { earliest, latest } }
    }

    #[test]
    fn policies_are_read_as_they_are_written() {
        for text in
            ["save_interval_steps", "interval=10 or steps=3+12", "continuous=4 or initial or preemption"]
        {
            assert_eq!(text.parse::<SavePolicies>().unwrap().to_string(), text);
        }
        for text in ["max_to_keep", "latest=5 or steps=11+22+33", "latest=all or interval=13 or seconds=60"] {
            assert_eq!(text.parse::<KeepPolicies>().unwrap().to_string(), text);
        }
        for text in
            ["", "interval", "interval=0", "steps=", "steps=a", "initial=1", "latest=3", "interval=2 or "]
        {
            assert!(text.parse::<SavePolicies>().unwrap_err().contains("is no policy"), "{text}");
        }
        for text in ["", "latest", "interval=0", "continuous=3", "best=2"] {
            assert!(text.parse::<KeepPolicies>().unwrap_err().contains("is no policy"), "{text}");
        }
    }

    #[test]
    fn the_published_examples_of_orbax_keep_what_they_say() {
        // Its `checkpoint_policy_benchmark.yaml`, of version 0.12.8: 100 steps.
        let kept = |save, keep| retention(save, keep).at_once(100).0;
        assert_eq!(kept("interval=10", "latest=5 or steps=11+22+33"), [50, 60, 70, 80, 90]);
        assert_eq!(kept("steps=3+12+43", "latest=10 or interval=13"), [3, 12, 43]);
        assert_eq!(kept("continuous=4", "interval=13"), [0]);
    }

    #[test]
    fn without_policies_the_two_numbers_count() {
        assert_eq!(retention("save_interval_steps", "max_to_keep").at_once(7), (vec![4, 6], 3));
        assert_eq!(retention("steps=5", "max_to_keep").at_once(7), (vec![5], 1));
        assert_eq!(retention("save_interval_steps", "interval=3").at_once(7), (vec![0, 6], 2));
        assert_eq!(retention("preemption", "latest=all").at_once(7), (vec![], 0));
        assert_eq!(
            retention("initial", "latest=0").at_once(3),
            (vec![], 1),
            "each step is the first, and goes"
        );
    }

    #[test]
    fn what_goes_by_time_is_open_where_the_moments_are_too_rough() {
        let continuous = retention("continuous=1", "latest=all");
        let there = [saved(0, 0, 10)];
        let due = |earliest, latest| continuous.is_due(1, saved(1, earliest, latest).saved, &there);
        assert_eq!([due(1010, 1020), due(900, 999), due(990, 1005)], [Some(true), Some(false), None]);
        assert_eq!(continuous.is_due(0, Moment::at(Duration::ZERO), &[]), Some(true));

        let seconds = retention("interval=1", "seconds=1");
        assert_eq!(
            seconds.kept(&[saved(0, 0, 10), saved(1, 500, 510), saved(2, 1020, 1030)]),
            [Some(true), Some(false), Some(true)]
        );
        // The second may be kept or not; the third is a second after the first and half of one after the
        // second.
        assert_eq!(
            seconds.kept(&[saved(0, 0, 10), saved(1, 990, 1005), saved(2, 1500, 1510)]),
            [Some(true), None, None]
        );
        let or_the_newest = retention("interval=1", "seconds=1 or latest=1");
        assert_eq!(or_the_newest.kept(&[saved(0, 0, 10), saved(1, 990, 1005)]), [Some(true), Some(true)]);
    }
}
