//! What harness and worker say to each other: version 3 of `docs/worker-protocol.md`, which is written for
//! whoever writes a worker. Both are to be read side by side.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::bencher::{Audit, ResourceUse, StoppedClock};
use crate::device::Platform;

/// The version of the protocol: part of the first thing that a worker says.
pub(super) const VERSION: u32 = 3;

/// A frame longer than this is none.
pub(super) const LONGEST: u32 = 64 << 20;

/// Request of the harness.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum WorkerRequest {
    Open(Map<String, Value>),
    Verify { epoch: u64 },
    Next {},
    Run(RunRequest),
    Epoch(EpochRequest),
    Begin { epoch: u64 },
    Advance {},
    Step { band: [usize; 2] },
    Fetch {},
    Usage {},
    Save {},
    Restore { state: String },
    Call(Map<String, Value>),
    Close {},
}

/// The part of an epoch that is gone through without a stop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct EpochRequest {
    pub(super) epoch: u64,
    pub(super) batches: u64,
    /// In nanoseconds.
    pub(super) limit: Option<u64>,
    pub(super) least: u64,
}

/// Budget of a measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct RunRequest {
    pub(super) epoch: u64,
    /// Batches of the epoch; 0 where that is not known.
    pub(super) all: u64,
    pub(super) warmup: u64,
    pub(super) batches: u64,
    #[serde(serialize_with = "nanoseconds")]
    pub(super) min_time: Duration,
}

fn nanoseconds<S: serde::Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(time.as_nanos() as u64)
}

/// Response of a worker.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum WorkerResponse {
    Hello(Hello),
    Beat(Beat),
    Opened(Box<OpenedPipeline>),
    Declined(DeclineReply),
    Failed(FailureReply),
    Batch(ExchangedBatch),
    End(Nothing),
    Ran(Box<MeasuredRun>),
    Timed(Box<TimedEpoch>),
    Begun(Nothing),
    Stepped(StepReply),
    Used(ResourceUse),
    Saved(SaveReply),
    Restored(Nothing),
    Answer(CallAnswer),
    Closed(CloseReply),
}

impl WorkerResponse {
    /// The name of the message.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Hello(_) => "hello",
            Self::Beat(_) => "beat",
            Self::Opened(_) => "opened",
            Self::Declined(_) => "declined",
            Self::Failed(_) => "failed",
            Self::Batch(_) => "batch",
            Self::End(_) => "end",
            Self::Ran(_) => "ran",
            Self::Timed(_) => "timed",
            Self::Begun(_) => "begun",
            Self::Stepped(_) => "stepped",
            Self::Used(_) => "used",
            Self::Saved(_) => "saved",
            Self::Restored(_) => "restored",
            Self::Answer(_) => "answer",
            Self::Closed(_) => "closed",
        }
    }
}

/// The answer to a call that hands nothing over.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(super) struct CallAnswer {
    /// Times in nanoseconds, by the names that the contract has for them.
    #[serde(default)]
    pub(super) times: BTreeMap<String, Vec<u64>>,
    #[serde(default)]
    metrics: Vec<CollectedMetric>,
    #[serde(default)]
    cost: BTreeMap<String, u64>,
    #[serde(default)]
    failed: BTreeMap<String, String>,
}

impl CallAnswer {
    /// Returns the part of the collectors.
    pub(super) fn collected(self) -> CollectorAnswer {
        let Self { metrics, cost, failed, .. } = self;
        CollectorAnswer { metrics, cost, failed }
    }
}

/// The answer of the collectors of a worker: that they have begun, or what they found in a region.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CollectorAnswer {
    /// The metrics that were found.
    pub metrics: Vec<CollectedMetric>,
    /// The time that each collector took itself, by its name, in nanoseconds.
    pub cost: BTreeMap<String, u64>,
    /// The reason why there is nothing of a collector or of a tag, by its name.
    pub failed: BTreeMap<String, String>,
}

/// Something that a collector found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CollectedMetric {
    /// Its name: `2_save_breakdown/total_s`.
    pub tag: String,
    /// Its value; none where it is no number.
    #[serde(default)]
    pub value: Option<f64>,
    /// The symbol of its unit; empty for a count.
    #[serde(default)]
    pub unit: String,
    /// The direction that is better; `None`: neither.
    #[serde(default)]
    pub better: Option<Better>,
}

/// The direction in which something that a collector found is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
}

/// A message without content.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Nothing {}

