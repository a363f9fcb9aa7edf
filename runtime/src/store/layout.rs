//! Where every file lies. The only place with path literals.

use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access, geteuid};

use super::BaselineName;
use crate::plan::CaseId;
use crate::record::{MachineId, RunId};

/// The place where every file of a data directory lies.
///
/// Names of files are made from ids whose form is fixed ([`RunId`], [`MachineId`]), or that are cut to
/// harmless letters here or by [`CaseId::file_name`]: no path is ever read from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    data: PathBuf,
    /// The place where runs lie in it.
    folder: &'static str,
    /// The folder of baselines, if they are not in it.
    baselines: Option<PathBuf>,
    workspace: Option<PathBuf>,
}

const RUNS: &str = "runs";
const DUELS: &str = "duels";

/// A stream that a child writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputStream {
    /// Its standard output.
    Stdout,
    /// Its standard error.
    Stderr,
}

impl Layout {
    /// The layout of a data directory.
    pub fn new(data: impl Into<PathBuf>) -> Self {
        Self { data: data.into(), folder: RUNS, baselines: None, workspace: None }
    }

    /// The data directory of a workspace when none is named, from cargo's target directory.
    pub fn in_target(target: &Path) -> Self {
        Self::new(target.join("weighbridge"))
    }

    /// The same, with the committed baselines of a workspace beside it.
    #[must_use]
    pub fn with_workspace(self, root: impl Into<PathBuf>) -> Self {
        Self { workspace: Some(root.into()), ..self }
    }

    /// The same, where all baselines lie below another root: none are committed.
    #[must_use]
    pub fn with_baselines(self, root: impl Into<PathBuf>) -> Self {
        Self { baselines: Some(root.into()), workspace: None, ..self }
    }

    /// Tells whether the baselines lie below a root of their own, which others may share.
    pub(super) fn keeps_baselines_apart(&self) -> bool {
        self.baselines.is_some()
    }

    /// The same, where duels that have not ended stand in the place of runs: they are journalled in the same
    /// way.
    #[must_use]
    pub fn of_duels(self) -> Self {
        Self { folder: DUELS, ..self }
    }

    /// The same for what one rank of several keeps of its own part: as a run of its own, below a folder of
    /// ranks.
    #[must_use]
    pub(crate) fn of_rank(&self, rank: usize) -> Self {
        Self { data: self.ranks().join(format!("{rank:05}")), ..self.clone() }
    }

    /// The folder of what ranks keep.
    pub(super) fn ranks(&self) -> PathBuf {
        self.data.join("ranks")
    }

    /// The folder in which the ranks of a launch find each other, where none is named.
    pub(crate) fn meeting(&self) -> PathBuf {
        self.ranks().join("meeting")
    }

    /// The data directory itself.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// All runs.
    pub fn runs(&self) -> PathBuf {
        self.data.join(self.folder)
    }

    /// All that belongs to a run.
    pub fn run(&self, run: &RunId) -> PathBuf {
        self.runs().join(run.as_str())
    }

    /// A run while its directory is made: it gets its name when it is whole, so that no reader sees a part.
    pub(super) fn unborn(&self, run: &RunId) -> PathBuf {
        self.runs().join(format!(".new-{run}"))
    }

    /// A run while it is removed: first it loses its name, so that no reader sees a part.
    pub(super) fn dying(&self, run: &RunId) -> PathBuf {
        self.runs().join(format!(".old-{run}"))
    }

    /// The list of runs in the order in which they were begun or taken up.
    pub(super) fn order(&self) -> PathBuf {
        self.data.join(format!("{}.order", self.folder))
    }

    /// A run's manifest.
    pub fn manifest(&self, run: &RunId) -> PathBuf {
        manifest_in(&self.run(run))
    }

    /// A run's journal.
    pub fn repeats(&self, run: &RunId) -> PathBuf {
        self.run(run).join("repeats")
    }

    /// A duel's journal.
    pub(super) fn rounds(&self, duel: &RunId) -> PathBuf {
        self.run(duel).join("rounds")
    }

