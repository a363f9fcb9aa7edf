//! The contracts: what a scenario asks of a system under test.

#[cfg(test)]
pub(crate) mod changed;
mod load;
mod loader;

pub use load::{Load, Stream, for_each_batch, load_epochs, open_data, time_epoch};
pub use loader::{Batch, Epochs, Executed, Loader};
