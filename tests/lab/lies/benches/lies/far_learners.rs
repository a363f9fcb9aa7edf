//! Learners in workers of Python whose steps are other ones than were asked for, and honest ones.
//! `workers/learner.py` has them.

use std::path::Path;
use std::sync::Arc;

use weighbridge::{Availability, Result, adapter};
use weighbridge_data::DataSet;
use weighbridge_loaders::adapters::python::open_learning;
use weighbridge_loaders::contract::{Learner, LearningLoop};
use weighbridge_loaders::workload::LearningTask;
use weighbridge_python::Framework;

/// A framework whose worker calls itself so, and runs by the Python that has `numpy` and `torch`.
const HOST: &str = "torch_autograd";

fn framework(lie: &str) -> Result<Framework> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("workers").join("learner.py");
    Ok(Framework::of_file(HOST, &file)?.with("LIE", lie))
}

fn installed() -> Availability {
    Framework::availability(HOST)
}

/// A learner whose worker does as the name says.
macro_rules! far_learner {
    ($type:ident, $name:literal) => {
        struct $type(Framework);

        const _: () = {
            fn new() -> Result<$type> {
                Ok($type(framework($name)?))
            }

            #[adapter(name = $name, tier = 2, resident = true, new = new, probe = installed)]
            impl Learner for $type {
                fn is_elsewhere(&self) -> bool {
                    true
                }

                fn open(
                    &mut self,
                    task: &LearningTask,
                    data: &Arc<DataSet>,
                ) -> Result<Box<dyn LearningLoop + '_>> {
                    open_learning(&mut self.0, task, data)
                }
            }
        };
    };
}

far_learner!(NoUpdate, "no-update-in-a-worker");
far_learner!(OldGradients, "old-gradients-in-a-worker");
far_learner!(WithTheFirst, "steps-with-the-first-in-a-worker");
far_learner!(WhenAsked, "update-when-asked-in-a-worker");
far_learner!(Whole, "whole-learning-in-a-worker");
far_learner!(Compiles, "compiles-in-a-worker");
