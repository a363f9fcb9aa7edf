//! Loaders in workers of Python that make their epochs with the first batch, and honest ones.
//! `workers/loader.py` has them.

use std::path::Path;
use std::sync::Arc;

use weighbridge::{Availability, Result, adapter};
use weighbridge_data::{DataSet, Epochs};
use weighbridge_loaders::adapters::python::open_pipeline;
use weighbridge_loaders::contract::Loader;
use weighbridge_loaders::workload::PipelineSpec;
use weighbridge_python::Framework;

/// The framework whose worker calls itself so, and that the others are made of.
const HOST: &str = "numpy";

fn framework(lie: &str) -> Result<Framework> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("workers").join("loader.py");
    Ok(Framework::of_file(HOST, &file)?.with("LIE", lie))
}

fn installed() -> Availability {
    Framework::availability(HOST)
}

/// A loader whose worker does as the name says.
macro_rules! far_loader {
    ($type:ident, $name:literal) => {
        struct $type(Framework);

        const _: () = {
            fn new() -> Result<$type> {
                Ok($type(framework($name)?))
            }

            #[adapter(name = $name, tier = 2, resident = true, new = new, probe = installed)]
            impl Loader for $type {
                fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
                    open_pipeline(&mut self.0, spec, data)
                }

                fn is_elsewhere(&self) -> bool {
                    true
                }
            }
        };
    };
}

far_loader!(WithTheFirst, "made-with-the-first-in-a-worker");
far_loader!(WithTheSecond, "made-with-the-second-in-a-worker");
far_loader!(Compiles, "compiles-each-epoch-in-a-worker");
far_loader!(AsItIs, "numpy-in-a-worker");
