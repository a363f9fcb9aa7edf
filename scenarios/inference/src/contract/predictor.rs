//! The predictor contract: a model, asked call by call.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weighbridge::{Error, Result, skip};
use weighbridge_data::{DataSet, Epochs};
use weighbridge_loaders::contract::Phases;

use super::noted_call::NotedCall;
use crate::workload::{PredictionMode, PredictionSpec};

/// A system that predicts.
pub trait Predictor {
    /// Builds the model and takes over its weights. What happens here is set-up and never timed.
    ///
    /// # Errors
    /// A [`skip`] for what the system cannot do, naming it: a mode, a precision, a layer. A failure for
    /// anything else.
    fn open(
        &mut self,
        spec: &PredictionSpec,
        how: PredictionMode,
        weights: &Arc<DataSet>,
    ) -> Result<Box<dyn PredictionLoop + '_>>;
}

/// An open model. Its batches are its answers: [`Epochs::begin`] draws the inputs of an epoch
/// ([`drawn_input`](crate::workload::drawn_input)), and each [`Epochs::advance`] is one whole call on the
/// next of them, whose answer is complete when it returns.
///
/// The batch is then a field `logits` of `f32`, a row for each sample; of a generation a field `token` of
/// `i32`, the ids of the first sample, then those of the next.
pub trait PredictionLoop: Epochs {
    /// Returns the settings that are really in effect, read back from the system's own objects: `precision`,
    /// and `parameters`, the count of numbers that it holds.
    fn settings(&self) -> BTreeMap<String, String>;

    /// Begins an epoch and times so many of its calls one by one, each from before its input is handed over
    /// until its answer is there.
    ///
    /// # Errors
    /// As [`Epochs::begin`]; more calls than an epoch has.
    fn call_times(&mut self, epoch: u64, calls: usize) -> Result<Vec<Duration>> {
        self.begin(epoch)?;
        let mut times = Vec::with_capacity(calls);
        while times.len() < calls {
            let start = Instant::now();
            if !self.advance()? {
                return Err(Error::new(format!("the epoch has {} calls, and not {calls}", times.len())));
            }
            times.push(start.elapsed());
        }
        Ok(times)
    }

    /// Generates so many times, the first `skip` unseen, in the phases `prefill`, until the first id is
    /// known, and `decode`.
    ///
    /// # Errors
    /// A skip where nothing is generated; as [`Epochs::begin`].
    fn phases(&mut self, skip_calls: usize, calls: usize) -> Result<Phases> {
        Err(skip(format!("phases: of {skip_calls} and {calls} calls none generates")))
    }

    /// The answers of calls at drawn places, as the process that predicts has noted them while the clock ran;
    /// `None` where that is this one, so that whoever asks notes them.
    ///
    /// # Errors
    /// As [`Epochs::begin`].
    fn noted(&mut self) -> Result<Option<Vec<NotedCall>>> {
        Ok(None)
    }

    /// Resident memory of the process that predicts, before the model was opened and after it; `None` where
    /// that is this process.
    ///
    /// # Errors
    /// As [`Epochs::begin`].
    fn opened_memory(&mut self) -> Result<Option<[u64; 2]>> {
        Ok(None)
    }

    /// The process that predicts, where that is not this one.
    fn process(&self) -> u32 {
        std::process::id()
    }
}
