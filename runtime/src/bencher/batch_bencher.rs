//! Bodies whose inputs are made beforehand, and what can be said of such inputs.

use std::fmt;
use std::hint::black_box;

use super::threads;
use super::{Bencher, PerIteration};

/// The most inputs that are made at once where nobody says less.
const MOST_INPUTS: u64 = 1024;

/// A body on inputs of its own, from [`Bencher::batched`].
///
/// ```
/// use weighbridge::prelude::*;
///
/// /// Count the words of texts of any length.
/// #[scenario(id = "WORDS-1")]
/// fn words(bencher: &mut Bencher) {
///     let mut length = 0;
///     let text = || {
///         length = length % 100 + 1;
///         "word ".repeat(length)
///     };
///     bencher.batched(text).bytes_of(String::len).at_once(64).iter_ref(|text| text.split(' ').count());
/// }
/// ```
pub struct BatchBencher<'a, I, S> {
    bencher: &'a Bencher,
    setup: S,
    most: u64,
    elements: Option<BatchCount<'a, I>>,
    bytes: Option<BatchCount<'a, I>>,
}

/// Counts what an input holds, on whichever thread made it.
type BatchCount<'a, I> = Box<dyn Fn(&I) -> usize + Sync + 'a>;

impl<I, S> fmt::Debug for BatchBencher<'_, I, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batched").field("most", &self.most).finish_non_exhaustive()
    }
}

impl Bencher {
    /// A body on inputs that `setup` makes, of which more is to be said; [`BatchBencher::iter`] or
    /// [`BatchBencher::iter_ref`] measures.
    pub fn batched<I, S: FnMut() -> I>(&self, setup: S) -> BatchBencher<'_, I, S> {
        BatchBencher { bencher: self, setup, most: MOST_INPUTS, elements: None, bytes: None }
    }
}

impl<'a, I, S: FnMut() -> I> BatchBencher<'a, I, S> {
    /// Makes at most so many inputs at once, and so has at most so many iterations in a sample: for inputs
    /// that are large. 1024 where nothing is said.
    #[must_use]
    pub fn at_once(mut self, most: usize) -> Self {
        self.most = most.max(1) as u64;
        self
    }

    /// Says how many elements an input has: counted over all inputs, outside the clock. Instead of
    /// [`Bencher::elements`].
    #[must_use]
    pub fn elements_of(mut self, count: impl Fn(&I) -> usize + Sync + 'a) -> Self {
        self.elements = Some(Box::new(count));
        self
    }

    /// Says how many bytes an input has, likewise.
    #[must_use]
    pub fn bytes_of(mut self, count: impl Fn(&I) -> usize + Sync + 'a) -> Self {
        self.bytes = Some(Box::new(count));
        self
    }

    /// Times `body`, which takes its input. Neither making inputs nor dropping results is timed.
    #[expect(clippy::iter_not_returning_iterator, reason = "what every harness calls it")]
    pub fn iter<T>(mut self, mut body: impl FnMut(I) -> T) {
        let (mut inputs, mut results) = (Vec::new(), Vec::new());
        let bencher = self.bencher;
        bencher.run_counted(self.most, |windows, clock, iterations| {
            let handled = self.make(&mut inputs, iterations);
            results.reserve(iterations as usize); // so that no push below allocates
            let took = bencher.timed(windows, clock, || {
                for input in inputs.drain(..) {
                    results.push(black_box(body(input)));
                }
            });
            bencher.drop_results(&mut results);
            (took, handled)
        });
    }

    /// Times `body`, which changes its input in place. Neither making nor dropping inputs is timed, nor
    /// dropping results.
    pub fn iter_ref<T>(mut self, mut body: impl FnMut(&mut I) -> T) {
        let (mut inputs, mut results) = (Vec::new(), Vec::new());
        let bencher = self.bencher;
        bencher.run_counted(self.most, |windows, clock, iterations| {
            let handled = self.make(&mut inputs, iterations);
            results.reserve(iterations as usize);
            let took = bencher.timed(windows, clock, || {
                for input in &mut inputs {
                    results.push(black_box(body(input)));
                }
            });
            bencher.drop_results(&mut results);
            inputs.clear();
            (took, handled)
        });
    }

