//! What authors hold: the [`Bencher`], the [`Source`] that a stream comes from, the [`WorkReport`] of what
//! was done.
//!
//! Takes the settings of one repeat, hands on a [`RepeatResult`]: the raw
//! [`Observation`](crate::metric::Observation) and the [`Work`]. The timed regions of the whole crate are in
//! `iterate.rs`, `stream.rs` and, on a device, `on_device/sample.rs`, nowhere else; what was timed in another
//! process comes in through `remote.rs`.

mod batch_bencher;
mod bench;
mod budget;
mod calibrate;
mod clock_fault;
mod content;
mod copied_item;
mod copy;
mod count;
mod dtype;
mod error;
mod evidence;
mod file_use;
mod files;
mod fit;
mod inject;
mod item_copy;
mod iterate;
mod moments;
mod on_device;
mod pace;
mod partial_budget;
mod pipeline_life;
mod region;
mod regions;
mod remote;
mod resource_use;
mod run_settings;
mod skip_reason;
mod source;
mod stream;
mod threads;
mod traits;
mod verified_answers;
mod visible_text;
mod watch;
mod whole_epoch;
mod window;
mod work;
mod work_fault;
mod yardstick;

pub use batch_bencher::BatchBencher;
pub use bench::{Bencher, RepeatResult, Settings};
pub use budget::{Budget, Phase, Purpose};
pub(crate) use calibrate::Calibrator;
pub use clock_fault::{ClaimedProcessorTime, ClaimedTime, ClockFault, CountedEvent};
pub(crate) use content::draw_epoch;
pub use content::{Content, HashKey};
pub use dtype::Dtype;
pub use error::{Error, ErrorKind, Result, fail, skip};
pub use evidence::{
    Account, AnswerReading, Audit, ClockPair, Costs, DrawnPlaces, EpochSum, Evidence, ExpectedEpoch, Hashes,
    LifePair, Miscount, PipelineLife, ReferenceComparison, Spot, StoppedClock, UnstoppedEpoch,
};
pub use file_use::FileUse;
pub(crate) use inject::{VARIABLE as INJECT, read as read_share};
pub use item_copy::{FieldCopy, FieldKind, ItemCopy};
pub(crate) use iterate::BLOCK;
pub use moments::{Moments, MomentsByField};
pub use on_device::{DeviceBencher, Stream};
pub use pace::{Pace, PerIteration};
pub use partial_budget::PartialBudget;
pub use pipeline_life::LifeData;
pub use remote::{CheckedBatch, Remote, RemoteEpoch, RemoteRun, UnstoppedRequest};
pub use resource_use::ResourceUse;
pub use run_settings::RunSettings;
pub use skip_reason::SkipReason;
pub use source::{Count, Field, Item, ItemBytes, See, Source};
pub use visible_text::{is_unseen, visible_in_line, visible_json, visible_lines};
pub(crate) use visible_text::{mark_of_order, quoted, visible};
pub use work::{Delivery, Operator, Work, WorkReport};
pub use work_fault::WorkFault;
