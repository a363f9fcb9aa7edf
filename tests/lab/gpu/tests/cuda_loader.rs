//! The loader on a device gives the bits of the reference, on the fake: its kernels are compiled for the
//! host.

#![cfg(target_os = "linux")]

use std::sync::Arc;
use std::time::Duration;

use fake_gpu::{FakeGpu, FakeGpuGuard};
use needs::Need;
use tempfile::TempDir;
use weighbridge::{
    Bencher, Budget, Delivery, ErrorKind, ItemCopy, Platform, Purpose, RepeatResult, RunSettings, Settings,
};
use weighbridge_data::Cache;
use weighbridge_loaders::adapters::native::{Rayon, Reference, ReferenceCuda, ReferenceFused};
use weighbridge_loaders::contract::{Loader, deliver, for_each_batch};
use weighbridge_loaders::prelude::*;

/// The fake with its compiler; `None` where there is no C++ compiler: the test is then said to be skipped.
#[track_caller]
fn fake() -> Option<FakeGpuGuard> {
    let fake = FakeGpu::load().expect("the fake is built with these tests");
    needs::command(Need::Cxx).then(|| {
        fake.load_compiler();
        fake.lock()
    })
}

fn data(spec: &PipelineSpec) -> (TempDir, Arc<DataSet>) {
    let place = tempfile::tempdir().unwrap();
    let data = Cache::at(place.path()).open(&spec.source).unwrap();
    (place, Arc::new(data))
}

fn epoch(loader: &mut dyn Loader, spec: &PipelineSpec, data: &Arc<DataSet>, number: u64) -> Vec<ItemCopy> {
    let mut batches = Vec::new();
    let mut epochs = loader.open(spec, data).unwrap_or_else(|error| panic!("{error}"));
    for_each_batch(&mut *epochs, number, &mut |batch| batches.push(batch.keep())).unwrap();
    batches
}

const DESTINATIONS: [Destination; 2] = [Destination::Host, Destination::Device];

/// Wherever its batches are handed over, the loader gives what the reference gives.
fn check(spec: &PipelineSpec) {
    let (_place, data) = data(spec);
    for number in [0, 3] {
        let expected = epoch(&mut Reference, spec, &data, number);
        for destination in DESTINATIONS {
            let found = epoch(&mut ReferenceCuda, &spec.clone().deliver(destination), &data, number);
            assert_eq!(found.len(), expected.len(), "{:?}", spec.transforms);
            for (place, (found, expected)) in found.iter().zip(&expected).enumerate() {
                assert!(found == expected, "{:?}, epoch {number}, batch {place}", spec.transforms);
            }
        }
    }
}

fn images() -> PipelineSpec {
    PipelineSpec::new(DataSpec::images(23, 8, 3), 5)
}

fn rows() -> PipelineSpec {
    PipelineSpec::new(DataSpec::normal("data", 50, vec![6, 7]), 8)
}

fn with(spec: PipelineSpec, transforms: &[Transform]) -> PipelineSpec {
    transforms.iter().copied().fold(spec, PipelineSpec::map)
}

#[test]
fn batches_are_those_of_the_reference_bit_for_bit() {
    let Some(_stand) = fake() else { return };
    let chain = [Normalize, Scale, Clip, Add, Multiply];
    // CV-1, TAB-1, NLP-1, AUG-1, PC-1.
    check(&with(images(), &[Normalize, CastToFloat32]));
    check(&with(PipelineSpec::table(&VariantTable::new(100, 10, 16)), &[Normalize]));
    check(&PipelineSpec::new(DataSpec::tokens(30, 12), 8));
    check(&with(images(), &[Normalize, GaussianNoise, RandomBrightness]));
    for depth in [1, 2, 5, 20] {
        let deep: Vec<_> = chain.into_iter().cycle().take(depth).collect();
        check(&with(rows(), &deep));
    }
}

#[test]
fn every_transform_of_numbers_has_the_bits_of_its_formula() {
    let Some(_stand) = fake() else { return };
    for transform in [
        Scale,
        Clip,
        Add,
        Multiply,
        CheapTransform,
        LogTransform,
        ExpensiveTransform,
        GaussianNoise,
        RandomScale,
    ] {
        check(&with(rows(), &[transform]));
        check(&with(rows(), &[Normalize, transform, Add]));
        check(&with(images(), &[CastToFloat32, transform]));
    }
    check(&with(PipelineSpec::new(DataSpec::tokens(30, 12), 8), &[CastToFloat32, LogTransform]));
}

/// The chain of HPC-1.
const SELF_SUPERVISED: [Transform; 8] = [
    RandomResizedCrop,
    RandomFlip,
    ColorJitter,
    RandomGrayscale,
    GaussianBlur,
    RandomSolarize,
    Normalize,
    CastToFloat32,
];

