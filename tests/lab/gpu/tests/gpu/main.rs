//! The CUDA path of the runtime on the fake driver, to the nanosecond of its virtual clock.

mod bridge;
mod errors;
mod modes;
mod mutants;
mod runs;
mod spin;
mod work;
