//! The catalogue.
fn main() {}
