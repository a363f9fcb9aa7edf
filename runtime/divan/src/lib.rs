//! Bench files written for divan, measured by weighbridge. `Cargo.toml` says which crate `divan` is, and no
//! bench file changes:
//!
//! ```toml
//! [dev-dependencies]
//! divan = { package = "weighbridge-divan", version = "0.1" }
//! ```
//!
//! ```standalone_crate
//! # extern crate weighbridge_divan as divan;
//! fn main() {
//!     divan::main();
//! }
//!
//! #[divan::bench(args = [100, 10_000], sample_count = 50)]
//! fn sort(bencher: divan::Bencher, len: u64) {
//!     let numbers = move || (0..len).rev().collect::<Vec<u64>>();
//!     bencher.counter(len).with_inputs(numbers).bench_refs(|numbers| numbers.sort());
//! }
//! ```
//!
//! A bench is called by its path, as with divan: `module::bench/Type/1000/t=2`; filters are regular
//! expressions over such paths. Each case is measured in several processes; `sample_count` is the least
//! number of samples in each, `sample_size` the number of iterations in each sample, `min_time` and
//! `max_time` the least and the most time that the samples of each process take. What a body gives back is
//! dropped outside the clock.
//!
//! `#[divan::bench]` registers constants and functions. [`Divan::main`] makes scenarios of all of them, under
//! the paths that divan gives them, and hands over to the harness. What takes long (arguments, counters) is
//! asked of one bench alone, in the process that measures it.

mod args;
mod bencher;
mod counts;
mod entry;
mod inputs;
mod options;
mod start;

pub mod counter;

#[doc(hidden)]
pub mod __private {
    pub use super::args::{Arg, ArgFor, ArgLabel, DebugLabel, DisplayLabel, DivanBody, args};
    pub use super::counter;
    pub use super::counts::Counts;
    pub use super::entry::{Bench, Group, Instance, RegisteredBench, RegisteredGroup, axes, keep, run};
    pub use super::options::{Options, duration, threads};
    pub use inventory::submit;
    pub use std::any::Any;
    pub use std::option::Option;
    pub use std::result::Result;
    pub use std::vec::Vec;
    pub use weighbridge::style::{Axis, Keep, Location, Point, Suite};
    pub use weighbridge::{Bencher as LentNumbers, Error};
}

pub use std::hint::black_box;

pub use weighbridge_macros::{divan_bench as bench, divan_bench_group as bench_group};

pub use bencher::{Bencher, Inputs, NoInputs};
pub use inputs::{CountInputs, CountedInputs, NotCounted, Number};
pub use start::{Divan, main};
pub use weighbridge::style::CountingOf as AllocProfiler;

/// The names that most files take from divan.
pub mod prelude {
    pub use super::{AllocProfiler, Bencher, Divan, bench, bench_group, black_box, black_box_drop};
}

/// Drops a value as if somebody had looked at it.
#[inline]
pub fn black_box_drop<T>(value: T) {
    drop(black_box(value));
}
