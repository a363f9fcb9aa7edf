//! What a bench measures with, by divan's names.

use std::fmt;
use std::mem::needs_drop;

use super::counter::{AsCountUInt, Counter, CounterKind, IntoCounter, Sealed};
use super::counts::Counts;
use super::inputs::{CountInputs, CountedInputs, NotCounted, Number};
use weighbridge::{BatchBencher, Error, skip};

/// The most inputs, or results that are dropped, that live at once where `sample_size` does not ask for more.
/// Divan takes as many as fill some microseconds, and what lives at once decides which caches a body finds
/// its memory in.
const MOST: usize = 128;

/// The request for one run of a bench, and its outcome.
#[derive(Debug)]
pub(crate) struct DivanContext<'b> {
    pub(crate) bencher: &'b weighbridge::Bencher,
    pub(crate) threads: usize,
    pub(crate) sample_size: Option<u32>,
    pub(crate) counts: Counts,
    /// The reason why nothing was measured.
    pub(crate) refused: Option<Error>,
}

impl<'b> DivanContext<'b> {
    /// The bencher, with all that is stated; `None` where nothing can be measured as it is asked for.
    fn begin(&mut self, threads: Threads, by_input: &[CounterKind]) -> Option<&'b weighbridge::Bencher> {
        if threads == Threads::ThisOne && self.threads > 1 {
            let why = format!(
                "it runs on one thread, as `bench_local` and its like do: of {} threads there is nothing to \
                 measure",
                self.threads
            );
            self.refused = Some(skip(why));
            return None;
        }
        if let Err(error) = self.counts.state(self.bencher, by_input) {
            self.refused = Some(error);
            return None;
        }
        if let Some(size) = self.sample_size {
            self.bencher.state_iterations_of_a_sample(size.into());
        }
        Some(self.bencher)
    }

    fn at_once(&self) -> usize {
        self.sample_size.map_or(MOST, |size| MOST.max(size as usize))
    }
}

/// On which threads a body may run.
#[derive(Clone, Copy, PartialEq)]
enum Threads {
    ThisOne,
    Any,
}

/// The bencher of a bench, by value: it measures once.
#[must_use = "a bencher measures when one of its `bench` methods is called"]
pub struct Bencher<'a, 'b, C = NoInputs> {
    context: &'a mut DivanContext<'b>,
    config: C,
}

impl<C> fmt::Debug for Bencher<'_, '_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bencher").finish_non_exhaustive()
    }
}

/// A bencher's body takes no inputs.
#[derive(Debug)]
pub struct NoInputs(());

/// A bencher's body takes inputs that a function makes, and `K` counts what they hold.
#[derive(Debug)]
pub struct Inputs<G, K = NotCounted> {
    make: G,
    counters: K,
}

impl<'a, 'b> Bencher<'a, 'b> {
    pub(crate) fn new(context: &'a mut DivanContext<'b>) -> Self {
        Self { context, config: NoInputs(()) }
    }

    /// Times a body, on as many threads as the bench asks for. What it gives back is dropped outside the
    /// clock.
    pub fn bench<O, B: Fn() -> O + Sync>(self, benched: B) {
        let (threads, at_once) = (self.context.threads, self.context.at_once());
        let Some(bencher) = self.context.begin(Threads::Any, &[]) else { return };
        let benched = &benched;
        match (threads, needs_drop::<O>()) {
            (1, false) => bencher.iter(benched),
            (1, true) => bencher.batched(|| ()).at_once(at_once).iter(|()| benched()),
            (_, false) => bencher.iter_threads(threads, |_| benched),
            (_, true) => {
                let none = || -> () {};
                bencher.batched(none).at_once(at_once).iter_threads(threads, |()| benched());
            }
        }
    }

    /// Times a body on this thread. What it gives back is dropped outside the clock.
    pub fn bench_local<O, B: FnMut() -> O>(self, mut benched: B) {
        let at_once = self.context.at_once();
        let Some(bencher) = self.context.begin(Threads::ThisOne, &[]) else { return };
        match needs_drop::<O>() {
            false => bencher.iter(benched),
            true => bencher.batched(|| ()).at_once(at_once).iter(|()| benched()),
        }
    }

    /// Makes an input for each iteration, outside the clock.
    pub fn with_inputs<G>(self, gen_input: G) -> Bencher<'a, 'b, Inputs<G>> {
        // No bound yet: it would make a function of the closure that no second thread may call.
        Bencher { context: self.context, config: Inputs { make: gen_input, counters: NotCounted } }
    }
}

impl<C> Bencher<'_, '_, C> {
    /// States what one iteration processes.
    pub fn counter<N: IntoCounter>(self, counter: N) -> Self {
        self.context.counts.set(counter);
        self
    }
}

impl<'a, 'b, I, G: FnMut() -> I, K: CountInputs<I>> Bencher<'a, 'b, Inputs<G, K>> {
    /// States what an iteration processes by its input, outside the clock.
    pub fn input_counter<N, F>(self, make_counter: F) -> Bencher<'a, 'b, Inputs<G, CountedInputs<K, F, N>>>
    where
        F: Fn(&I) -> N + Sync + 'static,
        N: IntoCounter,
    {
        self.context.counts.forget(N::Counter::KIND);
        let Inputs { make, counters } = self.config;
        Bencher { context: self.context, config: Inputs { make, counters: counters.and(make_counter) } }
    }