    /// One round in the journal.
    pub(super) fn round(&self, duel: &RunId, case: &CaseId, confirming: bool, number: u32) -> PathBuf {
        let kind = if confirming { "confirming-" } else { "" };
        self.rounds(duel).join(format!("{}.{kind}{number}.json", case.file_name()))
    }

    /// One repeat in the journal.
    pub fn repeat(&self, run: &RunId, case: &CaseId, number: u32) -> PathBuf {
        self.repeats(run).join(format!("{}.{number}.json", case.file_name()))
    }

    /// A run's case records.
    pub fn cases(&self, run: &RunId) -> PathBuf {
        self.run(run).join("cases")
    }

    /// One case's record.
    pub fn case(&self, run: &RunId, case: &CaseId) -> PathBuf {
        self.cases(run).join(format!("{}.json", case.file_name()))
    }

    /// The folder for the output of a run's children.
    pub fn logs(&self, run: &RunId) -> PathBuf {
        self.run(run).join("logs")
    }

    /// The file for the output of the child of one repeat.
    pub fn log(&self, run: &RunId, case: &CaseId, number: u32, stream: OutputStream) -> PathBuf {
        let stream = match stream {
            OutputStream::Stdout => "stdout",
            OutputStream::Stderr => "stderr",
        };
        self.logs(run).join(format!("{}.{number}.{stream}", case.file_name()))
    }

    /// Scratch directories of a run.
    pub fn scratches(&self, run: &RunId) -> PathBuf {
        self.run(run).join("scratch")
    }

    /// The scratch directory of one repeat.
    pub fn scratch(&self, run: &RunId, case: &CaseId, number: u32) -> PathBuf {
        self.scratches(run).join(format!("{}.{number}", case.file_name()))
    }

    /// The trace of a case by one kind, in a folder of its own.
    pub fn attachment(&self, run: &RunId, case: &CaseId, kind: &str) -> PathBuf {
        self.run(run).join("attached").join(case.file_name()).join(kind)
    }

    /// The folder that systems under test keep for a run: data sets in formats of theirs. Removed at its end.
    pub fn kept(&self, run: &RunId) -> PathBuf {
        self.scratches(run).join(".kept")
    }

    /// All duels.
    pub fn duels(&self) -> PathBuf {
        self.data.join(DUELS)
    }

    /// The verdicts of a duel.
    pub fn duel(&self, duel: &RunId) -> PathBuf {
        self.duels().join(format!("{duel}.json"))
    }

    /// Earlier revisions, checked out and built to be measured in turns with.
    pub fn rebuilds(&self) -> PathBuf {
        self.data.join("rebuilds")
    }

    /// Duels between commits that were measured to have their history.
    pub fn backfill(&self) -> PathBuf {
        self.data.join("backfill")
    }

    /// The folder of calibrations.
    pub fn calibrations(&self) -> PathBuf {
        self.data.join("calibration")
    }

    /// All baselines of this data directory.
    pub fn baselines(&self) -> PathBuf {
        self.baselines.clone().unwrap_or_else(|| self.data.join("baselines"))
    }

    /// The suite that `cargo xtask suite run` has made of a file of this name.
    pub fn suite_file(&self, name: &str) -> PathBuf {
        self.data.join("suites").join(format!("{name}.toml"))
    }

    /// The list of cases that every suite of a workspace must find.
    pub fn lock_file(workspace: &Path) -> PathBuf {
        workspace.join("benches").join("scenarios.lock")
    }

    /// The changes that were accepted in a workspace.
    pub fn accepted_file(workspace: &Path) -> PathBuf {
        workspace.join("benches").join("accepted.toml")
    }

    /// The benches that were found in programs, by the digest of each.
    pub fn found(&self) -> PathBuf {
        self.data.join("found")
    }

    /// The notes of bench targets on what they have come to in the last call of cargo.
    pub fn call(&self) -> PathBuf {
        self.data.join("call")
    }

    /// All baselines that are committed with the workspace, if there is one.
    pub fn committed(&self) -> Option<PathBuf> {
        Some(self.workspace.as_ref()?.join("benches").join("baselines"))
    }

