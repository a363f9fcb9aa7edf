//! What a device of CUDA is: asked without a context, so that whoever asks does not share the device.

use std::collections::BTreeMap;
use std::env;

use cudarc::driver::result;
use cudarc::driver::sys::{CUdevice, CUdevice_attribute};

use super::super::{Backend, DeviceError, DeviceInfo};
use super::error::told;
use super::probe::Driver;

/// The device that is measured: the first that the process may see.
pub(super) fn device() -> Result<CUdevice, DeviceError> {
    told("find the device", result::device::get(0))
}

/// Describes the device.
pub(super) fn describe(driver: &Driver, device: CUdevice) -> Result<DeviceInfo, DeviceError> {
    use CUdevice_attribute as Attribute;
    let attribute = |which: CUdevice_attribute| {
        // SAFETY: the device was given by the driver.
        unsafe { result::device::get_attribute(device, which) }.ok()
    };
    let name = told("ask the device for its name", result::device::get_name(device))?;
    // SAFETY: the device was given by the driver.
    let memory = unsafe { result::device::total_mem(device) }.ok().map(|bytes| bytes as u64);
    let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    // Kilohertz and bits; twice a clock, since memory is read on both edges.
    let bandwidth = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)
        .zip(attribute(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH))
        .map(|(clock, bits)| 2.0 * f64::from(clock) * 1e3 * f64::from(bits) / 8.0)
        .filter(|bandwidth| *bandwidth > 0.0);
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let mut facts = BTreeMap::new();
    let ecc = attribute(Attribute::CU_DEVICE_ATTRIBUTE_ECC_ENABLED);
    facts.extend(ecc.map(|on| ("ecc".to_owned(), if on == 1 { "on" } else { "off" }.to_owned())));
    facts.extend(variable("CUDA_MODULE_LOADING").map(|value| ("module loading".to_owned(), value)));
    Ok(DeviceInfo {
        backend: Backend::Cuda,
        fake: driver.fake || name.contains("(fake)"),
        name,
        uuid: uuid(driver, device),
        driver: version(),
        architecture: major.zip(minor).map(|(major, minor)| format!("sm_{major}{minor}")),
        processors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT).map(|count| count as u32),
        memory,
        cache: attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE).map(|bytes| bytes as u64),
        max_clock_mhz: attribute(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE).map(|khz| f64::from(khz) / 1e3),
        nominal_bandwidth: bandwidth,
        has_clock: true,
        launches_block: variable("CUDA_LAUNCH_BLOCKING").is_some_and(|value| value != "0"),
        partitioned: None,
        served: variable("CUDA_MPS_PIPE_DIRECTORY")
            .is_some_and(|folder| std::path::Path::new(&folder).exists()),
        facts,
    })
}

/// The version of CUDA that the driver speaks: `13.0`.
fn version() -> Option<String> {
    let mut version = 0;
    // SAFETY: the place outlives the call.
    let answer = unsafe { cudarc::driver::sys::cuDriverGetVersion(&raw mut version) };
    answer.result().ok()?;
    Some(format!("{}.{}", version / 1000, version % 1000 / 10))
}

fn uuid(driver: &Driver, device: CUdevice) -> Option<String> {
    let mut bytes = [0u8; 16];
    // SAFETY: the signature is the driver's, the place is sixteen bytes and outlives the call.
    (unsafe { (driver.uuid?)(&raw mut bytes, device) } == 0).then(|| {
        let hex = |range: std::ops::Range<usize>| {
            bytes[range].iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        };
        format!("GPU-{}-{}-{}-{}-{}", hex(0..4), hex(4..6), hex(6..8), hex(8..10), hex(10..16))
    })
}
