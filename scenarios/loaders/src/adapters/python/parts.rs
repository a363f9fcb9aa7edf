//! What a pipeline is in the words of the protocol: what `open` says of it, and what an epoch of it holds.

use std::path::PathBuf;

use serde::Serialize;
use weighbridge::{FieldKind, Result};
use weighbridge_data::DataSet;
use weighbridge_python::Interpreter;

use crate::workload::{
    Access, ExecutionMode, FrameworkSetting, Merge, MixRule, PipelineSpec, StoreAddress, Transform,
    TransformGate,
};

/// The message of `open` for a pipeline.
#[derive(Debug, Serialize)]
pub(super) struct PipelineParts {
    data: DataMessage,
    pipeline: PipelineMessage,
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<RankPart>,
}

/// The rank of a process among several with pipelines over the same data, in step.
#[derive(Clone, Copy, Debug, Serialize)]
struct RankPart {
    index: usize,
    of: usize,
}

#[derive(Debug, Serialize)]
struct DataMessage {
    elements: usize,
    digest: String,
    fields: Vec<FieldMessage>,
}

#[derive(Debug, Serialize)]
struct FieldMessage {
    #[serde(flatten)]
    kind: FieldKind,
    path: PathBuf,
    mean: Option<Vec<f32>>,
    scale: Option<Vec<f32>>,
}

#[derive(Debug, Serialize)]
struct PipelineMessage {
    first: usize,
    end: usize,
    batch_size: usize,
    access: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<StoreMessage>,
    workers: usize,
    seed: u64,
    operators: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    python: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    setting: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    transforms: Vec<&'static str>,
    gates: Vec<Passage>,
    branches: Vec<Vec<&'static str>>,
    merge: &'static str,
    mixing: Option<MixRequest>,
    mixture: Vec<f64>,
    cache: bool,
    rebatch: Option<usize>,
    asks: Vec<String>,
    work: Vec<String>,
    output: Vec<FieldKind>,
}

#[derive(Debug, Serialize)]
struct StoreMessage {
    url: String,
    in_flight: usize,
}

#[derive(Debug, Serialize)]
struct Passage {
    position: usize,
    decided_at: usize,
    from: f64,
    below: f64,
}

#[derive(Debug, Serialize)]
struct MixRequest {
    kind: &'static str,
    alpha: f64,
}

impl PipelineParts {
    pub(super) fn of(spec: &PipelineSpec, data: &DataSet) -> Result<Self> {
        let field = |(position, kind): (usize, &FieldKind)| {
            let constants = data.normalisation(position);
            FieldMessage {
                kind: kind.clone(),
                path: data.path(position).to_owned(),
                mean: constants.map(|constants| constants.mean.clone()),
                scale: constants.map(|constants| constants.scale.clone()),
            }
        };
        let data = DataMessage {
            elements: data.elements(),
            digest: data.digest().to_owned(),
            fields: data.kinds().enumerate().map(field).collect(),
        };
        Ok(Self { data, pipeline: PipelineMessage::of(spec)?, rank: None })
    }

    /// The same for the `index`-th of so many ranks.
    pub(super) fn ranked(self, index: usize, of: usize) -> Self {
        Self { rank: Some(RankPart { index, of }), ..self }
    }

    /// The same with its transforms run in this way and no other.
    pub(super) fn in_mode(mut self, mode: ExecutionMode) -> Self {
        self.pipeline.mode = Some(mode.to_string());
        self.pipeline.work.push(mode.work());
        self
    }

    /// The digest of the data.
    pub(super) fn digest(&self) -> &str {
        &self.data.digest
    }
}

