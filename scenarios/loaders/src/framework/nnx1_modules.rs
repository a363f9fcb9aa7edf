//! NNX-1: modules that hold their state, beside a function that holds none.

use weighbridge::prelude::*;

use crate::contract::{Learn, check_gradient, open_learning_task, time_steps_of};
use crate::learning_proof::prove_steps;
use crate::prelude::*;

/// The same learnable pipeline as modules with state and as a plain function.
///
/// What do modules cost that hold parameters and are gone through one by one, beside a function that is given
/// both? Images go through `Normalize`, `RandomCrop` and a learnable step (scale and bias for each channel,
/// then dropout); half the mean square of what comes out is the loss, whose gradient goes all the way back to
/// the rows; a step of gradient descent follows. Both forms are cases of one run. The metric
/// `module_over_function` is the ratio of the times of twice up to 8 steps of each, in turns (module,
/// function, function, module), through the same learner, after the stream.
///
/// Timed: fetching the rows, forward, backward, update. Not timed: making and mapping the data, opening the
/// learning task, the comparisons. The work report must show `Normalize`, `RandomCrop` and the form; the
/// content of both forms is the same up to rounding, so the reference's two forms are compared too, bit by
/// bit, in a test. After the stream the gradient is held against finite differences in every repeat.
/// `recompilations` is as in PC-5.
///
/// The older suite took the mode and ran one pipeline.
#[scenario(id = "NNX-1", category = "Framework", equivalence = approx(1e-4), workload = task)]
fn modules(
    bencher: &mut Bencher,
    learner: &mut dyn Learner,
    #[sweep(all, nnx_module = Form::Module, plain_function = Form::Function)] variant: Form,
    #[sweep(default = Images::floats(5_000, 64, 128), tiny = Images::floats(256, 32, 64))] data: Images,
) -> Result<()> {
    let (task, data) = open_learning_task(bencher, &task(&variant, &data))?;
    let noted = bencher.learn(learner, &task, &data)?;
    check_gradient(learner, &task, &data)?;
    prove_steps(&noted, &task, &data)?;
    let (mut module, mut function) = (0.0, 0.0);
    // In turns and back, so that whatever gets faster or slower meanwhile does so for both.
    for form in [Form::Module, Form::Function, Form::Function, Form::Module] {
        let took = time_steps_of(learner, &task.clone().form(form), &data)?.as_secs_f64();
        *if form == Form::Module { &mut module } else { &mut function } += took;
    }
    bencher.metric("module_over_function", module / function, Unit::RATIO, Direction::Lower);
    Ok(())
}

fn task(form: &Form, data: &Images) -> LearningTask {
    LearningTask::new(PipelineSpec::images(data).map(Normalize).map(RandomCrop)).form(*form)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::native::ReferenceLearner;
    use crate::contract::TellingLearner;
    use crate::contract::changed_loader::{bencher, metrics};

    #[test]
    fn what_a_module_costs_is_the_time_of_its_steps_over_that_of_the_function() {
        let mut learner = TellingLearner::of(|form| if form == Form::Module { 3 } else { 2 });
        for form in [Form::Module, Form::Function] {
            let mut bencher = bencher();
            modules(&mut bencher, &mut learner, form, Images::floats(64, 8, 16)).unwrap();
            let told = metrics(bencher).unwrap();
            let ratio = told.iter().find(|(name, _)| name == "module_over_function").unwrap().1;
            assert!((ratio - 1.5).abs() < 1e-12, "{form:?}: {told:?}");
        }
    }

    #[test]
    fn both_forms_deliver_the_same_bits_and_say_what_they_cost() {
        let done = [Form::Module, Form::Function].map(|form| {
            let mut bencher = bencher();
            modules(&mut bencher, &mut ReferenceLearner, form, Images::floats(64, 8, 16)).unwrap();
            bencher.finish().unwrap()
        });
        let [module, function] = done;
        let content = |done: &weighbridge::RepeatResult| done.work.clone().unwrap().content;
        assert_eq!(content(&module), content(&function));
        assert!(content(&module).elements > 0);
        let transforms = |done: &weighbridge::RepeatResult| done.work.clone().unwrap().report.transforms;
        assert_ne!(transforms(&module), transforms(&function));
        assert!(module.seen.custom.iter().any(|metric| metric.name == "module_over_function"));
    }
}
