//! Work that was captured from a stream and can be launched as one.

use cudarc::driver::result;
use cudarc::driver::sys::{CUgraph, CUgraphExec, CUgraphInstantiate_flags, CUstream, CUstreamCaptureMode};

use super::super::{DeviceError, Replay};
use super::error::told;

/// Begins to capture what this thread enqueues on the stream.
pub(super) fn begin(stream: CUstream) -> Result<(), DeviceError> {
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    // SAFETY: the stream is the device's own.
    told("record the stream", unsafe { result::stream::begin_capture(stream, mode) })
}

/// A captured graph of work, ready to be launched.
pub(super) struct Graph {
    stream: CUstream,
    captured: CUgraph,
    program: CUgraphExec,
}

impl Graph {
    /// Ends the capture.
    pub(super) fn end(stream: CUstream) -> Result<Self, DeviceError> {
        let what = "record the stream";
        // SAFETY: the stream is the device's own and is being captured.
        let graph = told(what, unsafe { result::stream::end_capture(stream) })?;
        // SAFETY: the graph was made right above.
        let program = unsafe { result::graph::instantiate(graph, CUgraphInstantiate_flags(0)) };
        match told(what, program) {
            Ok(program) => Ok(Self { stream, captured: graph, program }),
            Err(error) => {
                // SAFETY: made above, and destroyed here alone.
                let _ = unsafe { result::graph::destroy(graph) };
                Err(error)
            }
        }
    }
}

impl Replay for Graph {
    fn replay(&self) -> Result<(), DeviceError> {
        // SAFETY: both live.
        told("replay what was recorded", unsafe { result::graph::launch(self.program, self.stream) })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: made by `end`, and destroyed here alone; the driver keeps what still runs.
        let _ = unsafe { result::graph::exec_destroy(self.program) };
        // SAFETY: as above.
        let _ = unsafe { result::graph::destroy(self.captured) };
    }
}
