//! The fake's driver calls have the shapes of the bindings' own declarations.

#![cfg(target_os = "linux")]

use std::collections::BTreeSet;

use cudarc::driver::sys;
use fake_gpu::exports::shape::CallShape;
use fake_gpu::exports::{context, device, event, graph, launch, memory, module, pool, stream};

/// What newer bindings name no more: callers of older ones do.
const OLDER: &[&str] = &["cuCtxCreate_v2", "cuDeviceGetUuid", "cuEventElapsedTime"];

macro_rules! same {
    ($($module:ident :: $name:ident($($parameter:tt),*))*) => {
        [$({
            let ours = $module::$name as unsafe extern "C" fn($($parameter),*) -> _;
            let theirs = sys::$name as unsafe fn($($parameter),*) -> _;
            assert_eq!(ours.shapes(), theirs.shapes(), stringify!($name));
            stringify!($name)
        }),*]
    };
}

#[test]
fn every_call_has_the_shape_that_the_bindings_declare() {
    let held: BTreeSet<&str> = same! {
    context::cuDevicePrimaryCtxRetain(_, _)
    context::cuDevicePrimaryCtxRelease_v2(_)
    context::cuDevicePrimaryCtxGetState(_, _, _)
    context::cuCtxCreate_v4(_, _, _, _)
    context::cuCtxDestroy_v2(_)
    context::cuCtxGetCurrent(_)
    context::cuCtxSetCurrent(_)
    context::cuCtxGetDevice(_)
    context::cuCtxSynchronize()
    context::cuCtxGetFlags(_)
    context::cuCtxSetFlags(_)
    context::cuCtxGetLimit(_, _)
    context::cuCtxSetLimit(_, _)
    context::cuCtxGetCacheConfig(_)
    context::cuCtxSetCacheConfig(_)
    context::cuCtxGetStreamPriorityRange(_, _)
    context::cuProfilerStart()
    context::cuProfilerStop()
    device::cuInit(_)
    device::cuDriverGetVersion(_)
    device::cuDeviceGetCount(_)
    device::cuDeviceGet(_, _)
    device::cuDeviceGetName(_, _, _)
    device::cuDeviceGetUuid_v2(_, _)
    device::cuDeviceTotalMem_v2(_, _)
    device::cuDeviceGetPCIBusId(_, _, _)
    device::cuDeviceGetAttribute(_, _, _)
    device::cuGetErrorName(_, _)
    device::cuGetErrorString(_, _)
    event::cuEventCreate(_, _)
    event::cuEventDestroy_v2(_)
    event::cuEventRecord(_, _)
    event::cuEventQuery(_)
    event::cuEventSynchronize(_)
    event::cuEventElapsedTime_v2(_, _, _)
    graph::cuStreamBeginCapture_v2(_, _)
    graph::cuStreamEndCapture(_, _)
    graph::cuStreamIsCapturing(_, _)
    graph::cuGraphInstantiateWithFlags(_, _, _)
    graph::cuGraphUpload(_, _)
    graph::cuGraphLaunch(_, _)
    graph::cuGraphDestroy(_)
    graph::cuGraphExecDestroy(_)
    graph::cuGraphGetNodes(_, _, _)
    launch::cuLaunchKernel(_, _, _, _, _, _, _, _, _, _, _)
    launch::cuLaunchCooperativeKernel(_, _, _, _, _, _, _, _, _, _)
    launch::cuLaunchKernelEx(_, _, _, _)
    launch::cuOccupancyMaxActiveBlocksPerMultiprocessor(_, _, _, _)
    memory::cuMemAlloc_v2(_, _)
    memory::cuMemFree_v2(_)
    memory::cuMemAllocManaged(_, _, _)
    memory::cuMemAllocAsync(_, _, _)
    memory::cuMemAllocFromPoolAsync(_, _, _, _)
    memory::cuMemFreeAsync(_, _)
    memory::cuMemGetInfo_v2(_, _)
    memory::cuMemHostAlloc(_, _, _)
    memory::cuMemAllocHost_v2(_, _)
    memory::cuMemFreeHost(_)
    memory::cuMemHostGetDevicePointer_v2(_, _, _)
    memory::cuMemHostRegister_v2(_, _, _)
    memory::cuMemHostUnregister(_)
    memory::cuMemcpyHtoD_v2(_, _, _)
    memory::cuMemcpyDtoH_v2(_, _, _)
    memory::cuMemcpyDtoD_v2(_, _, _)
    memory::cuMemcpyHtoDAsync_v2(_, _, _, _)
    memory::cuMemcpyDtoHAsync_v2(_, _, _, _)
    memory::cuMemcpyDtoDAsync_v2(_, _, _, _)
    memory::cuMemcpyAsync(_, _, _, _)
    memory::cuMemsetD8_v2(_, _, _)
    memory::cuMemsetD8Async(_, _, _, _)
    memory::cuMemsetD32_v2(_, _, _)
    memory::cuMemsetD32Async(_, _, _, _)
    module::cuModuleLoadData(_, _)
    module::cuModuleLoadDataEx(_, _, _, _, _)
    module::cuModuleLoad(_, _)
    module::cuModuleUnload(_)
    module::cuModuleGetFunction(_, _, _)
    module::cuModuleGetGlobal_v2(_, _, _, _)
    module::cuModuleGetLoadingMode(_)
    module::cuFuncGetAttribute(_, _, _)
    module::cuFuncSetAttribute(_, _, _)
    module::cuFuncSetCacheConfig(_, _)
    pool::cuDeviceGetDefaultMemPool(_, _)
    pool::cuDeviceGetMemPool(_, _)
    pool::cuMemPoolCreate(_, _)
    pool::cuMemPoolDestroy(_)
    pool::cuMemPoolTrimTo(_, _)
    pool::cuMemPoolGetAttribute(_, _, _)
    pool::cuMemPoolSetAttribute(_, _, _)
    stream::cuStreamCreate(_, _)
    stream::cuStreamCreateWithPriority(_, _, _)
    stream::cuStreamDestroy_v2(_)
    stream::cuStreamGetFlags(_, _)
    stream::cuStreamGetPriority(_, _)
    stream::cuStreamSynchronize(_)
    stream::cuStreamQuery(_)
    stream::cuStreamWaitEvent(_, _, _)
    stream::cuLaunchHostFunc(_, _, _)
    stream::cuStreamAttachMemAsync(_, _, _, _)
    }
    .into_iter()
    .chain(OLDER.iter().copied())
    .collect();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fake-gpu/src/exports");
    let files =
        std::fs::read_dir(folder).unwrap().map(|entry| std::fs::read_to_string(entry.unwrap().path()));
    let text: String = files.map(Result::unwrap).collect();
    // The bindings of cuBLAS and cuDNN are not built here; their five calls have the shapes of `blas.rs` and
    // `cudnn.rs` of the runtime.
    let exported: BTreeSet<&str> = text
        .split("extern \"C\" fn cu")
        .skip(1)
        .map(|rest| &rest[..rest.find('(').unwrap()])
        .filter(|name| !name.starts_with("blas") && !name.starts_with("dnn"))
        .collect();
    let held: BTreeSet<&str> = held.iter().map(|name| name.strip_prefix("cu").unwrap()).collect();
    assert_eq!(exported, held, "a call was exported that is not held against the bindings");
}
