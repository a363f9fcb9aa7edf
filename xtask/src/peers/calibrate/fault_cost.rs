//! What a page fault costs here.

use std::hint::black_box;
use std::time::Instant;

/// Bytes of a page, as nearly everywhere. Where pages are larger, the cost comes out less, and fewer differences are explained.
const PAGE: usize = 4096;
/// Pages of memory that is new: more than any allocator keeps for itself (glibc keeps pieces of up to 32 MiB).
const PAGES: usize = 1 << 14;
/// How often new memory is touched; the median counts.
const TRIES: usize = 5;

/// Seconds by which it takes longer to touch a page of new memory than one that is there, with what it costs to get the memory
/// and to give it back.
pub(super) fn seconds() -> f64 {
    let touch = |memory: &mut [u8]| {
        for page in memory.chunks_mut(PAGE) {
            page[0] = black_box(1);
        }
    };
    let a_page = || {
        let start = Instant::now();
        let mut memory = vec![0_u8; black_box(PAGES * PAGE)]; // zeroed by the system, page by page
        touch(&mut memory);
        let was_new = start.elapsed();
        let start = Instant::now();
        touch(&mut memory);
        let was_there = start.elapsed();
        let start = Instant::now();
        drop(black_box(memory));
        (was_new + start.elapsed()).saturating_sub(was_there).as_secs_f64() / PAGES as f64
    };
    weighbridge::data::median(&std::iter::repeat_with(a_page).take(TRIES).collect::<Vec<_>>())
}
