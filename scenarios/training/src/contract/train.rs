//! `bencher.train`: a trainer's steps as a stream that the harness can time, and its phases.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weighbridge::{Bencher, Direction, Error, Result, Unit};
use weighbridge_data::processes::{forget_peak, sums};
use weighbridge_data::{Cache, DataSet, cut};
use weighbridge_loaders::contract::{Phases, mean_phases, stream_epochs, tell_phases};

use crate::contract::{NotedSteps, TrainedEpoch, Trainer, TrainingLoop, draw_epoch};
use crate::workload::{Compilation, Initialisation, SampleTarget, TrainingSpec};

/// Steps that a smoke run has.
const SMOKE_STEPS: usize = 4;

/// The material of a training: the data of its steps, and the weights that it begins with.
#[derive(Clone, Debug)]
pub struct Material {
    /// One element for each sample.
    pub data: Arc<DataSet>,
    /// One element, a field for each parameter.
    pub weights: Arc<DataSet>,
}

/// The data and weights of a training, and the training as it is run: cut to a few steps in a smoke run.
///
/// # Errors
/// What is impossible in the training; a cache that cannot be written.
pub fn open_material(bencher: &Bencher, spec: &TrainingSpec) -> Result<(TrainingSpec, Material)> {
    spec.check()?;
    let steps = if bencher.is_smoke() { Some(SMOKE_STEPS) } else { cut()? };
    let steps = steps.unwrap_or(spec.steps).min(spec.steps);
    let target = spec.target.map(|target| SampleTarget { every: target.every.min(steps), ..target });
    let spec = TrainingSpec { steps, target, ..spec.clone() };
    let cache = Cache::from_env();
    let weights = match &spec.initialisation {
        Initialisation::Drawn { .. } => cache.open(&spec.weights()?)?,
        Initialisation::File { file, .. } => cache.open_files(&spec.weights()?, vec![file.clone()])?,
    };
    let material = Material { data: Arc::new(cache.open(&spec.data()?)?), weights: Arc::new(weights) };
    Ok((spec, material))
}

/// Adds `train` to the bencher.
pub trait Train {
    /// Opens a training, times its steps, and hands in the work report. Gives the open training for what
    /// follows, and the epochs whose steps were timed. Tells what memory it takes to go forward alone, before
    /// the first step, and to train.
    ///
    /// Each epoch has an order of samples of its own, drawn in this very repeat, and the loss of each step is
    /// noted while the clock runs.
    ///
    /// Timed: from before the samples of a step are taken from memory until its loss and the changed weights
    /// are there. Not timed: building the model, compiling it (its first step is left out), going back to the
    /// weights of the beginning.
    ///
    /// # Errors
    /// What the trainer declines (a skip) or says; what the stream says.
    fn train<'a>(
        &self,
        trainer: &'a mut dyn Trainer,
        how: Compilation,
        spec: &TrainingSpec,
        material: &Material,
    ) -> Result<(Box<dyn TrainingLoop + 'a>, Vec<TrainedEpoch>)>;
}

impl Train for Bencher {
    fn train<'a>(
        &self,
        trainer: &'a mut dyn Trainer,
        how: Compilation,
        spec: &TrainingSpec,
        material: &Material,
    ) -> Result<(Box<dyn TrainingLoop + 'a>, Vec<TrainedEpoch>)> {
        let Material { data, weights } = material;
        let mut training = self.open(|| trainer.open(spec, how, data, weights))?;
        let executed = training.executed();
        executed.check_platform(self.platform())?;
        self.work(executed.report(data, training.entry_point()));
        self.flops(spec.flops()?.computed() * spec.batch as u64);
        tell_memory(self, &mut *training, spec.steps)?;
        let (first, mut notes) = (draw_epoch(), Vec::new());
        let mut steps = NotedSteps::from(first, &mut *training, &mut notes);
        stream_epochs(self, &mut steps, first, spec.expected()?, false, data)?;
        let epochs = training.noted()?.unwrap_or(notes);
        for (who, bytes) in training.device_memory()? {
            self.metric(&format!("{DEVICE_MEMORY}{who}"), bytes as f64, Unit::BYTES, Direction::Lower);
        }
        weights.check_unchanged()?;
        Ok((training, epochs))
    }
}

/// The metric that has the most memory that the process which trains has resident while it goes forward
/// alone, and has trained nothing yet.
pub const FORWARD_MEMORY: &str = "memory/forward";

/// The same while it trains.
pub const TRAINING_MEMORY: &str = "memory/training";

/// The beginning of the metrics that have bytes of the device, by who counts them.
pub const DEVICE_MEMORY: &str = "memory/device_";

/// Steps whose memory is told.
const HELD: usize = 3;

/// Goes forward alone and then trains, each once unseen, so that what compiling takes is not in it, and tells
/// the memory of both as metrics of the case. In this order: an allocator keeps much of what a training has
/// had.
fn tell_memory(bencher: &Bencher, training: &mut dyn TrainingLoop, steps: usize) -> Result<()> {
    let process = training.process();
    let tell = |name: &str, go: &mut dyn FnMut(usize) -> Result<()>| -> Result<()> {
        go(1)?;
        // This process is the harness as well, whose own mark goes into the record.
        if process != std::process::id() {
            forget_peak(process);
        }
        go(HELD.min(steps))?;
        if let [Some(most)] = sums(&[process], "status", ["VmHWM:"]) {
            bencher.metric(name, most as f64, Unit::BYTES, Direction::Lower);
        }
        Ok(())
    };
    match tell(FORWARD_MEMORY, &mut |steps| training.forward(steps)) {
        Err(error) if !error.is_skip() => return Err(error),
        _ => {}
    }
    tell(TRAINING_MEMORY, &mut |steps| training.train(true, steps).map(drop))
}

