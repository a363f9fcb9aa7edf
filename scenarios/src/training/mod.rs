//! Training steps: how long they take, phase by phase, and whether each system takes the same ones.
//!
//! A scenario here opens a training, times its steps as a stream, and then holds it against the reference (`proof`): the settings
//! that it has really set (`settings`), the weights that the timed steps have left, its weights at the start, what its first step
//! computes, and its weights after three steps. Beside the figures stands what the machine could do at best (`peak`).

mod peak;
mod proof;
mod settings;
pub mod train1_steps;

pub use peak::{MEASURED_PEAK, PAPER_PEAKS, PEAK};
pub use train1_steps::train;

pub use crate::contract::{PHASE, WHOLE_STEP};
