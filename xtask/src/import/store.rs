//! What was found in the files of another tool, as a stored run.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use weighbridge::data::{
    Budget, CaseRecord, Environment, Imported, Planned, RunId, RunManifest, RunStatus, StoreError,
};

use super::{Benchmark, FileContent};
use crate::place::Place;
use crate::said::Said;

/// As many processes on each side are judged.
const ENOUGH: usize = 6;

/// As often another name is drawn where one is taken.
const DRAWS: u32 = 16;

pub(super) fn store(found: FileContent, tool: &str, files: &[PathBuf], place: &Place) -> Result<Said> {
    let FileContent { version, machine, software, on_gpu, benchmarks, remarks } = found;
    let (count, fewest) =
        (benchmarks.len(), benchmarks.iter().map(|benchmark| benchmark.processes.len()).min().unwrap_or(0));
    let make = |Benchmark { id, primary_metric, processes }| {
        CaseRecord::imported(id, tool, primary_metric, processes)
    };
    let cases: Vec<CaseRecord> = benchmarks.into_iter().map(make).collect();
    let imported =
        Imported { tool: tool.to_owned(), version, files: files.iter().map(|file| name(file)).collect() };
    let environment = Environment { machine, software, ..Environment::default() };
    let manifest = create(place, manifest(&cases, imported, environment, on_gpu))?;
    let runs = place.runs();
    for case in &cases {
        for repeat in &case.repeats {
            runs.journal(&manifest.id, &case.id, repeat)?;
        }
        runs.write_case(&manifest.id, case)?;
    }
    runs.write_manifest(&RunManifest { status: RunStatus::Complete, ..manifest.clone() })?;

    let (id, us) = (&manifest.id, weighbridge::tool());
    let mut text = format!("run {id}: {count} benchmarks of {tool}, imported\n");
    let mut say = |line: String| writeln!(text, "{line}").expect("a String takes all that is written");
    say(format!("  show it:                 {us} summary {id}"));
    say(format!("  hold a later one to it:  {us} baseline set NAME --run {id}"));
    say(format!("                           {us} compare-baseline NAME --run LATER"));
    if fewest < ENOUGH {
        say(format!(
            "  differences are shown and none is judged: that takes {ENOUGH} processes on each side, and a benchmark here has \
             {fewest}; each file of a tool that measures in one process is one"
        ));
    }
    Ok(Said { remarks, ..Said::fine(text) })
}

/// The name of a file or folder, without what lies above it.
fn name(file: &Path) -> String {
    file.file_name().map_or_else(|| ".".to_owned(), |name| name.to_string_lossy().into_owned())
}

fn manifest(cases: &[CaseRecord], imported: Imported, environment: Environment, on_gpu: bool) -> RunManifest {
    let platform = if on_gpu { "gpu" } else { "cpu" };
    let repeats = cases.iter().map(|case| case.repeats.len() as u32).max().unwrap_or(0);
    RunManifest {
        id: RunId::new(0, 0), // until one is drawn
        suite: format!("imported/{}", imported.tool),
        started: 0,
        command: std::env::args().collect(),
        program: None,
        versus: None,
        profile: "imported".to_owned(),
        requested_platform: platform.to_owned(),
        active_backend: platform.to_owned(),
        seed: 0,
        epoch: 0,
        planned: Planned {
            cases: cases.iter().map(|case| case.id.clone()).collect(),
            repeats,
            stated: BTreeMap::new(),
            target: None,
            budget: Budget { warmup: 0, batches: 0, min_time: Duration::ZERO, max_time: None },
            timeout: 0,
            isolation: "file".to_owned(),
            order: "declared".to_owned(),
        },
        status: RunStatus::Running,
        resumed: false,
        imported: Some(imported),
        environment,
        load_at_end: None,
    }
}

/// Makes the run under a name that is not taken: the time of the import.
fn create(place: &Place, manifest: RunManifest) -> Result<RunManifest> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).context("the clock is before 1970")?;
    for draw in 0..DRAWS {
        let id = RunId::new(now.as_secs(), (now.subsec_nanos() >> 6).wrapping_add(draw));
        let manifest = RunManifest { id, started: now.as_secs(), ..manifest.clone() };
        match place.runs().create(&manifest) {
            Ok(()) => return Ok(manifest),
            Err(StoreError::RunExists(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    bail!("{DRAWS} names for the run are taken: try again")
}
