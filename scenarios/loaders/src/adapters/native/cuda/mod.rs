//! `Reference (CUDA)`: batches made on a device, as few kernels for each field as its transforms allow.
//!
//! Rows are staged in pinned memory, copied on a stream of their own, worked on by kernels that are compiled
//! for the pipeline (`kernels.cu` has what they do, `kernel.rs` says for whom, `stages.rs` where one ends),
//! and, where the batch is to be on the host, copied back on a third stream. While the consumer has a batch,
//! the next ones are under way.

mod compiler;
mod kernel;
mod pipeline;
mod slot;
mod stages;

use std::sync::Arc;

use pipeline::PipelineCursor;
use weighbridge::gpu::find_device;
use weighbridge::{Availability, Platform, Result, adapter, skip};
use weighbridge_data::{DataSet, Epochs};

use crate::contract::Loader;
use crate::workload::{ExecutionMode, PipelineSpec};

/// The same bits as [`Reference`](super::Reference), made on a device. A batch that is to be on the host is
/// copied back; one that is to be on the device is ready when its kernels are done, and stays there: its
/// numbers are copied to the host for verification alone.
///
/// What looks at more than one element or at more than one field is declined by name, and so are the
/// transforms that have no kernel, and workers, since rows are staged on the consumer's thread. Of the modes
/// of a list of transforms it has two: `compiled`, which is what it does unasked (kernels that are compiled
/// for the list when a pipeline opens), and `vectorised`, a kernel for each transform.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReferenceCuda;

/// Batches made on a device, and copied back where the host is to have them.
#[adapter(name = "Reference (CUDA)", tier = 1, probe = probe)]
impl Loader for ReferenceCuda {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        open(spec, data, None)
    }

    fn open_in(
        &mut self,
        mode: ExecutionMode,
        spec: &PipelineSpec,
        data: &Arc<DataSet>,
    ) -> Result<Box<dyn Epochs + '_>> {
        open(spec, data, Some(mode))
    }
}

fn open<'a>(
    spec: &PipelineSpec,
    data: &Arc<DataSet>,
    mode: Option<ExecutionMode>,
) -> Result<Box<dyn Epochs + 'a>> {
    // The bindings panic where there is no driver: it is looked for first.
    find_device(Platform::Gpu).map_err(|why| skip(why.to_string()))?;
    if !compiler::is_there() {
        return Err(skip(compiler::MISSING.to_owned()));
    }
    Ok(Box::new(PipelineCursor::open(spec, data, mode)?))
}

fn probe() -> Availability {
    let missing = |reason: &str, package: &str| Availability::Missing {
        reason: reason.to_owned(),
        install: format!("apt-get install {package}"),
    };
    match find_device(Platform::Gpu) {
        Ok(_) if !compiler::is_there() => missing(compiler::MISSING, "nvidia-cuda-toolkit"),
        Ok(device) => Availability::Available { version: device.name },
        Err(why) => missing(&why.to_string(), "nvidia-driver"),
    }
}
