//! Finding the benchmarks of a program: the program is run as criterion runs it under `--test`, each closure once,
//! in a process of its own, and what was found is remembered by the program's digest.
//!
//! A second process goes through the functions without any closure. A benchmark that it comes to needs none of
//! them, and a process that measures it runs none.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use weighbridge::style::{FindRequest, FoundBenches, Program};
use xxhash_rust::xxh3::xxh3_64;

use crate::criterion::Config;
use crate::entries::entries;
use crate::id::Name;
use crate::visit::Counts;

/// The variable that names the file which a process is to write what it finds to.
const FILE: &str = "WEIGHBRIDGE_FIND";
/// The variable that is `0` where it is to run no closures, else has the numbers of those that end the process.
const CLOSURES: &str = "WEIGHBRIDGE_FIND_CLOSURES";
/// The variable that tells children where it is remembered what was found.
pub(crate) const FOLDER: &str = "WEIGHBRIDGE_FOUND";

/// So many closures at most may end their process.
const MOST_ENDS: usize = 16;

/// The exit code of a process that a panic ends.
const PANICKED: i32 = 101;

/// One line of what a process finds, in order.
#[derive(Debug, Serialize, Deserialize)]
enum Line {
    Function(String),
    Bench(BenchLine),
    Panicked { function: String, text: String },
    Note(String),
}

/// A benchmark, before its closure runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct BenchLine {
    group: Option<String>,
    own: String,
    samples: Option<usize>,
    most_time: Option<Duration>,
    /// True if a filter in the file does not take it.
    filtered: bool,
}

/// The part of a process that finds benchmarks.
#[derive(Debug)]
pub(crate) struct Finder {
    file: File,
    closures: bool,
    /// The closures that end the process.
    left_out: BTreeSet<usize>,
    found: usize,
    notes: BTreeSet<String>,
}

impl Finder {
    /// The one that this process was started to be.
    pub(crate) fn from_env() -> Option<Self> {
        let file = File::options().append(true).create(true).open(std::env::var_os(FILE)?).ok()?;
        let closures = std::env::var(CLOSURES).unwrap_or_default();
        let left_out = closures.split(',').filter_map(|number| number.strip_prefix('#')?.parse().ok());
        Some(Self {
            file,
            closures: closures != "0",
            left_out: left_out.collect(),
            found: 0,
            notes: BTreeSet::new(),
        })
    }

    fn write(&mut self, line: &Line) {
        if let Ok(mut text) = serde_json::to_string(line) {
            text.push('\n');
            // What cannot be written is not found, and the parent tells that.
            let _ = self.file.write_all(text.as_bytes());
        }
    }

    /// Begins a function of the file.
    pub(crate) fn enter(&mut self, function: &str) {
        self.write(&Line::Function(function.to_owned()));
    }

    /// Notes a benchmark, and tells whether its closure is to run.
    pub(crate) fn found(&mut self, name: &Name, config: &Config) -> bool {
        let is_taken = config.filter.as_ref().is_none_or(|filter| filter.takes(&name.to_string()));
        self.write(&Line::Bench(BenchLine {
            group: name.group.clone(),
            own: name.own.clone(),
            samples: config.samples,
            most_time: config.most_time,
            filtered: !is_taken,
        }));
        self.found += 1;
        self.closures && !self.left_out.contains(&(self.found - 1))
    }

    /// Notes a function that panicked outside of its closures.
    pub(crate) fn panicked(&mut self, function: &str, text: &str) {
        self.write(&Line::Panicked { function: function.to_owned(), text: text.to_owned() });
    }

    /// Notes something to say to whoever measures, once.
    pub(crate) fn note(&mut self, text: &str) {
        if self.notes.insert(text.to_owned()) {
            self.write(&Line::Note(text.to_owned()));
        }
    }
}

/// A benchmark that was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FoundBench {
    /// Its group and its name, told apart from those of the same.
    pub(crate) group: Option<String>,
    pub(crate) own: String,
    /// Its name as the file has it, and how many of that name come before it.
    pub(crate) wanted: (String, usize),
    pub(crate) function: String,
    /// True if closures before its own must run.
    pub(crate) closures: bool,
    pub(crate) samples: Option<usize>,
    pub(crate) most_time: Option<Duration>,
    pub(crate) filtered: bool,
}

/// A function that panicked outside of its closures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FailedFunction {
    /// The name of the case that stands for it.
    pub(crate) case: String,
    pub(crate) why: String,
}

/// All that was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Catalogue {
    pub(crate) benches: Vec<FoundBench>,
    pub(crate) failed: Vec<FailedFunction>,
    pub(crate) notes: Vec<String>,
}

