//! The CUDA path of the runtime on the stand-in driver, to the nanosecond of its virtual clock.

mod modes;
mod work;
