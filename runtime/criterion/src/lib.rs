//! Bench files written for criterion, measured by weighbridge. `Cargo.toml` says which crate `criterion` is,
//! and no bench file changes:
//!
//! ```toml
//! [dev-dependencies]
//! criterion = { package = "weighbridge-criterion", version = "0.1" }
//! ```
//!
//! ```
//! # use weighbridge_criterion as criterion;
//! use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
//! use std::hint::black_box;
//!
//! fn sum(c: &mut Criterion) {
//!     let mut group = c.benchmark_group("sum");
//!     for len in [100, 10_000] {
//!         let numbers: Vec<u64> = (0..len).collect();
//!         group.throughput(Throughput::Elements(len));
//!         group.bench_with_input(BenchmarkId::new("iter", len), &numbers, |b, numbers| {
//!             b.iter(|| numbers.iter().map(black_box).sum::<u64>());
//!         });
//!     }
//!     group.finish();
//! }
//!
//! criterion_group!(benches, sum);
//! criterion_main!(benches);
//! ```
//!
//! Benchmarks are found by running the program once as `--test` does, in a process of its own, and remembered
//! for as long as the program is the same. A process that measures goes through the functions to its
//! benchmark, and runs the closures before it only where it needs them.
//!
//! Criterion measures in one process for as long as it is told; here each benchmark is measured in several
//! processes, one after the other, for half a second each. So `sample_size` is the least number of samples in
//! each of them, and `measurement_time` the most time that they may take. What only changes criterion's
//! statistics or its plots is accepted and has no effect.

mod bencher;
mod catalogue;
mod config;
mod criterion;
mod entries;
mod find;
mod finder;
mod id;
mod macros;
mod memory;
mod settings;
mod start;
mod visit;

#[cfg(feature = "async")]
pub mod async_executor;
pub mod measurement;
pub mod profiler;

pub use std::hint::black_box;

#[cfg(feature = "async")]
pub use bencher::AsyncBencher;
pub use bencher::Bencher;
pub use criterion::{BenchmarkGroup, Criterion};
pub use id::BenchmarkId;
#[doc(hidden)]
pub use id::IntoBenchmarkId;
pub use settings::{
    AxisScale, Baseline, BatchSize, BenchmarkFilter, PlotConfiguration, PlottingBackend, SamplingMode,
    Throughput,
};

/// All that expanded code may name.
#[doc(hidden)]
pub mod __private {
    pub use crate::start::main;
    pub use crate::visit::function;
    pub use weighbridge::style::Suite;
}

/// Runs functions one after the other, as a `main` of one's own may.
#[doc(hidden)]
pub fn runner(benches: &[&dyn Fn()]) {
    for bench in benches {
        bench();
    }
}