#[test]
fn the_chain_of_self_supervised_learning_has_the_bits_of_the_reference() {
    let Some(_stand) = fake() else { return };
    // Images of its default and of its tiny variant, fewer of them.
    for (images, side, batch) in [(1, 224, 1), (20, 48, 16)] {
        let spec = PipelineSpec::new(DataSpec::images(images, side, 3), batch);
        check(&with(spec, &SELF_SUPERVISED));
    }
}

#[test]
fn every_transform_of_images_has_the_bits_of_its_formula() {
    let Some(_stand) = fake() else { return };
    let chains: [&[Transform]; 14] = [
        &[RandomResizedCrop],
        &[RandomFlip],
        &[RandomCrop],
        &[AffineRotation],
        // What is drawn for each number is drawn for where it is when its turn comes.
        &[
            CastToFloat32,
            GaussianNoise,
            RandomCrop,
            AffineRotation,
            GaussianNoise,
            RandomFlip,
            RandomCrop,
            RandomBrightness,
        ],
        &[RandomCrop, RandomResizedCrop, AffineRotation, GaussianBlur, RandomCrop],
        &[ColorJitter],
        &[RandomGrayscale],
        &[GaussianBlur],
        &[RandomSolarize],
        &[RandomFlip, RandomResizedCrop, RandomFlip, GaussianBlur, RandomFlip],
        &[ColorJitter, ColorJitter, GaussianBlur, GaussianBlur],
        &[
            Normalize,
            RandomResizedCrop,
            RandomFlip,
            GaussianNoise,
            RandomGrayscale,
            GaussianBlur,
            RandomSolarize,
        ],
        &[CastToFloat32, GaussianBlur, RandomFlip, Normalize, RandomBrightness],
    ];
    for chain in chains {
        // Of bytes, where the chain leaves bytes.
        check(&with(images(), chain));
    }
    check(&with(PipelineSpec::new(DataSpec::images(9, 2, 3), 4), &SELF_SUPERVISED));
    check(&images().sometimes(0.5, RandomFlip).sometimes(0.5, ColorJitter).sometimes(0.5, RandomGrayscale));
    check(&images().sometimes(0.5, RandomCrop).map(Normalize).sometimes(0.5, AffineRotation));
}

/// The chain of XFMR-1, on images of floats.
fn turned() -> PipelineSpec {
    with(PipelineSpec::images(&Images::floats(23, 9, 5)), &[Normalize, RandomCrop, AffineRotation])
}

#[test]
fn one_kernel_for_a_list_and_one_for_each_transform_have_the_bits_of_the_reference() {
    let Some(_stand) = fake() else { return };
    let spec = turned();
    let (_place, data) = data(&spec);
    let expected = epoch(&mut Reference, &spec, &data, 2);
    for mode in [ExecutionMode::Compiled, ExecutionMode::Vectorised] {
        for destination in DESTINATIONS {
            let mut loader = ReferenceCuda;
            let mut epochs = loader.open_in(mode, &spec.clone().deliver(destination), &data).unwrap();
            let mut found = Vec::new();
            for_each_batch(&mut *epochs, 2, &mut |batch| found.push(batch.keep())).unwrap();
            assert!(found == expected, "{mode}");
            assert!(epochs.executed().transforms.contains(&format!("mode {mode}")));
        }
    }
    for (mode, name) in [(ExecutionMode::Eager, "eager"), (ExecutionMode::Fused, "fused")] {
        let error = ReferenceCuda.open_in(mode, &spec, &data).map(drop).unwrap_err();
        assert!(error.is_skip() && error.to_string().contains(name), "{error}");
    }
}

#[test]
fn a_mode_with_a_kernel_for_each_transform_launches_as_many() {
    let Some(fake) = fake() else { return };
    let spec = turned();
    let (_place, data) = data(&spec);
    let kernels = |mode| {
        let mut loader = ReferenceCuda;
        let mut epochs = loader.open_in(mode, &spec, &data).unwrap();
        let before = fake.launches();
        for_each_batch(&mut *epochs, 0, &mut |_| {}).unwrap();
        fake.launches() - before
    };
    let batches = 23_u64.div_ceil(5);
    assert_eq!(kernels(ExecutionMode::Compiled), batches);
    assert_eq!(kernels(ExecutionMode::Vectorised), 3 * batches);
}

#[test]
fn a_transform_that_is_done_sometimes_is_done_for_the_same_elements() {
    let Some(_stand) = fake() else { return };
    check(&images().map(Normalize).sometimes(0.4, RandomBrightness).sometimes(0.7, GaussianNoise));
}

