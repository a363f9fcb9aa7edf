//! A flag of a bench target: its names, its help, and how it is taken.

use super::args::BenchArgs;
use super::usage::UsageError;

/// A flag.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flag {
    /// Its long name, without dashes.
    pub(super) name: &'static str,
    /// Its short name.
    pub(super) short: Option<char>,
    /// The name of its value; `None` if it takes none.
    pub(super) value: Option<&'static str>,
    /// The place where it stands in the help.
    pub(super) group: FlagGroup,
    /// One line of help.
    pub(super) help: &'static str,
    /// Takes the flag, with its value if it has one.
    pub(super) take: Take,
}

/// Takes a flag; the value is empty for one that has none.
pub(super) type Take = fn(&mut BenchArgs, &Flag, String) -> Result<(), UsageError>;

/// The parts of the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlagGroup {
    Select,
    Measure,
    Run,
    Compare,
    Show,
    /// Accepted because scripts pass it to libtest, criterion or nextest; says what becomes of it.
    Accepted,
}

impl FlagGroup {
    pub(super) const ALL: &'static [(Self, &'static str)] = &[
        (Self::Select, "What runs"),
        (Self::Measure, "How it is measured"),
        (Self::Run, "How the run goes"),
        (Self::Compare, "Baselines"),
        (Self::Show, "What is shown"),
        (Self::Accepted, "Accepted for the sake of scripts written for libtest, criterion or nextest"),
    ];
}

/// Flags that no variable stands for: of `ranks` it is what a launcher sets for each of them.
const WITHOUT_VARIABLE: [&str; 5] = ["help", "version", "bench", "test", "ranks"];

impl Flag {
    /// The environment variable that stands for it: `WEIGHBRIDGE_SAVE_BASELINE`.
    pub(super) fn variable(&self) -> Option<String> {
        let own = self.group != FlagGroup::Accepted && !WITHOUT_VARIABLE.contains(&self.name);
        own.then(|| format!("WEIGHBRIDGE_{}", self.name.to_uppercase().replace('-', "_")))
    }
}
