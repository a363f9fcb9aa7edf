use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use crate::look::{CallSight, FetchSums, Look, LoopSight};
use crate::trial::Trial;

/// A loop of 200 steps whose batches and steps take so many milliseconds.
fn look_at(next: f64, step: f64) -> Look {
    let main = LoopSight {
        framework: "PyTorch DataLoader".to_owned(),
        made: Some(SourceLine { file: "train.py".to_owned(), line: 83, text: "DataLoader(data)".to_owned() }),
        settings: BTreeMap::from([("num_workers".to_owned(), json!(0)), ("threads".to_owned(), json!(1))]),
        next: vec![next * 1e-3; 200],
        step: vec![step * 1e-3; 200],
        starts: vec![0.1],
        step_cpu: step * 0.2,
        ..LoopSight::default()
    };
    Look { whole: (next + step) * 0.2, loops: vec![main], ..Look::default() }
}

fn trial_of(base: f64, arms: &[(&str, f64)]) -> Trial {
    let effect = |(arm, ratio): &(&str, f64)| Effect {
        arm: (*arm).to_owned(),
        seconds: base * ratio,
        ratio: *ratio,
        interval: Some((ratio * 0.98, ratio * 1.02)),
        rounds: 10,
    };
    Trial { base, rounds: 10, effects: arms.iter().map(effect).collect(), alone: Some(0.01) }
}

fn judged(look: &Look, trial: Option<&Trial>) -> Verdict {
    let processes = ProcessSums { processors: 1.0, ..ProcessSums::default() };
    judge(&Findings { look, trial, processes, available: 4 })
}

#[test]
fn too_few_workers_are_named_with_the_line_the_change_and_its_own_gain() {
    let mut look = look_at(30.0, 10.0);
    look.fetch = FetchSums { count: 200, wall: 6.0, cpu: 5.8, ..FetchSums::default() };
    let trial =
        trial_of(0.04, &[("cached", 0.25), ("workers=2", 0.45), ("workers=4", 0.26), ("workers=8", 0.255)]);
    let verdict = judged(&look, Some(&trial));
    assert_eq!((verdict.outcome, verdict.limit), (Outcome::Limited, Some(Limit::Loader)));
    let remedy = verdict.remedy.unwrap();
    // Eight are hardly better than four.
    assert_eq!(remedy.after.as_deref(), Some("num_workers=4"));
    assert_eq!(remedy.before.as_deref(), Some("num_workers=0"));
    assert_eq!(remedy.line.unwrap().named(), "train.py:83");
    assert!((remedy.gain.factor - 1.0 / 0.26).abs() < 1e-9);
}

#[test]
fn processors_the_disk_and_small_files_are_told_apart_where_no_setting_helps() {
    let trial = trial_of(0.04, &[("cached", 0.25), ("workers=4", 1.0)]);
    let limit = |fetch: FetchSums| {
        let mut look = Look { fetch, ..look_at(30.0, 10.0) };
        look.loops[0].settings.insert("batch_size".to_owned(), json!(8));
        judged(&look, Some(&trial)).limit
    };
    let made = |cpu: f64, opened: u64| FetchSums { count: 200, wall: 6.0, cpu, queued: 0.0, opened };
    assert_eq!(limit(made(5.8, 200)), Some(Limit::Processor));
    // A file for each of eight elements; eight for each; a shard once in a while; none.
    assert_eq!(limit(made(0.5, 1600)), Some(Limit::Disk));
    assert_eq!(limit(made(0.5, 12_800)), Some(Limit::SmallFiles));
    assert_eq!(limit(made(0.5, 2)), Some(Limit::Loader));
    assert_eq!(limit(made(0.5, 0)), Some(Limit::Loader));
    // The queue of a machine that others use too says nothing of what the loader does.
    let queued = FetchSums { queued: 4.5, ..made(0.3, 1600) };
    assert_eq!(limit(queued), Some(Limit::Disk));
}

#[test]
fn a_step_that_only_computes_accuses_nobody_and_one_that_is_open_does_not_acquit() {
    let look = look_at(0.1, 39.9);
    let verdict = judged(&look, Some(&trial_of(0.04, &[("cached", 0.99), ("workers=2", 1.0)])));
    assert_eq!((verdict.outcome, verdict.limit), (Outcome::Clean, None));
    let mut open = trial_of(0.04, &[("cached", 0.9)]);
    open.effects[0].interval = Some((0.6, 1.2));
    assert_eq!(judged(&look, Some(&open)).outcome, Outcome::Inconclusive);
    // Few turns leave open what loading would bring, and a smaller thing that was found is not it.
    let mut waits = trial_of(0.04, &[("cached", 0.1)]);
    waits.effects[0].interval = None;
    let mut starts = look_at(30.0, 10.0);
    starts.loops[0].starts = vec![0.5, 0.5, 0.5, 0.5];
    starts.whole += 1.5;
    assert_eq!(judged(&starts, Some(&waits)).outcome, Outcome::Inconclusive);
    open.effects.clear();
    assert_eq!(judged(&look, Some(&open)).outcome, Outcome::Inconclusive);
}

#[test]
fn logging_threads_starts_and_validation_are_named_by_what_they_take() {
    let calm = trial_of(0.04, &[("cached", 0.99), ("telling", 0.6), ("threads=4", 0.99)]);
    let mut look = look_at(0.1, 39.9);
    // Nothing was told: the arm is chance.
    assert_eq!(judged(&look, Some(&calm)).limit, None);
    let call = CallSight {
        kind: "telling".to_owned(),
        name: "print".to_owned(),
        line: None,
        count: 200,
        seconds: 3.2,
    };
    look.calls.push(call);
    assert_eq!(judged(&look, Some(&calm)).limit, Some(Limit::Telling));
    let threads = trial_of(0.04, &[("cached", 0.99), ("threads=4", 0.5)]);
    assert_eq!(judged(&look_at(0.1, 39.9), Some(&threads)).limit, Some(Limit::Threads));
    let none = trial_of(0.04, &[("cached", 0.99)]);
    let mut starts = look_at(0.1, 39.9);
    starts.loops[0].starts = vec![0.5, 0.5, 0.5, 0.5];
    starts.whole += 1.5;
    assert_eq!(judged(&starts, Some(&none)).limit, Some(Limit::EpochStart));
    let mut validates = look_at(0.1, 39.9);
    validates.loops.push(LoopSight { step: vec![0.04; 100], ..LoopSight::default() });
    validates.whole += 4.0;
    assert_eq!(judged(&validates, Some(&none)).limit, Some(Limit::Validation));
}

#[test]
fn a_look_alone_says_what_is_waited_for_and_promises_no_more_than_a_bound() {
    let verdict = judged(&look_at(30.0, 10.0), None);
    assert_eq!(verdict.outcome, Outcome::Looked);
    assert_eq!(verdict.gain.unwrap().source, GainSource::Bound);
    let fine = judged(&look_at(0.1, 39.9), None);
    assert_eq!((fine.outcome, fine.limit), (Outcome::Looked, None));
    assert_eq!(judged(&Look::default(), None).outcome, Outcome::Unseen);
}
