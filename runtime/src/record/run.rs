//! A run: its manifest, and with its cases the whole record.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{CaseRecord, Difference, Environment};
use crate::bencher::{Budget, PartialBudget};
use crate::plan::CaseId;

/// The name of a run, in the order of time: `20261121-083012-4f2a9c`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(String);

impl RunId {
    /// The name of a run that started at `seconds` since the Unix epoch; `salt` tells runs of one second
    /// apart.
    pub fn new(seconds: u64, salt: u32) -> Self {
        let (year, month, day) = civil((seconds / 86_400) as i64);
        let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
        Self(format!(
            "{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}-{:06x}",
            salt & 0x00ff_ffff
        ))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A text that is no run id: the form is fixed, so a path can never pass for one.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no run id: run ids look like 20261121-083012-4f2a9c")]
pub struct BadRunId(String);

impl FromStr for RunId {
    type Err = BadRunId;

    fn from_str(text: &str) -> Result<Self, BadRunId> {
        let digits = |part: &str, n| part.len() == n && part.bytes().all(|b| b.is_ascii_digit());
        let hex =
            |part: &str| part.len() == 6 && part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        // Without a list of the parts: a listing reads a hundred thousand.
        let parts = text.split_once('-').and_then(|(date, rest)| Some((date, rest.split_once('-')?)));
        match parts {
            Some((date, (time, salt))) if digits(date, 8) && digits(time, 6) && hex(salt) => {
                Ok(Self(text.to_owned()))
            }
            _ => Err(BadRunId(text.to_owned())),
        }
    }
}

impl TryFrom<String> for RunId {
    type Error = BadRunId;

    fn try_from(text: String) -> Result<Self, BadRunId> {
        text.parse()
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The date of a day since 1970-01-01, by Howard Hinnant's `civil_from_days`
/// (<https://howardhinnant.github.io/date_algorithms.html>).
fn civil(days: i64) -> (i64, u32, u32) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * shifted_month + 2) / 5 + 1) as u32;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 } as u32;
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// The facts of a run, with how it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunManifest {
    /// Its name.
    pub id: RunId,
    /// `<package>/<bench target>`.
    pub suite: String,
    /// The time of its start, in seconds since the Unix epoch.
    pub started: u64,
    /// The command line, program first.
    pub command: Vec<String>,
    /// The hash of the program's file; `None` where the file could not be read.
    pub program: Option<String>,
    /// The hash of the program that it is measured in turns with; `None` but for a duel of two programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versus: Option<String>,
    /// The profile's name.
    pub profile: String,
    /// The platform that was asked for.
    pub requested_platform: String,
    /// The platform that was used. A mismatch is refused before anything is measured.
    pub active_backend: String,
    /// The seed of order, data and draws.
    pub seed: u64,
    /// The number of the epoch that its streams went through: drawn for it.
    pub epoch: u64,
    /// The plan of a run, as its manifest has it.
    pub planned: RunPlan,
    /// Its end.
    pub status: RunStatus,
    /// True if it was broken off and taken up again: it cannot become a baseline.
    pub resumed: bool,
    /// The other surroundings that it was taken up again in with `--anyway`, by what differed from the first
    /// ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_surroundings: Vec<Vec<Difference>>,
    /// The number of repeats that its journal had when it came to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journalled: Option<usize>,
    /// The ranks that measured it; `None` of one process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<RunRanks>,
    /// The place where it ran.
    pub environment: Environment,
    /// The load average when it ended.
    pub load_at_end: Option<f64>,
}

impl RunManifest {
    /// Tells whether it was measured here and came to its end.
    pub fn is_measured(&self) -> bool {
        self.status == RunStatus::Complete
    }
}

/// The ranks that measured a run together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRanks {
    /// The launcher that has started them.
    pub launcher: String,
    /// Each of them, from 0.
    pub each: Vec<RunRank>,
    /// The facts in which some differ from rank 0, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<String>,
    /// The rank that the run was broken off for, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}

/// One rank of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRank {
    /// The name of its machine.
    pub host: String,
    /// Its rank among those of its machine; `None` where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_rank: Option<usize>,
    /// The devices that it sees.
    pub devices: usize,
}

/// The plan of a run, as its manifest has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunPlan {
    /// The cases, in the order of listings.
    pub cases: Vec<CaseId>,
    /// Those of them that run only for others to be compared with, and have no record of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only_verified: Vec<CaseId>,
    /// Cases beside them that were left out before anything ran: each has a record that says why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<CaseId>,
    /// Measured repeats of each; the least where there is a target.
    pub repeats: u32,
    /// The budget and repeats that scenarios state, by their ids.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stated: BTreeMap<String, PartialBudget>,
    /// Cases that had time for fewer measured repeats than were planned, each with how many it had.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub shortened: BTreeMap<String, u32>,
    /// Half the width that the interval was to have, as a share of the median.
    pub target: Option<f64>,
    /// Limits of each repeat.
    pub budget: Budget,
    /// The most seconds that one repeat may take.
    pub timeout: u64,
    /// The way in which repeats are isolated from each other.
    pub isolation: String,
    /// The order of cases within a round.
    pub order: String,
}

impl RunPlan {
    /// Every case that has a record once the run is complete, in the order of listings.
    pub fn recorded(&self) -> Vec<&CaseId> {
        let own = self.cases.iter().filter(|case| !self.only_verified.contains(case));
        own.chain(&self.skipped).collect()
    }
}

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// It is running, or was killed.
    Running,
    /// It came to its end.
    Complete,
    /// It was interrupted.
    Interrupted,
    /// It came to its end, and files of it are gone. No file says so: it is found out by reading.
    #[serde(skip)]
    Damaged,
}

/// A run with its cases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The manifest.
    pub manifest: RunManifest,
    /// Its cases, in the order of the manifest.
    pub cases: Vec<CaseRecord>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_ids_show_the_time_and_sort_by_it() {
        assert_eq!(RunId::new(1_795_249_812, 0x4f_2a9c).as_str(), "20261121-083012-4f2a9c");
        assert_eq!(RunId::new(951_782_400, 0).as_str(), "20000229-000000-000000");
        assert!(RunId::new(1_700_000_000, 9) < RunId::new(1_700_000_001, 1));
    }

    #[test]
    fn a_path_is_no_run_id() {
        for text in ["../../etc/passwd", "20261121-083012-4f2a9c/..", "", "20261121-083012-4F2A9C", "latest"]
        {
            assert!(text.parse::<RunId>().is_err(), "{text}");
        }
        assert!("20261121-083012-4f2a9c".parse::<RunId>().is_ok());
    }
}
