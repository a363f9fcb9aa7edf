//! Experiments on a loader, where the environment asks for them: the pipeline as it is, and the same with one
//! thing replaced.
//!
//! `WEIGHBRIDGE_EXPERIMENTS=1 cargo bench -- CV-1` makes them after each repeat, outside its clock, and the
//! metrics of the case say what they took. `bottleneck` makes a sentence of them. What they compute is not
//! compared with anything: an experiment shows where time goes, and ranks nobody.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weighbridge::data::median;
use weighbridge::{Bencher, Direction, Error, Result, Unit};
use weighbridge_data::{DataSet, time_epoch};

use super::deliver::deliver;
use crate::contract::Loader;
use crate::workload::{Access, PipelineSpec, Structure};

const VARIABLE: &str = "WEIGHBRIDGE_EXPERIMENTS";

/// The start of the name of a metric that says what an epoch of an experiment took; the experiment follows.
pub const EXPERIMENT: &str = "experiment/";

/// The part of a pipeline that an experiment replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Experiment {
    /// Nothing.
    AsItIs,
    /// No transform, no branch and no mixing: rows are fetched and put together.
    WithoutTransforms,
    /// Twice the workers; two where there are none.
    MoreWorkers,
    /// Rows are taken from memory.
    InMemory,
}

impl Experiment {
    /// All that replace something.
    pub const REPLACING: [Self; 3] = [Self::WithoutTransforms, Self::MoreWorkers, Self::InMemory];

    /// The metric that says what an epoch took.
    pub fn metric(self) -> String {
        format!("{EXPERIMENT}{self}")
    }

    /// The pipeline with this replaced; `None` where it has no such thing.
    fn of(self, spec: &PipelineSpec) -> Option<PipelineSpec> {
        let as_it_is = spec.clone();
        let replaced = match self {
            Self::AsItIs => return Some(as_it_is),
            Self::WithoutTransforms => {
                let Structure { mixture, cache, rebatch, .. } = as_it_is.structure;
                let structure = Structure { mixture, cache, rebatch, ..Structure::default() };
                PipelineSpec { transforms: Vec::new(), structure, ..as_it_is }
            }
            Self::MoreWorkers => as_it_is.workers((2 * spec.workers).max(2)),
            Self::InMemory => as_it_is.access(Access::Memory),
        };
        (replaced != *spec).then_some(replaced)
    }
}

impl fmt::Display for Experiment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AsItIs => "as_is",
            Self::WithoutTransforms => "without_transforms",
            Self::MoreWorkers => "more_workers",
            Self::InMemory => "rows_in_memory",
        })
    }
}

/// Returns whether the environment asks for experiments.
///
/// # Errors
/// When it says neither `0` nor `1`.
pub(super) fn asked() -> Result<bool> {
    std::env::var_os(VARIABLE).map_or(Ok(false), |text| parse(&text.to_string_lossy()))
}

fn parse(text: &str) -> Result<bool> {
    match text {
        "1" => Ok(true),
        "" | "0" => Ok(false),
        _ => Err(Error::new(format!("{VARIABLE} is `{text}`: give 1, or leave it unset"))),
    }
}

/// Batches of an epoch at most: the first ones of the data.
pub(super) const BATCHES: usize = 128;

/// Epochs that count, of each pipeline.
const EPOCHS: usize = 3;

/// An epoch that takes longer is not repeated.
const LONG: Duration = Duration::from_secs(2);

