//! That a pipeline hands its batches over where the scenario asks for them.

use weighbridge::{Bencher, Delivery, Error, Platform, Result, skip};
use weighbridge_data::Epochs;

use crate::workload::{Destination, PipelineSpec};

#[cfg(feature = "cuda")]
use super::to_device::ToDevice;

/// Declines batches on a device where the run is not for one.
///
/// # Errors
/// A skip.
pub(super) fn check_platform(bencher: &Bencher, spec: &PipelineSpec) -> Result<()> {
    if spec.destination == Destination::Device && bencher.platform() == Platform::Cpu {
        return Err(skip("`delivery` is device, and this run is for the host: add `--platform gpu`"));
    }
    Ok(())
}

/// The pipeline, with its batches where they are asked for, as [`Load`](super::Load) does it: one of this
/// process that makes them on the host has each copied to the device, which is timed.
///
/// # Errors
/// A skip where this build has no devices; a failure where a pipeline leaves its batches on a device that are
/// asked for on the host, or one of another process does not deliver as asked.
pub fn deliver<'a>(mut epochs: Box<dyn Epochs + 'a>, spec: &PipelineSpec) -> Result<Box<dyn Epochs + 'a>> {
    let there = match epochs.executed().delivery {
        Delivery::Device => Destination::Device,
        Delivery::Owned | Delivery::View => Destination::Host,
    };
    if there == spec.destination {
        return Ok(epochs);
    }
    if there == Destination::Device || epochs.remote()?.is_some() {
        let asked = spec.destination;
        return Err(Error::new(format!(
            "its batches are delivered to the {there}, and asked for on the {asked}"
        )));
    }
    to_device(epochs, spec)
}

#[cfg(feature = "cuda")]
fn to_device<'a>(epochs: Box<dyn Epochs + 'a>, spec: &PipelineSpec) -> Result<Box<dyn Epochs + 'a>> {
    Ok(Box::new(ToDevice::new(epochs, spec)?))
}

#[cfg(not(feature = "cuda"))]
fn to_device<'a>(_: Box<dyn Epochs + 'a>, _: &PipelineSpec) -> Result<Box<dyn Epochs + 'a>> {
    Err(skip("this build copies no batch to a device: it is without the feature `cuda`"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weighbridge_data::{Batch, Cache, DataSet, DataSpec, ExecutedWork};

    use super::*;
    use crate::adapters::native::Reference;
    use crate::contract::Loader;

    /// A pipeline that leaves its batches on a device, whatever it is asked for.
    struct StayingEpochs<'a>(Box<dyn Epochs + 'a>);

    impl Epochs for StayingEpochs<'_> {
        fn begin(&mut self, epoch: u64) -> Result<()> {
            self.0.begin(epoch)
        }

        fn advance(&mut self) -> Result<bool> {
            self.0.advance()
        }

        fn batch(&self) -> &dyn Batch {
            self.0.batch()
        }

        fn executed(&self) -> ExecutedWork {
            ExecutedWork { delivery: Delivery::Device, ..self.0.executed() }
        }
    }

    fn data(spec: &PipelineSpec) -> Arc<DataSet> {
        let place = tempfile::tempdir().unwrap();
        Arc::new(Cache::at(place.path()).open(&spec.source).unwrap())
    }

    #[test]
    fn batches_on_a_device_that_are_asked_for_on_the_host_are_a_failure() {
        let host = PipelineSpec::new(DataSpec::images(8, 4, 3), 4);
        let device = host.clone().deliver(Destination::Device);
        let data = data(&host);
        let mut loader = Reference;
        let mut stays = |spec: &PipelineSpec| {
            let stays = StayingEpochs(loader.open(spec, &data).unwrap());
            deliver(Box::new(stays), spec).map(drop)
        };
        stays(&device).unwrap();
        let failed = stays(&host).unwrap_err();
        assert!(!failed.is_skip(), "{failed}");
        assert_eq!(failed.to_string(), "its batches are delivered to the device, and asked for on the host");
    }

    #[cfg(not(feature = "cuda"))]
    #[test]
    fn a_build_without_devices_declines_to_copy_to_one() {
        let spec = PipelineSpec::new(DataSpec::images(8, 4, 3), 4).deliver(Destination::Device);
        let declined = deliver(Reference.open(&spec, &data(&spec)).unwrap(), &spec).map(drop).unwrap_err();
        assert!(declined.is_skip() && declined.to_string().contains("feature `cuda`"), "{declined}");
    }
}
