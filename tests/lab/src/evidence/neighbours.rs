//! Neighbours that keep processors busy while others are measured.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// Busy loops; they end when this is dropped.
#[derive(Debug)]
pub(super) struct Neighbours {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Neighbours {
    /// Starts so many of them.
    pub(super) fn start(count: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let busy = |stop: Arc<AtomicBool>| {
            move || {
                let mut turns = 0u64;
                while !stop.load(Ordering::Relaxed) {
                    for _ in 0..10_000 {
                        turns = black_box(turns.wrapping_mul(31).wrapping_add(7));
                    }
                }
            }
        };
        let threads = (0..count).map(|_| thread::spawn(busy(stop.clone()))).collect();
        Self { stop, threads }
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join(); // a busy loop has nothing to panic with
        }
    }
}
