//! Placeholders for the trainers of features that a build is without: each is listed, with the command that
//! brings it.

#[cfg(not(feature = "burn"))]
pub(super) mod burn {
    use std::sync::Arc;

    use weighbridge::{Availability, Result, adapter, skip};
    use weighbridge_data::DataSet;
    use weighbridge_loaders::absent;

    use crate::contract::{Trainer, TrainingLoop};
    use crate::workload::{Compilation, TrainingSpec};

    absent! { "burn":
        "The tensors of `burn`, with gradients that it derives itself."
        "burn (training)" BurnTrainer:
            Trainer(&TrainingSpec, Compilation, &Arc<DataSet>, &Arc<DataSet>) -> TrainingLoop;
    }
}

#[cfg(not(feature = "candle"))]
pub(super) mod candle {
    use std::sync::Arc;

    use weighbridge::{Availability, Result, adapter, skip};
    use weighbridge_data::DataSet;
    use weighbridge_loaders::absent;

    use crate::contract::{Trainer, TrainingLoop};
    use crate::workload::{Compilation, TrainingSpec};

    absent! { "candle":
        "The tensors of `candle`, with gradients that it derives itself."
        "candle (training)" CandleTrainer:
            Trainer(&TrainingSpec, Compilation, &Arc<DataSet>, &Arc<DataSet>) -> TrainingLoop;
    }
}
