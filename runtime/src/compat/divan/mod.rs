//! Bench files written for divan: `use weighbridge::divan_compat as divan;`, and nothing else changes.
//!
//! `#[divan::bench]` registers a [`Bench`](entry::Bench): constants and functions. [`Divan::main`] makes
//! scenarios of all of them, under the paths that divan gives them, and hands over to the harness. What takes
//! long (arguments, counters) is asked of one bench alone, in the process that measures it.

mod args;
mod bencher;
mod counts;
mod entry;
mod inputs;
mod main;
mod options;

/// Counters of what each iteration processes.
pub mod counter;

#[doc(hidden)]
pub mod __private {
    pub use super::args::{Arg, ArgFor, ArgLabel, DebugLabel, DisplayLabel, DivanBody, args};
    pub use super::counter;
    pub use super::counts::Counts;
    pub use super::entry::{Bench, Group, Instance, RegisteredBench, RegisteredGroup, axes, keep, run};
    pub use super::options::{Options, duration, threads};
    pub use crate::bencher::{Bencher as LentNumbers, Error};
    pub use crate::harness::Suite;
    pub use crate::registry::{Axis, Keep, Location, Point};
    pub use inventory::submit;
    pub use std::any::Any;
    pub use std::option::Option;
    pub use std::result::Result;
    pub use std::vec::Vec;
}

pub use std::hint::black_box;

pub use weighbridge_macros::{divan_bench as bench, divan_bench_group as bench_group};

pub use crate::device::Counting as AllocProfiler;
pub use bencher::{Bencher, Inputs, NoInputs};
pub use inputs::{CountInputs, CountedInputs, NotCounted, Number};
pub use main::{Divan, main};

/// The names that most files take from divan.
pub mod prelude {
    pub use super::{AllocProfiler, Bencher, Divan, bench, bench_group, black_box, black_box_drop};
}

/// Drops a value as if somebody had looked at it.
#[inline]
pub fn black_box_drop<T>(value: T) {
    drop(black_box(value));
}
