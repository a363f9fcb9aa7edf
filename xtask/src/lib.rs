//! The commands of `cargo xtask`.