/// A worker's greeting: which system it is, and where that comes from.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Hello {
    /// The version of the protocol that it speaks.
    pub protocol: u32,
    /// The system under test: `Google Grain`.
    pub framework: String,
    /// Its version.
    pub version: String,
    /// The file that its entry point comes from.
    pub module: String,
    /// The language that the worker runs in, with its version.
    pub language: String,
    /// The time of importing the system, in nanoseconds.
    pub import: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Beat {
    pub(super) doing: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct DeclineReply {
    pub(super) why: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct FailureReply {
    pub(super) detail: String,
}

/// An open pipeline: what it really does, and what opening it cost.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct OpenedPipeline {
    /// For the work report.
    pub executed: ExecutedPipeline,
    /// The platform that it really runs on: `cpu`, `gpu`, `tpu`. This must be the platform that was asked
    /// for.
    #[serde(default = "host")]
    pub backend: String,
    /// The part of the system that hands out the batches: `grain.python.MapDataset.source`.
    pub entry_point: String,
    /// The order of the elements.
    pub order: ElementOrder,
    /// The costs of the set-up.
    pub costs: OpeningCosts,
    /// The number of processes it has.
    pub processes: Option<u64>,
    /// The number of threads they have together.
    pub threads: Option<u64>,
    /// True if its place in an epoch can be saved.
    #[serde(default)]
    pub can_save: bool,
    /// True if it runs a whole pass in one call: each of its samples is one, and no batch has a latency.
    #[serde(default)]
    pub whole_pass: bool,
    /// The number of batches it makes at a time, where a pass over a few of them would cost nothing. With
    /// `whole_pass` how many a call has at best.
    #[serde(default)]
    pub chunk: u64,
    /// The settings that it really has, read back from its own objects, by the keys that the contract has for
    /// them.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
}

fn host() -> String {
    Platform::Cpu.name().to_owned()
}

/// The pipeline as it is really executed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ExecutedPipeline {
    /// The transforms that run, in order, by name.
    pub transforms: Vec<String>,
    /// The operator that does each of them; empty where the worker does not say.
    #[serde(default)]
    pub operators: Vec<crate::bencher::Operator>,
    /// The library that the operators are of, where that is not the system itself.
    #[serde(default)]
    pub library: Option<String>,
    /// Facts of its process that may differ between systems though their work is equal.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// The place where they run.
    pub ran_on: String,
    /// The way in which a batch is waited for.
    pub synchronised: String,
    /// The form in which the consumer gets batches.
    pub delivery: crate::bencher::Delivery,
    /// Worker threads or processes that there really are.
    pub workers: u64,
}

/// Order in which elements are delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElementOrder {
    /// In theirs.
    Kept,
    /// In any.
    Lost,
}

/// The cost of opening a pipeline, in nanoseconds; `None` where there is no such step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct OpeningCosts {
    /// Bringing the data into the system's own format.
    pub convert: Option<u64>,
    /// Making the pipeline.
    pub set_up: Option<u64>,
    /// Compiling it.
    pub compile: Option<u64>,
}

/// A batch in the exchange file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct ExchangedBatch {
    pub(super) elements: u64,
    #[serde(default)]
    pub(super) fields: Vec<ExchangedField>,
}

/// A field of a batch in the exchange file. The type is a text: what is no type of ours is said by name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct ExchangedField {
    pub(super) name: String,
    pub(super) dtype: String,
    pub(super) shape: Vec<usize>,
    pub(super) offset: u64,
}

/// Measurements of a worker. Times in nanoseconds; a time that cannot be had is `None`, a count is always
/// told.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct MeasuredRun {
    pub(super) samples: Vec<u64>,
    pub(super) elements: u64,
    pub(super) bytes: u64,
    pub(super) wall: u64,
    pub(super) first: Option<u64>,
    #[serde(default, rename = "loop")]
    pub(super) own: Option<u64>,
    #[serde(default)]
    pub(super) restarts: Vec<u64>,
    pub(super) warmup: u64,
    #[serde(default)]
    pub(super) caught_up: u64,
    pub(super) passes: u64,
    pub(super) ran_out: bool,
    pub(super) usage: ResourceUse,
    pub(super) stopped: StoppedClock,
    pub(super) processes: Option<u64>,
    pub(super) threads: Option<u64>,
    #[serde(default)]
    pub(super) compile: Option<u64>,
    #[serde(default)]
    pub(super) audit: Vec<Audit>,
    pub(super) ledger: RunLedger,
    pub(super) cpu: Cpu,
    pub(super) checked: Vec<CopiedBatch>,
}

/// The account of the time of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct RunLedger {
    pub(super) begin: u64,
    pub(super) warm_up: u64,
    pub(super) caught_up: u64,
    pub(super) measured: u64,
    pub(super) stopped: u64,
    pub(super) handed_over: u64,
}

/// CPU time of all processes of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Cpu {
    pub(super) all: Option<u64>,
}

/// Copy of a part of a batch: a batch of its own, of so many elements of the whole.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct CopiedBatch {
    #[serde(default)]
    pub(super) pass: Option<u64>,
    #[serde(default)]
    pub(super) at: Option<u64>,
    #[serde(default)]
    pub(super) first: u64,
    pub(super) of: u64,
    pub(super) elements: u64,
    #[serde(default)]
    pub(super) fields: Vec<ExchangedField>,
}

impl CopiedBatch {
    /// Returns the copy as a batch.
    pub(super) fn batch(&self) -> ExchangedBatch {
        ExchangedBatch { elements: self.elements, fields: self.fields.clone() }
    }
}

