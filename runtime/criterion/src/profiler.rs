//! Profilers that run within the program: accepted, and not called. `--trace` has an outer one.

use std::path::Path;

/// A profiler that is started and stopped around a benchmark.
pub trait Profiler {
    /// Starts it.
    fn start_profiling(&mut self, benchmark_id: &str, benchmark_dir: &Path);

    /// Stops it.
    fn stop_profiling(&mut self, benchmark_id: &str, benchmark_dir: &Path);
}

/// A profiler that runs beside the program.
#[derive(Clone, Copy, Debug)]
pub struct ExternalProfiler;

impl Profiler for ExternalProfiler {
    fn start_profiling(&mut self, _: &str, _: &Path) {}

    fn stop_profiling(&mut self, _: &str, _: &Path) {}
}
