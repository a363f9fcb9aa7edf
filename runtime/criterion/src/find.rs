//! Finding the benchmarks of a program: the program is run as criterion runs it under `--test`, each closure
//! once, in a process of its own, and what was found is remembered by the program's digest.
//!
//! A second process goes through the functions without any closure. A benchmark that it comes to needs none
//! of them, and a process that measures it runs none.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder};
use std::hash::{BuildHasher, RandomState};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use weighbridge::style::{CHILD_FLAG, FindRequest, FoundBenches, Program};
use xxhash_rust::xxh3::xxh3_64;

use crate::catalogue::{Catalogue, Line, benches};
use crate::entries::entries;
use crate::finder::{CLOSURES, FILE};
use crate::memory::{PATH, needing, remember};

/// The variable that tells children where it is remembered what was found.
pub(crate) const FOLDER: &str = "WEIGHBRIDGE_FOUND";

/// So many closures at most may end their process.
const MOST_ENDS: usize = 16;

/// The exit code of a process that a panic ends.
const PANICKED: i32 = 101;

/// Finds the benchmarks of this program, and makes scenarios of them.
pub(crate) fn find(request: &FindRequest<'_>) -> Result<FoundBenches, String> {
    let catalogue = catalogue(request)?;
    let variables = vec![(FOLDER.to_owned(), request.folder.display().to_string())];
    let notes = catalogue.notes.clone();
    let scenarios = entries(catalogue, !request.filtered);
    Ok(FoundBenches { scenarios, notes, variables })
}

/// The catalogue that is remembered, or that is made now.
fn catalogue(request: &FindRequest<'_>) -> Result<Catalogue, String> {
    let program = Program::own().map_err(|why| why.to_string())?;
    let digest = program.digest().map_err(|why| why.to_string())?;
    let path = request.folder.join(format!("{digest}-{:016x}.json", environment()));
    let remembered = fs::read(&path).ok().and_then(|text| serde_json::from_slice(&text).ok());
    // A function may have panicked for want of a file that is there now. A process that measures believes
    // whoever started it.
    let holds = |catalogue: &Catalogue| catalogue.failed.is_empty() || is_child();
    let mut catalogue: Catalogue = match remembered.filter(holds) {
        Some(catalogue) => catalogue,
        None => {
            let catalogue = search(&program, request)?;
            remember(&path, &catalogue);
            catalogue
        }
    };
    let needing = fs::read_to_string(needing(&path)).unwrap_or_default();
    for bench in &mut catalogue.benches {
        bench.closures |= needing.lines().any(|line| line == bench.wanted.0);
    }
    let _ = PATH.set(path);
    Ok(catalogue)
}

/// Tells whether this process was started to measure.
pub(crate) fn is_child() -> bool {
    std::env::args_os().nth(1).is_some_and(|arg| arg == CHILD_FLAG)
}

/// A hash of the variables that a file may look at: another set may make other benchmarks.
fn environment() -> u64 {
    let changes = |name: &str| {
        ["WEIGHBRIDGE_", "CARGO_", "RUST", "SSH_", "XDG_", "TERM", "DBUS_", "NEXTEST"]
            .iter()
            .any(|start| name.starts_with(start))
            || [
                "_",
                "CARGO",
                "PWD",
                "OLDPWD",
                "SHLVL",
                "COLUMNS",
                "LINES",
                "PATH",
                "LD_LIBRARY_PATH",
                "LS_COLORS",
            ]
            .contains(&name)
    };
    let variables = std::env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()));
    let kept: BTreeMap<String, String> = variables.filter(|(name, _)| !changes(name)).collect();
    xxh3_64(format!("{kept:?}").as_bytes())
}

/// Goes through the functions with closures and without.
fn search(program: &Program, request: &FindRequest<'_>) -> Result<Catalogue, String> {
    let begun = Instant::now();
    // Nobody else can foresee its name, make it first or look into it: what is found there is believed.
    let name = format!("weighbridge-find-{:016x}", RandomState::new().hash_one(std::process::id()));
    let folder = std::env::temp_dir().join(name);
    let made = DirBuilder::new().mode(0o700).create(&folder);
    made.map_err(|why| format!("{}: {why}", folder.display()))?;
    let found = search_in(program, request, &folder, begun);
    let _ = fs::remove_dir_all(&folder);
    found
}

fn search_in(
    program: &Program,
    request: &FindRequest<'_>,
    folder: &Path,
    begun: Instant,
) -> Result<Catalogue, String> {
    let mut left_out: BTreeSet<usize> = BTreeSet::new();
    let with = loop {
        let closures = left_out.iter().map(|number| format!("#{number}")).collect::<Vec<_>>().join(",");
        let (mut lines, status) = run(program, request, &folder.join("with"), &closures, None)?;
        if status.success() {
            break lines;
        }
        // A closure that ends the process is a case that fails; what comes behind it is found without it.
        let last = benches(&lines).count().checked_sub(1);
        // A panic of a closure is caught: what ends the process by one is outside of them.
        let in_closure = !matches!(lines.last(), Some(Line::Function(_))) && status.code() != Some(PANICKED);
        match last {
            Some(last) if in_closure && left_out.len() < MOST_ENDS && left_out.insert(last) => {}
            _ => {
                let functions = lines.iter().rev().find_map(|line| match line {
                    Line::Function(name) => Some(name.clone()),
                    _ => None,
                });
                let function = functions.unwrap_or_else(|| "main".to_owned());
                lines.push(Line::Panicked { function, text: format!("the process ended there: {status}") });
                break lines;
            }
        }
    };
    let patience = begun.elapsed() * 2 + Duration::from_secs(10);
    let (without, _) = run(program, request, &folder.join("without"), "0", Some(patience))?;
    Ok(Catalogue::of(&with, &without))
}

/// Runs this program to find its benchmarks.
fn run(
    program: &Program,
    request: &FindRequest<'_>,
    file: &Path,
    closures: &str,
    patience: Option<Duration>,
) -> Result<(Vec<Line>, ExitStatus), String> {
    let _ = fs::remove_file(file);
    let mut command: Command = program.command().map_err(|why| why.to_string())?;
    command.arg("--bench").env(FILE, file).env(CLOSURES, closures);
    if request.directory.is_dir() {
        command.current_dir(request.directory);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|why| why.to_string())?;
    let status = match patience {
        None => child.wait(),
        Some(patience) => wait(&mut child, patience),
    };
    let status = status.map_err(|why| why.to_string())?;
    let text = fs::read_to_string(file).unwrap_or_default();
    Ok((text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect(), status))
}

/// Waits for so long, and ends it then.
fn wait(child: &mut Child, patience: Duration) -> std::io::Result<ExitStatus> {
    let begun = Instant::now();
    while begun.elapsed() < patience {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill()?;
    child.wait()
}
