//! Named budgets: the built-in ones of `profiles.toml`, and those of a workspace.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use super::PlanError;
use crate::bencher::{Budget, PartialBudget};
use crate::json;

/// The built-in profiles.
const BUILT_IN: &str = include_str!("profiles.toml");

/// A named budget.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// The platform that it is for: `cpu`, `gpu`, `tpu`.
    pub backend: String,
    /// Limits of each repeat.
    pub budget: Budget,
    /// The part of the budget and repeats that a workspace or a command line states: no scenario changes
    /// that.
    pub asked: PartialBudget,
    /// The longest that a repeat may take.
    pub timeout: Duration,
    /// Points whose batches are larger are skipped.
    pub max_batch_size: u64,
    /// The memory that a repeat's processes may have.
    pub memory: MemoryLimit,
    /// Points that need more memory are skipped; `None` where those alone are that need more than there may
    /// be.
    pub largest: Option<MemoryLimit>,
    /// Measured repeats of each case.
    pub repeats: u32,
    /// The set of scenarios that runs when nothing is named.
    pub set: String,
    /// Scenarios that run beside those of the set, by id.
    pub include: Vec<String>,
    /// Axes that it fixes: `axis` or `SCENARIO.axis` to the text of the value.
    pub pins: BTreeMap<String, String>,
}

/// A limit of memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MemoryLimit {
    /// A share of the smaller of free memory and container limit.
    Share(f64),
    /// So many bytes.
    Bytes(u64),
}

impl MemoryLimit {
    /// The limit in bytes on a machine with this much memory to be had.
    pub fn bytes(self, available: u64) -> u64 {
        match self {
            Self::Share(share) => (available as f64 * share) as u64,
            Self::Bytes(bytes) => bytes,
        }
    }

    /// Reads `60%`, `8GiB`, `512MiB`.
    fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| *number > 0.0);
        if let Some(percent) = text.strip_suffix('%') {
            return number(percent)
                .filter(|percent| *percent <= 100.0)
                .map(|percent| Self::Share(percent / 100.0));
        }
        let units = [("KiB", 10), ("MiB", 20), ("GiB", 30)];
        units.iter().find_map(|(unit, shift)| {
            let number = number(text.strip_suffix(unit)?)?;
            Some(Self::Bytes((number * f64::from(1u32 << shift)) as u64))
        })
    }
}

/// A profile as it is written; everything that is left out is taken from the one it inherits.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileFile {
    inherits: Option<String>,
    backend: Option<String>,
    warmup: Option<u64>,
    batches: Option<u64>,
    min_time: Option<f64>,
    max_time: Option<f64>,
    timeout: Option<u64>,
    max_batch_size: Option<u64>,
    memory: Option<String>,
    largest: Option<String>,
    repeats: Option<u32>,
    set: Option<String>,
    include: Option<Vec<String>>,
    #[serde(default)]
    pins: BTreeMap<String, String>,
    /// The part of the budget that a workspace wrote, here or in a profile that this one inherits.
    #[serde(skip)]
    asked: PartialBudget,
}

/// Settings of a workspace, in `.config/weighbridge.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Workspace {
    #[serde(default)]
    profile: BTreeMap<String, ProfileFile>,
    /// The settings of gates, which are for whoever judges.
    #[serde(rename = "gate")]
    _gate: Option<serde::de::IgnoredAny>,
    /// The outputs of a run, which are for whoever ends it.
    #[serde(rename = "outputs")]
    _outputs: Option<serde::de::IgnoredAny>,
}

/// Every profile that can be named.
#[derive(Clone, Debug)]
pub struct Profiles(BTreeMap<String, ProfileFile>);

impl Profiles {
    /// The built-in profiles, and those in the text of a workspace's `.config/weighbridge.toml` over them.
    ///
    /// # Errors
    /// When the text is no such file: unknown keys are named.
    pub fn load(workspace: Option<(&str, &str)>) -> Result<Self, PlanError> {
        let mut all: BTreeMap<String, ProfileFile> =
            json::from_toml(BUILT_IN).expect("the built-in profiles are tested");
        if let Some((file, text)) = workspace {
            let settings = |why: String| PlanError::Settings { file: file.to_owned(), why };
            let own: Workspace = json::from_toml(text).map_err(settings)?;
            all.extend(own.profile.into_iter().map(|(name, written)| (name, written.of_workspace())));
        }
        Ok(Self(all))
    }

