//! Weighbridge: a benchmark harness with a stated error rate, proof of equal work, and no lost run. For Unix.
//!
//! # Quick start
//!
//! `Cargo.toml`:
//!
//! ```toml
//! [dev-dependencies]
//! weighbridge = "0.1"
//!
//! [[bench]]
//! name = "sorting"
//! harness = false
//!
//! [lib]
//! bench = false # else `cargo bench -- FLAGS` hands FLAGS to libtest as well
//! ```
//!
//! `benches/sorting.rs`:
//!
//! ```
//! use weighbridge::prelude::*;
//!
//! /// Sort a vector of integers.
//! #[scenario(id = "SORT-1")]
//! fn sort(bencher: &mut Bencher, #[sweep(1_000, 20_000)] len: usize) {
//!     let numbers: Vec<u64> = (0..len as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
//!     bencher.elements(len).iter_batched_ref(|| numbers.clone(), |numbers| numbers.sort_unstable());
//! }
//!
//! weighbridge::main!();
//! ```
//!
//! `cargo bench` measures each case in several processes, one after the other, and shows medians with their
//! intervals and what has changed since the last run. `cargo bench -- --save-baseline main` keeps a run,
//! `cargo bench -- --baseline main` judges one by it. What can be measured is listed at [`Bencher`], what a
//! scenario may say at [`macro@scenario`]; to measure several systems on the same work, write an
//! [`macro@adapter`] for each.
//!
//! # Features
//!
//! | feature | what it adds |
//! |---|---|
//! | `tokio` | `async` scenarios and `Bencher::iter_async` |
//! | `perf` | instructions, cycles and cache misses, on Linux |
//! | `worker` | systems under test in processes of their own, in any language |
//! | `cuda`, `nvml` | devices of NVIDIA: time by their clock; power, clocks and temperature |
//! | `criterion` | right times of a device for benches that stay with criterion |
//!
//! Bench files in the style of criterion and of divan run as they are with the crates `weighbridge-criterion`
//! and `weighbridge-divan` in the place of those.
//!
//! # How it is built
//!
//! The stages, in the order in which data flows; imports point up:

#[cfg(not(unix))]
compile_error!(
    "weighbridge measures on Unix alone: a child's standard input is a socket there, and a process group \
     ends as one"
);

mod json;
mod tool;

mod device;
mod metric;
mod process;
mod ranks;
mod stats;

mod bencher;
mod registry;

#[cfg(feature = "worker")]
pub mod worker;

mod plan;

mod run;

mod verify;

mod record;

mod compare;

mod store;

mod report;

mod harness;

#[cfg(feature = "criterion")]
pub mod criterion;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

pub use bencher::{
    BatchBencher, Bencher, Budget, Count, Delivery, DeviceBencher, Dtype, Error, ErrorKind, Field, FieldCopy,
    FieldKind, Item, ItemBytes, ItemCopy, Operator, PartialBudget, Result, Source, Stream, Work, WorkReport,
    fail, skip,
};
pub use device::{Counting, Platform};
pub use harness::{Runner, RunnerEnd};
pub use metric::{Collector, Direction, Metric, Mode, Observation, Quantity, Reading, Unit};
pub use registry::{Availability, Axis, AxisValue, Equivalence, Keep, Point, Requirements, Sweep, Workload};
#[doc(hidden)] // by their older paths
pub use remote::*;
pub use tool::tool;
pub use weighbridge_macros::{Sweep, adapter, scenario};

/// The `main` of a bench target: `weighbridge::main!();`.
///
/// The target says `harness = false` in `Cargo.toml`, and names the crates whose scenarios it runs
/// (`use my_scenarios as _;`), or the linker drops what they registered. Where one of them brings another
/// with it whose scenarios are not meant, `weighbridge::main!(scenarios = "my_scenarios");` runs those of one
/// crate alone.
#[macro_export]
macro_rules! main {
    () => {
        $crate::main!(@ ::core::option::Option::None);
    };
    (scenarios = $family:literal) => {
        $crate::main!(@ ::core::option::Option::Some($family));
    };
    (@ $family:expr) => {
        // Kept, and so compiled, under libtest alone.
        #[test]
        fn the_bench_target_says_harness_is_false() {
            ::core::compile_error!(
                "this bench target is built with libtest's harness, which finds no benchmark in it: write \
                 `harness = false` below its `[[bench]]` in Cargo.toml"
            );
        }

        fn main() -> ::std::process::ExitCode {
            $crate::__private::main($crate::__private::Suite {
                target_tmp: ::core::option_env!("CARGO_TARGET_TMPDIR"),
                package: ::core::env!("CARGO_PKG_NAME"),
                version: ::core::env!("CARGO_PKG_VERSION"),
                target: ::core::env!("CARGO_CRATE_NAME"),
                directory: ::core::env!("CARGO_MANIFEST_DIR"),
                family: $family,
            })
        }
    };
}

/// The names that most scenarios and adapters need: `use weighbridge::prelude::*;`.
pub mod prelude {
    pub use crate::{
        Availability, Bencher, Direction, Error, Result, Sweep, Unit, adapter, fail, scenario, skip,
    };
}

/// Streams that run and are timed in another process, and a [`Bencher`] of one's own to try an adapter with.
///
/// Authors of scenarios and of adapters in Rust need none of it.
pub mod remote {
    pub use crate::bencher::{
        Audit, Costs, Evidence, ExpectedEpoch, HashKey, Purpose, Remote, RemoteEpoch, RemoteRun,
        RepeatResult, ResourceUse, RunSettings, See, Settings, Spot, UnstoppedRequest,
    };
    #[doc(hidden)]
    pub use crate::bencher::{
        CheckedBatch, ClockFault, Content, FileUse, LifeData, Moments, MomentsByField, StoppedClock,
        WorkFault,
    };
}

