//! What a calibration found, kept so that `compare-baseline` can say how often it errs here.

use std::path::PathBuf;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use weighbridge::data::{
    Comparison, Document, DocumentKind, MachineId, Verdict, clopper_pearson, median, read_document,
    robust_spread, write_document,
};

use super::trial::Trial;
use crate::place::Place;

/// Deviations by which the interval of one look reaches out: its level is 2 % on both sides together.
const LOOK: f64 = 2.326;

/// Deviations that nine of ten rounds' means stay within, on one side.
const NINE_OF_TEN: f64 = 1.282;

/// The last look.
const MOST_ROUNDS: f64 = 24.0;

/// The calibration of one suite, as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoredCalibration {
    /// `<package>/<bench target>`.
    pub(crate) suite: String,
    /// The machine that it holds for.
    pub(crate) machine: String,
    /// The day, or rather the name of the last duel, which starts with it.
    pub(crate) taken: String,
    /// Its cases.
    pub(crate) cases: Vec<CaseCalibration>,
}

/// The error rates and the power of comparisons of one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CaseCalibration {
    /// Its name.
    pub(crate) case: String,
    /// Comparisons of identical code.
    pub(crate) tries: u64,
    /// The number of them that said Regressed.
    pub(crate) false_alarms: u64,
    /// The power at each planted slowdown. Empty where none can be planted: a stream has no iterations to
    /// repeat.
    pub(crate) power: Vec<Power>,
    /// The spread between processes of identical code: a robust deviation, as a share.
    pub(crate) between: f64,
    /// The error of one round for its few pairs: a standard error, as a share.
    pub(crate) within: f64,
    /// The rounds after which identical code is called unchanged, by the spread; `None` where 24 are too few.
    pub(crate) rounds: Option<u32>,
    /// The smallest slowdown that is found nine times of ten, as a share.
    pub(crate) detectable: f64,
    /// Seconds to a decision, the median.
    pub(crate) seconds: f64,
}

/// The power of comparisons to find a planted slowdown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Power {
    /// The slowdown, as a share.
    pub(crate) share: f64,
    /// The number of times that it was planted.
    pub(crate) tries: u64,
    /// The number of times that the verdict was Regressed.
    pub(crate) found: u64,
}

impl Document for StoredCalibration {
    const KIND: DocumentKind = DocumentKind::Calibration;

    fn check(&self) -> Result<(), String> {
        let too_many = |case: &&CaseCalibration| case.false_alarms > case.tries;
        match self.cases.iter().find(too_many) {
            Some(case) => Err(format!("{} has more false alarms than tries", case.case)),
            None => Ok(()),
        }
    }
}

