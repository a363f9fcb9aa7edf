//! Records and a failing file system for the tests of this stage.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::{Disk, Files};
use crate::bencher::{Budget, Purpose, Work};
use crate::metric::{Direction, Observation, Reading, Unit};
use crate::plan::CaseId;
use crate::record::{
    CaseRecord, CaseStatus, Environment, Estimate, MetricRecord, RunId, RunManifest, RunPlan, RunRecord,
    RunStatus,
};
use crate::registry::{AxisValue, Equivalence, Point};
use crate::run::{Outcome, Repeat};
use crate::verify::Agreement;

/// A case of scenario `PC-1` at a depth.
pub(crate) fn case_id(depth: usize) -> CaseId {
    let value = AxisValue { axis: "depth".into(), text: depth.to_string(), labelled: false, debug: None };
    CaseId {
        scenario: "PC-1".into(),
        point: Point(vec![value]),
        adapter: Some("Reference".into()),
        told_apart: false,
    }
}

/// The manifest of a run of `cases` cases that is running. `second` makes its name.
pub(crate) fn manifest(second: u64, cases: usize) -> RunManifest {
    RunManifest {
        id: RunId::new(second, 7),
        suite: "toy/suite".into(),
        started: second,
        command: vec!["suite".into(), "--bench".into()],
        program: None,
        versus: None,
        profile: "quick".into(),
        requested_platform: "cpu".into(),
        active_backend: "cpu".into(),
        seed: 42,
        epoch: 0,
        planned: RunPlan {
            cases: (0..cases).map(case_id).collect(),
            shortened: BTreeMap::new(),
            only_verified: Vec::new(),
            skipped: Vec::new(),
            repeats: 7,
            stated: std::collections::BTreeMap::new(),
            target: None,
            budget: Budget { warmup: 1, batches: 20, min_time: Duration::from_millis(500), max_time: None },
            timeout: 60,
            isolation: "repeat".into(),
            order: "shuffled".into(),
        },
        status: RunStatus::Running,
        resumed: false,
        journalled: None,
        other_surroundings: Vec::new(),
        ranks: None,
        environment: Environment {
            machine: [("cpu".to_owned(), "Abacus 9".to_owned())].into(),
            ..Environment::default()
        },
        load_at_end: None,
    }
}

/// A measured repeat with `samples` samples.
pub(crate) fn repeat(number: u32, samples: usize) -> Repeat {
    let samples: Vec<u64> = (0..samples as u64).map(|at| 1_000_000 + at * 17 + u64::from(number)).collect();
    let wall = samples.iter().sum();
    let seen = Observation { samples, iterations_per_sample: 1, passes: 1, wall, ..Observation::default() };
    Repeat {
        number,
        purpose: Purpose::Measure,
        slot: wall + 1_000_000,
        start: Some(900_000),
        tree: None,
        utilisation: None,
        surroundings: 0,
        outcome: Outcome::Measured {
            seen: Box::new(seen),
            work: Some(Work::default()),
            evidence: Box::default(),
        },
    }
}

/// The record of a case with these primary metric values and as many repeats.
pub(crate) fn case(id: CaseId, values: &[f64], samples: usize) -> CaseRecord {
    let metric = |name: &str| MetricRecord {
        name: name.to_owned(),
        unit: Unit::SECONDS,
        direction: Direction::Lower,
        values: values.iter().copied().map(Reading::Value).collect(),
        estimate: Estimate::of(values).map(|estimate| Estimate { interval: None, ..estimate }),
        looped: None,
    };
    CaseRecord {
        id,
        category: "Pipelines".into(),
        description: "A chain of cheap transforms.".into(),
        beside: None,
        tier: Some(0),
        version: None,
        status: CaseStatus::Measured,
        primary_metric: "wall_time".into(),
        // As many as the harness has, so that sizes and times of reading are true.
        metrics: std::iter::once(metric("wall_time"))
            .chain((1..16).map(|at| metric(&format!("metric_{at}"))))
            .collect(),
        ranks: Vec::new(),
        processes: Vec::new(),
        median_repeat: Some(1),
        work: Some(Work::default()),
        agreement: Agreement::Reference,
        findings: Vec::new(),
        equivalence: Equivalence::None,
        stationarity: None,
        stopped: None,
        attached: Vec::new(),
        repeats: (1..=values.len() as u32).map(|number| repeat(number, samples)).collect(),
    }
}

