//! Counting allocations: a global allocator that a bench target may set.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde::{Deserialize, Serialize};

static CALLS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

/// The system's allocator with two counters before it: it makes the metrics `allocations` and
/// `allocated_bytes`.
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: weighbridge::Counting = weighbridge::Counting;
/// # fn main() {}
/// ```
///
/// Each allocation then pays for two relaxed additions, some nanoseconds, in whatever time it falls into;
/// several threads that allocate at once share the counters, and pay more.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counting;

impl Counting {
    /// The same as the name alone.
    pub const fn system() -> Self {
        Self
    }
}

/// Allocations, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeapUse {
    /// Calls that gave memory: allocations, and reallocations, each once.
    pub calls: u64,
    /// Bytes that were asked for. A reallocation counts for what it grows by.
    pub bytes: u64,
}

/// Counts the allocations of this process so far; `None` where [`Counting`] is not its allocator.
pub fn allocated() -> Option<HeapUse> {
    let calls = CALLS.load(Relaxed);
    // A program allocates before its `main` begins: an allocator that counts has counted something.
    (calls > 0).then(|| HeapUse { calls, bytes: BYTES.load(Relaxed) })
}

fn count(bytes: usize) {
    CALLS.fetch_add(1, Relaxed);
    BYTES.fetch_add(bytes as u64, Relaxed);
}

/// The same before any allocator.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountingOf<A = System>(A);

impl CountingOf<System> {
    /// Before that of the system.
    pub const fn system() -> Self {
        Self(System)
    }
}

impl<A> CountingOf<A> {
    /// Before this one.
    pub const fn new(allocator: A) -> Self {
        Self(allocator)
    }
}

#[expect(
    unsafe_code,
    reason = "an allocator is unsafe by its trait; every call is handed to the other as it is"
)]
// SAFETY: every method passes its arguments on to the other allocator, whose contract is the same; counting
// neither allocates nor unwinds.
unsafe impl<A: GlobalAlloc> GlobalAlloc for CountingOf<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller keeps the contract.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as above.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size.saturating_sub(layout.size()));
        // SAFETY: as above.
        unsafe { self.0.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { self.0.dealloc(memory, layout) }
    }
}

#[expect(
    unsafe_code,
    reason = "an allocator is unsafe by its trait; every call is handed to the system's as it is"
)]
// SAFETY: every method passes its arguments on to `System`, whose contract is the same; counting neither
// allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract.
        unsafe { CountingOf(System).alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        unsafe { CountingOf(System).alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        unsafe { CountingOf(System).realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { CountingOf(System).dealloc(memory, layout) }
    }
}