/// An epoch without a stop by the worker's clock.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct TimedEpoch {
    pub(super) wall: u64,
    pub(super) begin: u64,
    pub(super) first: u64,
    pub(super) elements: u64,
    pub(super) batches: u64,
    pub(super) ended: bool,
    pub(super) copied: u64,
    pub(super) usage: ResourceUse,
    #[serde(default)]
    pub(super) checked: Vec<CopiedBatch>,
}

/// Content of the band of a batch that was made and not handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct StepReply {
    pub(super) elements: u64,
    pub(super) bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct SaveReply {
    pub(super) state: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct CloseReply {
    pub(super) tear_down: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::read;

    /// The blocks of the page that both ends are written against.
    fn page() -> Vec<String> {
        let page = include_str!("../../../docs/worker-protocol.md");
        let mut blocks = Vec::new();
        for block in page.split("```json\n").skip(1) {
            let block = block.split("```").next().unwrap_or_default();
            // Several messages stand in one block, each beginning with a brace in the first column or after
            // spaces or `or`.
            let mut values = serde_json::Deserializer::from_str("").into_iter::<Value>();
            assert!(values.next().is_none());
            for part in block.replace("  or  ", "\n").replace("}       {", "}\n{").split("\n{") {
                let part = if part.starts_with('{') { part.to_owned() } else { format!("{{{part}") };
                for value in serde_json::Deserializer::from_str(&part).into_iter::<Value>() {
                    blocks.push(value.unwrap_or_else(|error| panic!("{error}: {part}")).to_string());
                }
            }
        }
        blocks
    }

    const ASKS: &[&str] = &[
        "open", "verify", "next", "run", "epoch", "begin", "advance", "step", "fetch", "usage", "save",
        "restore", "call", "close",
    ];

    #[test]
    fn every_answer_on_the_page_can_be_read() {
        let mut answers = 0;
        for message in page() {
            if ASKS.iter().any(|ask| message.starts_with(&format!("{{\"{ask}\":"))) {
                continue;
            }
            let say: WorkerResponse =
                read(message.as_bytes()).unwrap_or_else(|error| panic!("{error}: {message}"));
            assert!(message.contains(say.name()), "{message}");
            answers += 1;
        }
        assert!(answers >= 15, "{answers} answers");
    }

    #[test]
    fn what_collectors_say_is_read_and_what_is_no_word_for_better_is_no_answer() {
        let said = br#"{"answer": {
            "metrics": [{"tag": "a/b", "value": 2.5, "unit": "s", "better": "higher"}, {"tag": "c"}],
            "cost": {"one": 7}, "failed": {"two": "gone"}}}"#;
        let Ok(WorkerResponse::Answer(answer)) = read::<WorkerResponse>(said) else { panic!() };
        let CollectorAnswer { metrics, cost, failed } = answer.collected();
        assert_eq!((metrics[0].value, metrics[0].better), (Some(2.5), Some(Better::Higher)));
        assert_eq!((metrics[1].value, &*metrics[1].unit, metrics[1].better), (None, "", None));
        assert_eq!((cost["one"], &*failed["two"]), (7, "gone"));
        assert!(
            read::<WorkerResponse>(br#"{"answer": {"metrics": [{"tag": "a", "better": "best"}]}}"#).is_err()
        );
    }

    #[test]
    fn requests_are_written_as_on_the_page() {
        let page = page();
        let run =
            RunRequest { epoch: 0, all: 157, warmup: 2, batches: 40, min_time: Duration::from_millis(500) };
        let asks = [
            WorkerRequest::Verify { epoch: 0 },
            WorkerRequest::Next {},
            WorkerRequest::Run(run),
            WorkerRequest::Epoch(EpochRequest {
                epoch: 0,
                batches: 157,
                limit: Some(10_000_000_000),
                least: 20,
            }),
            WorkerRequest::Begin { epoch: 3 },
            WorkerRequest::Advance {},
            WorkerRequest::Step { band: [1, 2] },
            WorkerRequest::Fetch {},
            WorkerRequest::Usage {},
            WorkerRequest::Save {},
            WorkerRequest::Restore { state: "...".into() },
            WorkerRequest::Call(Map::from_iter([
                ("name".to_owned(), "save".into()),
                ("directory".to_owned(), "/.../checkpoint-3".into()),
                ("durable".to_owned(), false.into()),
            ])),
            WorkerRequest::Close {},
        ];
        for ask in asks {
            let written = serde_json::to_value(&ask).unwrap();
            let there = page.iter().any(|message| {
                serde_json::from_str::<Value>(message).is_ok_and(|message| message == written)
            });
            assert!(there, "{written} is not on the page");
        }
    }

    #[test]
    fn unknown_keys_are_ignored_and_an_unknown_message_is_none() {
        let hello = br#"{"beat": {"doing": "importing", "since": [1, {"a": 2}]}}"#;
        assert_eq!(read::<WorkerResponse>(hello).unwrap().name(), "beat");
        assert!(read::<WorkerResponse>(br#"{"shout": {}}"#).is_err());
        assert!(read::<WorkerResponse>(br#"{"begun": {}, "end": {}}"#).is_err());
    }
}
