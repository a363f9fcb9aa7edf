//! One thing to do, and what it brings.

use serde::Serialize;

use crate::place::SourceLine;
use crate::trial::Effect;

/// The way in which a gain is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GainSource {
    /// The change itself was made in the script, in turns.
    Measured,
    /// Something that does more than the change can was made there: the gain is at most this.
    Bound,
    /// The time was added up while the script ran, and nothing was changed.
    Counted,
}

/// The part of its time that a script saves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Gain {
    /// The share of its time.
    pub(crate) saved: f64,
    /// The factor by which it is faster, and its interval.
    pub(crate) factor: f64,
    pub(crate) interval: Option<(f64, f64)>,
    pub(crate) source: GainSource,
    /// The turns that it was measured in.
    pub(crate) rounds: usize,
}

impl Gain {
    /// The gain of a change that was made in turns.
    pub(crate) fn of(effect: &Effect, source: GainSource) -> Self {
        let (factor, interval) = effect.factor();
        Self { saved: effect.saved(), factor, interval, source, rounds: effect.rounds }
    }

    /// The gain if this share of the time were gone, between two shares.
    pub(crate) fn counted(share: f64, interval: Option<(f64, f64)>) -> Self {
        let factor = |share: f64| 1.0 / (1.0 - share.min(0.99));
        Self {
            saved: share,
            factor: factor(share),
            interval: interval.map(|(low, high)| (factor(low), factor(high))),
            source: GainSource::Counted,
            rounds: 0,
        }
    }
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Remedy {
    /// In words.
    pub(crate) text: String,
    /// The line to change.
    pub(crate) line: Option<SourceLine>,
    /// The text that stands there, and the one that should.
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
    /// The gain that it brings.
    pub(crate) gain: Gain,
}

impl Remedy {
    /// A remedy in words, at a line.
    pub(crate) fn at(line: Option<SourceLine>, text: impl Into<String>, gain: Gain) -> Self {
        Self { text: text.into(), line, before: None, after: None, gain }
    }

    /// The same with what to write.
    pub(crate) fn written(mut self, before: Option<String>, after: impl Into<String>) -> Self {
        self.before = before;
        self.after = Some(after.into());
        self
    }
}
