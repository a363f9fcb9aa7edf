//! What every learner of this build must do, over toy learning tasks.

use std::any::TypeId;

use weighbridge::__private::{AdapterEntry, Registry};
use weighbridge::ItemCopy;
use weighbridge_data::DataSpec;
use weighbridge_loaders::contract::{Learner, LearningLoop};
use weighbridge_loaders::workload::{Form, LearningTask, Parameters, PipelineSpec, Transform};

use crate::data;
use crate::own::is_own;

/// Every learner of this build.
fn learners() -> Vec<(&'static str, Box<dyn Learner>)> {
    let registry = Registry::collect().unwrap();
    let is_learner =
        |entry: &&&AdapterEntry| (entry.contract.id)() == TypeId::of::<dyn Learner>() && is_own(entry);
    let make = |entry: &&AdapterEntry| {
        (entry.name, *(entry.make)().unwrap().downcast::<Box<dyn Learner>>().unwrap())
    };
    registry.adapters().iter().filter(is_learner).map(make).collect()
}

fn task() -> LearningTask {
    let images = DataSpec::normal("image", 23, vec![8, 8, 3]);
    LearningTask::new(PipelineSpec::new(images, 10).map(Transform::Normalize).map(Transform::RandomCrop))
}

/// Opens the learning task with every learner and looks at its steps.
fn through_all(task: &LearningTask, look: &dyn Fn(&str, &mut dyn LearningLoop)) {
    let (_place, data) = data(&task.pipeline);
    for (name, mut learner) in learners() {
        look(name, &mut *learner.open(task, &data).unwrap());
    }
}

/// The groups of an epoch that is begun with the same parameters always, and the parameters after it.
fn learn(steps: &mut dyn LearningLoop, epoch: u64) -> (Vec<ItemCopy>, Parameters) {
    let mut groups = Vec::new();
    steps.begin(epoch, &Parameters::start(3)).unwrap();
    while steps.forward().unwrap() {
        steps.backward().unwrap();
        steps.update().unwrap();
        groups.push(steps.batch().keep());
        while steps.regroup() {
            groups.push(steps.batch().keep());
        }
    }
    (groups, steps.parameters())
}

#[test]
fn there_is_a_reference_learner() {
    assert!(learners().iter().any(|(name, _)| *name == "Reference"));
}

#[test]
fn an_epoch_from_the_same_parameters_is_the_same_again_and_another_has_other_draws() {
    for form in [Form::Module, Form::Function] {
        through_all(&task().form(form), &|name, steps| {
            let first = learn(steps, 0);
            assert_ne!(learn(steps, 1).0, first.0, "{name}");
            steps.begin(0, &Parameters::start(3)).unwrap();
            assert!(steps.forward().unwrap()); // and broken off
            assert!(learn(steps, 0) == first, "{name}");
            assert_ne!(first.1, Parameters::start(3), "it learnt something: {name}");
        });
    }
}

#[test]
fn a_step_needs_what_comes_before_it() {
    for form in [Form::Module, Form::Function] {
        through_all(&task().form(form), &|name, steps| {
            let start = Parameters::start(3);
            let no_batch = |steps: &mut dyn LearningLoop| {
                let error = steps.backward().unwrap_err().to_string();
                assert!(error.contains("go forward first"), "{name}: {error}");
            };
            let no_gradient = |steps: &mut dyn LearningLoop| {
                let before = steps.parameters();
                let error = steps.update().unwrap_err().to_string();
                assert!(error.contains("go backward first"), "{name}: {error}");
                assert_eq!(steps.parameters(), before, "{name}");
            };
            no_batch(steps);
            no_gradient(steps);
            steps.begin(0, &start).unwrap();
            no_batch(steps);
            steps.forward().unwrap();
            no_gradient(steps);
            steps.backward().unwrap();
            steps.update().unwrap();
            no_gradient(steps); // it went down once
            steps.forward().unwrap();
            no_gradient(steps); // that of the batch before is none of this one
            steps.backward().unwrap();
            steps.begin(0, &start).unwrap();
            no_gradient(steps);
            no_batch(steps);
        });
    }
}

#[test]
fn a_gradient_is_there_when_somebody_went_back() {
    through_all(&task(), &|name, steps| {
        steps.begin(0, &Parameters::start(3)).unwrap();
        for _ in 0..2 {
            steps.forward().unwrap();
            let sizes = |steps: &dyn LearningLoop| [0, 1].map(|field| steps.batch().bytes(field).len());
            let [learned, gradient] = sizes(steps);
            assert!(learned > 0 && gradient == 0, "{name}");
            steps.backward().unwrap();
            assert_eq!(sizes(steps), [learned, learned], "{name}");
        }
    });
}

#[test]
fn groups_hold_every_element_once_whatever_their_size() {
    let sizes = [(None, vec![10, 10, 3]), (Some(5), vec![5, 5, 5, 5, 3]), (Some(10), vec![10, 10, 3])];
    for (rebatch, expected) in sizes {
        let mut task = task();
        task.pipeline.structure.rebatch = rebatch;
        through_all(&task, &|name, steps| {
            let found: Vec<usize> = learn(steps, 0).0.iter().map(|group| group.elements).collect();
            assert_eq!(found, expected, "{name}");
            assert!(!steps.regroup(), "{name}");
        });
    }
}

#[test]
fn a_batch_has_the_fields_that_the_learning_task_says_and_the_work_report_its_steps() {
    through_all(&task(), &|name, steps| {
        let batch = &learn(steps, 0).0[0];
        for (field, kind) in batch.fields.iter().zip(&task().output().unwrap()) {
            let found = (&field.name, field.dtype, &field.shape);
            assert_eq!(found, (&kind.name, kind.dtype, &kind.shape), "{name}");
        }
        assert!(batch.fields[1].bytes.iter().any(|byte| *byte != 0), "a gradient of zeros: {name}");
        assert_eq!(steps.executed().transforms, task().work(), "{name}");
    });
}

#[test]
fn what_a_learner_does_not_do_is_declined_by_name() {
    let changes: [fn(PipelineSpec) -> PipelineSpec; 3] = [
        |spec| spec.map(Transform::GaussianNoise),
        |spec| spec.workers(1),
        |spec| spec.branch(&[Transform::Scale]).branch(&[Transform::Clip]),
    ];
    for change in changes {
        let task = LearningTask { pipeline: change(task().pipeline), ..task() };
        let (_place, data) = data(&task.pipeline);
        for (name, mut learner) in learners() {
            let error = learner.open(&task, &data).map(drop).unwrap_err();
            assert!(error.is_skip() && error.to_string().starts_with(name), "{error}");
        }
    }
}
