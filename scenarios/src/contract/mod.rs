//! The contracts: what a scenario asks of a system under test.

mod load;
mod loader;

pub use load::{Load, Stream, for_each_batch, open_data};
pub use loader::{Batch, Epochs, Executed, Loader};