    /// The profile of that name.
    ///
    /// # Errors
    /// When there is none, or it is written wrongly.
    pub fn get(&self, name: &str) -> Result<Profile, PlanError> {
        let unknown = || PlanError::unknown("profile", name, &mut self.0.keys().map(String::as_str));
        let mut written = self.0.get(name).ok_or_else(unknown)?.clone();
        let mut seen = vec![name.to_owned()];
        // A profile of a workspace inherits from `ci_cpu` unless it says otherwise.
        while written.is_partial() {
            let parent = written.inherits.take().unwrap_or_else(|| "ci_cpu".to_owned());
            if seen.contains(&parent) {
                return Err(wrong(name, &format!("it inherits from itself through `{parent}`")));
            }
            let missing = || PlanError::unknown("profile", &parent, &mut self.0.keys().map(String::as_str));
            written = written.over(self.0.get(&parent).ok_or_else(missing)?.clone());
            seen.push(parent);
        }
        written.finish(name)
    }
}

fn wrong(profile: &str, why: &str) -> PlanError {
    PlanError::Settings { file: format!("profile `{profile}`"), why: why.to_owned() }
}

impl ProfileFile {
    fn is_partial(&self) -> bool {
        self.inherits.is_some()
            || self.backend.is_none()
            || self.warmup.is_none()
            || self.batches.is_none()
            || self.min_time.is_none()
            || self.timeout.is_none()
            || self.max_batch_size.is_none()
            || self.memory.is_none()
            || self.repeats.is_none()
            || self.set.is_none()
    }

    /// The same as a workspace's own: what it says of the budget stands above what the author of a scenario
    /// says.
    fn of_workspace(self) -> Self {
        let seconds = |value: Option<f64>| value.and_then(|value| Duration::try_from_secs_f64(value).ok());
        let asked = PartialBudget {
            samples: self.batches,
            min_time: seconds(self.min_time),
            max_time: seconds(self.max_time),
            repeats: self.repeats,
        };
        Self { asked, ..self }
    }

    fn over(self, parent: Self) -> Self {
        let mut pins = parent.pins;
        pins.extend(self.pins);
        Self {
            inherits: parent.inherits,
            backend: self.backend.or(parent.backend),
            warmup: self.warmup.or(parent.warmup),
            batches: self.batches.or(parent.batches),
            min_time: self.min_time.or(parent.min_time),
            max_time: self.max_time.or(parent.max_time),
            timeout: self.timeout.or(parent.timeout),
            max_batch_size: self.max_batch_size.or(parent.max_batch_size),
            memory: self.memory.or(parent.memory),
            largest: self.largest.or(parent.largest),
            repeats: self.repeats.or(parent.repeats),
            set: self.set.or(parent.set),
            include: self.include.or(parent.include),
            pins,
            asked: self.asked.or(parent.asked),
        }
    }

