//! What inputs hold, by the functions that count it. Each is a type of its own: inputs may borrow from the
//! bench.

use std::marker::PhantomData;

use super::counter::{CounterKind, IntoCounter, Sealed};

/// Nothing of the inputs is counted.
#[derive(Clone, Copy, Debug)]
pub struct NotCounted;

/// Counters of inputs: those of `K`, and the function `F`, which makes counters of type `N`.
#[derive(Debug)]
pub struct CountedInputs<K, F, N> {
    others: K,
    count: F,
    counter: PhantomData<fn() -> N>,
}

/// Counters of inputs: those of `K`, and the inputs themselves, each the number of what a counter of type `N`
/// counts.
pub type Number<K, I, N> = CountedInputs<K, fn(&I) -> N, N>;

/// Counts an input.
pub(super) type CountOf<'a, I> = Box<dyn Fn(&I) -> u64 + Sync + 'a>;

/// A set of counters of inputs of type `I`.
pub trait CountInputs<I>: Sized {
    /// Counts this as well, instead of what else is of its kind.
    fn and<F: Fn(&I) -> N + Sync, N: IntoCounter>(self, count: F) -> CountedInputs<Self, F, N> {
        CountedInputs { others: self, count, counter: PhantomData }
    }

    /// One function for each kind.
    #[doc(hidden)]
    fn counters<'a>(self) -> Vec<(CounterKind, CountOf<'a, I>)>
    where
        Self: 'a,
        I: 'a;
}

impl<I> CountInputs<I> for NotCounted {
    fn counters<'a>(self) -> Vec<(CounterKind, CountOf<'a, I>)>
    where
        I: 'a,
    {
        Vec::new()
    }
}

impl<I, K: CountInputs<I>, F: Fn(&I) -> N + Sync, N: IntoCounter> CountInputs<I> for CountedInputs<K, F, N> {
    fn counters<'a>(self) -> Vec<(CounterKind, CountOf<'a, I>)>
    where
        Self: 'a,
        I: 'a,
    {
        let (kind, count) = (N::Counter::KIND, self.count);
        let mut counters = self.others.counters();
        counters.retain(|(earlier, _)| *earlier != kind);
        counters.push((kind, Box::new(move |input| count(input).into_counter().count())));
        counters
    }
}
