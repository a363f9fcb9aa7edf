//! Baselines: runs that were promoted by name, per machine and suite.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::files::{read_record, replace};
use super::runs::names_or_none;
use super::{BaselineName, Disk, Files, Layout, StoreError, Unreadable};
use crate::bencher::{INJECT, visible_in_line};
use crate::plan::nearest;
use crate::record::{self, Baseline, CaseStatus, MachineId, RunRecord, RunStatus};

/// The most bytes that a committed baseline may take.
const COMMITTED: usize = 1_000_000;
/// Set in the environment of a run that was slowed down on purpose.
const SLOWDOWN: &str = "WEIGHBRIDGE_SLOWDOWN";

/// The baselines of a data directory, and those that are committed with the workspace.
#[derive(Clone, Debug)]
pub struct Baselines {
    layout: Layout,
    files: Arc<dyn Files>,
}

/// A baseline and where it lies.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredBaseline {
    /// The baseline.
    pub baseline: Baseline,
    /// Its file.
    pub path: PathBuf,
    /// True if it is committed with the workspace.
    pub committed: bool,
}

impl Baselines {
    /// The baselines of a data directory, which need not be there yet.
    pub fn new(layout: Layout) -> Self {
        Self::on(Arc::new(Disk), layout)
    }

    /// The same on another file system.
    pub fn on(files: Arc<dyn Files>, layout: Layout) -> Self {
        Self { layout, files }
    }

    /// Promotes a run in the data directory. One of that name is replaced.
    ///
    /// # Errors
    /// [`StoreError::NotPromoted`] when the run may not be judged by, else those of the file system.
    pub fn set(&self, name: &BaselineName, run: &RunRecord) -> Result<StoredBaseline, StoreError> {
        self.write(name, run, &self.layout.baselines(), false)
    }

    /// Promotes a run in the workspace itself, where it can be committed.
    ///
    /// # Errors
    /// As [`Baselines::set`], and [`StoreError::TooBig`] over a megabyte.
    pub fn commit(&self, name: &BaselineName, run: &RunRecord) -> Result<StoredBaseline, StoreError> {
        let root = self.layout.committed().ok_or_else(|| StoreError::NoWorkspace(name.to_string()))?;
        self.write(name, run, &root, true)
    }

    fn write(
        &self,
        name: &BaselineName,
        run: &RunRecord,
        root: &Path,
        committed: bool,
    ) -> Result<StoredBaseline, StoreError> {
        may_be_judged_by(run).map_err(|why| StoreError::NotPromoted {
            run: run.manifest.id.clone(),
            name: name.to_string(),
            why,
        })?;
        let mut baseline = Baseline::promote(name.as_str(), run);
        let path = Layout::baseline(root, &baseline.environment.machine_id(), &baseline.suite, name);
        if committed || self.layout.keeps_baselines_apart() {
            baseline.environment.forget_workspace(committed);
        } else if let Ok(there) = self.read(&path)
            && let whose = there.environment.workspace()
            && baseline.environment.workspace().is_other_than(&whose)
        {
            return Err(StoreError::NotPromoted {
                run: run.manifest.id.clone(),
                name: name.to_string(),
                why: format!(
                    "the workspace {} has one of that name and suite here: choose another name, or a data \
                     directory of its own with `--data`",
                    visible_in_line(&whose.name())
                ),
            });
        }
        let content = record::write(&baseline);
        let content = content.map_err(|source| StoreError::Unwritable { path: path.clone(), source })?;
        if committed && content.len() > COMMITTED {
            return Err(StoreError::TooBig {
                name: name.to_string(),
                bytes: content.len(),
                limit: COMMITTED,
            });
        }
        if let Some(directory) = path.parent() {
            self.files.make_dirs(directory).map_err(StoreError::io("make", directory))?;
        }
        replace(&*self.files, &path, &content)?;
        Ok(StoredBaseline { baseline, path, committed })
    }

    /// The baseline of that name for a suite on a machine. One in the data directory goes before a committed
    /// one.
    ///
    /// # Errors
    /// [`StoreError::NoBaseline`] with the nearest name that is there, or what is the matter with the file.
    pub fn find(
        &self,
        machine: &MachineId,
        suite: &str,
        name: &BaselineName,
    ) -> Result<StoredBaseline, StoreError> {
        for (root, committed) in self.roots() {
            let path = Layout::baseline(&root, machine, suite, name);
            match self.read(&path) {
                Ok(baseline) => {
                    expect_place(&baseline, &path, &root)?;
                    return Ok(StoredBaseline { baseline, path, committed });
                }
                Err(error) if error.absent() => {}
                Err(error) => return Err(error),
            }
        }
        Err(self.no_baseline(suite, name))
    }

