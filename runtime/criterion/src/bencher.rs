//! The bencher of one benchmark: it runs a body once, or measures it.

use std::fmt;
use std::hint::black_box;
use std::time::{Duration, Instant};

use weighbridge::{Direction, Unit};

use crate::measurement::{Measurement, WallTime};
use crate::{BatchSize, Throughput};

/// The bencher of one benchmark: it times the body.
pub struct Bencher<'a, M: Measurement = WallTime> {
    run: BodyRun<'a>,
    pub(crate) measurement: &'a M,
    /// The values of an iteration by a measurement of one's own, sample by sample.
    values: Vec<f64>,
}

/// The way in which a body is run.
#[derive(Clone, Copy)]
enum BodyRun<'a> {
    /// Once, and nothing is measured.
    Once,
    Measured(&'a weighbridge::Bencher),
}

impl<M: Measurement> fmt::Debug for Bencher<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bencher").finish_non_exhaustive()
    }
}

impl<'a, M: Measurement> Bencher<'a, M> {
    pub(crate) fn once(measurement: &'a M) -> Self {
        Self { run: BodyRun::Once, measurement, values: Vec::new() }
    }

    pub(crate) fn measured(bencher: &'a weighbridge::Bencher, measurement: &'a M) -> Self {
        Self { run: BodyRun::Measured(bencher), measurement, values: Vec::new() }
    }

    /// Times the body; making and dropping what it gives back is in it.
    #[expect(clippy::iter_not_returning_iterator, reason = "criterion's name")]
    pub fn iter<O, R: FnMut() -> O>(&mut self, mut routine: R) {
        match self.run {
            BodyRun::Measured(bencher) if self.measurement.is_wall_time() => bencher.iter(routine),
            _ => {
                let measurement = self.measurement;
                self.sample(|iterations| {
                    let start = measurement.start();
                    for _ in 0..iterations {
                        black_box(routine());
                    }
                    measurement.end(start)
                });
            }
        }
    }

    /// Lets the body measure: it is told how many iterations to run, and what it says is taken as it is.
    pub fn iter_custom<R: FnMut(u64) -> M::Value>(&mut self, routine: R) {
        self.sample(routine);
    }

    /// Times the body on inputs that are made outside the clock.
    pub fn iter_batched<I, O, S, R>(&mut self, mut setup: S, mut routine: R, size: BatchSize)
    where
        S: FnMut() -> I,
        R: FnMut(I) -> O,
    {
        match self.run {
            BodyRun::Measured(bencher) if self.measurement.is_wall_time() => {
                bencher.batched(setup).at_once(size.most()).iter(routine);
            }
            _ => self.sample_batches(size, &mut setup, |mut inputs, measurement| {
                let mut outputs = Vec::with_capacity(inputs.len());
                let start = measurement.start();
                outputs.extend(inputs.drain(..).map(&mut routine));
                let value = measurement.end(start);
                drop(black_box(outputs));
                value
            }),
        }
    }

    /// The same, on inputs that it changes in place.
    pub fn iter_batched_ref<I, O, S, R>(&mut self, mut setup: S, mut routine: R, size: BatchSize)
    where
        S: FnMut() -> I,
        R: FnMut(&mut I) -> O,
    {
        match self.run {
            BodyRun::Measured(bencher) if self.measurement.is_wall_time() => {
                bencher.batched(setup).at_once(size.most()).iter_ref(routine);
            }
            _ => self.sample_batches(size, &mut setup, |mut inputs, measurement| {
                let mut outputs = Vec::with_capacity(inputs.len());
                let start = measurement.start();
                outputs.extend(inputs.iter_mut().map(&mut routine));
                let value = measurement.end(start);
                drop(black_box(outputs));
                value
            }),
        }
    }

    /// The same as `iter_batched`, one input at a time.
    pub fn iter_with_setup<I, O, S, R>(&mut self, setup: S, routine: R)
    where
        S: FnMut() -> I,
        R: FnMut(I) -> O,
    {
        self.iter_batched(setup, routine, BatchSize::PerIteration);
    }

