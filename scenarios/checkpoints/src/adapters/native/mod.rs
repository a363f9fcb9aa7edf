//! Checkpointers written in Rust, in this process.

mod held;
mod layer;
mod layout;
mod manager;
mod owned;
mod packing;
mod parts;
mod pieces;
mod rank;
mod reference_sharded;
mod replicas;
mod safetensors;
mod safetensors_error;
mod safetensors_stored;
mod shard_manifest;
mod sharded;
mod sharded_stored;
mod shards;
mod under_way;

pub use reference_sharded::ReferenceSharded;
pub use safetensors::Safetensors;
