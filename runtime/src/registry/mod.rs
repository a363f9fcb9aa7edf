//! What authors registered: scenarios, adapters and the axes between them.
//!
//! The attributes put entries into the program; [`Registry::collect`] takes them out, sorts them and refuses
//! what is doubled. It hands on a [`Registry`]. It makes no adapter and runs no probe: those are asked for by
//! later stages.

mod adapter;
mod additions;
mod authors_error;
mod axis;
mod collect;
mod id;
mod location;
mod probe;
mod scenario;
mod sweep;

pub use adapter::{AdapterEntry, AdapterOutput, Availability, Contract};
pub use additions::{Additions, add};
pub use axis::{Axis, AxisValue, DisplayValue, Point, TypedAxis, WrittenValue, plain, without_modules};
pub use collect::{Registry, RegistryError, find_adapter, find_scenario};
pub use id::slug;
pub use location::Location;
pub use probe::{AxisTraits, Probe, kind};
pub use scenario::{
    Axes, Equivalence, Keep, KeepOutput, Requirements, ScenarioEntry, ScenarioFn, ScenarioOutput, Workload,
};
pub use sweep::Sweep;
