//! What goes wrong, when it is told, and what it leaves.

use std::ffi::CStr;
use std::time::Duration;

use cudarc::driver::{DriverError, LaunchConfig, PushKernelArg, sys};

use crate::world::{World, code, is_child};

fn number(error: DriverError) -> u32 {
    code(error.0)
}

/// The context is lost by this: it is done in a process of its own.
pub fn an_illegal_address_is_told_late_and_for_good(world: &World) {
    if !is_child() {
        world.in_a_child();
        return;
    }
    let stream = world.stream();
    world.spin(&stream, Duration::from_millis(2));
    // The launch itself is in order.
    world.store(&stream, 16, 1);
    assert_eq!(stream.synchronize().map_err(number), Err(700));
    assert_eq!(world.ctx.synchronize().map_err(number), Err(700));
    // Nothing new can be had of it.
    let mut address = 0;
    // SAFETY: a place for the address.
    assert_eq!(code(unsafe { sys::cuMemAlloc_v2(&raw mut address, 1 << 20) }), 700);
    // What is dropped from here on fails as well, and says so to nobody.
    let _ = world.ctx.check_err();
}

pub fn a_launch_that_cannot_be_is_refused_and_harmless(world: &World) {
    let stream = world.stream();
    let function = world.function("spin_ns");
    for (grid, block) in [(1, 2048), (0, 1), (1, 0)] {
        let config = LaunchConfig { grid_dim: (grid, 1, 1), block_dim: (block, 1, 1), shared_mem_bytes: 0 };
        let mut builder = stream.launch_builder(&function);
        builder.arg(&0u64);
        // SAFETY: the kernel's one parameter.
        assert_eq!(unsafe { builder.launch(config) }.map(drop).map_err(number), Err(1), "{grid} {block}");
    }
    world.spin(&stream, Duration::ZERO);
    stream.synchronize().unwrap();
}

pub fn what_is_no_ptx_is_refused(world: &World) {
    let load = |text: &str| {
        let text = std::ffi::CString::new(text).unwrap();
        let mut module = std::ptr::null_mut();
        world.ctx.bind_to_thread().unwrap();
        // SAFETY: a text with its NUL and a place for the handle.
        code(unsafe { sys::cuModuleLoadData(&raw mut module, text.as_ptr().cast()) })
    };
    let good = include_str!("kernels.ptx");
    assert_eq!(load(good), 0);
    assert_eq!(load(&good.replace(".version 7.0", ".version 99.0")), 222);
    assert!([200, 209, 218].contains(&load("this is no module")));
}

pub fn a_kernel_that_is_not_there_is_not_found(world: &World) {
    assert_eq!(world.module.load_function("nothing").map(drop).map_err(number), Err(500));
}

pub fn a_thread_without_a_context_is_told_so(_: &World) {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut free, mut total) = (0, 0);
            // SAFETY: places for the answers.
            assert_eq!(code(unsafe { sys::cuMemGetInfo_v2(&raw mut free, &raw mut total) }), 201);
        });
    });
}

pub fn errors_have_the_names_of_the_header(_: &World) {
    use sys::CUresult as Result;
    for (result, name) in [
        (Result::CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"),
        (Result::CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"),
        (Result::CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY"),
        (Result::CUDA_ERROR_LAUNCH_TIMEOUT, "CUDA_ERROR_LAUNCH_TIMEOUT"),
    ] {
        let mut text = std::ptr::null();
        // SAFETY: a place for the text, which is the driver's own.
        let told = unsafe {
            assert_eq!(code(sys::cuGetErrorName(result, &raw mut text)), 0);
            CStr::from_ptr(text)
        };
        assert_eq!(told.to_str(), Ok(name));
    }
}
