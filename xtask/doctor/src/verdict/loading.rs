//! Whether loading is the limit: it is if steps are faster on batches that are there already. Then why.

use super::findings::{Candidate, Findings, LEAST, LEAST_SURE, is_large, percent, time};
use super::limit::Limit;
use super::remedy::{Gain, GainSource, Remedy};
use crate::look::LoopSight;
use crate::place::SourceLine;
use crate::trial::{CACHED, Effect, Trial};

/// A change is a remedy if it saves this share of what batches that cost nothing do.
const HELPS: f64 = 0.4;

/// Of two changes the smaller one is advised, if it takes no more than this times what the larger one does.
const AS_GOOD: f64 = 1.03;

/// Batches whose making waits for this share of its time wait for no processor.
const WAITS: f64 = 0.5;

/// An interpreter's lock that is held at this share of looks, while so many threads want to run, is the
/// limit.
const HELD: f64 = 0.7;
const WANTING: f64 = 1.8;

/// Files that are opened for each element of a batch, from which on they are many; and for a batch, from
/// which on it waits for them. A shard is opened once in many batches.
const MANY_FILES: f64 = 4.0;
const SOME_FILES: f64 = 0.5;

/// Processors in use, as a share, from which on there is none left for more workers.
const BUSY: f64 = 0.85;

/// The candidates that loading makes: one or none.
pub(super) fn candidates(findings: &Findings<'_>, main: &LoopSight) -> Vec<Candidate> {
    match findings.trial {
        Some(trial) => trial
            .effect(CACHED)
            .filter(|effect| is_large(effect))
            .map(|cached| tried(findings, main, trial, cached)),
        None => looked(findings, main),
    }
    .into_iter()
    .collect()
}

/// Without experiments: a loop that waits for its batches, and nothing of what would be gained but a bound.
fn looked(findings: &Findings<'_>, main: &LoopSight) -> Option<Candidate> {
    let share = main.waiting() * (main.next.iter().sum::<f64>() + main.step.iter().sum::<f64>())
        / findings.look.loops_and_gaps();
    if share < LEAST {
        return None;
    }
    let gain = Gain { source: GainSource::Bound, ..Gain::counted(share.min(1.0), None) };
    let (limit, mut evidence) = reason(findings, main);
    evidence.insert(0, format!("the loop waits for its batches for {} of the time", percent(share)));
    let text = "run the doctor without --only-look: it tries what would help";
    Some(Candidate { limit, gain, remedy: Remedy::at(main.made.clone(), text, gain), evidence })
}

fn tried(findings: &Findings<'_>, main: &LoopSight, trial: &Trial, cached: &Effect) -> Candidate {
    let gain = Gain::of(cached, GainSource::Bound);
    let (mut limit, mut evidence) = reason(findings, main);
    evidence.insert(
        0,
        format!(
            "a step takes {} as it is, and {} on batches that are there already",
            time(trial.base),
            time(cached.seconds)
        ),
    );
    if let Some(alone) = trial.alone {
        evidence.push(format!("the loader alone makes a batch in {}, with no step between", time(alone)));
    }
    let remedy = match best(trial, cached) {
        Some(effect) => {
            // More processes would not help if processors were what is lacking.
            if limit == Limit::Processor {
                limit = Limit::Loader;
            }
            change(main, effect)
        }
        None => without_change(limit, main, findings, gain),
    };
    Candidate { limit, gain, remedy, evidence }
}

/// The smallest change of the loader that helps as much as any.
fn best<'a>(trial: &'a Trial, cached: &Effect) -> Option<&'a Effect> {
    let helps =
        |effect: &&Effect| effect.saved() >= HELPS * cached.saved() && effect.surely_saved() >= LEAST_SURE;
    let of_loader = ["workers=", "worker_count=", "prefetch", "pinned=", "parallel"];
    let changes = || {
        trial
            .effects
            .iter()
            .filter(|effect| of_loader.iter().any(|name| effect.arm.starts_with(name)))
            .filter(helps)
    };
    let least = changes().map(|effect| effect.ratio).fold(f64::INFINITY, f64::min);
    changes().filter(|effect| effect.ratio <= AS_GOOD * least).min_by_key(|effect| number(&effect.arm))
}

fn number(arm: &str) -> u64 {
    arm.split_once('=').and_then(|(_, number)| number.parse().ok()).unwrap_or(0)
}