/// A complete run of `cases` cases.
pub(crate) fn run(second: u64, cases: usize) -> RunRecord {
    let manifest = RunManifest { status: RunStatus::Complete, ..manifest(second, cases) };
    let cases =
        manifest.planned.cases.iter().map(|id| case(id.clone(), &[1e-3, 1.1e-3, 1.2e-3], 5)).collect();
    RunRecord { manifest, cases }
}

/// Fault of a disk.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StoreFault {
    /// The disk is full when this change is made, and stays so: of a write, half is done.
    Full(usize),
    /// The process is killed while this change is made: of a write, half is done, and no change follows.
    Killed(usize),
    /// Nothing can be changed.
    ReadOnly,
}

/// A disk that fails.
#[derive(Debug)]
pub(crate) struct FailingDisk {
    fault: StoreFault,
    changes: AtomicUsize,
    syncs: AtomicUsize,
}

impl FailingDisk {
    pub(crate) fn new(fault: StoreFault) -> Self {
        Self { fault, changes: AtomicUsize::new(0), syncs: AtomicUsize::new(0) }
    }

    /// The number of changes that were asked for.
    pub(crate) fn changes(&self) -> usize {
        self.changes.load(Ordering::Relaxed)
    }

    /// The number of times that the disk was waited for to have the names in a directory.
    pub(crate) fn syncs(&self) -> usize {
        self.syncs.load(Ordering::Relaxed)
    }

    /// Counts the next change, and returns the fault that it meets: an error and whether half of it is done.
    fn change(&self) -> Result<(), (io::Error, bool)> {
        let at = self.changes.fetch_add(1, Ordering::Relaxed);
        match self.fault {
            StoreFault::Full(from) if at >= from => Err((io::ErrorKind::StorageFull.into(), true)),
            StoreFault::Killed(from) if at >= from => Err((io::Error::other("killed"), at == from)),
            StoreFault::ReadOnly => Err((io::ErrorKind::ReadOnlyFilesystem.into(), false)),
            StoreFault::Full(_) | StoreFault::Killed(_) => Ok(()),
        }
    }
}

impl Files for FailingDisk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        Disk.read(path)
    }

    fn write_new(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        self.change().map_err(|(error, half)| {
            if half {
                drop(Disk.write_new(path, &content[..content.len() / 2]));
            }
            error
        })?;
        Disk.write_new(path, content)
    }

    fn append(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        self.change().map_err(|(error, half)| {
            if half {
                drop(Disk.append(path, &content[..content.len() / 2]));
            }
            error
        })?;
        Disk.append(path, content)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        // A rename takes no room, or a full disk could never be left in order.
        if !matches!(self.fault, StoreFault::Full(_)) {
            self.change().map_err(|(error, _)| error)?;
        }
        Disk.rename(from, to)
    }

    fn make_dirs(&self, path: &Path) -> io::Result<()> {
        self.change().map_err(|(error, _)| error)?;
        Disk.make_dirs(path)
    }

    fn names(&self, path: &Path) -> io::Result<Vec<String>> {
        Disk.names(path)
    }

    fn sync(&self, directory: &Path) -> io::Result<()> {
        self.syncs.fetch_add(1, Ordering::Relaxed);
        Disk.sync(directory)
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        Disk.metadata(path)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        if !matches!(self.fault, StoreFault::Full(_)) {
            self.change().map_err(|(error, _)| error)?;
        }
        Disk.remove(path)
    }
}
