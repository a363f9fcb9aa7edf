//! `Reference (CUDA)`: batches made on a device, as few kernels for each field as its transforms allow.
//!
//! Rows are staged in pinned memory, copied on a stream of their own, worked on by kernels that are written for the
//! pipeline (`kernel.rs`, as PTX: no compiler is needed; `stages.rs` says where one ends), and, where the batch is to be on
//! the host, copied back on a third stream. While the consumer has a batch, the next ones are under way.

mod formulas;
mod images;
mod kernel;
mod lines;
mod moves;
mod pipeline;
mod slot;
mod stages;
mod writer;

use std::sync::Arc;

use cudarc::driver::DriverError;
use weighbridge::gpu::find_device;
use weighbridge::{Availability, Error, Platform, Result, adapter, skip};

use crate::contract::{Epochs, Loader};
use crate::data::DataSet;
use crate::workload::{Mode, PipelineSpec};
use pipeline::Cursor;

/// What became of an attempt at the device.
fn failed(what: &'static str) -> impl Fn(DriverError) -> Error {
    move |error| Error::new(format!("failed to {what}: {:?}", error.0))
}

/// Where a batch is handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In memory of the host, as every other loader of this process does.
    Host,
    /// In memory of the device, ready for a kernel of the consumer.
    Device,
}

/// The same bits as [`Reference`](super::Reference), made on a device and copied back: what a consumer on the host gets.
///
/// What looks at more than one element or at more than one field is declined by name, and so are the transforms that have
/// no kernel, and workers, since rows are staged on the consumer's thread. Of the modes of a list of transforms it has two:
/// `compiled`, which is what it does unasked (kernels that are put together for the list when a pipeline opens, and made
/// for the device by its driver), and `vectorised`, a kernel for each transform.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReferenceCuda;

/// Batches made on a device and copied back to the host.
#[adapter(name = "Reference (CUDA)", tier = 1, probe = probe)]
impl Loader for ReferenceCuda {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        open(spec, data, Place::Host, None)
    }

    fn open_in(
        &mut self,
        mode: Mode,
        spec: &PipelineSpec,
        data: &Arc<DataSet>,
    ) -> Result<Box<dyn Epochs + '_>> {
        open(spec, data, Place::Host, Some(mode))
    }
}

/// As [`ReferenceCuda`], for a consumer on the device: a batch is ready when its kernels are done, and stays there. Its
/// numbers are copied to the host for verification alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReferenceCudaOnDevice;

/// Batches made on a device that stay there, ready for a consumer on it.
#[adapter(name = "Reference (CUDA, on device)", tier = 1, probe = probe)]
impl Loader for ReferenceCudaOnDevice {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        open(spec, data, Place::Device, None)
    }

    fn open_in(
        &mut self,
        mode: Mode,
        spec: &PipelineSpec,
        data: &Arc<DataSet>,
    ) -> Result<Box<dyn Epochs + '_>> {
        open(spec, data, Place::Device, Some(mode))
    }
}

fn open<'a>(
    spec: &PipelineSpec,
    data: &Arc<DataSet>,
    place: Place,
    mode: Option<Mode>,
) -> Result<Box<dyn Epochs + 'a>> {
    // The bindings panic where there is no driver: it is looked for first.
    find_device(Platform::Gpu).map_err(|why| skip(why.to_string()))?;
    Ok(Box::new(Cursor::open(spec, data, place, mode)?))
}

fn probe() -> Availability {
    match find_device(Platform::Gpu) {
        Ok(device) => Availability::Available { version: device.name },
        Err(why) => Availability::Missing {
            reason: why.to_string(),
            install: "apt-get install nvidia-driver".to_owned(),
        },
    }
}
