//! `candle`: a training in operations on its tensors, with gradients that the library derives.

use std::sync::Arc;

use candle_core::{Device, Tensor, Var};
use weighbridge::{Availability, Error, Result, adapter};
use weighbridge_data::DataSet;

use super::by_hand::{integers, singles};
use super::candle_layers::CandleWay;
use super::check_asked;
use super::derived_model::{DerivedModel, DerivedTraining};
use crate::contract::{Trainer, TrainingLoop};
use crate::workload::model::{Layer, Model, Shape};
use crate::workload::{Compilation, Optimiser, Schedule, TrainingSpec};

/// The version that `Cargo.toml` asks for; a test holds it to the lock file.
const VERSION: &str = "0.11.1";

fn version() -> Availability {
    Availability::Available { version: VERSION.into() }
}

/// A training in operations on tensors of `candle` on the processor, with `candle`'s automatic
/// differentiation, operation by operation. Its optimisers are the formulae of the configuration on tensors
/// of `candle`, since the `SGD` of candle-nn has no momentum. It has no products in `bf16` on a processor.
#[derive(Clone, Copy, Debug, Default)]
pub struct CandleTrainer;

/// The tensors of `candle`, with gradients that it derives itself.
#[adapter(name = "candle (training)", tier = 1, probe = version)]
impl Trainer for CandleTrainer {
    fn open(
        &mut self,
        spec: &TrainingSpec,
        how: Compilation,
        data: &Arc<DataSet>,
        weights: &Arc<DataSet>,
    ) -> Result<Box<dyn TrainingLoop + '_>> {
        check_asked(spec, how)?;
        Ok(Box::new(DerivedTraining::<CandleModel>::open(spec, data, weights)?))
    }
}

/// A model on tensors of `candle`.
#[derive(Debug)]
struct CandleModel {
    model: Model,
    parameters: Vec<Var>,
    optimiser: Optimiser,
    schedule: Schedule,
    /// Of each parameter: the velocity, or the means of gradients and of their squares.
    kept: Vec<[Tensor; 2]>,
    steps: i32,
}

impl CandleModel {
    /// A parameter after a step down its gradient. Nothing here is on the tape.
    fn after(&mut self, place: usize, slope: &Tensor) -> Result<Tensor> {
        let weight = self.parameters[place].as_detached_tensor();
        let [first, second] = &self.kept[place];
        match self.optimiser.slowed(self.schedule.share(self.steps as usize - 1)) {
            Optimiser::Sgd { rate, momentum } => {
                let velocity = ((first * momentum)? + slope)?;
                let after = (weight - (&velocity * rate)?)?;
                self.kept[place][0] = velocity;
                Ok(after)
            }
            Optimiser::Adamw { rate, beta1, beta2, epsilon, decay } => {
                let mean = ((first * beta1)? + (slope * (1.0 - beta1))?)?;
                let square = ((second * beta2)? + (slope.sqr()? * (1.0 - beta2))?)?;
                let root = ((&square / (1.0 - beta2.powi(self.steps)))?.sqrt()? + epsilon)?;
                let change = ((&mean / (1.0 - beta1.powi(self.steps)))? / root)? + (&weight * decay)?;
                self.kept[place] = [mean, square];
                Ok((weight - (change? * rate)?)?)
            }
        }
    }
}

impl DerivedModel for CandleModel {
    type Tensor = Tensor;

    const RAN_ON: &'static str = "cpu";

    fn begin(spec: &TrainingSpec, parameters: Vec<(Vec<f32>, [usize; 2])>) -> Result<Self> {
        let variable =
            |(numbers, shape): (Vec<f32>, [usize; 2])| Var::from_vec(numbers, &shape, &Device::Cpu);
        let parameters = parameters.into_iter().map(variable).collect::<Result<Vec<_>, _>>()?;
        let none = |one: &Var| one.zeros_like().map(|zeros| [zeros.clone(), zeros]);
        let kept = parameters.iter().map(none).collect::<Result<_, _>>()?;
        let TrainingSpec { optimiser, schedule, .. } = *spec;
        Ok(Self { model: spec.layers()?, parameters, optimiser, schedule, kept, steps: 0 })
    }

    fn parameters(&self) -> Vec<Tensor> {
        self.parameters.iter().map(Var::as_detached_tensor).collect()
    }

    fn forward(&self, input: &[u8]) -> Result<Tensor> {
        let (shape, layers) = (self.model.input, &self.model.layers[..]);
        let numbers = input.len() / size_of::<f32>();
        let mut way = CandleWay { parameters: self.parameters.iter(), batch: numbers / shape.count() };
        if let (Shape::Ids { .. }, [table @ Layer::Embed { .. }, rest @ ..]) = (shape, layers) {
            let rows = way.embed(&ids(integers(input))?)?;
            return Ok(way.through(rest, rows, table.output(shape, "0")?, "")?.0);
        }
        let rows = (numbers / shape.last(), shape.last());
        Ok(way.through(layers, Tensor::from_vec(singles(input), rows, &Device::Cpu)?, shape, "")?.0)
    }

    fn loss(&self, logits: Tensor, labels: Vec<i32>) -> Result<Tensor> {
        let of_labels = logits.gather(&ids(labels)?.unsqueeze(1)?, 1)?.squeeze(1)?;
        Ok((logits.log_sum_exp(1)? - of_labels)?.mean_all()?)
    }

    fn backward(&self, loss: &Tensor) -> Result<Vec<Tensor>> {
        let mut gradients = loss.backward()?;
        let lost = || Error::new("candle has no gradient of a parameter");
        // Apart from the tape, which would otherwise live on in what the optimiser keeps.
        let take = |one: &Var| gradients.remove(one).map(|slope| slope.detach()).ok_or_else(lost);
        self.parameters.iter().map(take).collect()
    }

    fn descend(&mut self, gradients: Vec<Tensor>) -> Result<()> {
        self.steps += 1;
        for (place, slope) in gradients.iter().enumerate() {
            let after = self.after(place, slope)?;
            self.parameters[place].set(&after)?;
        }
        Ok(())
    }

    fn descent(&self) -> (Optimiser, Schedule) {
        (self.optimiser, self.schedule)
    }

    fn precision(&self) -> String {
        self.parameters.first().map_or_else(String::new, |one| one.dtype().as_str().to_owned())
    }

    fn size(&self) -> usize {
        self.parameters.iter().map(|one| one.elem_count()).sum()
    }

    fn numbers(tensor: &Tensor) -> Result<Vec<f32>> {
        Ok(tensor.flatten_all()?.to_vec1()?)
    }
}

/// Numbers that name rows or columns.
fn ids(numbers: Vec<i32>) -> Result<Tensor> {
    let numbers: Vec<u32> = numbers.into_iter().map(|number| number as u32).collect();
    let count = numbers.len();
    Ok(Tensor::from_vec(numbers, count, &Device::Cpu)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_locked_one() {
        let lock = include_str!("../../../../../Cargo.lock");
        assert!(lock.contains(&format!("name = \"candle-core\"\nversion = \"{VERSION}\"\n")));
    }
}
