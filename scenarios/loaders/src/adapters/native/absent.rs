//! Placeholders for the adapters of features that a build is without: each is listed, with the command that
//! brings it.

/// Placeholders of one feature: each a description, a name in tables, a type and its contract.
#[doc(hidden)]
#[macro_export]
macro_rules! absent {
    ($feature:literal: $(
        $about:tt $name:tt $system:ident: $contract:ident($($takes:ty),*) -> $opens:ident;
    )+) => {
        const REASON: &str = concat!("this build is without the feature `", $feature, "`");

        fn missing() -> Availability {
            let install = concat!("cargo bench --features ", $feature);
            Availability::Missing { reason: REASON.into(), install: install.into() }
        }

        $(
            #[doc = concat!("A placeholder for `", $name, "`, which needs the feature `", $feature, "`.")]
            #[derive(Clone, Copy, Debug, Default)]
            pub struct $system;

            #[doc = $about]
            #[adapter(name = $name, tier = 1, probe = missing)]
            impl $contract for $system {
                fn open(&mut self, $(_: $takes),*) -> Result<Box<dyn $opens + '_>> {
                    Err(skip(REASON))
                }
            }
        )+
    };
}

#[cfg(not(feature = "burn"))]
pub(super) mod burn {
    use std::sync::Arc;

    use weighbridge::{Availability, Result, adapter, skip};
    use weighbridge_data::{DataSet, Epochs};

    use crate::contract::{Learner, LearningLoop, Loader};
    use crate::workload::{LearningTask, PipelineSpec};

    crate::absent! { "burn":
        "The data loader of `burn`: rows one by one, put together and transformed by a batcher."
        "burn (data)" BurnData: Loader(&PipelineSpec, &Arc<DataSet>) -> Epochs;

        "The tensors of `burn`, with gradients that it derives itself."
        "burn" BurnLearner: Learner(&LearningTask, &Arc<DataSet>) -> LearningLoop;
    }
}

#[cfg(not(feature = "cuda"))]
pub(super) mod cuda {
    use std::sync::Arc;

    use weighbridge::{Availability, Result, adapter, skip};

    use crate::contract::Loader;
    use crate::workload::PipelineSpec;
    use weighbridge_data::DataSet;
    use weighbridge_data::Epochs;

    crate::absent! { "cuda":
        "Batches made on a device, and copied back where the host is to have them."
        "Reference (CUDA)" ReferenceCuda: Loader(&PipelineSpec, &Arc<DataSet>) -> Epochs;
    }
}
