//! The device that serves a platform: found, and opened.

use std::rc::Rc;

use super::host::Host;
use super::{Device, DeviceInfo, NoDevice, Platform};

/// Finds the device that serves the platform here, without taking it: no context is made, so nothing shares
/// the device with the process that measures.
///
/// # Errors
/// Why nothing does.
pub fn find_device(platform: Platform) -> Result<DeviceInfo, NoDevice> {
    match platform {
        Platform::Cpu => Ok(Host::new().info().clone()),
        Platform::Gpu => find_gpu(),
        Platform::Tpu => Err(no_tpu()),
    }
}

/// Adds the versions of the libraries that frameworks compute with on the device. It loads them into this
/// process: for the one that writes a run's record, and none that is measured.
pub fn add_libraries(info: &mut DeviceInfo) {
    #[cfg(feature = "cuda")]
    if info.backend == super::Backend::Cuda {
        super::cuda::add_libraries(info);
    }
    #[cfg(not(feature = "cuda"))]
    let _ = info;
}

/// Opens what serves the platform.
///
/// # Errors
/// Why nothing does.
pub fn open_device(platform: Platform) -> Result<Rc<dyn Device>, NoDevice> {
    match platform {
        Platform::Cpu => Ok(Rc::new(Host::new())),
        Platform::Gpu => open_gpu(),
        Platform::Tpu => Err(no_tpu()),
    }
}

fn no_tpu() -> NoDevice {
    NoDevice("no TPU device (weighbridge has no such backend)".to_owned())
}

#[cfg(feature = "cuda")]
fn find_gpu() -> Result<DeviceInfo, NoDevice> {
    super::cuda::find()
}

#[cfg(feature = "cuda")]
fn open_gpu() -> Result<Rc<dyn Device>, NoDevice> {
    Ok(Rc::new(super::cuda::Cuda::open()?))
}

#[cfg(not(feature = "cuda"))]
fn find_gpu() -> Result<DeviceInfo, NoDevice> {
    Err(not_built())
}

#[cfg(not(feature = "cuda"))]
fn open_gpu() -> Result<Rc<dyn Device>, NoDevice> {
    Err(not_built())
}

#[cfg(not(feature = "cuda"))]
fn not_built() -> NoDevice {
    NoDevice("no CUDA device (this program was built without weighbridge's feature `cuda`)".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_always_serves_its_own_platform() {
        assert_eq!(find_device(Platform::Cpu).unwrap().backend.platform(), Platform::Cpu);
    }

    #[test]
    fn what_is_not_there_says_why() {
        let why = find_device(Platform::Tpu).unwrap_err().to_string();
        assert!(why.starts_with("no TPU device ("), "{why}");
    }
}
