//! The loader contract: rows in, transformed batches out.

use std::sync::Arc;

use weighbridge::{Result, skip};
use weighbridge_data::{DataSet, Epochs};

use crate::workload::{ExecutionMode, PipelineSpec};

/// A system that feeds batches to a consumer.
pub trait Loader {
    /// Makes a pipeline over data that is there. What happens here is set-up and never timed.
    ///
    /// # Errors
    /// A [`skip`](weighbridge::skip) for what the system cannot do, naming the transform or the parameter:
    /// another pipeline under the same name would be worse than none. A failure for anything else.
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>>;

    /// Returns whether its pipelines run in other processes, which a worker of the protocol does.
    fn is_elsewhere(&self) -> bool {
        false
    }

    /// Makes one pipeline for each of `specs` over the same data, to be driven side by side from threads of
    /// their own: the shards of a distributed run. Each may be in a process of its own ([`Epochs::rank`]).
    ///
    /// # Errors
    /// As [`Loader::open`]. A loader that has one pipeline at a time declines, which is what happens unless
    /// it says otherwise.
    fn open_many(
        &mut self,
        specs: &[PipelineSpec],
        data: &Arc<DataSet>,
    ) -> Result<Vec<Box<dyn Epochs + Send + '_>>> {
        let _ = (specs, data);
        Err(skip("it makes one pipeline at a time and cannot be sharded"))
    }

    /// Makes a pipeline that runs its transforms in this way and no other.
    ///
    /// # Errors
    /// As [`Loader::open`]. A loader that has one way declines, which is what happens unless it says
    /// otherwise.
    fn open_in(
        &mut self,
        mode: ExecutionMode,
        spec: &PipelineSpec,
        data: &Arc<DataSet>,
    ) -> Result<Box<dyn Epochs + '_>> {
        let _ = (spec, data);
        Err(skip(format!("it has one way to run transforms and cannot be asked for `mode` {mode}")))
    }
}