/// The change as it is written in the script.
fn change(main: &LoopSight, effect: &Effect) -> Remedy {
    let gain = Gain::of(effect, GainSource::Measured);
    let (name, value) = effect.arm.split_once('=').unwrap_or((&effect.arm, ""));
    let map = main.settings.get("map").and_then(serde_json::Value::as_str).and_then(SourceLine::read);
    let (argument, text) = match name {
        "workers" => ("num_workers", format!("make batches in {value} processes beside the script")),
        "worker_count" => ("worker_count", format!("make batches in {value} processes beside the script")),
        "prefetch" => ("prefetch_factor", format!("let each worker make {value} batches ahead")),
        "pinned" => {
            ("pin_memory", "put batches into memory that a device can copy from by itself".to_owned())
        }
        "prefetching" => return Remedy::at(main.made.clone(), AHEAD, gain).written(None, PREFETCH),
        "parallel map" => return Remedy::at(map, PARALLEL, gain).written(None, PARALLEL_MAP),
        _ => {
            let text = format!("{PARALLEL}, and {AHEAD}");
            return Remedy::at(map, text, gain).written(None, format!("{PARALLEL_MAP}, and {PREFETCH}"));
        }
    };
    let before = main.settings.get(argument).map(|now| format!("{argument}={}", python(now)));
    Remedy::at(main.made.clone(), text, gain).written(before, format!("{argument}={value}"))
}

/// The changes that help a `tf.data` pipeline, as it is written, and in words.
const PREFETCH: &str = ".prefetch(tf.data.AUTOTUNE) at the end of the pipeline";
const PARALLEL_MAP: &str = "num_parallel_calls=tf.data.AUTOTUNE in this map";
const AHEAD: &str = "make batches ahead of the step";
const PARALLEL: &str = "make elements in parallel";

/// A value as Python writes it.
fn python(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Null => "None".to_owned(),
        serde_json::Value::Bool(true) => "True".to_owned(),
        serde_json::Value::Bool(false) => "False".to_owned(),
        other => other.to_string(),
    }
}

/// The remedy where no setting of the loader helps.
fn without_change(limit: Limit, main: &LoopSight, findings: &Findings<'_>, gain: Gain) -> Remedy {
    let label = if has_workers(main) { "fetch" } else { "next" };
    let hottest = findings.look.stacks.hottest(label).map(|(line, _, _)| line);
    let text = match limit {
        Limit::Disk => "stage the data on a faster medium, or read further ahead",
        Limit::SmallFiles => "pack the samples into a few large files",
        Limit::Interpreter => "load in processes and not in threads, or in code that leaves the lock",
        Limit::Processor => "do less for each sample here: once and ahead of the training, or on a device",
        _ => "make batches in parallel and ahead of the step, by what this loader offers for that",
    };
    Remedy::at(hottest.or_else(|| main.made.clone()), text, gain)
}

/// Tells whether other processes make the batches.
fn has_workers(main: &LoopSight) -> bool {
    ["num_workers", "worker_count"].iter().any(|name| main.number(name).is_some_and(|count| count > 0))
}

/// The reason why batches come late, by what their making did with its time.
fn reason(findings: &Findings<'_>, main: &LoopSight) -> (Limit, Vec<String>) {
    let (look, fetch) = (findings.look, findings.look.fetch);
    let mut evidence = Vec::new();
    let in_workers = has_workers(main);
    let label = if in_workers { "fetch" } else { "next" };
    if fetch.count > 0 {
        evidence.push(format!(
            "the making of a batch takes {}: {} of that on a processor, {} in the queue before one, {} \
             waiting",
            time(fetch.wall / fetch.count as f64),
            percent(fetch.running().min(1.0)),
            percent(fetch.queued / fetch.wall.max(1e-9)),
            percent((1.0 - (fetch.cpu + fetch.queued) / fetch.wall.max(1e-9)).max(0.0))
        ));
    }
    if let Some((line, share, _)) = look.stacks.hottest(label) {
        let inner = look.stacks.innermost(label);
        let inner = inner.map(|(leaf, share)| format!("; {} in {leaf}", percent(share))).unwrap_or_default();
        evidence.push(format!("{} of it is in {} `{}`{inner}", percent(share), line.named(), line.text));
    }
    let busy = findings.processes.processors / findings.available as f64;
    evidence.push(format!(
        "the script uses {:.1} of {} processors; {:.1} threads wait for one",
        findings.processes.processors, findings.available, findings.processes.queued
    ));
    let (held, wanting) = look.stacks.lock();
    let limit = if fetch.count > 0 && fetch.waiting() >= WAITS {
        match fetch.files() {
            files if files >= MANY_FILES * main.number("batch_size").unwrap_or(1) as f64 => {
                evidence.push(format!("{files:.0} files are opened for a batch"));
                Limit::SmallFiles
            }
            files if files >= SOME_FILES || findings.processes.read > 1e6 => Limit::Disk,
            _ => Limit::Loader,
        }
    } else if held >= HELD && wanting >= WANTING && fetch.running() < 1.2 {
        evidence.push(format!(
            "{wanting:.1} threads want the interpreter's lock, which is held at {} of looks",
            percent(held)
        ));
        Limit::Interpreter
    } else if fetch.count > 0 || busy >= BUSY {
        Limit::Processor
    } else {
        Limit::Loader
    };
    (limit, evidence)
}
