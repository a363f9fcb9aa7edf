//! What is inside the timed region of `iter`: the body, and nothing that allocates, reads, writes or waits.

use std::hint::black_box;
use std::time::Duration;

use weighbridge::{Bencher, Budget, Counting, Purpose, Settings};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const BUDGET: Budget = Budget { warmup: 2, batches: 20, min_time: Duration::from_millis(20), max_time: None };

/// One test alone in this binary: what another one beside it allocates would be counted too.
#[test]
fn nothing_but_the_body_allocates_reads_or_writes_in_a_timed_region() {
    let run = |body: &mut dyn FnMut()| {
        let bencher = Bencher::new(Settings::new(Purpose::Measure, BUDGET));
        bencher.iter(body);
        bencher.finish().unwrap().seen
    };
    let mut value = 1u64;
    let plain = run(&mut || value = black_box(value.wrapping_mul(31)));
    assert!(plain.iterations() > 1000);
    let allocated = plain.usage.allocated.expect("this binary counts");
    assert_eq!((allocated.calls, allocated.bytes), (0, 0));
    if let Some(moved) = plain.usage.moved {
        assert_eq!((moved.read, moved.written), (0, 0));
    }
    assert_eq!(plain.usage.voluntary_switches, 0, "it waited for something");

    // That nothing is counted says something only if what there is would be.
    let boxing = run(&mut || drop(black_box(Box::new([0u8; 100]))));
    let allocated = boxing.usage.allocated.expect("this binary counts");
    assert_eq!((allocated.calls, allocated.bytes), (boxing.iterations(), 100 * boxing.iterations()));
    let reading = run(&mut || drop(black_box(std::fs::read("/proc/self/statm"))));
    if let Some(moved) = reading.usage.moved {
        assert!(moved.read >= reading.iterations(), "{moved:?}");
    }
}
