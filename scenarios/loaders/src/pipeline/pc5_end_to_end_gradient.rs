//! PC-5: a pipeline that learns.

use weighbridge::prelude::*;

use crate::contract::{Learn, check_gradient, open_learning_task, time_steps};
use crate::learning_proof::prove_steps;
use crate::prelude::*;

/// Float images through a pipeline that learns: forward, backward, update.
///
/// What does a gradient through the whole of a pipeline cost, beside going through it once? Images are
/// normalised and go through a learnable step (scale and bias for each channel, then dropout); half the mean
/// square of what comes out is the loss; its gradient goes back to the parameters and, through the
/// transforms, to every number of the rows; a step of gradient descent follows. A batch is delivered with the
/// gradient to its rows beside it.
///
/// Timed: fetching the rows, forward, backward, update. Not timed: making and mapping the data, opening the
/// learning task, what follows. The work report must show `Normalize`, the learnable step and the gradient.
///
/// After the stream, in every repeat, up to 32 steps are timed in blocks: `step` is their whole,
/// `step/forward`, `step/backward` and `step/update` its parts. A learner in another process times them
/// itself: the metrics `phase: data`, `phase: forward`, `phase: backward`, `phase: update` and `phase: all`.
/// Then the gradient to every parameter is held against finite differences of the loss, the update against
/// the gradient, and the step that is timed against its parts. The metric `recompilations` is how often a
/// system that compiles has done so from the first batch of the stream to its last.
///
/// The older suite went forward alone.
#[scenario(id = "PC-5", category = "Pipeline complexity", equivalence = approx(1e-4),
    workload = task)]
fn end_to_end_gradient(
    bencher: &mut Bencher,
    learner: &mut dyn Learner,
    #[sweep(default = Images::floats(10_000, 32, 32), tiny = Images::floats(320, 32, 32))] variant: Images,
) -> Result<()> {
    let (task, data) = open_learning_task(bencher, &task(&variant))?;
    let noted = bencher.learn(learner, &task, &data)?;
    time_steps(bencher, learner, &task, &data)?;
    let checked = check_gradient(learner, &task, &data)?;
    prove_steps(&noted, &task, &data)?;
    bencher.metric("checked_derivatives", checked as f64, Unit::COUNT, Direction::Information);
    Ok(())
}

fn task(variant: &Images) -> LearningTask {
    LearningTask::new(PipelineSpec::images(variant).map(Normalize))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::adapters::native::ReferenceLearner;
    use crate::contract::changed_loader::bencher;

    fn run(learner: &mut dyn Learner) -> Result<weighbridge::RepeatResult> {
        let mut bencher = bencher();
        end_to_end_gradient(&mut bencher, learner, Images::floats(160, 8, 16))?;
        bencher.finish()
    }

    #[test]
    fn forward_backward_and_the_whole_are_told() {
        let seen = run(&mut ReferenceLearner).unwrap().seen;
        for name in ["step", "step/forward", "step/backward", "step/update"] {
            assert_eq!(seen.regions.iter().filter(|region| region.path == name).count(), 10, "{name}");
        }
    }

    /// The reference, with something wrong.
    struct WrongSubject(Fault, ReferenceLearner);

    #[derive(Clone, Copy)]
    enum Fault {
        Gradient,
        Loss,
        Update,
        Rate,
        /// The step that is timed leaves out the step down.
        Skipped,
        /// The step that is timed delivers what the next one would.
        Next,
    }

    struct WrongSteps<'a>(Fault, Box<dyn LearningLoop + 'a>);

    impl Learner for WrongSubject {
        fn open(&mut self, task: &LearningTask, data: &Arc<DataSet>) -> Result<Box<dyn LearningLoop + '_>> {
            let task = match self.0 {
                Fault::Rate => LearningTask { rate: 2.0 * task.rate, ..task.clone() },
                _ => task.clone(),
            };
            Ok(Box::new(WrongSteps(self.0, self.1.open(&task, data)?)))
        }
    }

    impl LearningLoop for WrongSteps<'_> {
        fn begin(&mut self, epoch: u64, parameters: &Parameters) -> Result<()> {
            self.1.begin(epoch, parameters)
        }
        fn forward(&mut self) -> Result<bool> {
            self.1.forward()
        }
        fn backward(&mut self) -> Result<()> {
            self.1.backward()
        }
        fn update(&mut self) -> Result<()> {
            if matches!(self.0, Fault::Update) { Ok(()) } else { self.1.update() }
        }
        fn step(&mut self, parameters: &Parameters) -> Result<()> {
            self.1.begin(0, parameters)?;
            self.1.forward()?;
            self.1.backward()?;
            if !matches!(self.0, Fault::Skipped) {
                self.update()?;
            }
            if matches!(self.0, Fault::Next) {
                self.1.forward()?;
            }
            Ok(())
        }
        fn regroup(&mut self) -> bool {
            self.1.regroup()
        }
        fn batch(&self) -> &dyn Batch {
            self.1.batch()
        }
        fn loss(&self) -> f64 {
            self.1.loss() * if matches!(self.0, Fault::Loss) { 1.01 } else { 1.0 }
        }
        fn gradient(&self) -> Parameters {
            let mut gradient = self.1.gradient();
            if matches!(self.0, Fault::Gradient) {
                gradient.bias[1] *= 1.01;
            }
            gradient
        }
        fn parameters(&self) -> Parameters {
            self.1.parameters()
        }
        fn executed(&self) -> ExecutedWork {
            self.1.executed()
        }
    }

    #[test]
    fn a_gradient_a_loss_or_an_update_that_is_wrong_fails() {
        for (fault, said) in [
            (Fault::Gradient, "the derivative of the loss to parameter 4 is said to be"),
            (Fault::Loss, "the loss of the first batch is said to be"),
            (Fault::Update, "after a step of gradient descent"),
            (Fault::Rate, "after a step of gradient descent"),
            (Fault::Skipped, "the step that is timed leaves the parameters"),
            (Fault::Next, "the step that is timed delivers other numbers than its parts: what comes out"),
        ] {
            let error = run(&mut WrongSubject(fault, ReferenceLearner)).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