    /// All baselines, by name, then suite, then machine; and what cannot be read in their place.
    ///
    /// # Errors
    /// When a directory cannot be read. When it is not there, there are none.
    pub fn list(&self) -> Result<(Vec<StoredBaseline>, Vec<Unreadable>), StoreError> {
        self.those(|_, _| true)
    }

    /// All baselines of a name, by suite, then machine; and what cannot be read in their place. No other is
    /// read.
    ///
    /// # Errors
    /// As [`Baselines::list`].
    pub fn named(&self, name: &BaselineName) -> Result<(Vec<StoredBaseline>, Vec<Unreadable>), StoreError> {
        self.those(|_, path| path.file_stem().is_some_and(|stem| stem == name.in_file().as_str()))
    }

    /// All baselines of a suite on a machine, by name; and what cannot be read in their place. No other is
    /// read.
    ///
    /// # Errors
    /// As [`Baselines::list`].
    pub fn of_suite(
        &self,
        machine: &MachineId,
        suite: &str,
    ) -> Result<(Vec<StoredBaseline>, Vec<Unreadable>), StoreError> {
        self.those(|root, path| {
            path.parent().is_some_and(|folder| folder == Layout::baselines_of(root, machine, suite))
        })
    }

    /// The names of all baselines, whether they can be read or not. None is read.
    ///
    /// # Errors
    /// As [`Baselines::list`].
    pub fn names(&self) -> Result<BTreeSet<String>, StoreError> {
        let mut names = BTreeSet::new();
        for (root, _) in self.roots() {
            let paths = self.beneath(&root)?;
            let stems = paths.iter().filter_map(|path| path.file_stem()?.to_str());
            names.extend(stems.map(BaselineName::of_file));
        }
        Ok(names)
    }

    /// Those whose root and path are meant.
    fn those(
        &self,
        meant: impl Fn(&Path, &Path) -> bool,
    ) -> Result<(Vec<StoredBaseline>, Vec<Unreadable>), StoreError> {
        let (mut stored, mut broken) = (Vec::new(), Vec::new());
        for (root, committed) in self.roots() {
            for path in self.beneath(&root)?.into_iter().filter(|path| meant(&root, path)) {
                let checked = self.read(&path).and_then(|baseline| {
                    expect_place(&baseline, &path, &root)?;
                    Ok(baseline)
                });
                match checked {
                    Ok(baseline) => stored.push(StoredBaseline { baseline, path, committed }),
                    Err(error) => {
                        broken.push(Unreadable { name: path.display().to_string(), why: error.to_string() });
                    }
                }
            }
        }
        stored.sort_by_cached_key(|stored: &StoredBaseline| {
            let of = &stored.baseline;
            format!("{}\0{}\0{}\0{}", of.name, of.suite, of.environment.machine_id(), stored.committed)
        });
        Ok((stored, broken))
    }

    /// Removes a baseline of the data directory. A committed one is removed as any committed file.
    ///
    /// # Errors
    /// [`StoreError::NoBaseline`], or those of the file system.
    pub fn remove(&self, machine: &MachineId, suite: &str, name: &BaselineName) -> Result<(), StoreError> {
        let path = Layout::baseline(&self.layout.baselines(), machine, suite, name);
        self.files.remove(&path).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => self.no_baseline(suite, name),
            _ => StoreError::io("remove", &path)(source),
        })
    }

    fn roots(&self) -> impl Iterator<Item = (PathBuf, bool)> {
        let own = (self.layout.baselines(), false);
        std::iter::once(own).chain(self.layout.committed().map(|root| (root, true)))
    }

    /// The files of all baselines under a root: machine, suite, name.
    fn beneath(&self, root: &Path) -> Result<Vec<PathBuf>, StoreError> {
        let mut level = vec![root.to_owned()];
        for _ in ["machine", "suite", "name"] {
            let mut next = Vec::new();
            for directory in &level {
                match names_or_none(&*self.files, directory) {
                    Ok(names) => next.extend(
                        names.iter().filter(|name| !name.starts_with('.')).map(|name| directory.join(name)),
                    ),
                    // A stray file among the directories (a read-me) is nobody's baseline.
                    Err(StoreError::Io { source, .. })
                        if source.kind() == std::io::ErrorKind::NotADirectory => {}
                    Err(error) => return Err(error),
                }
            }
            level = next;
        }
        level.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
        Ok(level)
    }

    fn read(&self, path: &Path) -> Result<Baseline, StoreError> {
        read_record(&*self.files, path)
    }

    fn no_baseline(&self, suite: &str, name: &BaselineName) -> StoreError {
        let known = self.names().unwrap_or_default();
        let others = known.iter().map(String::as_str).filter(|other| *other != name.as_str());
        let nearest = nearest(name.as_str(), others).map(str::to_owned);
        StoreError::NoBaseline { name: name.to_string(), suite: suite.to_owned(), nearest }
    }
}

