//! Mishaps: what happens to people, and what others may have put in the way. A file is lost, a clock was
//! ahead, a tool hangs, the surroundings change between a run and its resume.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use weighbridge::data::{PrunePolicy, RunId, RunStatus, redigest};

use super::disks;
use super::draw::StormDraws;
use super::lab::{ARGS, EndedCommand, FaultTrial, Lab, last, names};
use super::toll::{Harm, Toll};

/// A mishap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mishap {
    /// A file of a complete run is gone.
    LostFile,
    /// A run of a time when the clock was ahead lies beside newer ones.
    Future,
    /// What is asked for facts never answers.
    HangingTool,
    /// The disk of the data directory is full while a case runs, which is no fault of the case.
    FullDisk,
    /// A run is taken up again in other surroundings.
    OtherSurroundings,
    /// A killed run has left scratch.
    Scratch,
    /// A stored text would move a cursor, or be obeyed by a build server.
    RawText,
    /// Settings are nested deeply.
    DeepInput,
    /// A pipe has the name of a record.
    NamedPipe,
}

/// Which comes after which.
const TURNS: [Mishap; 9] = [
    Mishap::LostFile,
    Mishap::Future,
    Mishap::HangingTool,
    Mishap::FullDisk,
    Mishap::OtherSurroundings,
    Mishap::Scratch,
    Mishap::RawText,
    Mishap::DeepInput,
    Mishap::NamedPipe,
];

/// How many there are: of fewer than these, one is never tried.
pub(super) const KINDS: usize = TURNS.len();

/// Tries so many mishaps.
pub(super) fn storm(lab: &Lab, draw: &mut StormDraws, faults: usize) -> Result<Toll> {
    let mut toll = Toll::new("mishaps");
    let mountable = disks::mountable(&lab.trial("mount")?);
    for (number, mishap) in TURNS.iter().cycle().take(faults).enumerate() {
        let trial = lab.trial(&format!("mishap-{number}"))?;
        let fault = format!("{number}: {mishap:?}");
        eprintln!("mishaps: {fault}");
        if let (Mishap::FullDisk, Err(why)) = (mishap, &mountable) {
            trial.clear();
            toll.skip(&fault, why);
            continue;
        }
        let mut harm = Harm::default();
        match mishap {
            Mishap::LostFile => lost_file(lab, &trial, draw, &mut harm)?,
            Mishap::Future => future(lab, &trial, &mut harm)?,
            Mishap::HangingTool => hanging_tool(lab, &trial, draw, &mut harm)?,
            Mishap::FullDisk => full_disk(lab, &trial, draw, &mut harm)?,
            Mishap::OtherSurroundings => other_surroundings(lab, &trial, draw, &mut harm)?,
            Mishap::Scratch => scratch(lab, &trial, &mut harm)?,
            Mishap::RawText => raw_text(lab, &trial, draw, &mut harm)?,
            Mishap::DeepInput => deep_input(lab, &trial, draw, &mut harm)?,
            Mishap::NamedPipe => named_pipe(lab, &trial, draw, &mut harm)?,
        }
        trial.expect_no_process(&mut harm);
        trial.clear();
        toll.add(&fault, &harm);
    }
    Ok(toll)
}

/// A whole run, by its name.
fn whole(lab: &Lab, trial: &FaultTrial) -> Result<String> {
    measured(lab, trial, ARGS, &[0])
}

/// A run that its budget ends, by its name.
fn broken_off(lab: &Lab, trial: &FaultTrial) -> Result<String> {
    measured(lab, trial, &[ARGS, &["--budget", "0.1"]].concat(), &[0, 5])
}

fn measured(lab: &Lab, trial: &FaultTrial, args: &[&str], codes: &[i32]) -> Result<String> {
    let ended = trial.finish(&mut lab.bench(trial, args))?;
    if !ended.code.is_some_and(|code| codes.contains(&code)) {
        bail!("a run fails before any mishap: {}", last(&ended.said));
    }
    trial.runs().pop().context("a run is stored")
}

