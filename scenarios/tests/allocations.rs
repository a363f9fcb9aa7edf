//! Batches are made in buffers that are there: once a pipeline runs, nothing is allocated.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weighbridge_scenarios::adapters::native::{Reference, ReferenceFused};
use weighbridge_scenarios::contract::Loader;
use weighbridge_scenarios::data::{Cache, DataSpec};
use weighbridge_scenarios::workload::{Access, PipelineSpec, Transform};

/// The system's allocator, counting.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[expect(unsafe_code, reason = "an allocator cannot be written without; it hands everything on")]
// SAFETY: every call goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// One test alone in this binary: another one beside it would be counted too.
#[test]
fn no_batch_in_steady_state_allocates() {
    let place = tempfile::tempdir().unwrap();
    let images = DataSpec::images(640, 16, 3);
    let data = Arc::new(Cache::at(place.path()).open(&images).unwrap());
    let plain = PipelineSpec::new(images, 16);
    let random = plain.clone().map(Transform::RandomCrop).map(Transform::RandomFlip);
    let chain = random.clone().map(Transform::Normalize).map(Transform::Scale).map(Transform::Clip);
    let loaders: [&mut dyn Loader; 2] = [&mut Reference, &mut ReferenceFused];
    for loader in loaders {
        for spec in [&plain, &random, &chain] {
            for access in [Access::Memory, Access::FileEager, Access::FileStreaming] {
                for workers in [0, 2] {
                    let spec = spec.clone().access(access).workers(workers);
                    let mut epochs = loader.open(&spec, &data).unwrap();
                    epochs.begin(0).unwrap();
                    for _ in 0..10 {
                        assert!(epochs.advance().unwrap());
                    }
                    let before = ALLOCATIONS.load(Ordering::Relaxed);
                    for _ in 0..20 {
                        assert!(epochs.advance().unwrap());
                    }
                    let allocated = ALLOCATIONS.load(Ordering::Relaxed) - before;
                    // A thread that waits for the first time makes its place in a channel's queue, once.
                    let allowed = 4 * workers as u64;
                    assert!(
                        allocated <= allowed,
                        "{allocated}: {access:?}, {workers} workers, {:?}",
                        spec.transforms
                    );
                }
            }
        }
    }
}
