//! NVRTC compiles the loader's kernels, where it is: it needs no device. The fake loads what it gives, and
//! runs none of it.

#![cfg(target_os = "linux")]

use std::sync::Arc;

use fake_gpu::FakeGpu;
use weighbridge_data::Cache;
use weighbridge_loaders::adapters::native::ReferenceCuda;
use weighbridge_loaders::contract::Loader;
use weighbridge_loaders::prelude::*;

/// Pipelines that together have every transform of the loader, on each type that it reads.
fn pipelines() -> Vec<PipelineSpec> {
    let images = || PipelineSpec::new(DataSpec::images(4, 8, 3), 2);
    let with = |spec: PipelineSpec, list: &[Transform]| list.iter().copied().fold(spec, PipelineSpec::map);
    vec![
        with(
            images().sometimes(0.5, RandomCrop),
            &[
                RandomResizedCrop,
                RandomFlip,
                ColorJitter,
                RandomGrayscale,
                GaussianBlur,
                RandomSolarize,
                Normalize,
                CastToFloat32,
                RandomBrightness,
                GaussianBlur,
                AffineRotation,
            ],
        ),
        with(
            PipelineSpec::new(DataSpec::normal("data", 8, vec![6, 7]), 4),
            &[
                Normalize,
                Scale,
                Clip,
                Add,
                Multiply,
                CheapTransform,
                LogTransform,
                ExpensiveTransform,
                GaussianNoise,
                RandomScale,
            ],
        ),
        with(PipelineSpec::new(DataSpec::tokens(8, 12), 4), &[CastToFloat32]),
    ]
}

#[test]
fn nvrtc_compiles_every_transform_and_without_it_the_loader_is_skipped_with_the_reason() {
    let fake = FakeGpu::load().expect("the fake is built with these tests").lock();
    fake.set("ptx", 999); // of the newest compiler
    for spec in pipelines() {
        let place = tempfile::tempdir().unwrap();
        let data = Arc::new(Cache::at(place.path()).open(&spec.source).unwrap());
        for mode in [ExecutionMode::Compiled, ExecutionMode::Vectorised] {
            let Err(error) = ReferenceCuda.open_in(mode, &spec, &data).map(drop) else { continue };
            assert!(error.is_skip() && error.to_string().contains("no NVRTC"), "{error}");
            assert!(!needs::nvrtc(false));
            return;
        }
    }
}
