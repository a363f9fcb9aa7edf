//! What may limit a script beside its loader: parts of the step, and what lies between epochs.

use super::findings::{Candidate, Findings, LEAST, is_large, percent, time};
use super::limit::Limit;
use super::remedy::{Gain, GainSource, Remedy};
use crate::look::{CallSight, LoopSight};
use crate::trial::Effect;

/// Validation is part of a training: from this share on it is worth a word.
const VALIDATES: f64 = 0.25;

/// A step that neither runs nor waits for a processor for this share of its time waits for something else, if
/// one line is what it does for most of its time.
const WAITS: f64 = 0.4;
const ONE_LINE: f64 = 0.5;

/// One start may be slow by chance.
const LEAST_STARTS: usize = 2;

/// The candidates that the step and the epochs make.
pub(super) fn candidates(findings: &Findings<'_>, main: &LoopSight) -> Vec<Candidate> {
    [
        calls(findings, Limit::Telling, "telling"),
        calls(findings, Limit::Saving, "saving"),
        threads(findings, main),
        starts(findings, main),
        validation(findings),
        waits(findings, main),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Calls that tell or save: by leaving them out in turns; by their time, where they are rare.
fn calls(findings: &Findings<'_>, limit: Limit, kind: &str) -> Option<Candidate> {
    let (seconds, most) = findings.look.calls_of(kind);
    let share = seconds / findings.look.loops_and_gaps();
    let effect = findings.trial.and_then(|trial| trial.effect(kind)).filter(|effect| is_large(effect));
    // Calls that never happen change nothing.
    let most = most?;
    let gain = match effect {
        Some(effect) => Gain::of(effect, GainSource::Measured),
        None if share >= LEAST => Gain::counted(share, None),
        None => return None,
    };
    Some(called(limit, most, share, gain))
}

fn called(limit: Limit, most: &CallSight, share: f64, gain: Gain) -> Candidate {
    let text = match limit {
        Limit::Saving => "save less often, or in the background",
        _ => "tell of every some steps, and not of each",
    };
    let at =
        most.line.as_ref().map(|line| format!(" from {} `{}`", line.named(), line.text)).unwrap_or_default();
    let evidence = vec![format!(
        "`{}` is called {} times{at}; such calls take {} of the time",
        most.name,
        most.count,
        percent(share)
    )];
    Candidate { limit, gain, remedy: Remedy::at(most.line.clone(), text, gain), evidence }
}

/// Another number of threads for the operations of a step.
fn threads(findings: &Findings<'_>, main: &LoopSight) -> Option<Candidate> {
    let effects = findings.trial?.effects_of("threads=");
    let best: &Effect =
        effects.filter(|effect| is_large(effect)).min_by(|one, other| one.ratio.total_cmp(&other.ratio))?;
    let to = best.arm.trim_start_matches("threads=");
    let gain = Gain::of(best, GainSource::Measured);
    let now = main.number("threads");
    let remedy = Remedy::at(None, format!("run the step's operations on {to} threads"), gain).written(
        now.map(|now| format!("torch.set_num_threads({now})")),
        format!("torch.set_num_threads({to})"),
    );
    let evidence = vec![format!(
        "operations run on {} threads, and {} processors are there",
        now.map_or_else(|| "some".to_owned(), |now| now.to_string()),
        findings.available
    )];
    Some(Candidate { limit: Limit::Threads, gain, remedy, evidence })
}

/// The starts of all iterations but the first.
fn starts(findings: &Findings<'_>, main: &LoopSight) -> Option<Candidate> {
    let count = main.starts.len().saturating_sub(1);
    let usual = weighbridge::data::median(&main.next);
    let lost = main.restarts() - count as f64 * if usual.is_nan() { 0.0 } else { usual };
    let share = lost / findings.look.loops_and_gaps();
    if count < LEAST_STARTS || share < LEAST {
        return None;
    }
    let gain = Gain { source: GainSource::Bound, ..Gain::counted(share, None) };
    let has_workers = main.number("num_workers").unwrap_or(0) > 0;
    let is_persistent =
        main.settings.get("persistent_workers").and_then(serde_json::Value::as_bool) == Some(true);
    let remedy = if has_workers && !is_persistent {
        Remedy::at(main.made.clone(), "keep the workers from epoch to epoch", gain)
            .written(Some("persistent_workers=False".to_owned()), "persistent_workers=True")
    } else {
        Remedy::at(main.iterated.clone(), "do less when an epoch begins: shuffle, list and open once", gain)
    };
    let evidence = vec![format!(
        "{count} further epochs begin, each {} before its first batch: {} of the time",
        time(main.restarts() / count as f64),
        percent(share)
    )];
    Some(Candidate { limit: Limit::EpochStart, gain, remedy, evidence })
}

/// The loops beside the one with the most time.
fn validation(findings: &Findings<'_>) -> Option<Candidate> {
    let others = || findings.look.loops.iter().skip(1);
    let seconds: f64 = others().map(|other| other.seconds() + other.starts.first().unwrap_or(&0.0)).sum();
    let share = seconds / findings.look.loops_and_gaps();
    let most = others().max_by(|one, other| one.seconds().total_cmp(&other.seconds()))?;
    if share < VALIDATES {
        return None;
    }
    let gain = Gain { source: GainSource::Bound, ..Gain::counted(share, None) };
    let line = most.iterated.clone().or_else(|| most.made.clone());
    let at = line
        .as_ref()
        .map(|line| format!(", most of it in {} `{}`", line.named(), line.text))
        .unwrap_or_default();
    let evidence = vec![format!("loops over other loaders take {} of the time{at}", percent(share))];
    let text = "validate less often, or on fewer samples";
    Some(Candidate { limit: Limit::Validation, gain, remedy: Remedy::at(line, text, gain), evidence })
}

/// A step that neither runs here nor computes on a device, for the most part in one line.
fn waits(findings: &Findings<'_>, main: &LoopSight) -> Option<Candidate> {
    let has_device = main.settings.get("cuda").and_then(serde_json::Value::as_bool) == Some(true);
    let (line, share, interval) = findings.look.stacks.hottest("step")?;
    // A step that takes its batch itself waits for that.
    let takes_batch = main.settings.contains_key("is_taken_within");
    if has_device || takes_batch || main.step_waits() < WAITS || share < ONE_LINE {
        return None;
    }
    let step = main.step.iter().sum::<f64>() / findings.look.loops_and_gaps();
    let of_all = share * step;
    // Calls that tell or save are named as those.
    let named: f64 = ["telling", "saving"].iter().map(|kind| findings.look.calls_of(kind).0).sum();
    if of_all - named / findings.look.loops_and_gaps() < LEAST {
        return None;
    }
    let gain = Gain {
        source: GainSource::Bound,
        ..Gain::counted(of_all, Some((interval.0 * step, interval.1 * step)))
    };
    let evidence = vec![
        format!(
            "a step neither runs nor waits for a processor for {} of its time, and no device is there",
            percent(main.step_waits())
        ),
        format!("{} of its time is in {} `{}`", percent(share), line.named(), line.text),
    ];
    let text = "wait for this every some steps and not in each, or let it go on beside the step";
    Some(Candidate { limit: Limit::StepWaits, gain, remedy: Remedy::at(Some(line), text, gain), evidence })
}
