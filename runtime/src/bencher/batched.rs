//! Bodies whose inputs are made beforehand, and what can be said of such inputs.

use std::fmt;
use std::hint::black_box;

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
pub struct Batched<'a, I, S> {
    bencher: &'a Bencher,
    setup: S,
    most: u64,
    elements: Option<fn(&I) -> usize>,
    bytes: Option<fn(&I) -> usize>,
}

impl<I, S> fmt::Debug for Batched<'_, I, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batched").field("most", &self.most).finish_non_exhaustive()
    }
}

impl Bencher {
    /// A body on inputs that `setup` makes, of which more is to be said; [`Batched::iter`] or [`Batched::iter_ref`] measures.
    pub fn batched<I, S: FnMut() -> I>(&self, setup: S) -> Batched<'_, I, S> {
        Batched { bencher: self, setup, most: MOST_INPUTS, elements: None, bytes: None }
    }
}

impl<I, S: FnMut() -> I> Batched<'_, I, S> {
    /// Makes at most so many inputs at once, and so has at most so many iterations in a sample: for inputs that are large. 1024
    /// where nothing is said.
    #[must_use]
    pub fn at_once(mut self, most: usize) -> Self {
        self.most = most.max(1) as u64;
        self
    }

    /// Says how many elements an input has: counted over all inputs, outside the clock. Instead of [`Bencher::elements`].
    #[must_use]
    pub fn elements_of(mut self, count: fn(&I) -> usize) -> Self {
        self.elements = Some(count);
        self
    }

    /// Says how many bytes an input has, likewise.
    #[must_use]
    pub fn bytes_of(mut self, count: fn(&I) -> usize) -> Self {
        self.bytes = Some(count);
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
            results.clear();
            (took, handled)
        });
    }

    /// Times `body`, which changes its input in place. Neither making nor dropping inputs is timed, nor dropping results.
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
            results.clear();
            inputs.clear();
            (took, handled)
        });
    }

    /// Makes the inputs of a sample, and says what is to be handled in it.
    fn make(&mut self, inputs: &mut Vec<I>, iterations: u64) -> PerIteration {
        inputs.extend((0..iterations).map(|_| (self.setup)()));
        let sum = |count: Option<fn(&I) -> usize>| {
            count.map_or(0, |count| inputs.iter().map(|input| count(input) as u64).sum())
        };
        PerIteration { elements: sum(self.elements), bytes: sum(self.bytes), flops: 0 }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::bencher::{Limits, Purpose, Settings};
    use crate::device::ManualClock;

    const LIMITS: Limits =
        Limits { warmup: 3, batches: 20, min_time: Duration::from_millis(50), max_time: None };

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
            Bencher::new(Settings { clock: hand.clock(), ..Settings::new(Purpose::Measure, LIMITS) });
        bencher.iter_batched_ref(|| Slow(hand.clone()), |slow| slow.0.advance(Duration::from_micros(100)));
        let seen = bencher.finish().unwrap().seen;
        assert!(seen.samples.iter().all(|sample| *sample == 1_000_000), "{:?}", seen.samples);
    }

    #[test]
    fn what_inputs_hold_is_counted_over_those_that_are_measured() {
        let hand = ManualClock::default();
        let bencher =
            Bencher::new(Settings { clock: hand.clock(), ..Settings::new(Purpose::Measure, LIMITS) });
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
}