/// Runs a command of the tool, which must end.
fn tool(lab: &Lab, trial: &FaultTrial, words: &[&str], harm: &mut Harm) -> Result<EndedCommand> {
    let ended = trial.finish(&mut lab.xtask(trial, words))?;
    trial.expect_an_end(&ended, &words.join(" "), harm);
    Ok(ended)
}

/// The run is damaged wherever it is read, and whole after it was taken up again.
fn lost_file(lab: &Lab, trial: &FaultTrial, draw: &mut StormDraws, harm: &mut Harm) -> Result<()> {
    let run = whole(lab, trial)?;
    let folder = trial.data().join("runs").join(&run).join(draw.one(&["cases", "repeats"]));
    let file = draw.one(&names(&folder)).clone();
    fs::remove_file(folder.join(&file))?;
    for words in [&["runs", "list"][..], &["export", "jsonl", &run]] {
        let ended = tool(lab, trial, words, harm)?;
        if !ended.said.contains("damaged") {
            harm.lost.push(format!("`{}` does not say that {file} is gone", words.join(" ")));
        }
    }
    let ended = trial.finish(&mut lab.bench(trial, &["--resume", &run]))?;
    trial.expect_an_end(&ended, "--resume", harm);
    match run.parse::<RunId>().ok().map(|id| trial.store().load_whole(&id)) {
        Some(Ok(record)) if record.manifest.status == RunStatus::Complete => {}
        _ => harm.lost.push(format!("the run is not whole after --resume: {}", last(&ended.said))),
    }
    Ok(())
}

/// What was measured last is the latest, whatever the names say.
fn future(lab: &Lab, trial: &FaultTrial, harm: &mut Harm) -> Result<()> {
    let run = whole(lab, trial)?;
    let ahead = format!("2099{}", &run[4..]);
    let runs = trial.data().join("runs");
    fs::rename(runs.join(&run), runs.join(&ahead))?;
    let order = trial.data().join("runs.order");
    fs::write(&order, fs::read_to_string(&order)?.replace(&run, &ahead))?;
    for file in records(&runs.join(&ahead)) {
        let text = fs::read_to_string(&file)?;
        fs::write(&file, text.replace(&run, &ahead))?;
        redigest(&file)?;
    }
    let ended = trial.finish(&mut lab.bench(trial, ARGS))?;
    trial.expect_an_end(&ended, "the run", harm);
    let latest = tool(lab, trial, &["runs", "show", "latest"], harm)?;
    let newest = trial.runs().into_iter().find(|name| *name != ahead).unwrap_or_default();
    if newest.is_empty() || !latest.said.contains(&newest) || latest.said.contains(&ahead) {
        harm.lost.push(format!(
            "the latest run is not {newest}: {}",
            latest.said.lines().next().unwrap_or_default()
        ));
    }
    tool(lab, trial, &["runs", "prune", "--keep", "1"], harm)?;
    if !trial.runs().contains(&newest) {
        harm.lost.push(format!("{newest} was pruned, and {ahead} was kept"));
    }
    Ok(())
}