    /// The same as `iter_batched`, few inputs at a time.
    pub fn iter_with_large_setup<I, O, S, R>(&mut self, setup: S, routine: R)
    where
        S: FnMut() -> I,
        R: FnMut(I) -> O,
    {
        self.iter_batched(setup, routine, BatchSize::NumBatches(1));
    }

    /// Times the body; what it gives back is dropped outside the clock.
    pub fn iter_with_large_drop<O, R: FnMut() -> O>(&mut self, mut routine: R) {
        match self.run {
            BodyRun::Measured(bencher) if self.measurement.is_wall_time() => {
                bencher.iter_batched(|| (), |()| routine());
            }
            _ => self.iter_batched(|| (), |()| routine(), BatchSize::SmallInput),
        }
    }

    /// Takes samples of a loop that measures itself: it is told the number of its iterations.
    pub(crate) fn sample(&mut self, mut one: impl FnMut(u64) -> M::Value) {
        let BodyRun::Measured(bencher) = self.run else {
            one(1);
            return;
        };
        let (measurement, values) = (self.measurement, &mut self.values);
        let processors = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        let (each, _) = nanoseconds(measurement);
        bencher.iter_stated(|iterations| {
            let start = Instant::now();
            let value = measurement.to_f64(&one(iterations));
            let passed = start.elapsed().as_nanos() as f64;
            if !measurement.is_wall_time() {
                values.push(value / iterations.max(1) as f64);
            } else if value > passed * processors + 1e6 {
                bencher.note("its own loop says a longer time than passed: the figure is what it says");
            }
            Duration::from_nanos((value * each).round().clamp(0.0, 1e18) as u64)
        });
    }

    /// The same of batches of inputs.
    fn sample_batches<I>(
        &mut self,
        size: BatchSize,
        setup: &mut dyn FnMut() -> I,
        mut run: impl FnMut(Vec<I>, &M) -> M::Value,
    ) {
        let measurement = self.measurement;
        self.sample(|iterations| {
            let mut sum = measurement.zero();
            let mut left = iterations as usize;
            while left > 0 {
                let count = left.min(size.most());
                let inputs = (0..count).map(|_| setup()).collect();
                sum = measurement.add(&sum, &run(inputs, measurement));
                left -= count;
            }
            sum
        });
    }

    /// Hands in what a measurement of one's own gave, in its own words.
    pub(crate) fn finish(mut self, throughput: Option<&Throughput>) {
        let BodyRun::Measured(bencher) = self.run else { return };
        if self.values.is_empty() {
            return;
        }
        self.values.sort_unstable_by(f64::total_cmp);
        let typical = self.values[self.values.len() / 2];
        let formatter = self.measurement.formatter();
        let shown = formatter.format_value(typical);
        let rate = throughput.map(|throughput| formatter.format_throughput(throughput, typical));
        let (_, unit) = nanoseconds(self.measurement);
        let mut in_unit = [typical];
        formatter.scale_for_machines(&mut in_unit);
        let (value, unit) =
            unit.map_or((in_unit[0] * 1e-9, Unit::SECONDS), |unit| (in_unit[0], Unit::other(unit)));
        bencher.metric("own_measurement", value, unit, Direction::Lower);
        let rate = rate.map_or_else(String::new, |rate| format!(", {}", rate.trim()));
        bencher.note(&format!(
            "a measurement of its own: {}{rate} an iteration; `wall_time` is this value, a nanosecond for \
             each",
            shown.trim()
        ));
    }
}

/// The nanoseconds that one of a measurement's numbers stands for; where it is no time, one, and its unit.
fn nanoseconds<M: Measurement>(measurement: &M) -> (f64, Option<&'static str>) {
    if measurement.is_wall_time() {
        return (1.0, None);
    }
    let mut one = [1.0];
    let unit = measurement.formatter().scale_for_machines(&mut one);
    let of_unit = match unit.trim() {
        "ns" => 1.0,
        "us" | "µs" | "μs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        other => return (one[0], Some(if other.is_empty() { "" } else { unit })),
    };
    (one[0] * of_unit, None)
}

/// A bencher of futures.
#[cfg(feature = "async")]
pub struct AsyncBencher<'a, 'b, A: crate::async_executor::AsyncExecutor, M: Measurement = WallTime> {
    bencher: &'b mut Bencher<'a, M>,
    runner: A,
}

