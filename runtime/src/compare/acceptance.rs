//! Changes that somebody has accepted: `benches/accepted.toml`. What was accepted is the case's new
//! reference, and what comes on top of it is judged as ever.

use serde::{Deserialize, Serialize};

use crate::json;
use crate::plan::CaseId;
use crate::record::{Baseline, MachineId};

/// The name that stands for every machine, where an author says so.
const ANY_MACHINE: &str = "any";

/// A change that somebody has accepted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Acceptance {
    /// `<package>/<bench target>`.
    pub suite: String,
    /// The case, as it is printed.
    pub case: String,
    /// The metric that changed.
    pub metric: String,
    /// The id of the machine on which it did, or `any`.
    pub machine: String,
    /// The rise in the cost of a unit of work, on top of what was accepted before, as a share: 0.08 is 8 %
    /// more. Below zero it costs less.
    pub slowdown: f64,
    /// The run or the duel that says so. A baseline that was measured later has the change in it.
    pub run: String,
    /// The reason why that is fine.
    pub because: String,
}

/// The file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AcceptedFile {
    #[serde(default)]
    accepted: Vec<Acceptance>,
}

impl Acceptance {
    /// Reads `benches/accepted.toml`.
    ///
    /// # Errors
    /// What is wrong in its text: unknown keys are named, and values that cannot be.
    pub fn read(text: &str) -> Result<Vec<Self>, String> {
        let AcceptedFile { accepted } = json::from_toml(text)?;
        for one in &accepted {
            let Self { case, slowdown, .. } = one;
            if !(*slowdown > -1.0 && slowdown.is_finite()) {
                return Err(format!("{case}: slowdown is a share above -1, not {slowdown}"));
            }
            if one.because.trim().is_empty() {
                return Err(format!("{case}: `because` says why the change is fine"));
            }
            if accepted.iter().filter(|other| other.key() == one.key()).count() > 1 {
                return Err(format!("{case}: {} of run {} is accepted twice", one.metric, one.run));
            }
        }
        Ok(accepted)
    }

    /// The text of the file with these in it.
    ///
    /// # Errors
    /// When one cannot be written as TOML.
    pub fn write(accepted: &[Self]) -> Result<String, String> {
        let file = AcceptedFile { accepted: accepted.to_vec() };
        basic_toml::to_string(&file).map_err(|error| error.to_string())
    }

    /// The key of what may be accepted once: a run's change of a metric of a case on a machine.
    pub fn key(&self) -> [&str; 5] {
        [&self.suite, &self.case, &self.metric, &self.machine, &self.run]
    }

    /// Tells whether it is of this suite on this machine.
    pub(crate) fn belongs(&self, suite: &str, machine: &MachineId) -> bool {
        self.suite == suite && (self.machine == machine.as_str() || self.machine == ANY_MACHINE)
    }

    /// Tells whether a baseline is from before the change: ids of runs begin with when they began.
    pub(super) fn came_after(&self, baseline: &Baseline) -> bool {
        self.run.as_str() > baseline.run.as_str()
    }

    /// Those of a metric of a case.
    fn of<'a>(all: &'a [Self], case: &CaseId, metric: &'a str) -> impl Iterator<Item = &'a Self> {
        // Most often there are none, and the name of a case costs something.
        let case = if all.is_empty() { String::new() } else { case.to_string() };
        all.iter().filter(move |one| one.case == case && one.metric == metric)
    }

    /// The sum of all changes that were accepted of a metric of a case, as a logarithm: above zero is worse.
    /// `None` where there are none.
    pub(super) fn shift(all: &[Self], case: &CaseId, metric: &str) -> Option<f64> {
        Self::of(all, case, metric).map(|one| one.slowdown.ln_1p()).reduce(|one, other| one + other)
    }

    /// The last run that one of them names.
    pub(super) fn last_run<'a>(all: &'a [Self], case: &CaseId, metric: &'a str) -> Option<&'a str> {
        Self::of(all, case, metric).map(|one| one.run.as_str()).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one() -> Acceptance {
        Acceptance {
            suite: "toy/suite".into(),
            case: "SORT-1/len=1000/stable".into(),
            metric: "wall_time".into(),
            machine: "abc".into(),
            slowdown: 0.083,
            run: "20260102-000000-000001".into(),
            because: "it checks its \"input\"\nnow".into(),
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let all = [one(), Acceptance { machine: ANY_MACHINE.into(), ..one() }];
        let text = Acceptance::write(&all).unwrap();
        assert!(text.starts_with("[[accepted]]\n"), "{text}");
        assert_eq!(Acceptance::read(&text).unwrap(), all);
        assert_eq!(Acceptance::read("").unwrap(), []);
    }

    #[test]
    fn an_entry_that_cannot_be_is_refused_by_name() {
        let wrong = |change: fn(&mut Acceptance)| {
            let mut changed = one();
            change(&mut changed);
            Acceptance::read(&Acceptance::write(&[changed]).unwrap()).unwrap_err()
        };
        assert!(
            wrong(|one| one.slowdown = -1.0).contains("SORT-1/len=1000/stable: slowdown is a share above -1")
        );
        assert!(wrong(|one| one.because = " ".into()).contains("`because` says why"));
        let twice = Acceptance::write(&[one(), one()]).unwrap();
        assert!(
            Acceptance::read(&twice)
                .unwrap_err()
                .contains("wall_time of run 20260102-000000-000001 is accepted twice")
        );
        let unknown = Acceptance::write(&[one()]).unwrap() + "worse = 1\n";
        assert!(Acceptance::read(&unknown).unwrap_err().contains("worse"));
    }

    #[test]
    fn it_is_of_one_suite_and_one_machine_or_any() {
        let machine = |id: &str| id.parse::<MachineId>().unwrap();
        let (own, other) = (machine("m-0123456789ab"), machine("m-ba9876543210"));
        let one = Acceptance { machine: own.to_string(), ..one() };
        assert!(one.belongs("toy/suite", &own));
        assert!(!one.belongs("toy/suite", &other) && !one.belongs("toy/other", &own));
        assert!(Acceptance { machine: ANY_MACHINE.into(), ..one }.belongs("toy/suite", &other));
    }
}
