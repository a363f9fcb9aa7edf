//! Checkpointers written in Rust, in this process.

mod layout;
mod manager;
mod owned;
mod parts;
mod pieces;
mod reference_sharded;
mod safetensors;
mod safetensors_stored;
mod sharded_stored;
mod shards;

pub use reference_sharded::ReferenceSharded;
pub use safetensors::Safetensors;
