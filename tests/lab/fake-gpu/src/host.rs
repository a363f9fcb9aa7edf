//! Kernels that were compiled for the host (`nvrtc`) and lie in this process.

#![expect(unsafe_code, reason = "calls a function by its address")]

use std::ffi::c_void;

use crate::memory::Memory;
use crate::ptx::Launch;

/// A kernel with its parameter, on so many blocks of so many threads.
type HostKernel = unsafe extern "C" fn(*const c_void, u32, u32);

/// Runs the kernel at an address; `false` when it was given memory that is not there. Beyond the ends of that
/// memory nothing is seen.
pub fn run(kernel: usize, launch: &Launch, memory: &mut Memory) -> bool {
    let Some(parameter) = launch.args.first() else { return false };
    // It finds the device's memory where the host has it. All of the parameter is 64 bits wide.
    let mut words = Vec::new();
    for word in parameter.chunks_exact(8) {
        let word = u64::from_le_bytes(word.try_into().expect("chunks of 8"));
        match memory.is_device(word).then(|| memory.place(word, 1)) {
            None => words.push(word),
            Some(Some(place)) => words.push(place as u64),
            Some(None) => return false,
        }
    }
    // SAFETY: `nvrtc` gave the address of a function of this type, whose library stays open; the words are
    // the parameter that it declares.
    unsafe {
        let kernel = std::mem::transmute::<usize, HostKernel>(kernel);
        kernel(words.as_ptr().cast(), launch.grid[0], launch.block[0]);
    }
    true
}