    /// Times `body` on `threads` threads at once, each with inputs of its own, as [`Bencher::iter_threads`]
    /// does: a sample runs from the common start to the end of the last thread, and its iterations are those
    /// of one thread. Each thread makes its inputs before the start and drops its results when all have
    /// ended. A closure that makes inputs is given a name first, as below: written into the call of
    /// [`Bencher::batched`] it would be one that no second thread may call.
    ///
    /// ```
    /// use std::sync::mpsc::channel;
    /// use weighbridge::prelude::*;
    ///
    /// /// Send texts of one's own to one receiver.
    /// #[scenario(id = "SEND-1")]
    /// fn send(bencher: &mut Bencher, #[sweep(1, 2)] threads: usize) {
    ///     let (sender, _receiver) = channel();
    ///     let text = || "word ".repeat(20);
    ///     bencher.batched(text).bytes_of(String::len).iter_threads(threads, |text| sender.send(text));
    /// }
    /// ```
    ///
    /// # Panics
    /// If `threads` is 0, and if `body` or making an input panics.
    pub fn iter_threads<T>(self, threads: usize, body: impl Fn(I) -> T + Sync)
    where
        S: Fn() -> I + Sync,
    {
        self.run_threads(threads, |inputs, results| {
            for input in inputs.drain(..) {
                results.push(black_box(body(input)));
            }
        });
    }

    /// The same for a body that changes its input in place. Inputs too are dropped when all threads have
    /// ended.
    ///
    /// # Panics
    /// If `threads` is 0, and if `body` or making an input panics.
    pub fn iter_ref_threads<T>(self, threads: usize, body: impl Fn(&mut I) -> T + Sync)
    where
        S: Fn() -> I + Sync,
    {
        self.run_threads(threads, |inputs, results| {
            for input in inputs {
                results.push(black_box(body(input)));
            }
        });
    }

    fn run_threads<T>(self, threads: usize, block: impl Fn(&mut Vec<I>, &mut Vec<T>) + Sync)
    where
        S: Fn() -> I + Sync,
    {
        assert!(threads > 0, "iter_threads needs at least one thread");
        let Self { bencher, setup, most, elements, bytes } = self;
        bencher.state_per_iteration(|stated| *stated = stated.times(threads as u64));
        let (elements, bytes) = (elements.as_deref(), bytes.as_deref());
        bencher.run_counted(most, |windows, clock, iterations| {
            let (took, handled) = threads::run(threads, windows, clock, |_, lane| {
                let mut inputs: Vec<I> = (0..iterations).map(|_| setup()).collect();
                let mut results = Vec::with_capacity(inputs.len());
                let handled = handled(&inputs, elements, bytes);
                lane.timed(|| block(&mut inputs, &mut results));
                lane.wait_for_the_others();
                handled
            });
            (took, handled.into_iter().fold(PerIteration::default(), PerIteration::plus))
        });
    }

    /// Makes the inputs of a sample, and says what is to be handled in it.
    fn make(&mut self, inputs: &mut Vec<I>, iterations: u64) -> PerIteration {
        inputs.extend((0..iterations).map(|_| (self.setup)()));
        handled(inputs, self.elements.as_deref(), self.bytes.as_deref())
    }
}