/// A baseline lies where its own name, suite and machine put it, or somebody moved it.
fn expect_place(baseline: &Baseline, path: &Path, root: &Path) -> Result<(), StoreError> {
    let own = baseline
        .name
        .parse::<BaselineName>()
        .map(|name| Layout::baseline(root, &baseline.environment.machine_id(), &baseline.suite, &name));
    if own.is_ok_and(|own| own == path) {
        return Ok(());
    }
    let machine = baseline.environment.machine_id();
    let found = format!("baseline `{}` of {} on machine {machine}", baseline.name, baseline.suite);
    Err(StoreError::Misplaced { path: path.to_owned(), found, expected: "another".to_owned() })
}

/// Tells whether a run may be judged by; if not, why not.
fn may_be_judged_by(run: &RunRecord) -> Result<(), String> {
    let manifest = &run.manifest;
    match manifest.status {
        RunStatus::Running => return Err("it did not come to its end".to_owned()),
        RunStatus::Interrupted => return Err("it was interrupted".to_owned()),
        RunStatus::Damaged => return Err("files of it are gone".to_owned()),
        RunStatus::Complete => {}
    }
    if manifest.resumed {
        return Err("it was broken off and taken up again, so its repeats are of two times".to_owned());
    }
    if let Some(device) = manifest.environment.fake_device() {
        return Err(format!("its figures are of no device: {device} is a fake (FAKE DEVICE)"));
    }
    for variable in [SLOWDOWN, INJECT] {
        if let Some(value) = manifest.environment.variables.get(variable) {
            return Err(format!("it was slowed down on purpose ({variable}={value})"));
        }
    }
    if !run.cases.iter().any(|case| case.status == CaseStatus::Measured) {
        return Err("none of its cases was measured".to_owned());
    }
    let failed: Vec<String> = run
        .cases
        .iter()
        .filter(|case| case.has_failed())
        .map(|case| visible_in_line(&case.id.to_string()))
        .collect();
    if let [first, ..] = &failed[..] {
        let others = if failed.len() > 1 { format!(" and {} more", failed.len() - 1) } else { String::new() };
        return Err(format!("{first}{others} failed, and nothing could be judged by that"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::run;
    use super::*;
    use crate::metric::Reading;
    use crate::record::{Blocks, CaseRecord, Estimate, FailureReason, Process, RunId, SCHEMA};

    const SUITE: &str = "toy/suite";

    fn name(text: &str) -> BaselineName {
        text.parse().expect("a name")
    }

    fn with_home(test: impl FnOnce(Baselines)) {
        let home = tempfile::tempdir().expect("a temporary directory");
        let layout = Layout::new(home.path().join("data")).with_workspace(home.path().join("workspace"));
        test(Baselines::new(layout));
    }

    #[test]
    fn a_baseline_is_kept_per_name_suite_and_machine() {
        with_home(|baselines| {
            let one = run(1_000, 1);
            let mut other = run(2_000, 1);
            other.manifest.suite = "toy/other".into();
            baselines.set(&name("main"), &one).expect("promoted");
            baselines.set(&name("main"), &other).expect("promoted");
            let machine = one.manifest.environment.machine_id();
            let get = |suite: &str| baselines.find(&machine, suite, &name("main")).expect("set").baseline.run;
            assert_eq!((get(SUITE), get("toy/other")), (one.manifest.id.clone(), other.manifest.id));

            baselines.set(&name("main"), &run(3_000, 1)).expect("promoted");
            assert_eq!(get(SUITE), RunId::new(3_000, 7), "a new promotion takes the place of the old one");
            baselines.remove(&machine, SUITE, &name("main")).expect("removed");
            let (left, broken) = baselines.list().expect("readable");
            assert_eq!((left.len(), broken.len()), (1, 0));
            assert_eq!(left[0].baseline.suite, "toy/other");
        });
    }

    #[test]
    fn a_committed_baseline_serves_until_the_data_directory_has_one() {
        with_home(|baselines| {
            let (committed, own) = (run(1_000, 1), run(2_000, 1));
            let machine = own.manifest.environment.machine_id();
            baselines.commit(&name("main"), &committed).expect("promoted");
            let got = baselines.find(&machine, SUITE, &name("main")).expect("committed");
            assert!(got.committed && got.baseline.run == committed.manifest.id);
            baselines.set(&name("main"), &own).expect("promoted");
            let got = baselines.find(&machine, SUITE, &name("main")).expect("set");
            assert!(!got.committed && got.baseline.run == own.manifest.id);
            assert_eq!(baselines.list().expect("readable").0.len(), 2);
        });
    }

    #[test]
    fn a_committed_baseline_stays_small() {
        with_home(|baselines| {
            let big = run(1_000, 1_000);
            let error = baselines.commit(&name("main"), &big).expect_err("over a megabyte");
            assert!(matches!(error, StoreError::TooBig { .. }), "{error}");
            baselines.set(&name("main"), &big).expect("the data directory takes it");
        });
    }

    #[test]
    fn three_hundred_cases_with_all_their_processes_can_be_committed() {
        with_home(|baselines| {
            let mut whole = run(1_000, 300);
            for (at, case) in whole.cases.iter_mut().enumerate() {
                let value = |repeat: u32| (1.0 + f64::from(repeat) / 77.0) / (at as f64 + 3.0);
                for metric in &mut case.metrics {
                    metric.values = (0..7).map(|repeat| Reading::Value(value(repeat))).collect();
                    metric.estimate = Estimate::of(&(0..7).map(value).collect::<Vec<_>>());
                }
                let process = |repeat| {
                    let three = [101.123, 102.234, 103.345]
                        .map(|time: f64| (time * value(repeat) * 1e3).round() / 1e3);
                    let blocks = Blocks {
                        count: 500,
                        iterations: 9_000 + u64::from(repeat),
                        wall: three,
                        cpu: three,
                        switched: 0.0123,
                        faults: 0.123_456,
                        elements: 1_000.0,
                        ..Blocks::default()
                    };
                    let yardsticks = [Some(512_345.0), Some(498_765.0), Some(423_456.0)];
                    Process { iterations: blocks.count * blocks.iterations, blocks: Some(blocks), yardsticks }
                };
                case.processes = (0..7).map(process).collect();
            }
            let path = baselines.commit(&name("main"), &whole).expect("under a megabyte").path;
            let bytes = std::fs::metadata(path).expect("written").len();
            assert!(bytes < 1_000_000, "{bytes}");
        });
    }

    #[test]
    fn those_of_a_name_or_a_suite_are_found_and_no_other_file_is_read() {
        with_home(|baselines| {
            let one = run(1_000, 1);
            let mut other = run(2_000, 1);
            other.manifest.suite = "toy/other".into();
            for (run, called) in [(&one, "main"), (&other, "main"), (&one, "v1.2")] {
                baselines.set(&name(called), run).expect("promoted");
            }
            let damaged = baselines.set(&name("damaged"), &one).expect("promoted").path;
            std::fs::write(&damaged, "{").expect("writable");
            let told = |(stored, broken): (Vec<StoredBaseline>, Vec<Unreadable>)| {
                let told = |of: &StoredBaseline| format!("{} of {}", of.baseline.name, of.baseline.suite);
                (stored.iter().map(told).collect::<Vec<_>>(), broken.len())
            };
            let named = told(baselines.named(&name("main")).expect("readable"));
            assert_eq!(named, (vec!["main of toy/other".to_owned(), "main of toy/suite".to_owned()], 0));
            assert_eq!(told(baselines.named(&name("damaged")).expect("readable")), (Vec::new(), 1));
            let machine = one.manifest.environment.machine_id();
            let of_suite = told(baselines.of_suite(&machine, SUITE).expect("readable"));
            assert_eq!(of_suite, (vec!["main of toy/suite".to_owned(), "v1.2 of toy/suite".to_owned()], 1));
            let names = baselines.names().expect("readable");
            assert_eq!(names.iter().map(String::as_str).collect::<Vec<_>>(), ["damaged", "main", "v1.2"]);
        });
    }

    #[test]
    fn a_run_that_may_not_be_judged_by_is_not_promoted() {
        with_home(|baselines| {
            let refusal = |change: fn(&mut RunRecord)| {
                let mut run = run(1_000, 1);
                change(&mut run);
                baselines.set(&name("main"), &run).expect_err("not promoted").to_string()
            };
            let said = refusal(|run| run.manifest.status = RunStatus::Interrupted);
            assert_eq!(said, "run 19700101-001640-000007 cannot become baseline `main`: it was interrupted");
            assert!(refusal(|run| run.manifest.status = RunStatus::Running).contains("its end"));
            assert!(refusal(|run| run.manifest.resumed = true).contains("taken up again"));
            let said = refusal(|run| {
                run.manifest.environment.variables.insert(SLOWDOWN.into(), "1.3".into());
            });
            assert!(said.contains("WEIGHBRIDGE_SLOWDOWN=1.3"), "{said}");
            let said = refusal(|run| {
                run.cases[0].status =
                    CaseStatus::Failed(FailureReason::Unwritable("a metric is there twice".into()));
            });
            assert!(said.contains("none of its cases was measured"), "{said}");
            let said = refusal(|run| {
                let why = FailureReason::Unwritable("a metric is there twice".into());
                let failed = CaseRecord { status: CaseStatus::Failed(why), ..run.cases[0].clone() };
                run.cases.push(failed);
            });
            assert!(said.ends_with("failed, and nothing could be judged by that"), "{said}");
            assert!(baselines.list().expect("readable").0.is_empty(), "nothing was written");
        });
    }

    #[test]
    fn a_baseline_of_another_workspace_is_not_replaced_and_is_nobodys_where_it_is_committed() {
        let of = |seconds, folder: &str| {
            let mut run = run(seconds, 1);
            run.manifest.environment.moment.insert("workspace".into(), folder.into());
            run
        };
        with_home(|baselines| {
            let main = name("main");
            baselines.set(&main, &of(1_000, "/one")).expect("promoted");
            let said = baselines.set(&main, &of(2_000, "/two")).expect_err("not its own").to_string();
            assert!(said.contains("the workspace /one has one of that name and suite here"), "{said}");
            baselines.set(&main, &of(3_000, "/one")).expect("it is its own");
            let committed = baselines.commit(&main, &of(3_000, "/one")).expect("promoted");
            assert!(!committed.baseline.environment.moment.contains_key("workspace"));
        });
    }

    #[test]
    fn a_missing_baseline_is_told_with_the_nearest_and_how_to_make_it() {
        with_home(|baselines| {
            let run = run(1_000, 1);
            let machine = run.manifest.environment.machine_id();
            baselines.set(&name("main"), &run).expect("promoted");
            let said = baselines.find(&machine, SUITE, &name("mian")).expect_err("no such").to_string();
            assert!(said.contains("did you mean `main`?"), "{said}");
            assert!(said.contains("cargo bench -- --save-baseline mian"), "{said}");
            assert!(baselines.remove(&machine, SUITE, &name("mian")).is_err());
        });
    }

    #[test]
    fn a_baseline_in_the_wrong_place_or_of_another_schema_is_seen() {
        with_home(|baselines| {
            let run = run(1_000, 1);
            let machine = run.manifest.environment.machine_id();
            let main = baselines.set(&name("main"), &run).expect("promoted").path;
            std::fs::copy(&main, main.with_file_name("other.json")).expect("copied");
            let said = baselines.find(&machine, SUITE, &name("other")).expect_err("a copy").to_string();
            assert!(said.contains("holds baseline `main` of toy/suite"), "{said}");

            let text = std::fs::read_to_string(&main).expect("written");
            std::fs::write(&main, text.replace(&format!("\"schema\":{SCHEMA}"), "\"schema\":99"))
                .expect("writable");
            let said =
                baselines.find(&machine, SUITE, &name("main")).expect_err("another schema").to_string();
            assert!(said.contains("it is of schema 99"), "{said}");
            let (stored, broken) = baselines.list().expect("readable");
            assert_eq!((stored.len(), broken.len()), (0, 2));
        });
    }
}
