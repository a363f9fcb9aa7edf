//! The reference held to what `scenarios/python/oracle/transforms.py` wrote: the page in another language.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weighbridge::{Dtype, FieldKind, ItemCopy};
use weighbridge_data::{DataSet, DataSpec, FieldSpec, FieldValues};
use weighbridge_loaders::adapters::native::Reference;
use weighbridge_loaders::contract::Loader as _;
use weighbridge_loaders::workload::{PipelineSpec, Transform};

use crate::chains::check;
use crate::{data, epoch};

/// As the script has them.
const ELEMENTS: usize = 5;
const EPOCH: u64 = 0;

fn place(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../python/oracle/golden").join(file)
}

fn pipeline() -> PipelineSpec {
    let field = |name: &str, dtype, shape: &[usize], values| FieldSpec {
        kind: FieldKind { name: name.into(), dtype, shape: shape.to_vec() },
        values,
    };
    let fields = vec![
        field("image", Dtype::U8, &[10, 10, 3], FieldValues::Below(256)),
        field("mask", Dtype::I32, &[10, 10, 1], FieldValues::Below(21)),
        field("wide", Dtype::F32, &[8, 8, 3], FieldValues::Normal),
        field("row", Dtype::F32, &[61], FieldValues::Normal),
        field("tokens", Dtype::I32, &[40], FieldValues::Below(32_000)),
        field("length", Dtype::I32, &[], FieldValues::Between(3, 33)),
    ];
    PipelineSpec::new(DataSpec::synthetic(ELEMENTS, fields), ELEMENTS)
}

/// Returns the bytes that the script writes: the fields that differ from the input, and of those that are
/// added the first element.
fn written(batch: &ItemCopy, data: &DataSet) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (position, field) in batch.fields.iter().enumerate() {
        match data.kinds().nth(position) {
            None => bytes.extend_from_slice(&field.bytes[..field.bytes.len() / ELEMENTS]),
            Some(kind) if field.dtype == kind.dtype && field.bytes == data.rows(position, 0..ELEMENTS) => {}
            Some(_) => bytes.extend_from_slice(&field.bytes),
        }
    }
    bytes
}

fn made(spec: &PipelineSpec, data: &Arc<DataSet>, number: u64) -> Vec<u8> {
    let batches = epoch(&mut *Reference.open(spec, data).unwrap(), number);
    assert_eq!(batches.len(), 1);
    written(&batches[0], data)
}

#[test]
fn every_transform_gives_the_bytes_that_numpy_gave() {
    let (_place, data) = data(&pipeline());
    for (position, kind) in data.kinds().enumerate() {
        let input = fs::read(place(&format!("input.{}.bin", kind.name))).unwrap();
        assert!(
            input == data.rows(position, 0..ELEMENTS),
            "{}: write the inputs and run the script",
            kind.name
        );
    }
    for transform in Transform::ALL {
        let spec = pipeline().map(transform);
        check(&epoch(&mut *Reference.open(&spec, &data).unwrap(), EPOCH), &spec, &data, EPOCH);
        let golden = fs::read(place(&format!("{transform}.bin"))).unwrap();
        assert!(!golden.is_empty(), "{transform}");
        assert!(made(&spec, &data, EPOCH) == golden, "{transform} is not what numpy gave");
    }
}

/// A wrong version of each transform: other draws where it draws, and where it does not, what is most like
/// it.
#[test]
fn a_wrong_version_of_any_transform_is_noticed() {
    use Transform::{
        Add, CastToFloat32, CausalMaskGeneration, CheapTransform, Clip, CreateAttentionMask, DynamicPad,
        ExpensiveTransform, HashEmbeddingIndex, LogTransform, MultiScaleResize, Multiply, Normalize,
        RandomFlip, Scale,
    };
    let (_place, data) = data(&pipeline());
    for transform in Transform::ALL {
        let right = made(&pipeline().map(transform), &data, EPOCH);
        let like = match transform {
            Normalize => Some(CastToFloat32),
            CastToFloat32 | Clip => Some(Normalize),
            Scale | Add | CheapTransform => Some(Multiply),
            Multiply => Some(Scale),
            LogTransform => Some(ExpensiveTransform),
            ExpensiveTransform => Some(LogTransform),
            MultiScaleResize => Some(RandomFlip),
            HashEmbeddingIndex | CausalMaskGeneration => Some(CreateAttentionMask),
            CreateAttentionMask => Some(CausalMaskGeneration),
            DynamicPad => Some(HashEmbeddingIndex),
            _ => None,
        };
        if let Some(like) = like {
            assert!(
                made(&pipeline().map(like), &data, EPOCH) != right,
                "{transform} is not told from {like}"
            );
            continue;
        }
        let spec = pipeline().map(transform);
        for (what, wrong) in [
            ("seed", made(&spec.clone().seed(43), &data, EPOCH)),
            ("epoch", made(&spec, &data, EPOCH + 1)),
            (
                "position",
                made(&pipeline().sometimes(0.0, Transform::HashEmbeddingIndex).map(transform), &data, EPOCH),
            ),
        ] {
            assert!(wrong != right, "{transform}: another {what} makes no difference");
        }
    }
}

/// Writes what the script reads: `cargo test --test conformance write_the_inputs -- --ignored`.
#[test]
#[ignore = "writes files of the repository, when the synthetic data change"]
fn write_the_inputs() {
    let (_place, data) = data(&pipeline());
    fs::create_dir_all(place("")).unwrap();
    for (position, kind) in data.kinds().enumerate() {
        fs::write(place(&format!("input.{}.bin", kind.name)), data.rows(position, 0..ELEMENTS)).unwrap();
        if let Some(constants) = data.normalisation(position) {
            let numbers: Vec<f32> = constants.mean.iter().chain(&constants.scale).copied().collect();
            fs::write(
                place(&format!("constants.{}.bin", kind.name)),
                bytemuck::cast_slice::<f32, u8>(&numbers),
            )
            .unwrap();
        }
    }
}
