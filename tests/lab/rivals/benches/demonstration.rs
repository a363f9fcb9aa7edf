//! Bodies of known kinds, for `cargo lab evidence`: what a comparison finds, and what it imagines.
//!
//! Six were there while the rule was chosen. `DEMO-7` and `DEMO-8` were not looked at before it was frozen.
//! `benches/rivals` has other harnesses compare the same.

#[path = "demonstration/bodies.rs"]
mod bodies;
#[path = "demonstration/scenarios.rs"]
mod scenarios;

weighbridge::main!();
