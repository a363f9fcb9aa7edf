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
mod store;

mod report;

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

/// What is kept of runs, where it lies, and how to judge it: for programs over records, as `cargo xtask` is one.
///
/// Runs and baselines are read through [`Runs`](data::Runs) and [`Baselines`](data::Baselines); what they give are
/// plain structs with public fields.
pub mod data {
    pub use crate::bencher::{Content, Limits, Phase, Purpose, Ticket, Work};
    pub use crate::compare::{
        Basis, CaseFailure, Comparison, Counts, Effect, EnvironmentChange, FactKind, GateOutcome, History,
        Mark, MetricChange, Policy, Promoted, Refusal, Row, Tendency, Tolerance, Verdict, judge,
    };
    pub use crate::metric::{Direction, Observation, Reading, Unit};
    pub use crate::plan::CaseId;
    pub use crate::record::{
        Agreement, BadMachineId, Baseline, BaselineCase, CaseRecord, CaseStatus, Difference, Differences,
        Environment, Estimate, Kind, MachineId, MetricRecord, Planned, RunId, RunManifest, RunRecord,
        RunStatus, SCHEMA, SchemaError,
    };
    pub use crate::registry::{AxisValue, Point};
    pub use crate::report::quantity;
    pub use crate::run::{Failure, How, Outcome, Repeat};
    pub use crate::store::{
        Attempt, BaselineName, Baselines, Broken, Disk, Error, Files, Keep, Layout, Listing, MachineLock,
        Pruned, Runs, Stored, Stream, nearest,
    };
}