impl Catalogue {
    /// Puts together what the process with closures found, and the one without.
    fn of(with: &[Line], without: &[Line]) -> Self {
        let mut counts = Counts::default();
        let reached: BTreeSet<(String, usize)> = benches(without)
            .map(|(_, bench)| {
                let name = name(bench);
                (name.to_string(), counts.count(&name))
            })
            .collect();
        let mut counts = Counts::default();
        let mut taken = BTreeSet::new();
        let mut catalogue = Self::default();
        let mut places: BTreeMap<String, &str> = BTreeMap::new();
        for (function, bench) in benches(with) {
            let name = name(bench);
            let wanted = (name.to_string(), counts.count(&name));
            let mut shown = name.clone();
            let mut number = 1;
            while !taken.insert(shown.to_string()) {
                number += 1;
                shown.own = format!("{} ({number})", name.own);
            }
            let first = *places.entry(wanted.0.clone()).or_insert(function);
            if number > 1 {
                catalogue.notes.push(format!(
                    "two benchmarks are called `{name}`, in `{first}` and in `{function}`: the latter is `{shown}` here"
                ));
            }
            catalogue.benches.push(FoundBench {
                group: shown.group,
                own: shown.own,
                closures: !reached.contains(&wanted),
                wanted,
                function: function.to_owned(),
                samples: bench.samples,
                most_time: bench.most_time,
                filtered: bench.filtered,
            });
        }
        for line in with {
            match line {
                Line::Panicked { function, text } => {
                    let why = format!("`{function}` panicked outside its closures: {text}");
                    let mut case = function.clone();
                    while !taken.insert(case.clone()) {
                        case.push_str(" (outside its closures)");
                    }
                    catalogue.failed.push(FailedFunction { case, why });
                }
                Line::Note(note) => catalogue.notes.push(format!("note: {note}")),
                Line::Function(_) | Line::Bench(_) => {}
            }
        }
        catalogue
    }
}

fn name(bench: &BenchLine) -> Name {
    Name { group: bench.group.clone(), own: bench.own.clone() }
}

/// The benchmarks of these lines, each with the function that it is in.
fn benches(lines: &[Line]) -> impl Iterator<Item = (&str, &BenchLine)> {
    let mut function = "main";
    lines.iter().filter_map(move |line| match line {
        Line::Function(name) => {
            function = name;
            None
        }
        Line::Bench(bench) => Some((function, bench)),
        _ => None,
    })
}

/// Finds the benchmarks of this program, and makes scenarios of them.
pub(crate) fn find(request: &FindRequest<'_>) -> Result<FoundBenches, String> {
    let catalogue = catalogue(request)?;
    let variables = vec![(FOLDER.to_owned(), request.folder.display().to_string())];
    let notes = catalogue.notes.clone();
    let scenarios = entries(catalogue, !request.filtered);
    Ok(FoundBenches { scenarios, notes, variables })
}

/// What is remembered, or what is found now.
fn catalogue(request: &FindRequest<'_>) -> Result<Catalogue, String> {
    let program = Program::own().map_err(|why| why.to_string())?;
    let digest = program.digest().map_err(|why| why.to_string())?;
    let path = request.folder.join(format!("{digest}-{:016x}.json", environment()));
    let remembered = fs::read(&path).ok().and_then(|text| serde_json::from_slice(&text).ok());
    let mut catalogue: Catalogue = match remembered {
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

/// The file in which it is remembered what was found in this program.
static PATH: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();

/// The file of benchmarks that need closures before their own, as measuring them has shown.
fn needing(path: &Path) -> PathBuf {
    path.with_extension("needing")
}

/// Remembers that this benchmark needs the closures before its own.
pub(crate) fn remember_needing(name: &str) {
    let Some(path) = PATH.get() else { return };
    if let Ok(mut file) = File::options().append(true).create(true).open(needing(path)) {
        // Without it the next process finds it out again.
        let _ = file.write_all(format!("{name}\n").as_bytes());
    }
}

/// In one piece, for programs that run side by side. What cannot be remembered is found again.
fn remember(path: &Path, catalogue: &Catalogue) {
    let write = || {
        let text = serde_json::to_vec(catalogue).ok()?;
        fs::create_dir_all(path.parent()?).ok()?;
        let new = path.with_extension(format!("new-{}", std::process::id()));
        fs::write(&new, text).ok()?;
        fs::rename(&new, path).ok()
    };
    let _ = write();
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
    let folder = std::env::temp_dir().join(format!("weighbridge-find-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|why| format!("{}: {why}", folder.display()))?;
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
fn wait(child: &mut std::process::Child, patience: Duration) -> std::io::Result<ExitStatus> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn bench(group: Option<&str>, own: &str) -> Line {
        Line::Bench(BenchLine {
            group: group.map(str::to_owned),
            own: own.to_owned(),
            samples: None,
            most_time: None,
            filtered: false,
        })
    }

    fn shown(catalogue: &Catalogue) -> Vec<(String, bool)> {
        let name =
            |bench: &FoundBench| Name { group: bench.group.clone(), own: bench.own.clone() }.to_string();
        catalogue.benches.iter().map(|bench| (name(bench), bench.closures)).collect()
    }

    #[test]
    fn what_is_found_with_closures_alone_needs_them_and_a_name_that_is_there_twice_is_numbered() {
        let function = |name: &str| Line::Function(name.to_owned());
        let with = [
            function("one"),
            bench(None, "parse"),
            bench(Some("parse"), "small"),
            function("other"),
            bench(None, "parse"),
            bench(None, "second"),
            Line::Panicked { function: "other".into(), text: "no file".into() },
        ];
        let without = [function("one"), bench(None, "parse"), bench(Some("parse"), "small")];
        let found = Catalogue::of(&with, &without);
        let expected = [("parse", false), ("parse/small", false), ("parse (2)", true), ("second", true)];
        assert_eq!(shown(&found), expected.map(|(name, closures)| (name.to_owned(), closures)));
        assert_eq!(found.benches[2].wanted, ("parse".to_owned(), 1));
        assert!(found.notes[0].contains("in `one` and in `other`"), "{:?}", found.notes);
        assert_eq!(found.failed[0].case, "other");
        assert_eq!(found.failed[0].why, "`other` panicked outside its closures: no file");
    }
}
