//! `bencher.train`: a trainer's steps as a stream that the harness can time, and its phases.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use weighbridge::{Bencher, Direction, Error, Result, Unit};

use super::load::stream_epochs;
use super::{Phases, Trainer, TrainingLoop};
use crate::data::{Cache, DataSet};
use crate::processes::{forget_peak, sums};
use crate::workload::{Compilation, Initialisation, SampleTarget, TrainingSpec, cut};

/// Steps that a smoke run has.
const SMOKE_STEPS: usize = 4;

/// What a training is over: the data of its steps, and the weights that it begins with.
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
    /// Opens a training, times its steps, and hands in the work report. Gives the open training for what follows. Tells what memory it
    /// takes to go forward alone, before the first step, and to train.
    ///
    /// Timed: from before the samples of a step are taken from memory until its loss and the changed weights are there. Not
    /// timed: building the model, compiling it (its first step is left out), going back to the weights of the beginning.
    ///
    /// # Errors
    /// What the trainer declines (a skip) or says; what the stream says.
    fn train<'a>(
        &self,
        trainer: &'a mut dyn Trainer,
        how: Compilation,
        spec: &TrainingSpec,
        material: &Material,
    ) -> Result<Box<dyn TrainingLoop + 'a>>;
}

impl Train for Bencher {
    fn train<'a>(
        &self,
        trainer: &'a mut dyn Trainer,
        how: Compilation,
        spec: &TrainingSpec,
        material: &Material,
    ) -> Result<Box<dyn TrainingLoop + 'a>> {
        let Material { data, weights } = material;
        let mut training = self.open(|| trainer.open(spec, how, data, weights))?;
        self.work(training.executed().report(data, training.entry_point()));
        self.flops(spec.flops()?.train() * spec.batch as u64);
        tell_memory(self, &mut *training, spec.steps)?;
        stream_epochs(self, &mut *training, 0, spec.expected()?, false, data)?;
        Ok(training)
    }
}

/// The metric that has the most memory that the process which trains has resident while it goes forward alone, and has trained
/// nothing yet.
pub const FORWARD_MEMORY: &str = "memory: forward alone";

/// The same while it trains.
pub const TRAINING_MEMORY: &str = "memory: training";

/// Steps whose memory is told.
const HELD: usize = 3;

/// Goes forward alone and then trains, each once unseen, so that what compiling takes is not in it, and tells the memory of both as
/// metrics of the case. In this order: an allocator keeps much of what a training has had.
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

/// Steps whose phases are told.
const PHASED: usize = 16;

/// Steps before them, that find everything that only phases need.
const UNSEEN: usize = 4;

/// What the metric of a phase is called before its name.
pub const PHASE: &str = "phase: ";

/// The name that stands there for all phases together.
pub const WHOLE_STEP: &str = "all";

/// Does steps once more phase by phase, and tells the mean time of each phase and of the step as metrics of the case.
///
/// # Errors
/// As [`TrainingLoop::phases`]; phases that leave out some of the step, or have more than it.
pub fn time_phases(bencher: &Bencher, training: &mut dyn TrainingLoop, spec: &TrainingSpec) -> Result<()> {
    let steps = PHASED.min(spec.steps / 2).max(1);
    tell_phases(bencher, &training.phases(UNSEEN.min(spec.steps - steps), steps)?)
}

/// Tells the mean time of each phase and of the step as metrics of the case.
///
/// # Errors
/// Phases that leave out some of the step, or have more than it.
pub(super) fn tell_phases(bencher: &Bencher, phases: &Phases) -> Result<()> {
    for (name, mean) in mean_phases(phases)? {
        bencher.metric(&format!("{PHASE}{name}"), mean, Unit::SECONDS, Direction::Lower);
    }
    Ok(())
}

/// Whether the phases are the step: in the median of the steps, since one whose thread lost its processor between two phases is
/// nothing that a system has left out.
fn check_phases(phases: &Phases) -> Result<()> {
    let names = || phases.phases.keys().collect::<Vec<_>>();
    if phases.phases.values().any(|times| times.len() != phases.step.len()) {
        return Err(Error::new(format!(
            "the phases {:?} are not all of {} steps",
            names(),
            phases.step.len()
        )));
    }
    let of = |at: usize| phases.phases.values().map(|times| times[at].as_secs_f64()).sum::<f64>();
    let steps = phases.step.iter().map(Duration::as_secs_f64).enumerate().map(|(at, step)| (of(at), step));
    let mut steps: Vec<(f64, f64)> = steps.collect();
    steps.sort_by(|one, other| (one.0 - one.1).total_cmp(&(other.0 - other.1)));
    match steps.get(steps.len() / 2) {
        Some((sum, step)) if (sum - step).abs() > LEFT * step + 1e-4 => Err(Error::new(format!(
            "the phases {:?} take {sum:.6} s of a step of {step:.6} s: they are not the step",
            names()
        ))),
        _ => Ok(()),
    }
}

/// The mean time of each phase in the order of a step, and last that of all of them: the step.
fn mean_phases(phases: &Phases) -> Result<Vec<(String, f64)>> {
    let mean =
        |times: &[Duration]| times.iter().map(Duration::as_secs_f64).sum::<f64>() / times.len().max(1) as f64;
    let step = mean(&phases.step);
    check_phases(phases)?;
    let mut named: Vec<(&String, &Vec<Duration>)> = phases.phases.iter().collect();
    named.sort_by_key(|(name, _)| ORDER.iter().position(|known| known == name));
    let mut means: Vec<(String, f64)> =
        named.into_iter().map(|(name, times)| (name.clone(), mean(times))).collect();
    means.push((WHOLE_STEP.to_owned(), step));
    Ok(means)
}

/// The metric of a rank that has its mean step, with nobody looking on.
pub const RANK_STEP: &str = "rank: step";

/// What the metric of a phase of each rank is called before its name.
pub const RANK_PHASE: &str = "rank: phase: ";

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

/// What the metric of an operator is called before its name: its own time in a step.
pub const OPERATOR: &str = "operator: ";

/// The metric that has the time of a step under the profiler.
pub const PROFILED: &str = "profiled step";

/// Does some steps under the system's own profiler, where it has one, and tells the operators that take the most of them as
/// metrics of the case.
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

/// Phases in the order of a step.
const ORDER: [&str; 11] = [
    "data",
    "forward",
    "forward+backward",
    "backward",
    "backward+communication",
    "communication",
    "optimiser",
    "update",
    "forward+backward+optimiser",
    "forward+backward+communication+optimiser",
    "whole step",
];

/// How much of a step its phases may leave out.
const LEFT: f64 = 0.02;

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps of ten milliseconds of which the phases say so many.
    fn told(milliseconds: [u64; 5]) -> Phases {
        let times = milliseconds.map(Duration::from_millis).to_vec();
        Phases { step: vec![Duration::from_millis(10); 5], phases: [("forward".to_owned(), times)].into() }
    }

    #[test]
    fn phases_that_leave_out_some_of_most_steps_are_refused_and_one_disturbed_step_accuses_nobody() {
        assert!(check_phases(&told([10; 5])).is_ok());
        assert!(check_phases(&told([10, 10, 4, 10, 10])).is_ok(), "it lost its processor once");
        for wrong in [[9; 5], [12; 5], [10, 10, 9, 9, 9]] {
            let why = check_phases(&told(wrong)).unwrap_err().to_string();
            assert!(why.contains("they are not the step"), "{wrong:?}: {why}");
        }
        let mut short = told([10; 5]);
        short.step.pop();
        assert!(check_phases(&short).unwrap_err().to_string().contains("are not all of 4 steps"));
    }
}
