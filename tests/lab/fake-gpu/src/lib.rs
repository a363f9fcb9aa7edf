//! A fake for the CUDA driver and for NVML: every line of the CUDA path runs on machines without a GPU.
//!
//! The shared library exports what callers of `libcuda` and `libnvidia-ml` look up, over a model of one
//! device: streams are queues of operations whose cost is known, and an operation begins when its queue, the
//! events it waits for and the engine it needs allow. Copies and kernels take effect at the end of their
//! time, and not when they are enqueued: who reads too early reads what was there before.
//!
//! ```text
//! config     what the device is: name, memory, speeds
//! gpu        the state, and who may touch it when
//! clock      now, virtual or real
//! work       operations: when each begins and ends
//! speed      the device's clock, throttled or ramping
//! stream     queues and the order between them
//! energy     when it was busy, what that took
//! event      marks in queues
//! memory     allocations, pools, what is in them
//! graph      capture and replay
//! ptx        kernels in a module's text: parameters, cost
//! twin       host functions that do a kernel's arithmetic
//! nvrtc      kernels compiled for the host, not for a device
//! host       and run there
//! fault      errors planted by a test
//! exports    the symbols
//! fake       the other side: a test's hand on the library
//! ```
//!
//! The state is one per process behind one lock. Tests that share a process hold [`FakeGpu::lock`], which
//! resets it. There are no threads here. What no real device has been held against is said in `docs/gpu.md`.

mod clock;
mod code;
mod config;
mod energy;
mod event;
#[doc(hidden)] // for the test that holds the symbols against the bindings
pub mod exports;
mod fake;
mod fault;
mod gpu;
mod graph;
mod host;
mod memory;
mod nvrtc;
mod ptx;
mod speed;
mod stream;
mod twin;
mod work;

pub use fake::{FakeGpu, FakeGpuGuard, LoadError, file, links};
pub use nvrtc::make_compiler;
pub use twin::Call;