impl StoredCalibration {
    /// The calibration from these trials of one suite; `None` where no case was decided by rounds.
    pub(super) fn of(suite: &str, trials: &[Trial]) -> Option<Self> {
        let plain = trials.iter().filter(|trial| trial.share == 0.0);
        let mut names: Vec<String> = Vec::new();
        for row in plain.clone().flat_map(Trial::rows) {
            let name = row.case.to_string();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let environment = plain.clone().find_map(|trial| trial.comparison.environment.as_ref())?;
        let cases: Vec<CaseCalibration> =
            names.iter().map(|name| CaseCalibration::of(name, trials)).collect();
        (!cases.is_empty()).then(|| Self {
            suite: suite.to_owned(),
            machine: environment.machine_id().as_str().to_owned(),
            taken: trials.last().map_or_else(String::new, |trial| trial.comparison.candidate.to_string()),
            cases,
        })
    }

    /// The error rate over all cases, in words.
    pub(crate) fn error_rate(&self) -> String {
        let tries: u64 = self.cases.iter().map(|case| case.tries).sum();
        let alarms: u64 = self.cases.iter().map(|case| case.false_alarms).sum();
        format!("false alarms on identical code: {}", rate(alarms, tries))
    }

    /// The calibration of a case.
    pub(crate) fn case(&self, name: &str) -> Option<&CaseCalibration> {
        self.cases.iter().find(|case| case.case == name)
    }
}

/// A rate with the bound that it is below with 95 % certainty.
pub(super) fn rate(count: u64, of: u64) -> String {
    // The upper end of an interval at 90 % is a bound at 95 % on one side.
    let most = clopper_pearson(count, of, 0.9).map_or(1.0, |(_, high)| high);
    format!("{count} of {of}, at most {:.1} % (95 %)", most * 100.0)
}

impl CaseCalibration {
    fn of(name: &str, trials: &[Trial]) -> Self {
        let mut shifts: Vec<f64> = Vec::new();
        let (mut within, mut seconds) = (Vec::new(), Vec::new());
        let (mut tries, mut false_alarms) = (0, 0);
        let mut power: Vec<Power> = Vec::new();
        for trial in trials {
            for row in trial.rows().filter(|row| row.case.to_string() == name) {
                let Some(rounds) = &row.rounds else { continue };
                let regressed = row.verdict == Verdict::Regressed;
                if trial.share > 0.0 {
                    let at = power.iter().position(|power| (power.share - trial.share).abs() < 1e-9);
                    let at = at.unwrap_or_else(|| {
                        power.push(Power { share: trial.share, tries: 0, found: 0 });
                        power.len() - 1
                    });
                    power[at].tries += 1;
                    power[at].found += u64::from(regressed);
                    continue;
                }
                tries += 1;
                false_alarms += u64::from(regressed);
                shifts.extend(&rounds.shifts);
                within.push(rounds.within);
                seconds.push(rounds.seconds);
            }
        }
        let spread = robust_spread(&shifts);
        let within = median(&within);
        // A round is the difference of two processes, each as far off as processes spread.
        let between = ((spread * spread - within * within).max(0.0) / 2.0).sqrt();
        let needed =
            [8u32, 12, 16, 24].into_iter().find(|rounds| LOOK * spread / f64::from(*rounds).sqrt() < 0.01);
        let detectable = (0.01f64.ln_1p() + (LOOK + NINE_OF_TEN) * spread / MOST_ROUNDS.sqrt()).exp_m1();
        let seconds = median(&seconds);
        Self {
            case: name.to_owned(),
            tries,
            false_alarms,
            power,
            between,
            within,
            rounds: needed,
            detectable,
            seconds,
        }
    }
}

/// Cases that rounds did not decide, as they are or with a slowdown planted, and why: a line each.
pub(super) fn left_out(trials: &[Trial]) -> Vec<String> {
    let mut lines = Vec::new();
    for trial in trials {
        let what = if trial.share > 0.0 { "no planted slowdown was measured" } else { "not calibrated" };
        for row in trial.comparison.rows.iter().filter(|row| row.rounds.is_none()) {
            let why = row.verdict.why().unwrap_or_else(|| row.verdict.name().to_owned());
            let line = format!("{}: {what}: {why}", row.case);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}

/// Keeps a calibration.
pub(super) fn write(place: &Place, calibration: &StoredCalibration) -> Result<PathBuf> {
    let file = file(place, &calibration.machine, &calibration.suite);
    write_document(&file, calibration)?;
    Ok(file)
}

/// The calibration of the machine and suite that a duel was of; `None` where there is none.
///
/// # Errors
/// When there is one and it cannot be read.
pub(crate) fn read(place: &Place, comparison: &Comparison) -> Result<Option<StoredCalibration>> {
    let Some(environment) = &comparison.environment else { return Ok(None) };
    let machine: MachineId = environment.machine_id();
    let file = file(place, machine.as_str(), &comparison.suite);
    Ok(read_document(&file)?)
}

fn file(place: &Place, machine: &str, suite: &str) -> PathBuf {
    place.layout.calibrations().join(machine).join(format!("{}.json", suite.replace('/', "@")))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use weighbridge::data::Environment;

    use super::*;
    use crate::fixtures::{self, home};

    #[test]
    fn a_calibration_that_was_edited_is_refused_by_name() {
        let home = home();
        let mut comparison = fixtures::comparison(fixtures::row());
        let environment = comparison.environment.insert(Environment::default());
        let machine = environment.machine_id().as_str().to_owned();
        let (suite, taken) = (comparison.suite.clone(), "20260101-000000-000001".to_owned());
        let calibration = StoredCalibration { suite, machine, taken, cases: Vec::new() };
        let file = write(&home.place, &calibration).expect("writable");
        assert_eq!(read(&home.place, &comparison).expect("sound"), Some(calibration));
        let edited = fs::read_to_string(&file).expect("written").replace("20260101", "20260102");
        fs::write(&file, edited).expect("writable");
        let error = read(&home.place, &comparison).expect_err("edited").to_string();
        assert!(error.contains(&file.display().to_string()) && error.contains("it was changed"), "{error}");
    }
}
