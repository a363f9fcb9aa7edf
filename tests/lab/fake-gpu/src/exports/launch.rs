//! Launching kernels, and how many fit.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

use super::{Requires, call, cheap, put};
use crate::code::Code;
use crate::fault::Site;
use crate::gpu::Driver;
use crate::ptx::Launch;
use crate::work::{Cost, Effect, Task};

/// Threads of a block, and bytes of shared memory, at most.
const BUDGET: (u64, c_uint) = (1024, 227 << 10);

struct Shape {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared: c_uint,
}

/// # Safety
///
/// `parameters` points to as many pointers to arguments as the kernel declares.
unsafe fn enqueue(
    driver: &mut Driver,
    function: usize,
    shape: Shape,
    stream: usize,
    parameters: *mut *mut c_void,
) -> Result<(), Code> {
    let threads: u64 = shape.block.iter().map(|extent| u64::from(*extent)).product();
    let empty = shape.grid.contains(&0) || threads == 0;
    if empty || threads > BUDGET.0 || shape.shared > BUDGET.1 {
        return Err(Code::INVALID_VALUE);
    }
    let key = driver.streams.key(stream)?;
    let kernel = driver.functions.get(&function).ok_or(Code::INVALID_HANDLE)?.kernel.clone();
    if parameters.is_null() && !kernel.parameters.is_empty() {
        return Err(Code::INVALID_VALUE);
    }
    let args = kernel.parameters.iter().enumerate().map(|(place, size)| {
        // SAFETY: the caller passed a pointer for each declared parameter.
        unsafe { std::slice::from_raw_parts((*parameters.add(place)).cast::<u8>(), *size).to_vec() }
    });
    let args = args.collect();
    let fault = driver.faults.strike(Site::Kernel).map(|(code, _)| code);
    let launch = Launch { kernel, grid: shape.grid, block: shape.block, args, fault };
    let ns = launch.nanoseconds(driver.config.device_rate.max(1));
    let cost = match launch.kernel.hold_arg {
        Some(flag) => Cost::Hold {
            flag: launch.number(flag),
            timeout: launch.kernel.timeout_arg.map(|place| launch.number(place)),
            expired: launch.kernel.expired_arg.map(|place| launch.number(place)),
        },
        None if launch.kernel.timer => Cost::Time(ns),
        None => Cost::Work(ns),
    };
    driver.launch(key, function, Task { cost, effect: Effect::Kernel(Arc::new(launch)) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchKernel(
    function: *mut c_void,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared: c_uint,
    stream: *mut c_void,
    parameters: *mut *mut c_void,
    _extra: *mut *mut c_void,
) -> c_int {
    call(
        Requires::Context,
        Site::Launch,
        |driver| driver.config.launch_ns,
        |driver| {
            let shape = Shape { grid: [grid_x, grid_y, grid_z], block: [block_x, block_y, block_z], shared };
            // SAFETY: the caller's parameters.
            unsafe { enqueue(driver, function as usize, shape, stream as usize, parameters) }
        },
    )
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchCooperativeKernel(
    function: *mut c_void,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared: c_uint,
    stream: *mut c_void,
    parameters: *mut *mut c_void,
) -> c_int {
    call(
        Requires::Context,
        Site::Launch,
        |driver| driver.config.launch_ns,
        |driver| {
            let shape = Shape { grid: [grid_x, grid_y, grid_z], block: [block_x, block_y, block_z], shared };
            // SAFETY: the caller's parameters.
            unsafe { enqueue(driver, function as usize, shape, stream as usize, parameters) }
        },
    )
}

/// `CUlaunchConfig`.
#[repr(C)]
pub struct LaunchConfig {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared: c_uint,
    stream: *mut c_void,
    attributes: *mut c_void,
    count: c_uint,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchKernelEx(
    config: *const LaunchConfig,
    function: *mut c_void,
    parameters: *mut *mut c_void,
    _extra: *mut *mut c_void,
) -> c_int {
    call(
        Requires::Context,
        Site::Launch,
        |driver| driver.config.launch_ns,
        |driver| {
            if config.is_null() {
                return Err(Code::INVALID_VALUE);
            }
            // SAFETY: the caller's configuration and parameters.
            unsafe {
                let config = &*config;
                let shape = Shape { grid: config.grid, block: config.block, shared: config.shared };
                enqueue(driver, function as usize, shape, config.stream as usize, parameters)
            }
        },
    )
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    blocks: *mut c_int,
    _function: *mut c_void,
    block_size: c_int,
    _shared: usize,
) -> c_int {
    call(Requires::Context, Site::Other, cheap, |_| {
        if block_size <= 0 {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the caller's pointer.
        unsafe { put(blocks, 2048 / block_size) }
    })
}