/// The door for crates in the place of another harness: it may change in any release.
#[doc(hidden)]
pub mod style {
    pub use crate::bencher::{Budget, Purpose, Settings};
    pub use crate::device::CountingOf;
    pub use crate::harness::{Find, FindRequest, FoundBenches, Suite, code, target_of_program};
    pub use crate::registry::{
        Additions, Axes, Axis, AxisTraits, Keep, Location, Point, ScenarioEntry, ScenarioFn, TypedAxis,
        WrittenValue, add, without_modules,
    };
    pub use crate::run::{CHILD_FLAG, Program, ServedRequest, Serving};
}

/// Devices as they are timed.
pub mod gpu {
    pub use crate::device::{Device, DeviceError, DeviceInfo, Numbers, Queue, find_device, open_device};
    pub use crate::metric::{DeviceCaveat, OnDevice};

    // The rest of the seam that backends implement, for what holds them to it.
    #[doc(hidden)]
    pub use crate::device::{
        Backend, Copies, CopyKind, CycleStamp, DeviceMemory, Hold, NoDevice, Product, QueueMark, Release,
        Replay, Telemetry, throttle_reasons,
    };
    #[doc(hidden)]
    pub use crate::metric::{
        Calibration, DEVICE_METRICS, DeviceAudit, DevicePhase, DeviceSample, ReplayCosts, Returns, Roofline,
        SamplingEnd,
    };
}

/// Suite files, for the command that checks and shows them: a bench target reads them itself, under `--suite
/// FILE`.
#[doc(hidden)]
pub mod suite {
    pub use crate::plan::suite::{
        Keys, Mistake, Node, Position, SuiteBenchmark, SuiteFile, TableKey, Value, WrittenText, arrays, nodes,
    };
}

/// Records of runs, the places where they lie, and their judging: for programs over records.
///
/// Runs and baselines are read through [`Runs`](data::Runs) and [`Baselines`](data::Baselines); what they
/// give are plain structs with public fields.
pub mod data {
    pub use crate::bencher::{Budget, Work};
    pub use crate::compare::{Comparison, Policy, Row, Verdict, judge};
    pub use crate::harness::Exit;
    pub use crate::metric::{Direction, Observation, Reading, Unit};
    pub use crate::plan::CaseId;
    pub use crate::record::{
        Baseline, CaseRecord, CaseStatus, Environment, Estimate, MachineId, MetricRecord, Process, RunId,
        RunManifest, RunPlan, RunRecord, RunStatus, SCHEMA, SchemaError,
    };
    pub use crate::registry::{AxisValue, Point};
    pub use crate::run::{Failure, Outcome, Repeat};
    pub use crate::store::{BaselineName, Baselines, Layout, Runs, StoreError, StoredBaseline};
    pub use crate::verify::{Finding, Severity};

    // What `cargo weighbridge` of the same version takes beside that: it may change in any release.
    #[doc(hidden)]
    pub use crate::bencher::{
        Content, Evidence, FileUse, Phase, Purpose, SkipReason, UnstoppedEpoch, WorkReport, is_unseen,
        visible_in_line, visible_json, visible_lines,
    };
    #[doc(hidden)]
    pub use crate::compare::{
        Acceptance, Basis, CaseFailure, ComparedBaseline, Effect, EnvironmentChange, FactKind, Gate,
        GateOutcome, History, IncomparableReason, InconclusiveReason, JudgedRounds, Method, MetricChange,
        ProcessValues, Ranking, Ratio, RatioClass, Refusal, RowMark, STRONGER, Tendency, Tolerance,
        VerdictCounts, WEAKER, decide, rank,
    };
    #[doc(hidden)]
    pub use crate::device::page_fault_cost;
    #[doc(hidden)]
    pub use crate::harness::{DuelOrder, DuelProgram, RelinkPrograms, Unjudged, judge_duel};
    #[doc(hidden)]
    pub use crate::json::too_deep;
    #[doc(hidden)]
    pub use crate::metric::{
        Cause, Custom, DisturbedSamples, Entry, Ledger, RankMetric, Stationarity, Surroundings, names,
    };
    #[doc(hidden)]
    pub use crate::plan::nearest;
    #[doc(hidden)]
    pub use crate::process::{Guest, TraceKind, without_secrets};
    #[doc(hidden)]
    pub use crate::record::{
        AllocationSite, Allocations, AttachedFile, Attachment, AttachmentStatus, BadMachineId, BaselineCase,
        Blocks, CaseFacts, Difference, Differences, Document, DocumentKind, FailureReason, HeldAgainst,
        OverRanks, RankAggregate, StopReason, assemble, file_system,
    };
    #[doc(hidden)]
    pub use crate::report::{Columns, bencher_lines, case_traces, fake_device, machine, quantity, traces};
    #[doc(hidden)]
    pub use crate::run::How;
    #[doc(hidden)]
    pub use crate::stats::{
        Change, ChangePoint, Claim, SplitMix64, centre_interval, change_points, clopper_pearson,
        hodges_lehmann, median, quantile, robust_spread,
    };
    #[doc(hidden)]
    pub use crate::store::{
        Attempt, Disk, Duels, Files, MachineLock, OutputStream, PrunePolicy, PruneResult, RunListing,
        Unreadable, read_document, read_file, read_text, redigest, replace_file, write_document,
    };
    #[doc(hidden)]
    pub use crate::verify::{
        Agreement, CAVEATS, CaveatKind, ExaminedCase, Figure, FindingDetail, RULES, Rule, UnverifiedReason,
        agree, judge as judge_evidence,
    };
}
