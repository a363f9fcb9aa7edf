//! What a page fault costs on this machine.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Bytes of a page, as nearly everywhere. Where pages are larger, the cost comes out less, and less is
/// excused by faults.
const PAGE: usize = 4096;
/// Bytes of memory that is new: more than any allocator keeps for itself (glibc keeps pieces of up to 32
/// MiB).
const NEW: usize = 40 << 20;
/// So many of its pages are touched, which is little beside the memory that a repeat is measured by: the rest
/// costs nothing.
const PAGES: u32 = 1 << 8;
/// The number of times; the least counts.
const TRIES: usize = 5;

/// By how much longer it takes to touch a page of new memory than one that is there, with what it costs to
/// get the memory and to give it back. Takes some milliseconds.
pub fn page_fault_cost() -> Duration {
    let touch = |memory: &mut [u8]| {
        for page in memory.chunks_mut(PAGE).take(PAGES as usize) {
            page[0] = black_box(1);
        }
    };
    let a_page = || {
        let start = Instant::now();
        let mut memory = vec![0_u8; black_box(NEW)]; // zeroed by the system, page by page
        touch(&mut memory);
        let was_new = start.elapsed();
        let start = Instant::now();
        touch(&mut memory);
        let was_there = start.elapsed();
        let start = Instant::now();
        drop(black_box(memory));
        (was_new + start.elapsed()).saturating_sub(was_there) / PAGES
    };
    std::iter::repeat_with(a_page).take(TRIES).min().unwrap_or_default()
}
