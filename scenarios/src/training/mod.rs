//! Training steps: how long they take, phase by phase, and whether each system takes the same ones.
//!
//! A scenario here opens a training, times its steps as a stream, and then holds it against the reference (`proof`): the settings
//! that it has really set (`settings`), its weights at the start, what its first step computes, and its weights after three steps.

mod peak;
mod proof;
mod settings;
pub mod train1_steps;

pub use peak::{MFU, PAPER_PEAKS, PEAK, Peak};

pub use crate::contract::{PHASE, WHOLE_STEP};
