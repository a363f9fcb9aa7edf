//! The contract: what a scenario asks of a system that predicts.

mod call_times;
mod in_process;
mod noted_call;
mod noted_calls;
mod patience;
mod predict;
mod predictor;
mod serve;
mod server;
mod server_process;

pub use call_times::CallTimes;
pub(crate) use in_process::greatest;
pub use in_process::{CallLoop, OpenModel};
pub use noted_call::{NotedAnswer, NotedCall};
pub(crate) use noted_calls::{NotedCalls, draw_epoch};
pub use patience::Patience;
pub use predict::{Asked, Predict};
pub use predictor::{PredictionLoop, Predictor};
pub use serve::{Serve, ServedAnswer, ServedLoad};
pub use server::{Server, StartedServer};
pub use server_process::{ServerProcess, free_port};