/// The facts that it would tell are missing, and nothing else.
fn hanging_tool(lab: &Lab, trial: &FaultTrial, draw: &mut StormDraws, harm: &mut Harm) -> Result<()> {
    let folder = trial.folder.join("tools");
    fs::create_dir(&folder)?;
    for name in *draw.one(&[&["rustc"][..], &["git"], &["rustc", "git"]]) {
        let script = draw.one(&["exec sleep 993", "trap '' TERM INT HUP; sleep 993"]);
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n"))?;
        fs::set_permissions(&path, Permissions::from_mode(0o755))?;
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = lab.bench(trial, ARGS);
    let ended = trial.finish(command.env("PATH", format!("{}:{path}", folder.display())))?;
    trial.expect_an_end(&ended, "the run", harm);
    if ended.code != Some(0) {
        harm.lost.push(format!("the run ended with {:?}: {}", ended.code, last(&ended.said)));
    }
    trial.expect_whole_records(harm);
    trial.expect_nothing_left(harm);
    Ok(())
}

/// No case has failed for it, then or when there is room again.
fn full_disk(lab: &Lab, trial: &FaultTrial, draw: &mut StormDraws, harm: &mut Harm) -> Result<()> {
    let size = format!("size={}k", 40 + draw.below(120));
    let mut look = |harm: &mut Harm| {
        let ids = trial.runs().into_iter().filter_map(|run| run.parse::<RunId>().ok());
        let runs = ids.filter_map(|id| trial.store().load(&id).ok());
        let failed: usize = runs.map(|run| run.cases.iter().filter(|case| case.has_failed()).count()).sum();
        if failed > 0 {
            harm.lost.push(format!("{failed} cases have failed for want of room"));
        }
    };
    disks::full(lab, trial, &size, &mut look, harm)
}

/// It is refused with what differs, and changes nothing.
fn other_surroundings(lab: &Lab, trial: &FaultTrial, draw: &mut StormDraws, harm: &mut Harm) -> Result<()> {
    let run = broken_off(lab, trial)?;
    let before = trial.journal(&run);
    let other = *draw.one(&["WEIGHBRIDGE_SLOWDOWN=3", "OMP_NUM_THREADS=7", "MALLOC_ARENA_MAX=1", "nice"]);
    let args = ["--resume", &*run];
    let mut command = match other.split_once('=') {
        Some((name, value)) => {
            let mut command = lab.bench(trial, &args);
            command.env(name, value);
            command
        }
        None => lab.through(trial, "exec nice -n 5 \"$0\" \"$@\"", &args),
    };
    let ended = trial.finish(&mut command)?;
    trial.expect_an_end(&ended, "--resume", harm);
    let is_refused = ended.code.is_some_and(|code| code != 0)
        && ["its surroundings are others", "it is complete"].iter().any(|words| ended.said.contains(words));
    if !is_refused {
        harm.lost.push(format!("it went on under {other}: {}", last(&ended.said)));
    }
    if trial.journal(&run) != before {
        harm.lost.push(format!("a resume under {other} changed the journal"));
    }
    trial.expect_a_resume(lab, harm)
}

/// Pruning frees it.
fn scratch(lab: &Lab, trial: &FaultTrial, harm: &mut Harm) -> Result<()> {
    let run = broken_off(lab, trial)?;
    let folder = trial.data().join("runs").join(&run).join("scratch");
    fs::create_dir_all(folder.join("case.1/deep"))?;
    fs::write(folder.join("case.1/deep/file"), vec![7; 1 << 16])?;
    let is_complete = run
        .parse::<RunId>()
        .ok()
        .and_then(|id| trial.store().manifest(&id).ok())
        .is_some_and(|manifest| manifest.status == RunStatus::Complete);
    let later = SystemTime::now() + Duration::from_hours(2);
    if let Err(error) = trial.store().prune(PrunePolicy::default(), later) {
        harm.lost.push(format!("runs are not pruned: {error}"));
    }
    let left = names(&folder);
    if !left.is_empty() && !is_complete {
        harm.left.push(format!("scratch {} of {run} after pruning", left.join(", ")));
    }
    let _ = fs::remove_dir_all(&folder); // pruning may have done so
    fs::create_dir_all(&folder)?;
    trial.expect_a_resume(lab, harm)
}

/// It is shown as text and nothing more.
fn raw_text(lab: &Lab, trial: &FaultTrial, draw: &mut StormDraws, harm: &mut Harm) -> Result<()> {
    let run = whole(lab, trial)?;
    let raw = *draw.one(&[
        r"\u001b[2J\n::error::x",
        r"a##[stop-commands]b",
        r"\u202etxt.exe\u0000",
        r"\r\n::add-mask::x",
    ]);
    let folder = trial.data().join("runs").join(&run);
    let (file, before) = *draw.one(&[("run.json", "\"command\":["), ("cases", "\"description\":\"")]);
    let files = if file == "cases" { records(&folder.join(file)) } else { vec![folder.join(file)] };
    for path in files {
        let text = fs::read_to_string(&path)?;
        let quoted =
            if before.ends_with('[') { format!("{before}\"{raw}\",") } else { format!("{before}{raw}") };
        fs::write(&path, text.replacen(before, &quoted, 1))?;
        redigest(&path)?;
    }
    for words in [&["runs", "list"][..], &["runs", "show", &run], &["runs", "judge", &run], &["summary"]] {
        let ended = tool(lab, trial, words, harm)?;
        let is_obeyed = |line: &str| line.trim_start().starts_with("::") || line.contains("##[");
        let is_raw =
            ended.said.contains(['\u{1b}', '\u{202e}', '\0', '\r']) || ended.said.lines().any(is_obeyed);
        if is_raw {
            harm.lost.push(format!("`{}` shows {raw} as it is", words.join(" ")));
        }
    }
    Ok(())
}

/// It is refused as a mistake, with its line.
fn deep_input(lab: &Lab, trial: &FaultTrial, draw: &mut StormDraws, harm: &mut Harm) -> Result<()> {
    let deep = match draw.below(4) {
        0 => format!("x = {}", "[".repeat(20_000)),
        1 => format!("x = {}", "{a=".repeat(20_000)),
        2 => format!("{} = 1", vec!["a"; 20_000].join(".")),
        _ => format!("[{}]", vec!["a"; 20_000].join(".")),
    };
    let file = trial.folder.join("deep.toml");
    fs::write(&file, deep)?;
    let name = file.display().to_string();
    let by_bench = trial.finish(&mut lab.bench(trial, &["--suite", &name]))?;
    trial.expect_an_end(&by_bench, "--suite", harm);
    let by_tool = tool(lab, trial, &["suite", "check", &name], harm)?;
    for (ended, what) in [(by_bench, "--suite"), (by_tool, "suite check")] {
        if ended.code == Some(0) {
            harm.lost.push(format!("{what} takes a file that is nested 20,000 deep"));
        }
    }
    Ok(())
}

/// Nobody waits for it.
fn named_pipe(lab: &Lab, trial: &FaultTrial, draw: &mut StormDraws, harm: &mut Harm) -> Result<()> {
    let run = whole(lab, trial)?;
    let place = *draw.one(&[
        "duels/20260101-000000-000000.json",
        "duels/20260101-000000-000000/run.json",
        "runs/RUN/cases/another.json",
        "runs/RUN/repeats/another.1.json",
        "runs/20260101-000000-000000/run.json",
        "runs.order",
        "runs.index",
        "calibration/another.json",
        "baselines/another/another/main.json",
    ]);
    let path: PathBuf = trial.data().join(place.replace("RUN", &run));
    fs::create_dir_all(path.parent().context("a file lies in a folder")?)?;
    let _ = fs::remove_file(&path); // there may be none
    let made = Command::new("mkfifo").arg(&path).status().context("there is no `mkfifo`")?;
    if !made.success() {
        bail!("failed to make a pipe: {made}");
    }
    let readers = [
        &["runs", "list"][..],
        &["runs", "show", "latest"],
        &["baseline", "list"],
        &["report", "comment", "--duel"],
        &["summary"],
        &["export", "jsonl"],
        &["runs", "prune", "--keep", "9"],
    ];
    for words in readers {
        tool(lab, trial, words, harm)?;
    }
    let again = trial.finish(&mut lab.bench(trial, ARGS))?;
    trial.expect_an_end(&again, "the next run", harm);
    Ok(())
}

/// All records below a folder.
fn records(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in names(folder).iter().map(|name| folder.join(name)) {
        match path.is_dir() {
            true => found.extend(records(&path)),
            false if path.extension().is_some_and(|extension| extension == "json") => found.push(path),
            false => {}
        }
    }
    found
}