/// Makes all experiments on a pipeline that it has something to replace in, and tells what an epoch of each
/// took. The pipeline as it is stands before and after them, so that a machine that slows down accuses
/// nobody. One that the loader declines is not told, and one that fails is a note.
///
/// # Errors
/// What the loader says of the pipeline as it is.
pub(super) fn experiment(
    bencher: &Bencher,
    loader: &mut dyn Loader,
    spec: &PipelineSpec,
    data: &Arc<DataSet>,
) -> Result<()> {
    // Epoch 0 begins with an empty cache, and no other epoch does.
    let epoch = if spec.structure.cache { 0 } else { bencher.epoch() };
    let mut as_it_is = epochs(loader, spec, data, epoch)?;
    for experiment in Experiment::REPLACING {
        let Some(replaced) = experiment.of(spec) else { continue };
        match epochs(loader, &replaced, data, epoch) {
            Ok(took) => tell(bencher, experiment, &took),
            Err(error) if error.is_skip() => {}
            Err(error) => bencher.note(&format!("the experiment `{experiment}` failed: {error}")),
        }
    }
    as_it_is.extend(epochs(loader, spec, data, epoch)?);
    tell(bencher, Experiment::AsItIs, &as_it_is);
    Ok(())
}

fn tell(bencher: &Bencher, experiment: Experiment, took: &[f64]) {
    bencher.metric(&experiment.metric(), median(took), Unit::SECONDS, Direction::Lower);
}

/// Seconds of a few epochs of a pipeline, after one that does not count.
fn epochs(loader: &mut dyn Loader, spec: &PipelineSpec, data: &Arc<DataSet>, epoch: u64) -> Result<Vec<f64>> {
    let mut opened = deliver(loader.open(spec, data)?, spec)?;
    let begun = Instant::now();
    time_epoch(&mut *opened, epoch)?;
    let count = if begun.elapsed() > LONG { 1 } else { EPOCHS };
    let took = (0..count).map(|_| Ok(time_epoch(&mut *opened, epoch)?.as_secs_f64())).collect();
    opened.close()?;
    took
}

#[cfg(test)]
mod tests {
    use weighbridge::{Budget, Purpose, Settings};
    use weighbridge_data::DataSpec;

    use super::*;
    use crate::contract::changed_loader::{TimedReference, metrics};
    use crate::workload::Transform::{CastToFloat32, Normalize};

    /// Returns the metrics of experiments on a pipeline whose epochs take as long as `seconds` says.
    fn told(spec: &PipelineSpec, seconds: fn(&PipelineSpec, u64) -> u64) -> Vec<(String, f64)> {
        let budget = Budget { warmup: 0, batches: 1, min_time: Duration::ZERO, max_time: None };
        let bencher = Bencher::new(Settings::new(Purpose::Measure, budget));
        let data = super::super::open_data(&bencher, spec).unwrap().1;
        experiment(&bencher, &mut TimedReference::new(seconds), spec, &data).unwrap();
        bencher.iter(|| 1);
        metrics(bencher).unwrap()
    }

    fn images() -> PipelineSpec {
        PipelineSpec::new(DataSpec::images(32, 8, 3), 8).map(Normalize).map(CastToFloat32)
    }

    #[test]
    fn each_experiment_replaces_one_thing_and_what_is_not_there_is_not_replaced() {
        let seconds = |spec: &PipelineSpec, _| match (spec.transforms.len(), spec.workers) {
            (0, 0) => 2,
            (2, 0) => 10,
            (2, 2) => 6,
            other => panic!("{other:?}"),
        };
        let told = told(&images(), seconds);
        let expected = [("without_transforms", 2.0), ("more_workers", 6.0), ("as_is", 10.0)];
        assert_eq!(told, expected.map(|(name, value)| (format!("{EXPERIMENT}{name}"), value)));
        assert_eq!(Experiment::InMemory.of(&images()), None);
        let file = images().access(Access::FileStreaming).workers(2);
        assert_eq!(Experiment::InMemory.of(&file), Some(images().workers(2)));
        assert_eq!(Experiment::MoreWorkers.of(&file).map(|more| more.workers), Some(4));
        assert_eq!(Experiment::WithoutTransforms.of(&PipelineSpec::new(DataSpec::images(32, 8, 3), 8)), None);
    }

    #[test]
    fn an_experiment_is_asked_for_by_1_and_by_nothing_else() {
        assert!(parse("1").unwrap() && !parse("0").unwrap() && !parse("").unwrap());
        assert!(parse("yes").unwrap_err().to_string().contains("WEIGHBRIDGE_EXPERIMENTS is `yes`"));
    }
}
