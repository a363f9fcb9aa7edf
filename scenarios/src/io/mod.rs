//! Where rows come from.

pub mod io1_source_backends;