    /// A baseline under one of those two roots.
    pub(super) fn baseline(root: &Path, machine: &MachineId, suite: &str, name: &BaselineName) -> PathBuf {
        Self::baselines_of(root, machine, suite).join(format!("{}.json", name.in_file()))
    }

    /// All baselines of a suite on a machine, under one of them.
    pub(super) fn baselines_of(root: &Path, machine: &MachineId, suite: &str) -> PathBuf {
        root.join(machine.as_str()).join(harmless(suite))
    }

    /// The lock that keeps two measuring runs of this user apart, whatever their data directories.
    pub fn user_lock() -> PathBuf {
        std::env::temp_dir().join(format!("weighbridge-{}.lock", geteuid()))
    }

    /// The lock that keeps the measuring runs of all users of this machine apart, those with folders of their
    /// own for temporary files too; `None` where there is no folder in which all may write.
    pub fn machine_lock() -> Option<PathBuf> {
        lock_in(Path::new("/tmp"))
    }
}

/// A lock in the folder of all, where that can be written.
fn lock_in(all: &Path) -> Option<PathBuf> {
    access(all, AccessFlags::W_OK).is_ok().then(|| all.join("weighbridge.lock"))
}

/// The manifest in a run's directory, whatever that is called just now.
pub(super) fn manifest_in(run: &Path) -> PathBuf {
    run.join("run.json")
}

/// The run that a directory is or was, which is made or removed just now, by its name.
pub(super) fn unborn_or_dying(name: &str) -> Option<RunId> {
    name.strip_prefix(".new-").or_else(|| name.strip_prefix(".old-"))?.parse().ok()
}

/// The duel whose children used a directory in versions that kept no journal, by its name.
pub(super) fn scratch_of(name: &str) -> Option<RunId> {
    name.strip_prefix(".scratch-")?.parse().ok()
}

/// The rank that keeps its part in a directory, by its name.
pub(super) fn rank_of(name: &str) -> Option<usize> {
    name.parse().ok().filter(|rank| format!("{rank:05}") == name)
}

/// The duel that a file is of, by its name.
pub(super) fn duel_of(name: &str) -> Option<RunId> {
    name.strip_suffix(".json")?.parse().ok()
}

/// Tells whether a file of this name may lie in a run's directory or one of its [`directories_in`].
pub(super) fn is_of_run(name: &str) -> bool {
    [".json", ".stdout", ".stderr"]
        .iter()
        .any(|end| name.strip_suffix(end).is_some_and(|case| !case.is_empty()))
}

/// The directories that every run has.
pub(super) fn directories_in(run: &Path) -> [PathBuf; 4] {
    ["repeats", "cases", "logs", "scratch"].map(|name| run.join(name))
}

/// A name as one directory name: `weighbridge-suite/suite` becomes `weighbridge-suite@suite`.
fn harmless(name: &str) -> String {
    let letter = |c: char| match c {
        '/' => '@',
        c if c.is_ascii_alphanumeric() || "-_.".contains(c) => c,
        _ => '_',
    };
    let name: String = name.chars().map(letter).collect();
    if name.starts_with('.') || name.is_empty() { format!("_{name}") } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_of_a_user_is_another_one_than_that_of_all_which_is_where_all_may_write() {
        let all = tempfile::tempdir().unwrap();
        assert_eq!(lock_in(all.path()), Some(all.path().join("weighbridge.lock")));
        assert_eq!(lock_in(Path::new("/nowhere")), None);
        assert_ne!(Some(Layout::user_lock()), lock_in(&std::env::temp_dir()));
        assert!(Layout::user_lock().ends_with(format!("weighbridge-{}.lock", geteuid())));
    }

    #[test]
    fn no_name_leads_out_of_its_directory() {
        assert_eq!(harmless("weighbridge-suite/suite"), "weighbridge-suite@suite");
        assert_eq!(harmless("../../etc"), "_..@..@etc");
        assert_eq!(harmless(".."), "_..");
        assert_eq!(harmless(""), "_");
        assert_eq!(harmless("a\\b:c\0"), "a_b_c_");
    }
}