#[test]
fn copies_and_kernels_of_different_batches_overlap() {
    let Some(fake) = fake() else { return };
    let spec = slow_rows();
    let (_place, data) = data(&spec);
    for key in ["up_rate", "down_rate", "device_rate"] {
        fake.set(key, 1);
    }
    let mut loader = ReferenceCuda;
    let mut epochs = loader.open(&spec, &data).unwrap();
    let time = |epochs: &mut dyn Epochs| {
        let start = fake.now();
        for_each_batch(epochs, 0, &mut |_| {}).unwrap();
        fake.now() - start
    };
    let took = time(&mut *epochs);
    // What overlaps costs nothing: the kernels are the slowest part.
    let (copy, kernel) = (32 << 10, 64 << 10);
    let (overlapped, apart) = (copy + 8 * kernel + copy, 8 * (copy + kernel + copy));
    assert!(took < overlapped + apart / 8, "{took} ns; without overlap {apart}, with {overlapped}");
}

/// 8 batches of 32 KiB: at a byte per nanosecond each copy takes 33 us, each kernel twice that.
fn slow_rows() -> PipelineSpec {
    with(PipelineSpec::new(DataSpec::normal("data", 64, vec![64, 16]), 8), &[Scale])
}

#[test]
fn the_order_holds_whichever_part_is_slow() {
    let Some(fake) = fake() else { return };
    let spec = slow_rows();
    let (_place, data) = data(&spec);
    let expected = epoch(&mut Reference, &spec, &data, 0);
    for slow in ["up_rate", "down_rate", "device_rate"] {
        fake.reset();
        fake.set(slow, 1);
        for destination in DESTINATIONS {
            let spec = spec.clone().deliver(destination);
            assert!(epoch(&mut ReferenceCuda, &spec, &data, 0) == expected, "{slow}, to the {destination}");
        }
    }
}

#[test]
fn a_consumer_that_skips_batches_is_given_the_right_one() {
    let Some(fake) = fake() else { return };
    let spec = slow_rows();
    let (_place, data) = data(&spec);
    let expected = epoch(&mut Reference, &spec, &data, 0);
    // The slots are used again while kernels of the batches that nobody waited for are still at work.
    fake.set("device_rate", 1);
    let (mut loader, spec) = (ReferenceCuda, spec.deliver(Destination::Device));
    let mut epochs = loader.open(&spec, &data).unwrap();
    epochs.begin(0).unwrap();
    for _ in 0..6 {
        assert!(epochs.advance().unwrap());
    }
    epochs.ready().unwrap();
    assert!(epochs.batch().keep() == expected[5]);
}

#[test]
fn asking_for_a_batch_returns_before_it_is_there_and_ready_waits_for_it() {
    let Some(fake) = fake() else { return };
    let spec = with(PipelineSpec::new(DataSpec::normal("data", 8, vec![64, 16]), 8), &[Scale]);
    let (_place, data) = data(&spec);
    let expected = epoch(&mut Reference, &spec, &data, 0);
    // The one batch takes 33 us on its way back.
    fake.set("down_rate", 1);
    let mut loader = ReferenceCuda;
    let mut epochs = loader.open(&spec, &data).unwrap();
    epochs.begin(0).unwrap();
    assert!(epochs.advance().unwrap());
    let asked = fake.now();
    epochs.ready().unwrap();
    let waited = fake.now() - asked;
    assert!(waited > 30_000, "{waited} ns");
    assert!(epochs.batch().keep() == expected[0]);
    // The consumer takes its time; the slot is its own until it asks for the next batch.
    fake.advance(Duration::from_millis(50));
    assert!(epochs.batch().keep() == expected[0]);
}

/// What the harness sees of a pipeline, in a run on this platform.
fn load(
    loader: &mut dyn Loader,
    spec: &PipelineSpec,
    platform: Platform,
) -> weighbridge::Result<RepeatResult> {
    let settings = Settings {
        run: RunSettings { platform, ..RunSettings::DEFAULT },
        ..Settings::new(Purpose::Verify, Budget::SMOKE)
    };
    let bencher = Bencher::new(settings);
    bencher.load(loader, spec)?;
    bencher.finish()
}

