//! PC-3: batches regrouped, and a gradient through the regrouping.

use weighbridge::prelude::*;

use crate::contract::{Learn, check_gradient, open_learning_task, time_steps};
use crate::learning_proof::prove_steps;
use crate::prelude::*;

/// Batches of 256 regrouped to batches of 32, with a gradient that goes back through the regrouping.
///
/// What does it cost to regroup batches where a gradient has to find its way back? Batches of 256 float
/// images are normalised and go through a learnable step (scale and bias for each channel, then dropout);
/// each is then cut into groups of 32, which are what is delivered. Each group has a loss of its own, half
/// the mean square of its numbers; their sum goes back through the groups to the batch of 256, its parameters
/// and its rows, and a step of gradient descent follows.
///
/// Timed: fetching the rows, forward, regrouping, backward, update: all of that falls on the first group of a
/// batch, as the latencies show. Not timed: making and mapping the data, opening the learning task, what
/// follows. The work report must show `Normalize`, the learnable step, `rebatch to 32` and the gradient; each
/// group counts as 32 elements, so an epoch has all of them and no more.
///
/// After the stream, in every repeat, up to 32 steps are timed in blocks (`step/forward`, `step/backward`,
/// `step/update`; by a learner in another process itself, as `phase: forward` and so on), the gradient to
/// every parameter is held against finite differences of the loss over all groups, and the step that is timed
/// against its parts. `recompilations` is as in PC-5.
///
/// The older suite moved an axis and counted 32 elements for every 256, and took no gradient.
#[scenario(id = "PC-3", category = "Pipeline complexity", equivalence = approx(1e-4),
    workload = task)]
fn differentiable_rebatching(
    bencher: &mut Bencher,
    learner: &mut dyn Learner,
    #[sweep(default = Images::floats(5_000, 64, 256), tiny = Images::floats(600, 32, 256))] variant: Images,
) -> Result<()> {
    let (task, data) = open_learning_task(bencher, &task(&variant))?;
    let noted = bencher.learn(learner, &task, &data)?;
    time_steps(bencher, learner, &task, &data)?;
    let checked = check_gradient(learner, &task, &data)?;
    prove_steps(&noted, &task, &data)?;
    bencher.metric("checked_derivatives", checked as f64, Unit::COUNT, Direction::Information);
    Ok(())
}

/// Elements of a delivered batch.
const GROUP: usize = 32;

fn task(variant: &Images) -> LearningTask {
    LearningTask::new(PipelineSpec::images(variant).map(Normalize).rebatch(GROUP))
}

#[cfg(test)]
mod tests {
    use weighbridge::{Budget, Purpose, Settings};

    use super::*;
    use crate::adapters::native::ReferenceLearner;

    #[test]
    fn every_element_is_counted_once_in_groups_of_32() {
        let mut bencher = Bencher::new(Settings::new(Purpose::Verify, Budget::SMOKE));
        differentiable_rebatching(&mut bencher, &mut ReferenceLearner, Images::floats(600, 8, 256)).unwrap();
        let done = bencher.finish().unwrap();
        assert_eq!(done.work.unwrap().content.elements, 600);
        let blocks = |name: &str| done.seen.regions.iter().filter(|region| region.path == name).count();
        assert_eq!((blocks("step/forward"), blocks("step/backward"), blocks("step")), (3, 3, 3));
    }
}
