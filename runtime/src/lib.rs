//! Weighbridge: a benchmark harness with a stated error rate, proof of equal work, and no lost run.
//!
//! The stages, in the order in which data flows; imports point up:

mod device;
mod metric;
mod stats;

mod bencher;
mod registry;

mod plan;
mod record;
mod run;

mod compare;

pub use bencher::{
    Bencher, Content, Count, Delivery, Dtype, Error, FieldKind, Kept, KeptField, Limits, Moments, Purpose,
    Result, Settings, Source, Ticket, Work, Yield, skip,
};
pub use metric::{Collector, Direction, Metric, Observation, Quantity, Reading, Unit};

/// What most scenarios and adapters need: `use weighbridge::prelude::*;`.
pub mod prelude {
    pub use crate::{Bencher, Direction, Error, Result, Unit, skip};
}
