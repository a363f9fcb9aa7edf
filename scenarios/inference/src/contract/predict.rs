//! `bencher.predict`: a predictor's calls as a stream that the harness can time, and what is told beside it.

use std::sync::Arc;
use std::time::Duration;

use weighbridge::{Bencher, Direction, Result, Unit};
use weighbridge_data::processes::{forget_peak, sums};
use weighbridge_data::{Cache, DataSet, cut};
use weighbridge_loaders::contract::stream_epochs;

use super::{CallTimes, NotedCall, NotedCalls, PredictionLoop, Predictor, draw_epoch};
use crate::workload::{PredictionMode, PredictionSpec};

/// Calls that a smoke run has.
const SMOKE_CALLS: usize = 4;

/// Calls from the first one on whose times are told apart.
const WARM_UP: usize = 32;

/// Calls whose memory is told.
const HELD: usize = 3;

/// Single calls that are timed for percentiles, and the time after which no further epoch of them is begun.
const SINGLE: (usize, Duration) = (5_000, Duration::from_millis(200));

/// A predictor that was asked: its open model, the calls that were noted while they were timed, the times
/// of single ones, and the weights.
pub struct Asked<'a> {
    /// The open model.
    pub predictions: Box<dyn PredictionLoop + 'a>,
    /// Calls that were noted.
    pub notes: Vec<NotedCall>,
    /// Times of single calls, when the model was warm.
    pub single: CallTimes,
    /// The weights.
    pub weights: Arc<DataSet>,
    /// The predictions as they were run: of few calls in a smoke run.
    pub spec: PredictionSpec,
}

/// Adds `predict` to the bencher.
pub trait Predict {
    /// Opens a model, times its calls, and hands in the work report. Tells the first call and the warm-up
    /// (`first_call`, `warm_up`), percentiles of single calls as far as their count bears them out
    /// (`call_p50` and others), and what memory the model and a call of it take.
    ///
    /// Each epoch has inputs of its own, drawn in this very repeat, and answers at drawn places are noted
    /// while the clock runs.
    ///
    /// Timed: from before the input of a call, which is in memory, is handed over until its answer can be
    /// read. Not timed: building the model, compiling it (calls are left out first), drawing inputs.
    ///
    /// # Errors
    /// What the predictor declines (a skip) or says; what the stream says.
    fn predict<'a>(
        &self,
        predictor: &'a mut dyn Predictor,
        how: PredictionMode,
        spec: &PredictionSpec,
    ) -> Result<Asked<'a>>;
}

impl Predict for Bencher {
    fn predict<'a>(
        &self,
        predictor: &'a mut dyn Predictor,
        how: PredictionMode,
        spec: &PredictionSpec,
    ) -> Result<Asked<'a>> {
        spec.check()?;
        let cut = if self.is_smoke() { Some(SMOKE_CALLS) } else { cut()? };
        let spec = PredictionSpec { cut, ..spec.clone() };
        let weights = Arc::new(Cache::from_env().open(spec.weights()?.data())?);
        let before = resident(std::process::id());
        let mut predictions = self.open(|| predictor.open(&spec, how, &weights))?;
        let process = predictions.process();
        let opened = match predictions.opened_memory()? {
            Some(told) => Some(told),
            None => before.zip(resident(process)).map(|(before, after)| [before, after]),
        };
        let executed = predictions.executed();
        executed.check_platform(self.platform())?;
        self.work(executed.report(&weights, predictions.entry_point()));
        self.flops(spec.operations()?);

        let (first, mut notes) = (draw_epoch(), Vec::new());
        let mut calls = NotedCalls::from(first, &mut *predictions, &spec, &mut notes);
        tell_start(self, &mut calls, spec.calls())?;
        tell_memory(self, &mut calls, opened, spec.calls())?;
        stream_epochs(self, &mut calls, first, spec.expected()?, false, &weights)?;
        let single = if self.is_smoke() { CallTimes::default() } else { time_single(&mut calls, &spec)? };
        tell_percentiles(self, &single);
        let notes = predictions.noted()?.unwrap_or(notes);
        weights.check_unchanged()?;
        Ok(Asked { predictions, notes, single, weights, spec })
    }
}

/// Times the first calls of a model that was opened a moment ago.
fn tell_start(bencher: &Bencher, predictions: &mut dyn PredictionLoop, most: usize) -> Result<()> {
    let times = CallTimes::of(predictions, WARM_UP.min(most))?;
    let (calls, took) = times.warm_up();
    let seconds = |name: &str, took: Duration| {
        bencher.metric(name, took.as_secs_f64(), Unit::SECONDS, Direction::Lower);
    };
    seconds("first_call", times.first().unwrap_or_default());
    seconds("warm_up", took);
    bencher.metric("warm_up_calls", calls as f64, Unit::COUNT, Direction::Lower);
    Ok(())
}

/// Tells what the process that predicts has grown by when the model was opened, and the most that a warm call
/// adds to that.
fn tell_memory(
    bencher: &Bencher,
    predictions: &mut dyn PredictionLoop,
    opened: Option<[u64; 2]>,
    most: usize,
) -> Result<()> {
    let process = predictions.process();
    // This process is the harness as well, whose own mark goes into the record.
    if process != std::process::id() {
        forget_peak(process);
    }
    CallTimes::of(predictions, HELD.min(most))?;
    let [peak] = sums(&[process], "status", ["VmHWM:"]);
    let bytes = |name: &str, bytes: u64| {
        bencher.metric(name, bytes as f64, Unit::BYTES, Direction::Lower);
    };
    if let Some(peak) = peak {
        bytes("memory/peak", peak);
    }
    if let (Some([before, after]), Some(peak)) = (opened, peak) {
        bytes("memory/model", after.saturating_sub(before));
        bytes("memory/call", peak.saturating_sub(after));
    }
    Ok(())
}

fn resident(process: u32) -> Option<u64> {
    let [resident] = sums(&[process], "status", ["VmRSS:"]);
    resident
}

fn time_single(predictions: &mut dyn PredictionLoop, spec: &PredictionSpec) -> Result<CallTimes> {
    let mut single = CallTimes::default();
    loop {
        single = single.and(CallTimes::of(predictions, spec.calls())?);
        let (count, took) = single.sum();
        if count >= SINGLE.0 || took >= SINGLE.1 {
            return Ok(single);
        }
    }
}

fn tell_percentiles(bencher: &Bencher, single: &CallTimes) {
    for (name, share) in [("call_p50", 0.5), ("call_p90", 0.9), ("call_p99", 0.99), ("call_p999", 0.999)] {
        if let Some(seconds) = single.percentile(share).filter(|_| single.sum().0 > 0) {
            bencher.metric(name, seconds, Unit::SECONDS, Direction::Lower);
        }
    }
}