    /// States that the input is the number of what an iteration processes.
    pub fn count_inputs_as<N: Counter>(self) -> Bencher<'a, 'b, Inputs<G, Number<K, I, N>>>
    where
        I: AsCountUInt,
    {
        self.context.counts.forget(N::KIND);
        let Inputs { make, counters } = self.config;
        let count: fn(&I) -> N = |input| N::of(input.as_count());
        Bencher { context: self.context, config: Inputs { make, counters: counters.and(count) } }
    }

    /// Times a body that takes its input, on as many threads as the bench asks for.
    pub fn bench_values<O, B: Fn(I) -> O + Sync>(self, benched: B)
    where
        G: Fn() -> I + Sync,
    {
        let threads = self.context.threads;
        match (self.begin(Threads::Any), threads) {
            (None, _) => {}
            (Some(batched), 1) => batched.iter(benched),
            (Some(batched), _) => batched.iter_threads(threads, benched),
        }
    }

    /// Times a body that takes its input, on this thread.
    pub fn bench_local_values<O, B: FnMut(I) -> O>(self, benched: B) {
        if let Some(batched) = self.begin(Threads::ThisOne) {
            batched.iter(benched);
        }
    }

    /// Times a body that changes its input in place, on as many threads as the bench asks for.
    pub fn bench_refs<O, B: Fn(&mut I) -> O + Sync>(self, benched: B)
    where
        G: Fn() -> I + Sync,
    {
        let threads = self.context.threads;
        match (self.begin(Threads::Any), threads) {
            (None, _) => {}
            (Some(batched), 1) => batched.iter_ref(benched),
            (Some(batched), _) => batched.iter_ref_threads(threads, benched),
        }
    }

    /// Times a body that changes its input in place, on this thread.
    pub fn bench_local_refs<O, B: FnMut(&mut I) -> O>(self, benched: B) {
        if let Some(batched) = self.begin(Threads::ThisOne) {
            batched.iter_ref(benched);
        }
    }

    /// `'c`: the inputs may hold what lives no longer than this call.
    fn begin<'c>(self, threads: Threads) -> Option<BatchBencher<'c, I, G>>
    where
        'b: 'c,
        I: 'c,
        K: 'c,
    {
        let Inputs { make, counters } = self.config;
        let counters = counters.counters();
        let kinds: Vec<CounterKind> = counters.iter().map(|(kind, _)| *kind).collect();
        let mut batched = self.context.begin(threads, &kinds)?.batched(make).at_once(self.context.at_once());
        for (kind, count) in counters {
            let count = move |input: &I| count(input) as usize;
            batched = match kind {
                CounterKind::Bytes => batched.bytes_of(count),
                CounterKind::Chars | CounterKind::Cycles | CounterKind::Items => batched.elements_of(count),
            };
        }
        Some(batched)
    }
}

#[cfg(test)]
mod tests {
    use weighbridge::remote::{Purpose, RepeatResult, Settings};
    use weighbridge::style::Budget;

    use super::super::counter::{BytesCount, ItemsCount};
    use super::*;

    /// The result of a bench that is run on so many threads, as short as can be.
    fn run(threads: usize, bench: impl FnOnce(Bencher<'_, '_>)) -> Result<RepeatResult, Error> {
        let bencher = weighbridge::Bencher::new(Settings::new(Purpose::Smoke, Budget::SMOKE));
        let mut context = DivanContext {
            bencher: &bencher,
            threads,
            sample_size: Some(4),
            counts: Counts::default(),
            refused: None,
        };
        bench(Bencher::new(&mut context));
        match context.refused {
            Some(refused) => Err(refused),
            None => bencher.finish(),
        }
    }

    #[test]
    fn every_body_that_may_runs_on_all_threads() {
        let check = |bench: fn(Bencher<'_, '_>)| {
            let seen = run(2, bench).unwrap().seen;
            assert_eq!(seen.elements, 2 * seen.iterations_per_sample * seen.samples.len() as u64);
        };
        check(|bencher| bencher.counter(1_u64).bench(|| 1));
        check(|bencher| bencher.counter(1_u64).bench(String::new));
        check(|bencher| bencher.with_inputs(|| 1).counter(1_u64).bench_values(|one: u64| one));
        check(|bencher| bencher.with_inputs(|| 1).counter(1_u64).bench_refs(|one: &mut u64| *one));
    }

    #[test]
    fn a_local_body_is_skipped_with_its_reason_on_several_threads() {
        let refused = run(2, |bencher| bencher.bench_local(|| ())).unwrap_err();
        assert!(refused.is_skip() && refused.to_string().contains("of 2 threads"), "{refused}");
    }

    #[test]
    fn what_an_input_counts_stands_instead_of_what_was_stated_of_its_kind() {
        let seen = run(1, |bencher| {
            let texts = bencher.counter(BytesCount::new(7_u8)).counter(ItemsCount::new(2_u8));
            texts
                .with_inputs(|| "four")
                .input_counter(|text| BytesCount::of_str(*text))
                .bench_values(str::len);
        });
        let seen = seen.unwrap().seen;
        assert_eq!((seen.bytes, seen.elements), (2 * seen.elements, seen.elements));
    }
}