/// The elements and bytes of these inputs; 0 of what is not counted.
fn handled<I>(
    inputs: &[I],
    elements: Option<&(dyn Fn(&I) -> usize + Sync + '_)>,
    bytes: Option<&(dyn Fn(&I) -> usize + Sync + '_)>,
) -> PerIteration {
    let sum = |count: Option<&(dyn Fn(&I) -> usize + Sync + '_)>| {
        count.map_or(0, |count| inputs.iter().map(|input| count(input) as u64).sum())
    };
    PerIteration { elements: sum(elements), bytes: sum(bytes), flops: 0 }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::bencher::{Budget, Purpose, Settings};
    use crate::device::ManualClock;

    const BUDGET: Budget =
        Budget { warmup: 3, batches: 20, min_time: Duration::from_millis(50), max_time: None };

    struct Slow(ManualClock);

    impl Drop for Slow {
        fn drop(&mut self) {
            self.0.advance(Duration::from_millis(1));
        }
    }

    #[test]
    fn an_input_that_is_changed_in_place_is_dropped_outside_the_clock() {
        let hand = ManualClock::default();
        let bencher =
            Bencher::new(Settings { clock: hand.clock(), ..Settings::new(Purpose::Measure, BUDGET) });
        bencher.iter_batched_ref(|| Slow(hand.clone()), |slow| slow.0.advance(Duration::from_micros(100)));
        let seen = bencher.finish().unwrap().seen;
        assert!(seen.samples.iter().all(|sample| *sample == 1_000_000), "{:?}", seen.samples);
    }

    #[test]
    fn what_inputs_hold_is_counted_over_those_that_are_measured() {
        let hand = ManualClock::default();
        let bencher =
            Bencher::new(Settings { clock: hand.clock(), ..Settings::new(Purpose::Measure, BUDGET) });
        let mut length = 0;
        let text = || {
            length = length % 3 + 1;
            "x".repeat(length)
        };
        let of = bencher.batched(text).bytes_of(String::len).elements_of(|_| 2).at_once(6);
        of.iter(|_| hand.advance(Duration::from_micros(10)));
        let seen = bencher.finish().unwrap().seen;
        assert_eq!(seen.iterations_per_sample, 6, "though a hundred would fill a block");
        // Whole turns of 1, 2, 3 bytes: two each.
        assert_eq!((seen.bytes, seen.elements), (2 * seen.iterations(), 2 * seen.iterations()));
    }

    #[test]
    fn threads_have_inputs_of_their_own_that_are_made_and_dropped_outside_the_clock() {
        use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
        static LIVE: AtomicU64 = AtomicU64::new(0);
        struct CountingClock(ManualClock);
        impl Drop for CountingClock {
            fn drop(&mut self) {
                self.0.advance(Duration::from_millis(1));
                LIVE.fetch_sub(1, Relaxed);
            }
        }
        for by_reference in [false, true] {
            let hand = ManualClock::default();
            let bencher =
                Bencher::new(Settings { clock: hand.clock(), ..Settings::new(Purpose::Measure, BUDGET) });
            let make = || {
                LIVE.fetch_add(1, Relaxed);
                hand.advance(Duration::from_millis(1));
                CountingClock(hand.clone())
            };
            let of = bencher.batched(make).bytes_of(|_| 3).at_once(4);
            let work = || hand.advance(Duration::from_micros(100));
            match by_reference {
                true => of.iter_ref_threads(2, |_| work()),
                false => of.iter_threads(2, |input| {
                    work();
                    input
                }),
            }
            let seen = bencher.finish().unwrap().seen;
            assert_eq!((seen.iterations_per_sample, LIVE.load(Relaxed)), (4, 0));
            // Two threads advance one clock: eight bodies at most, and nothing of making or dropping.
            let fits = |sample: &u64| (400_000..=800_000).contains(sample);
            assert!(seen.samples.iter().all(fits), "{:?}", seen.samples);
            assert_eq!(seen.bytes, 2 * 3 * seen.iterations(), "of both threads");
        }
    }

    #[test]
    fn a_batched_body_that_panics_on_one_thread_is_a_panic_and_no_hang() {
        let panics = |in_setup: bool| {
            let bencher = Bencher::new(Settings::new(Purpose::Smoke, Budget::SMOKE));
            let calls = std::sync::atomic::AtomicU64::new(0);
            let second = || calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 1;
            let ran = std::panic::AssertUnwindSafe(|| {
                let setup = || assert!(!(in_setup && second()), "planted");
                bencher.batched(setup).iter_threads(2, |()| assert!(in_setup || !second(), "planted"));
            });
            std::panic::catch_unwind(ran).is_err()
        };
        assert!(panics(false) && panics(true));
    }
}
