//! What authors registered: scenarios, adapters and the axes between them.
//!
//! The attributes put entries into the program; [`Registry::collect`] takes them out, sorts them and refuses what
//! is doubled. It hands on a [`Registry`]. It makes no adapter and runs no probe: those are asked for by later stages.

mod adapter;
mod added;
mod axis;
mod collect;
mod id;
mod probe;
mod scenario;
mod sweep;

pub use adapter::{AdapterEntry, Availability, Contract, Made};
pub use added::{Added, add};
#[cfg(feature = "divan_compat")]
pub(crate) use axis::without_modules;
pub use axis::{Axis, AxisValue, Point, TypedAxis, Unlabelled, Written, plain};
pub use collect::{Error, Registry, find_adapter, find_scenario};
pub use id::slug;
pub use probe::{Probe, Traits, kind};
pub use scenario::{
    Axes, Ending, Equivalence, Keep, Kept, Location, Requirements, Run, ScenarioEntry, Workload,
};
pub use sweep::Sweep;