#[test]
fn loaders_of_the_process_deliver_on_the_device_where_that_is_asked_and_the_same_bits() {
    let Some(fake) = fake() else { return };
    let host = with(PipelineSpec::new(DataSpec::images(23, 8, 3), 5), &[Normalize, CastToFloat32]);
    let device = host.clone().deliver(Destination::Device);
    let content = |seen: &RepeatResult| seen.work.as_ref().unwrap().content.clone();
    let expected = content(&load(&mut Reference, &host, Platform::Cpu).unwrap());
    let loaders: [(&mut dyn Loader, usize, &str); 4] = [
        (&mut Reference, 0, "cpu, delivered to cuda:0"),
        (&mut ReferenceFused, 0, "cpu, delivered to cuda:0"),
        (&mut Rayon, 2, "cpu, delivered to cuda:0"),
        (&mut ReferenceCuda, 0, "cuda:0"),
    ];
    for (loader, workers, ran_on) in loaders {
        let device = device.clone().workers(workers);
        let seen = load(loader, &device, Platform::Gpu).unwrap();
        let report = &seen.work.as_ref().unwrap().report;
        assert_eq!((report.delivery, &*report.ran_on), (Delivery::Device, ran_on));
        assert_eq!(content(&seen), expected);
        let skipped = load(loader, &device, Platform::Cpu).map(drop).unwrap_err();
        assert!(skipped.is_skip() && skipped.to_string().contains("add `--platform gpu`"), "{skipped}");
    }
    let on_host = load(&mut ReferenceCuda, &host, Platform::Gpu).unwrap();
    assert_eq!(on_host.work.unwrap().report.delivery, Delivery::Owned);
    fake.set("devices", 0);
    let skipped = load(&mut Reference, &device, Platform::Gpu).map(drop).unwrap_err();
    assert!(skipped.is_skip() && skipped.to_string().contains("no CUDA device ("), "{skipped}");
}

#[test]
fn a_batch_of_the_host_is_ready_when_its_copy_has_arrived_and_keeps_its_bits() {
    let Some(fake) = fake() else { return };
    let spec = slow_rows().deliver(Destination::Device);
    let (_place, data) = data(&spec);
    let expected = epoch(&mut Reference, &spec, &data, 0);
    // Each batch takes 33 us on its way.
    fake.set("up_rate", 1);
    let mut loader = Reference;
    let mut epochs = deliver(loader.open(&spec, &data).unwrap(), &spec).unwrap();
    epochs.begin(0).unwrap();
    for (place, expected) in expected.iter().enumerate() {
        assert!(epochs.advance().unwrap());
        let asked = fake.now();
        epochs.ready().unwrap();
        let waited = fake.now() - asked;
        assert!(waited > 30_000, "batch {place}: {waited} ns");
        assert!(epochs.batch().keep() == *expected, "batch {place}");
        assert_eq!(epochs.batch().size(), 32 << 10);
    }
    assert!(!epochs.advance().unwrap());
}

#[test]
fn what_has_no_kernel_is_declined_by_its_name() {
    let Some(_stand) = fake() else { return };
    for (spec, name) in [
        (with(images(), &[MultiScaleResize]), "MultiScaleResize"),
        (with(images(), &[Normalize, ColorJitter]), "ColorJitter of f32"),
        (with(images(), &[RandomFlip, MultiScaleResize]), "MultiScaleResize"),
        (PipelineSpec::new(DataSpec::tokens(30, 12), 8).map(HashEmbeddingIndex), "HashEmbeddingIndex"),
        (images().sometimes(0.5, GaussianBlur), "GaussianBlur for some elements"),
        (images().map(Normalize).workers(2), "workers"),
    ] {
        let (_place, data) = data(&spec);
        let error = ReferenceCuda.open(&spec, &data).map(drop).unwrap_err();
        assert!(error.is_skip() && error.to_string().contains(name), "{error}");
    }
}

#[test]
fn an_error_of_the_device_fails_the_batch_and_names_itself() {
    let Some(fake) = fake() else { return };
    let spec = with(images(), &[Normalize]);
    let (_place, data) = data(&spec);
    let mut loader = ReferenceCuda;
    let mut epochs = loader.open(&spec, &data).unwrap();
    fake.fault("kernel:2:700");
    epochs.begin(0).unwrap();
    let mut run = || {
        while epochs.advance()? {
            epochs.ready()?;
        }
        Ok::<_, weighbridge::Error>(())
    };
    let error = run().unwrap_err();
    assert!(error.to_string().contains("ILLEGAL_ADDRESS"), "{error}");
    assert_eq!(error.kind(), &ErrorKind::Device, "nothing of this process can go on: {error}");
}

#[test]
fn without_a_device_the_loader_is_skipped_with_the_reason() {
    let Some(fake) = fake() else { return };
    fake.set("devices", 0);
    let (_place, data) = data(&images());
    let error = ReferenceCuda.open(&images(), &data).map(drop).unwrap_err();
    assert!(error.is_skip() && error.to_string().contains("no CUDA device ("), "{error}");
}
