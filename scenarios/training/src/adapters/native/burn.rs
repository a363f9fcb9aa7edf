//! `burn`: a training in operations on its tensors, with gradients that the library derives.

use std::sync::Arc;

use burn_core::tensor::activation::log_softmax;
use burn_core::tensor::{Device, Int, Tensor, TensorData};
use weighbridge::{Error, Result, adapter};
use weighbridge_data::DataSet;
use weighbridge_loaders::adapters::native::burn_version as version;

use super::burn_layers::BurnWay;
use super::by_hand::{integers, singles};
use super::check_asked;
use super::derived_model::{DerivedModel, DerivedTraining};
use crate::contract::{Trainer, TrainingLoop};
use crate::workload::model::{Layer, Model, Shape};
use crate::workload::{Compilation, Optimiser, Schedule, TrainingSpec};

/// A training in operations on tensors of `burn` (its CPU backend `flex`), with `burn`'s automatic
/// differentiation, operation by operation. Its optimisers are the formulae of the configuration on tensors
/// of `burn`, since they are in a crate of their own.
#[derive(Clone, Copy, Debug, Default)]
pub struct BurnTrainer;

/// The tensors of `burn`, with gradients that it derives itself.
#[adapter(name = "burn (training)", tier = 1, probe = version)]
impl Trainer for BurnTrainer {
    fn open(
        &mut self,
        spec: &TrainingSpec,
        how: Compilation,
        data: &Arc<DataSet>,
        weights: &Arc<DataSet>,
    ) -> Result<Box<dyn TrainingLoop + '_>> {
        check_asked(spec, how)?;
        Ok(Box::new(DerivedTraining::<BurnModel>::open(spec, data, weights)?))
    }
}

/// A model on tensors of `burn`.
#[derive(Debug)]
struct BurnModel {
    model: Model,
    device: Device,
    parameters: Vec<Tensor<2>>,
    descent: BurnSteps,
}

/// The settings of an optimiser, and the tensors that it keeps of each parameter.
#[derive(Debug)]
struct BurnSteps {
    set: Optimiser,
    schedule: Schedule,
    kept: Vec<[Tensor<2>; 2]>,
    steps: i32,
}

impl BurnSteps {
    fn new(set: Optimiser, schedule: Schedule, parameters: &[Tensor<2>]) -> Self {
        let zeros = |one: &Tensor<2>| {
            let none = one.clone().inner().zeros_like();
            [none.clone(), none]
        };
        Self { set, schedule, kept: parameters.iter().map(zeros).collect(), steps: 0 }
    }

    /// Takes the parameters a step down.
    fn step(&mut self, parameters: &mut [Tensor<2>], gradients: Vec<Tensor<2>>) {
        let set = self.set.slowed(self.schedule.share(self.steps as usize));
        self.steps += 1;
        for ((parameter, kept), slope) in parameters.iter_mut().zip(&mut self.kept).zip(gradients) {
            let weight = parameter.clone().inner();
            let [first, second] = kept.clone();
            let after = match set {
                Optimiser::Sgd { rate, momentum } => {
                    let velocity = first * momentum + slope;
                    kept[0] = velocity.clone();
                    weight - velocity * rate
                }
                Optimiser::Adamw { rate, beta1, beta2, epsilon, decay } => {
                    let mean = first * beta1 + slope.clone() * (1.0 - beta1);
                    let square = second * beta2 + slope.square() * (1.0 - beta2);
                    *kept = [mean.clone(), square.clone()];
                    let root = (square / (1.0 - beta2.powi(self.steps))).sqrt() + epsilon;
                    let change = mean / (1.0 - beta1.powi(self.steps)) / root + weight.clone() * decay;
                    weight - change * rate
                }
            };
            *parameter = after.autodiff().require_grad();
        }
    }
}

impl DerivedModel for BurnModel {
    type Tensor = Tensor<2>;

    const RAN_ON: &'static str = "cpu (flex)";

    fn begin(spec: &TrainingSpec, parameters: Vec<(Vec<f32>, [usize; 2])>) -> Result<Self> {
        let device = Device::flex().autodiff();
        let tensor = |(numbers, shape)| {
            Tensor::<2>::from_data(TensorData::new::<f32, _>(numbers, shape), &device).require_grad()
        };
        let parameters: Vec<_> = parameters.into_iter().map(tensor).collect();
        let descent = BurnSteps::new(spec.optimiser, spec.schedule, &parameters);
        Ok(Self { model: spec.layers()?, device, parameters, descent })
    }

    fn parameters(&self) -> Vec<Tensor<2>> {
        self.parameters.clone()
    }

    fn forward(&self, input: &[u8]) -> Result<Tensor<2>> {
        let (shape, layers) = (self.model.input, &self.model.layers[..]);
        let numbers = input.len() / size_of::<f32>();
        let batch = numbers / shape.count();
        let mut way = BurnWay { parameters: self.parameters.iter(), batch, device: &self.device };
        if let (Shape::Ids { .. }, [table @ Layer::Embed { .. }, rest @ ..]) = (shape, layers) {
            let ids = Tensor::<1, Int>::from_data(TensorData::new(integers(input), [numbers]), &self.device);
            let rows = way.embed(ids)?;
            return Ok(way.through(rest, rows, table.output(shape, "0")?, "")?.0);
        }
        let data = TensorData::new(singles(input), [numbers / shape.last(), shape.last()]);
        Ok(way.through(layers, Tensor::from_data(data, &self.device), shape, "")?.0)
    }

    fn loss(&self, logits: Tensor<2>, labels: Vec<i32>) -> Result<Tensor<2>> {
        let shape = [labels.len(), 1];
        let labels = Tensor::<2, Int>::from_data(TensorData::new(labels, shape), &self.device);
        Ok(-log_softmax(logits, 1).gather(1, labels).mean_dim(0))
    }

    fn backward(&self, loss: &Tensor<2>) -> Result<Vec<Tensor<2>>> {
        let gradients = loss.backward();
        let lost = || Error::new("burn has no gradient of a parameter");
        self.parameters.iter().map(|one| one.grad(&gradients).ok_or_else(lost)).collect()
    }

    fn descend(&mut self, gradients: Vec<Tensor<2>>) -> Result<()> {
        self.descent.step(&mut self.parameters, gradients);
        Ok(())
    }

    fn descent(&self) -> (Optimiser, Schedule) {
        (self.descent.set, self.descent.schedule)
    }

    fn precision(&self) -> String {
        self.parameters.first().map_or_else(String::new, |one| format!("{:?}", one.dtype()).to_lowercase())
    }

    fn size(&self) -> usize {
        self.parameters.iter().map(|one| one.dims().iter().product::<usize>()).sum()
    }

    fn numbers(tensor: &Tensor<2>) -> Result<Vec<f32>> {
        let unread = |why: String| Error::new(format!("burn's tensor cannot be read: {why}"));
        let data = tensor.clone().inner().try_into_data().map_err(|error| unread(format!("{error:?}")))?;
        data.try_to_vec::<f32>().map_err(|error| unread(format!("{error:?}")))
    }
}