impl PipelineMessage {
    fn of(spec: &PipelineSpec) -> Result<Self> {
        let structure = &spec.structure;
        let names = |transforms: &[Transform]| transforms.iter().map(|transform| transform.name()).collect();
        let gate = |gate: &TransformGate| {
            let TransformGate { position, decided_at, from, below } = *gate;
            Passage { position, decided_at, from, below }
        };
        let mixing = |mixing: MixRule| match mixing {
            MixRule::MixUp { alpha } => MixRequest { kind: "mixup", alpha },
            MixRule::CutMix { alpha } => MixRequest { kind: "cutmix", alpha },
        };
        let store = |store: &StoreAddress| {
            let StoreAddress { url, in_flight } = store.clone();
            StoreMessage { url, in_flight }
        };
        Ok(Self {
            first: spec.elements().start,
            end: spec.elements().end,
            batch_size: spec.batch_size,
            access: match spec.access {
                Access::Memory => "memory",
                Access::FileEager => "file-eager",
                Access::FileStreaming => "file-streaming",
                Access::Files => "files",
                Access::Tar => "tar",
                Access::Records => "records",
                Access::StoredFiles => "stored-files",
                Access::StoredTar => "stored-tar",
            },
            store: spec.store.as_ref().map(store),
            workers: spec.workers,
            seed: spec.seed,
            operators: spec.operators.to_string(),
            python: (spec.interpreter != Interpreter::Default).then(|| spec.interpreter.to_string()),
            setting: (spec.setting != FrameworkSetting::Best).then(|| spec.setting.to_string()),
            mode: None,
            transforms: names(&spec.transforms),
            gates: structure.gates.iter().map(gate).collect(),
            branches: structure.branches.iter().map(|branch| names(branch)).collect(),
            merge: match structure.merge {
                Merge::Mean => "mean",
                Merge::Views => "views",
            },
            mixing: structure.mixing.map(mixing),
            mixture: structure.mixture.clone(),
            cache: structure.cache,
            rebatch: structure.rebatch,
            asks: structure.capabilities(),
            work: spec.work(),
            output: spec.output()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use weighbridge_data::{Cache, DataSpec};

    use super::*;

    fn images() -> PipelineSpec {
        PipelineSpec::new(DataSpec::images(1000, 8, 3), 64)
            .map(Transform::Normalize)
            .map(Transform::CastToFloat32)
    }

    /// The keys of an object on the page that workers are written from.
    fn on_the_page(part: &str) -> Vec<String> {
        let page = include_str!("../../../../../docs/worker-protocol.md");
        let open = page.split("{\"open\": ").nth(1).expect("the page has the message");
        let mut open = serde_json::Deserializer::from_str(open).into_iter::<Value>();
        let open = open.next().expect("a value").expect("JSON");
        keys(open.pointer(part).expect(part))
    }

    fn keys(value: &Value) -> Vec<String> {
        value.as_object().expect("an object").keys().cloned().collect()
    }

    #[test]
    fn a_pipeline_is_told_as_the_page_has_it() {
        let place = tempfile::tempdir().expect("a folder");
        let spec = images();
        let data = Cache::at(place.path()).open(&spec.source).expect("made");
        let parts = PipelineParts::of(&spec, &data).expect("possible");
        let told = serde_json::to_value(&parts).expect("JSON");
        for part in ["/data", "/data/fields/0", "/pipeline", "/pipeline/output/0"] {
            assert_eq!(keys(told.pointer(part).expect(part)), on_the_page(part), "{part}");
        }
        let field = &told["data"]["fields"][0];
        assert_eq!((&field["dtype"], &field["mean"]), (&Value::from("u8"), &Value::Null));
        assert_eq!(told["pipeline"]["work"], Value::from(vec!["Normalize", "CastToFloat32"]));
        assert_eq!(told["pipeline"]["output"][0]["dtype"], "f32");
    }

    #[test]
    fn a_way_to_run_transforms_is_told_and_is_part_of_the_work() {
        let place = tempfile::tempdir().expect("a folder");
        let spec = images();
        let data = Cache::at(place.path()).open(&spec.source).expect("made");
        let told = |parts: PipelineParts| serde_json::to_value(parts).expect("JSON")["pipeline"].clone();
        let plain = told(PipelineParts::of(&spec, &data).expect("possible"));
        let fused = told(PipelineParts::of(&spec, &data).expect("possible").in_mode(ExecutionMode::Fused));
        assert_eq!((&plain["mode"], &fused["mode"]), (&Value::Null, &Value::from("fused")));
        assert_eq!(fused["work"], Value::from(vec!["Normalize", "CastToFloat32", "mode fused"]));
    }

    #[test]
    fn a_first_example_is_asked_for_and_the_best_needs_no_word() {
        let place = tempfile::tempdir().expect("a folder");
        let data = Cache::at(place.path()).open(&images().source).expect("made");
        let told = |setting| {
            let parts = PipelineParts::of(&images().setting(setting), &data).expect("possible");
            serde_json::to_value(parts).expect("JSON")["pipeline"]["setting"].clone()
        };
        assert_eq!(told(FrameworkSetting::Default), "default");
        assert_eq!(told(FrameworkSetting::Best), Value::Null);
    }

    #[test]
    fn what_an_epoch_holds_follows_from_the_specification() {
        let epoch = images().expected().expect("possible");
        assert_eq!((epoch.elements, epoch.batch), (1000, 64));
        assert_eq!((epoch.source, epoch.bytes), (1000 * 192, 1000 * 192 * 4));
        assert!(epoch.transforms);
    }
}
