//! Weighbridge: a benchmark harness with a stated error rate, proof of equal work, and no lost run.
//!
//! The stages, in the order in which data flows; imports point up:

mod device;
mod metric;
mod stats;

mod bencher;
mod registry;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

pub use bencher::{
    Bencher, Content, Count, Delivery, Dtype, Error, FieldKind, Kept, KeptField, Limits, Moments, Purpose,
    Result, Settings, Source, Ticket, Work, Yield, skip,
};
pub use metric::{Collector, Direction, Metric, Observation, Quantity, Reading, Unit};

pub use registry::{Availability, Axis, AxisValue, Equivalence, Keep, Point, Sweep};
pub use weighbridge_macros::{Sweep, adapter, scenario};

/// What most scenarios and adapters need: `use weighbridge::prelude::*;`.
pub mod prelude {
    pub use crate::{Availability, Bencher, Direction, Error, Result, Sweep, Unit, adapter, scenario, skip};
}
