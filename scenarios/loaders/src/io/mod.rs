//! Where rows come from.

pub mod io1_source_backends;
pub mod io2_streaming_or_eager;
pub mod io3_mixed_sources;
pub mod io4_cache;
