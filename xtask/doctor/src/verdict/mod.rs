//! From what was seen and tried to a verdict: the limit, how that is known, one thing to do and what that
//! brings.

mod findings;
mod limit;
mod loading;
mod remedy;
mod stepping;

use serde::Serialize;

pub(crate) use findings::Findings;
pub(crate) use limit::Limit;
pub(crate) use remedy::{Gain, GainSource, Remedy};

use crate::place::SourceLine;
use crate::processes::ProcessSums;
use crate::trial::{CACHED, Effect};
use findings::{Candidate, is_open};

/// The kind of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// Something limits a step that can be changed.
    Limited,
    /// The step's own work does, which is what a training is for.
    Clean,
    /// The experiments do not decide.
    Inconclusive,
    /// Nothing was tried: what is said is what was looked at.
    Looked,
    /// No step of a loop that is known was seen.
    Unseen,
}

/// The answer on a script.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Verdict {
    pub(crate) outcome: Outcome,
    /// The limit; absent where there is none.
    pub(crate) limit: Option<Limit>,
    /// The loader whose steps it is of, and the line that makes it.
    pub(crate) framework: Option<String>,
    pub(crate) loader: Option<SourceLine>,
    /// Seconds of a step with its batch.
    pub(crate) step: Option<f64>,
    /// The share of its time in which the loop waited for a batch.
    pub(crate) waiting: Option<f64>,
    /// The gain if the limit were gone.
    pub(crate) gain: Option<Gain>,
    pub(crate) remedy: Option<Remedy>,
    /// Sentences that say how it is known.
    pub(crate) evidence: Vec<String>,
    /// The changes that were tried.
    pub(crate) tried: Vec<Effect>,
    pub(crate) processes: ProcessSums,
    /// Things to know beside it.
    pub(crate) notes: Vec<String>,
}

/// Judges.
pub(crate) fn judge(findings: &Findings<'_>) -> Verdict {
    let mut verdict = Verdict {
        outcome: Outcome::Unseen,
        limit: None,
        framework: None,
        loader: None,
        step: None,
        waiting: None,
        gain: None,
        remedy: None,
        evidence: Vec::new(),
        tried: findings.trial.map(|trial| trial.effects.clone()).unwrap_or_default(),
        processes: findings.processes,
        notes: Vec::new(),
    };
    let Some(main) = findings.look.main() else { return verdict };
    verdict.framework = Some(main.framework.clone());
    verdict.loader = main.made.clone().or_else(|| main.iterated.clone());
    verdict.step =
        Some(findings.trial.map(|trial| trial.base).filter(|base| *base > 0.0).unwrap_or(main.period()));
    verdict.waiting = Some(main.waiting());
    let candidates =
        loading::candidates(findings, main).into_iter().chain(stepping::candidates(findings, main));
    let worst = candidates.max_by(|one, other| one.gain.saved.total_cmp(&other.gain.saved));
    // What loading would bring is not known, and may be more than what was found.
    let cached = findings.trial.map(|trial| trial.effect(CACHED));
    let is_unknown = |found: f64| {
        cached.is_some_and(|effect| effect.is_none_or(|effect| is_open(effect) && effect.saved() > found))
    };
    let worst = worst.filter(|worst| !is_unknown(worst.gain.saved));
    verdict.outcome = match (&worst, findings.trial) {
        (Some(_), Some(_)) => Outcome::Limited,
        (None, Some(_)) if is_unknown(f64::NEG_INFINITY) => Outcome::Inconclusive,
        (None, Some(_)) => Outcome::Clean,
        (_, None) => Outcome::Looked,
    };
    if let Some(Candidate { limit, gain, remedy, evidence }) = worst {
        verdict.limit = Some(limit);
        verdict.gain = Some(gain);
        verdict.remedy = Some(remedy);
        verdict.evidence = evidence;
    }
    verdict
}

#[cfg(test)]
mod tests;