/// The prefix of the metric of what compiling came to; what was counted follows.
pub const COMPILATION: &str = "compile/";

/// Tells what compiling came to in a mode that compiles, as metrics of the case.
///
/// # Errors
/// As [`TrainingLoop::compiling`], but for a skip.
pub fn tell_compiling(bencher: &Bencher, training: &mut dyn TrainingLoop, mode: Compilation) -> Result<()> {
    if mode == Compilation::Eager {
        return Ok(());
    }
    match training.compiling() {
        Err(error) if error.is_skip() => {}
        counted => {
            for (what, count) in counted? {
                bencher.metric(&format!("{COMPILATION}{what}"), count as f64, Unit::COUNT, Direction::Lower);
            }
        }
    }
    Ok(())
}

/// Steps whose phases are told.
const PHASED: usize = 16;

/// Steps before them, that find everything that only phases need.
const UNSEEN: usize = 4;

/// Does steps once more phase by phase, and tells the mean time of each phase and of the step as metrics of
/// the case.
///
/// # Errors
/// As [`TrainingLoop::phases`]; phases that leave out some of the step, or have more than it; steps that take
/// longer than was waited for them.
pub fn time_phases(bencher: &Bencher, training: &mut dyn TrainingLoop, spec: &TrainingSpec) -> Result<()> {
    let steps = PHASED.min(spec.steps / 2).max(1);
    let begun = Instant::now();
    let phases = training.phases(UNSEEN.min(spec.steps - steps), steps)?;
    check_waited(&phases, begun.elapsed())?;
    tell_phases(bencher, &phases)
}

/// Phases are a system's own account, and no longer than what passed meanwhile.
fn check_waited(phases: &Phases, passed: Duration) -> Result<()> {
    let told: Duration = phases.step.iter().sum();
    if told <= passed {
        return Ok(());
    }
    Err(Error::new(format!("its steps are said to take {told:?} phase by phase, and {passed:?} passed")))
}

/// The metric of a rank that has its mean step, with nobody looking on.
pub const RANK_STEP: &str = "rank/step_time";

/// The prefix of the metric of a phase of each rank; the phase's name follows.
pub const RANK_PHASE: &str = "rank/step/";

/// Tells the steps of each of several ranks, and their phases, as metrics of ranks: the mean of each rank.
///
/// # Errors
/// Phases of a rank that leave out some of its step, or have more than it.
pub(crate) fn tell_rank_phases(bencher: &Bencher, steps: &[Duration], phases: &[Phases]) -> Result<()> {
    let seconds: Vec<_> = steps.iter().map(|step| Some(step.as_secs_f64())).collect();
    bencher.rank_metric(RANK_STEP, &seconds, Unit::SECONDS, Direction::Lower);
    let named: Vec<Vec<(String, f64)>> = phases.iter().map(mean_phases).collect::<Result<_>>()?;
    let mut names: Vec<&String> = Vec::new();
    for (name, _) in named.iter().flatten() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    for name in names {
        let of_rank =
            |rank: &Vec<(String, f64)>| rank.iter().find(|(one, _)| one == name).map(|(_, mean)| *mean);
        let values: Vec<Option<f64>> = named.iter().map(of_rank).collect();
        bencher.rank_metric(&format!("{RANK_PHASE}{name}"), &values, Unit::SECONDS, Direction::Lower);
    }
    Ok(())
}

/// Steps that a profiler looks at.
const LOOKED_AT: usize = 8;

/// So many operators are told: those that take the most time.
const TOLD: usize = 30;

/// The prefix of the metric of an operator, whose name follows: its own time in a step.
pub const OPERATOR: &str = "operator/";

/// The metric that has the time of a step under the profiler.
pub const PROFILED: &str = "profiled_step";

/// Does some steps under the system's own profiler, where it has one, and tells the operators that take the
/// most of them as metrics of the case.
///
/// # Errors
/// As [`TrainingLoop::operators`], but for a skip.
pub fn tell_operators(bencher: &Bencher, training: &mut dyn TrainingLoop, spec: &TrainingSpec) -> Result<()> {
    let steps = LOOKED_AT.min(spec.steps - 1);
    if steps == 0 {
        return Ok(());
    }
    let operators = match training.operators(steps) {
        Err(error) if error.is_skip() => return Ok(()),
        told => told?,
    };
    let of_step = |time: Duration| time.as_secs_f64() / steps as f64;
    let mut each: Vec<(&String, &(Duration, u64))> = operators.each.iter().collect();
    each.sort_by_key(|(_, (time, _))| Reverse(*time));
    for (name, (time, _)) in each.into_iter().take(TOLD) {
        bencher.metric(&format!("{OPERATOR}{name}"), of_step(*time), Unit::SECONDS, Direction::Information);
    }
    bencher.metric(PROFILED, of_step(operators.took), Unit::SECONDS, Direction::Information);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_take_no_longer_phase_by_phase_than_was_waited_for_them() {
        let phases = Phases { step: vec![Duration::from_millis(3); 4], ..Phases::default() };
        assert!(check_waited(&phases, Duration::from_millis(12)).is_ok());
        let said = check_waited(&phases, Duration::from_millis(11)).unwrap_err().to_string();
        assert!(said.contains("12ms phase by phase, and 11ms passed"), "{said}");
    }
}
