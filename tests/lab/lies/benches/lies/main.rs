//! Loaders that lie about what they do, each in one way, and honest ones that do nearly the same. `cargo lab
//! lies` runs them and judges what becomes of each: which one is a lie, and what must be said of it, is in
//! its catalogue.
//!
//! A file is a class. A liar opens the reference, which is honest, and changes as little as its lie needs.

#![forbid(unsafe_code)]

mod answers;
mod any_order;
mod approximate;
mod checkpoints;
mod copied;
mod custom_loop;
mod elsewhere;
mod far_learners;
mod far_loaders;
mod later_passes;
mod lazy_bytes;
mod learners;
mod lie;
mod predictors;
mod remembered;
mod servers;
mod starts;
mod stores;
mod trainings;
mod whole_pass;
mod worker;

use weighbridge_loaders as _;

weighbridge::main!();
