//! Batches are made in buffers that are there: once a pipeline runs, nothing is allocated.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weighbridge_data::{Cache, DataSpec};
use weighbridge_loaders::adapters::native::{Reference, ReferenceFused};
use weighbridge_loaders::contract::Loader;
use weighbridge_loaders::workload::{Access, Merge, MixRule, PipelineSpec, Transform};

/// The system's allocator, counting.
struct CountingAllocator;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[expect(unsafe_code, reason = "an allocator cannot be written without; it hands everything on")]
// SAFETY: every call goes to the system's allocator as it is.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Transforms of tokens: there are none here.
const LEFT_OUT: [Transform; 4] = [
    Transform::DynamicPad,
    Transform::HashEmbeddingIndex,
    Transform::CreateAttentionMask,
    Transform::CausalMaskGeneration,
];

/// One test alone in this binary: another one beside it would be counted too.
#[test]
fn no_batch_in_steady_state_allocates_nor_does_another_epoch() {
    let place = tempfile::tempdir().unwrap();
    let images = DataSpec::images(640, 16, 3);
    let data = Arc::new(Cache::at(place.path()).open(&images).unwrap());
    let plain = PipelineSpec::new(images, 16);
    let random = plain.clone().map(Transform::RandomCrop).map(Transform::RandomFlip);
    let chain = random.clone().map(Transform::Normalize).map(Transform::Scale).map(Transform::Clip);
    let long = Transform::ALL.into_iter().filter(|transform| !LEFT_OUT.contains(transform));
    let long = long.fold(plain.clone(), PipelineSpec::map);
    let view = [Transform::RandomResizedCrop, Transform::GaussianBlur, Transform::Normalize];
    let views = plain.clone().branch(&view).branch(&view).merge(Merge::Views);
    let mean = chain.clone().branch(&[Transform::GaussianNoise]).branch(&[Transform::RandomScale]);
    let mixed =
        chain.clone().mix(MixRule::MixUp { alpha: 0.4 }).mixture(&[1.0, 2.0]).sometimes(0.5, Transform::Add);
    let regrouped = random.clone().mix(MixRule::CutMix { alpha: 0.4 }).rebatch(12);
    let loaders: [&mut dyn Loader; 2] = [&mut Reference, &mut ReferenceFused];
    for loader in loaders {
        for spec in [&plain, &random, &chain, &long, &views, &mean, &mixed, &regrouped] {
            let everywhere = [Access::Memory, Access::FileEager, Access::FileStreaming];
            let is_long = spec.work().len() > 5;
            for access in everywhere.into_iter().take(if is_long { 1 } else { 3 }) {
                for workers in [0, 2] {
                    let spec = spec.clone().access(access).workers(workers);
                    let mut epochs = loader.open(&spec, &data).unwrap();
                    epochs.begin(0).unwrap();
                    for _ in 0..10 {
                        assert!(epochs.advance().unwrap());
                    }
                    let before = ALLOCATIONS.load(Ordering::Relaxed);
                    for epoch in [1, 2] {
                        for _ in 0..20 {
                            assert!(epochs.advance().unwrap());
                        }
                        epochs.begin(epoch).unwrap(); // in the middle of the one before
                    }
                    let allocated = ALLOCATIONS.load(Ordering::Relaxed) - before;
                    // A thread that waits for the first time makes its place in a channel's queue, once.
                    let allowed = 4 * workers as u64;
                    assert!(
                        allocated <= allowed,
                        "{allocated}: {access:?}, {workers} workers, {:?}",
                        spec.work()
                    );
                }
            }
        }
    }
}