#[cfg(feature = "async")]
impl<A: crate::async_executor::AsyncExecutor, M: Measurement> fmt::Debug for AsyncBencher<'_, '_, A, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncBencher").finish_non_exhaustive()
    }
}

#[cfg(feature = "async")]
impl<'a, M: Measurement> Bencher<'a, M> {
    /// Runs futures on this executor. Entering it is not timed.
    pub fn to_async<'b, A: crate::async_executor::AsyncExecutor>(
        &'b mut self,
        runner: A,
    ) -> AsyncBencher<'a, 'b, A, M> {
        AsyncBencher { bencher: self, runner }
    }
}

#[cfg(feature = "async")]
impl<A: crate::async_executor::AsyncExecutor, M: Measurement> AsyncBencher<'_, '_, A, M> {
    /// Times the future that the body makes, with making it.
    #[expect(clippy::iter_not_returning_iterator, reason = "criterion's name")]
    pub fn iter<O, R, F>(&mut self, mut routine: R)
    where
        R: FnMut() -> F,
        F: Future<Output = O>,
    {
        let (measurement, runner) = (self.bencher.measurement, &self.runner);
        self.bencher.sample(|iterations| {
            runner.block_on(async {
                let start = measurement.start();
                for _ in 0..iterations {
                    black_box(routine().await);
                }
                measurement.end(start)
            })
        });
    }

    /// Lets the future measure: it is told how many iterations to run.
    pub fn iter_custom<R, F>(&mut self, mut routine: R)
    where
        R: FnMut(u64) -> F,
        F: Future<Output = M::Value>,
    {
        let runner = &self.runner;
        self.bencher.sample(|iterations| runner.block_on(routine(iterations)));
    }

    /// The same as `iter_batched`, one input at a time.
    pub fn iter_with_setup<I, O, S, R, F>(&mut self, setup: S, routine: R)
    where
        S: FnMut() -> I,
        R: FnMut(I) -> F,
        F: Future<Output = O>,
    {
        self.iter_batched(setup, routine, BatchSize::PerIteration);
    }

    /// The same as `iter_batched`, few inputs at a time.
    pub fn iter_with_large_setup<I, O, S, R, F>(&mut self, setup: S, routine: R)
    where
        S: FnMut() -> I,
        R: FnMut(I) -> F,
        F: Future<Output = O>,
    {
        self.iter_batched(setup, routine, BatchSize::NumBatches(1));
    }

    /// Times the future; what it gives back is dropped outside the clock.
    pub fn iter_with_large_drop<O, R, F>(&mut self, mut routine: R)
    where
        R: FnMut() -> F,
        F: Future<Output = O>,
    {
        self.iter_batched(|| (), |()| routine(), BatchSize::SmallInput);
    }

    /// Times the future of each of the inputs, which are made outside the clock.
    pub fn iter_batched<I, O, S, R, F>(&mut self, mut setup: S, mut routine: R, size: BatchSize)
    where
        S: FnMut() -> I,
        R: FnMut(I) -> F,
        F: Future<Output = O>,
    {
        let runner = &self.runner;
        self.bencher.sample_batches(size, &mut setup, |inputs, measurement| {
            runner.block_on(async {
                let mut outputs = Vec::with_capacity(inputs.len());
                let start = measurement.start();
                for input in inputs {
                    outputs.push(routine(input).await);
                }
                let value = measurement.end(start);
                drop(black_box(outputs));
                value
            })
        });
    }

    /// The same, on inputs that it changes in place.
    pub fn iter_batched_ref<I, O, S, R, F>(&mut self, mut setup: S, mut routine: R, size: BatchSize)
    where
        S: FnMut() -> I,
        R: FnMut(&mut I) -> F,
        F: Future<Output = O>,
    {
        let runner = &self.runner;
        self.bencher.sample_batches(size, &mut setup, |mut inputs, measurement| {
            runner.block_on(async {
                let mut outputs = Vec::with_capacity(inputs.len());
                let start = measurement.start();
                for input in &mut inputs {
                    outputs.push(routine(input).await);
                }
                let value = measurement.end(start);
                drop(black_box(outputs));
                value
            })
        });
    }
}
