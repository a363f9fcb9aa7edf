//! Did a learner do the steps that were timed? Held against the same steps by the reference, outside the
//! clock.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use weighbridge::{Error, Result};
use weighbridge_data::DataSet;

use crate::adapters::native::ReferenceLearner;
use crate::contract::{Learner, LearningLoop, NotedEpoch, NotedStep, rounding_of_sum, within};
use crate::workload::{LearningTask, Parameters};

/// For so long epochs are drawn that the reference goes through as well: one at least.
const LOOK: Duration = Duration::from_millis(300);

/// Holds what was noted of steps while they were timed against the reference's steps: the loss of each, the
/// parameters after it, and a number of its gradient to the rows. Of the epochs that were begun it looks at
/// the last one, and at others that are drawn until that has taken [`LOOK`].
///
/// # Errors
/// The first step that is another one; no step at all; what the reference says.
pub(crate) fn prove_steps(noted: &[NotedEpoch], task: &LearningTask, data: &Arc<DataSet>) -> Result<()> {
    let mut epochs: Vec<&NotedEpoch> = noted.iter().filter(|epoch| !epoch.steps.is_empty()).collect();
    let Some(last) = epochs.pop() else {
        return Err(Error::new("steps were timed, and none was noted"));
    };
    let mut learner = ReferenceLearner;
    let mut reference = learner.open(task, data)?;
    same_steps(last, &mut *reference, task)?;
    let (begun, mut draw) = (Instant::now(), RandomState::new().hash_one(0_u8) as usize);
    while !epochs.is_empty() && begun.elapsed() < LOOK {
        same_steps(epochs.swap_remove(draw % epochs.len()), &mut *reference, task)?;
        draw = RandomState::new().hash_one(draw) as usize;
    }
    Ok(())
}

/// Each step begins where the one before has ended, so that what rounding leaves of a step's sums adds up: to
/// so many times that. (An update that was left out is a hundred times as far off.)
const GROWN: f64 = 4.0;

fn same_steps(noted: &NotedEpoch, reference: &mut dyn LearningLoop, task: &LearningTask) -> Result<()> {
    reference.begin(noted.epoch, &Parameters::start(task.channels()))?;
    let share = GROWN * rounding_of_sum(task.terms());
    for (at, step) in noted.steps.iter().enumerate() {
        if !reference.forward()? {
            return Err(Error::new(format!("step {at} was timed, and the epoch has only {at} batches")));
        }
        reference.backward()?;
        reference.update()?;
        let other = |what: &str, found: String, due: String| {
            Err(Error::new(format!(
                "{what} of step {at} of those that were timed is not the reference's: {found} where {due} is \
                 due: steps were left out, put off, or of other batches"
            )))
        };
        let NotedStep { loss, parameters, slope: (place, slope) } = step;
        if !within(share, *loss, reference.loss()) {
            return other("the loss", loss.to_string(), reference.loss().to_string());
        }
        let due = reference.parameters();
        let is_near = |(found, due): (f32, f32)| within(share, f64::from(found), f64::from(due));
        if !parameters.iter().zip(due.iter()).all(is_near) {
            return other("what is learned", format!("{parameters:?}"), format!("{due:?}"));
        }
        let slopes = reference.batch().bytes(1).as_chunks().0;
        let number = |place: usize| slopes.get(place).map(|four| f32::from_le_bytes(*four));
        let largest =
            slopes.iter().fold(0.0_f32, |largest, four| largest.max(f32::from_le_bytes(*four).abs()));
        let is_near = |due: f32| (due - slope).abs() <= largest * share as f32;
        if !number(*place).is_some_and(is_near) {
            return other("the gradient to the rows", slope.to_string(), format!("{:?}", number(*place)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::changed_loader::bencher;
    use crate::contract::{Learn, open_learning_task};
    use crate::workload::{Images, PipelineSpec, Transform};

    /// What steps of the reference are noted as, and the task that they are of.
    fn noted() -> (Vec<NotedEpoch>, LearningTask, Arc<DataSet>) {
        let images = PipelineSpec::images(&Images::floats(320, 8, 16)).map(Transform::Normalize);
        let bencher = bencher();
        let (task, data) = open_learning_task(&bencher, &LearningTask::new(images)).unwrap();
        let noted = bencher.learn(&mut ReferenceLearner, &task, &data).unwrap();
        (noted, task, data)
    }

    #[test]
    fn steps_that_were_done_are_proven_and_no_epoch_comes_twice() {
        let (noted, task, data) = noted();
        assert!(noted.iter().map(|epoch| epoch.steps.len()).sum::<usize>() >= 3, "{noted:?}");
        let mut numbers: Vec<u64> = noted.iter().map(|epoch| epoch.epoch).collect();
        numbers.dedup();
        assert_eq!(numbers.len(), noted.len());
        prove_steps(&noted, &task, &data).unwrap();
    }

    #[test]
    fn a_step_that_was_left_out_or_is_another_is_told() {
        let (noted, task, data) = noted();
        let with = |change: fn(&mut Vec<NotedStep>)| {
            let mut noted = noted.clone();
            change(&mut noted.iter_mut().rfind(|epoch| epoch.steps.len() >= 2).unwrap().steps);
            let last = noted.iter().rposition(|epoch| epoch.steps.len() >= 2).unwrap();
            prove_steps(&noted[..=last], &task, &data).unwrap_err().to_string()
        };
        let said = with(|steps| drop(steps.remove(0)));
        assert!(said.contains("of step 0 of those that were timed is not the reference's"), "{said}");
        let said = with(|steps| steps[1].parameters = steps[0].parameters.clone());
        assert!(said.contains("what is learned of step 1"), "{said}");
        let said = with(|steps| steps[1].slope.1 += 1.0);
        assert!(said.contains("the gradient to the rows of step 1"), "{said}");
        let said = with(|steps| steps[0].loss *= 1.01);
        assert!(said.contains("the loss of step 0"), "{said}");
    }
}