    fn finish(self, name: &str) -> Result<Profile, PlanError> {
        let memory = self.memory.unwrap_or_default();
        let size = |key: &str, text: &str| {
            MemoryLimit::parse(text)
                .ok_or_else(|| wrong(name, &format!("`{key}` is like \"60%\" or \"8GiB\", not \"{text}\"")))
        };
        let seconds = |key: &str, value: f64| {
            Duration::try_from_secs_f64(value)
                .map_err(|_| wrong(name, &format!("`{key}` is in seconds, not {value}")))
        };
        let profile = Profile {
            name: name.to_owned(),
            backend: self.backend.unwrap_or_default(),
            budget: Budget {
                warmup: self.warmup.unwrap_or_default(),
                batches: self.batches.unwrap_or_default(),
                min_time: seconds("min_time", self.min_time.unwrap_or_default())?,
                max_time: self.max_time.map(|max| seconds("max_time", max)).transpose()?,
            },
            asked: self.asked,
            timeout: Duration::from_secs(self.timeout.unwrap_or_default()),
            max_batch_size: self.max_batch_size.unwrap_or_default(),
            memory: size("memory", &memory)?,
            largest: self.largest.as_deref().map(|text| size("largest", text)).transpose()?,
            repeats: self.repeats.unwrap_or_default(),
            set: self.set.unwrap_or_default(),
            include: self.include.unwrap_or_default(),
            pins: self.pins,
        };
        match &profile {
            Profile { repeats: 0, .. } => Err(wrong(name, "`repeats` must be at least 1")),
            Profile { budget: Budget { batches: 0, .. }, .. } => {
                Err(wrong(name, "`batches` must be at least 1"))
            }
            Profile { timeout: Duration::ZERO, .. } => {
                Err(wrong(name, "`timeout` must be at least 1 second"))
            }
            Profile { backend, .. } if !["cpu", "gpu", "tpu"].contains(&backend.as_str()) => {
                Err(wrong(name, &format!("`backend` is cpu, gpu or tpu, not `{backend}`")))
            }
            _ => Ok(profile),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(name: &str, workspace: &str) -> Result<Profile, PlanError> {
        Profiles::load(Some((".config/weighbridge.toml", workspace)))?.get(name)
    }

    #[test]
    fn the_built_in_profiles_have_the_published_figures() {
        let figures = |name: &str| {
            let Profile { backend, budget, timeout, max_batch_size, repeats, .. } =
                profile(name, "").unwrap();
            (backend, budget.warmup, budget.batches, timeout.as_secs(), max_batch_size, repeats)
        };
        assert_eq!(figures("ci_cpu"), ("cpu".into(), 3, 20, 300, 256, 7));
        assert_eq!(figures("quick"), ("cpu".into(), 3, 20, 300, 256, 3));
        assert_eq!(figures("gpu_a100"), ("gpu".into(), 8, 50, 600, 1024, 7));
        assert_eq!(figures("gpu_h100_h200"), ("gpu".into(), 8, 50, 600, 1024, 7));
        assert_eq!(figures("gpu_rtx4090"), ("gpu".into(), 6, 40, 600, 1024, 7));
        assert_eq!(figures("tpu_v5e"), ("tpu".into(), 8, 50, 600, 1024, 7));
        assert_eq!(profile("ci_cpu", "").unwrap().budget.min_time, Duration::from_millis(200));
        assert_eq!(profile("quick", "").unwrap().budget.min_time, Duration::from_millis(100));
    }

    #[test]
    fn the_built_in_profiles_run_the_published_scenarios() {
        let runs = |name: &str| {
            let Profile { set, include, .. } = profile(name, "").unwrap();
            (set, include.join(" "))
        };
        assert_eq!(runs("ci_cpu"), ("gate".into(), String::new()));
        assert_eq!(runs("gpu_a100"), ("canonical".into(), "HCV-1 HPC-1".into()));
        assert_eq!(runs("gpu_h100_h200"), runs("gpu_a100"));
        assert_eq!(runs("tpu_v5e"), ("tpu".into(), String::new()));
        for name in ["gpu_a100", "gpu_h100_h200", "gpu_rtx4090", "gpu_rtx4090_real"] {
            assert_eq!(profile(name, "").unwrap().pins["delivery"], "device", "{name}");
        }
        // 13 of the set and 15 beside it: the 28 that are not heavy.
        assert_eq!(profile("gpu_rtx4090", "").unwrap().include.len(), 15);
        let real = profile("gpu_rtx4090_real", "").unwrap();
        assert_eq!(real.include, ["CV-1", "CV-3", "NLP-1", "TAB-1", "MM-1"]);
        for id in &real.include {
            assert!(real.pins[&format!("{id}.variant")].starts_with("real_"), "{id}");
        }
    }

    #[test]
    fn a_workspace_adds_profiles_that_inherit() {
        let own = "[profile.night]\ninherits = \"quick\"\nrepeats = 9\nmemory = \
            \"2GiB\"\n[profile.night.pins]\nlen = \"7\"";
        let night = profile("night", own).unwrap();
        assert_eq!((night.repeats, night.memory), (9, MemoryLimit::Bytes(2 << 30)));
        assert_eq!(night.budget.min_time, Duration::from_millis(100));
        assert_eq!((night.pins["len"].as_str(), night.pins["workers"].as_str()), ("7", "0"));
    }

    #[test]
    fn what_a_workspace_writes_of_the_budget_is_asked_for_and_what_is_built_in_is_not() {
        assert_eq!(profile("quick", "").unwrap().asked, PartialBudget::NONE);
        let own = "[profile.night]\ninherits = \"quick\"\nrepeats = 9\n[profile.long]\ninherits = \
            \"night\"\nmax_time = 60.0";
        let asked = PartialBudget { repeats: Some(9), ..PartialBudget::NONE };
        assert_eq!(profile("night", own).unwrap().asked, asked);
        let long = profile("long", own).unwrap();
        assert_eq!(long.asked, PartialBudget { max_time: Some(Duration::from_mins(1)), ..asked });
        assert_eq!(long.budget.max_time, Some(Duration::from_mins(1)));
    }

    #[test]
    fn what_is_written_wrongly_is_an_error_that_names_it() {
        let check = |name: &str, own: &str, expected: &str| {
            let error = profile(name, own).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check("ci_cpu", "[profile.x]\nrepeat = 3", "unknown field `repeat`");
        check("ci_cpu", "[profiles.x]\nrepeats = 3", "unknown field `profiles`");
        check("ci_cpv", "", "did you mean `ci_cpu`?");
        check("x", "[profile.x]\nmemory = \"lots\"", "like \"60%\" or \"8GiB\"");
        check("x", "[profile.x]\nmemory = \"160%\"", "like \"60%\" or \"8GiB\"");
        check("x", "[profile.x]\nlargest = \"lots\"", "`largest` is like");
        check("x", "[profile.x]\nrepeats = 0", "at least 1");
        check("x", "[profile.x]\nbackend = \"npu\"", "cpu, gpu or tpu");
        check("x", "[profile.x]\nmin_time = -1.0", "seconds");
        check("x", "[profile.x]\ninherits = \"y\"\n[profile.y]\ninherits = \"x\"", "inherits from itself");
    }
}
