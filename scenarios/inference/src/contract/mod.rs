//! The contract: what a scenario asks of a system that predicts.

mod call_times;
mod in_process;
mod noted_call;
mod noted_calls;
mod predict;
mod predictor;

pub use call_times::CallTimes;
pub(crate) use in_process::greatest;
pub use in_process::{CallLoop, OpenModel};
pub use noted_call::{NotedAnswer, NotedCall};
pub(crate) use noted_calls::{NotedCalls, draw_epoch};
pub use predict::{Asked, Predict};
pub use predictor::{PredictionLoop, Predictor};
