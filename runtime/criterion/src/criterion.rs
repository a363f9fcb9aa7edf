//! Criterion's entry point, and its groups: settings, and benchmarks that are come to one after the other.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use regex_lite::Regex;

use crate::config::Config;
use crate::id::{IntoBenchmarkId, Name};
use crate::measurement::{Measurement, WallTime};
use crate::profiler::Profiler;
use crate::start::take_over;
use crate::visit::{note, visit};
use crate::{
    Bencher, BenchmarkFilter, BenchmarkId, PlotConfiguration, PlottingBackend, SamplingMode, Throughput,
};

/// Criterion's entry point.
pub struct Criterion<M: Measurement = WallTime> {
    config: Config,
    measurement: M,
}

impl<M: Measurement> fmt::Debug for Criterion<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Criterion").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Default for Criterion {
    fn default() -> Self {
        Self { config: Config::default(), measurement: WallTime }
    }
}

/// Settings that only change criterion's statistics or its plots.
macro_rules! without_effect {
    ($($(#[$doc:meta])* $name:ident($($type:ty),*)),* $(,)?) => {
        $(
            $(#[$doc])*
            #[must_use]
            pub fn $name(self, $(_: $type),*) -> Self {
                self
            }
        )*
    };
}

/// The same, which is told once when it runs: it would have an effect elsewhere.
macro_rules! noted {
    ($($(#[$doc:meta])* $name:ident($($type:ty),*): $why:literal),* $(,)?) => {
        $(
            $(#[$doc])*
            #[must_use]
            pub fn $name(self, $(_: $type),*) -> Self {
                note(concat!("`", stringify!($name), "` has no effect here: ", $why));
                self
            }
        )*
    };
}

impl<M: Measurement> Criterion<M> {
    /// The same with a measurement of one's own. Its values are the samples.
    pub fn with_measurement<M2: Measurement>(self, m: M2) -> Criterion<M2> {
        Criterion { config: self.config, measurement: m }
    }

    /// No effect: `--trace` has profilers.
    #[must_use]
    pub fn with_profiler<P: Profiler + 'static>(self, p: P) -> Self {
        drop(p);
        note("`with_profiler` has no effect here: `--trace KIND` runs a profiler beside a case");
        self
    }

    /// The least number of samples in each process.
    #[must_use]
    pub fn sample_size(mut self, n: usize) -> Self {
        self.config.samples = Some(n.max(1));
        self
    }

    /// The most time that the samples of one process take.
    #[must_use]
    pub fn measurement_time(mut self, dur: Duration) -> Self {
        self.config.most_time = Some(dur);
        self
    }

    without_effect! {
        /// No effect: the profile counts batches.
        warm_up_time(Duration),
        /// No effect: intervals are exact.
        nresamples(usize),
        /// No effect: `--threshold` says which change counts.
        noise_threshold(f64),
        /// No effect: 95 %.
        confidence_level(f64),
        /// No effect.
        significance_level(f64),
        /// No effect: the command line is read anyway.
        configure_from_args(),
        /// No effect: there are no plots.
        without_plots(),
        /// No effect: there are none.
        with_plots(),
        /// No effect: `--color` says it.
        with_output_color(bool),
    }

    noted! {
        /// No effect: there are no plots.
        plotting_backend(PlottingBackend): "there are no plots, `--html` writes a page",
        /// No effect: `--save-baseline` says it.
        save_baseline(String): "write `--save-baseline NAME`",
        /// No effect: `--baseline` says it.
        retain_baseline(String, bool): "write `--baseline NAME` or `--baseline-lenient NAME`",
        /// No effect: `--data` says it.
        output_directory(&Path): "write `--data DIR`",
    }

    /// No effect: `--profile-time` says it.
    #[must_use]
    pub fn profile_time(self, profile_time: Option<Duration>) -> Self {
        if profile_time.is_some() {
            note("`profile_time` has no effect here: write `--profile-time SECS`");
        }
        self
    }

    /// Runs those whose names this expression matches, where the command line says nothing.
    ///
    /// # Panics
    /// If it is no expression.
    #[must_use]
    pub fn with_filter<S: Into<String>>(self, filter: S) -> Self {
        let filter = filter.into();
        let expression =
            Regex::new(&filter).unwrap_or_else(|why| panic!("`{filter}` is no expression: {why}"));
        self.with_benchmark_filter(BenchmarkFilter::Regex(expression))
    }

    /// Runs those, where the command line says nothing.
    #[must_use]
    pub fn with_benchmark_filter(mut self, filter: BenchmarkFilter) -> Self {
        self.config.filter = Some(filter);
        self
    }

    /// No effect: the end of a run tells it.
    pub fn final_summary(&self) {}

    /// A benchmark in no group.
    pub fn bench_function<F>(&mut self, id: &str, mut f: F) -> &mut Self
    where
        F: FnMut(&mut Bencher<'_, M>),
    {
        let name = Name { group: None, own: id.to_owned() };
        visit(&name, &self.config, None, &self.measurement, &mut f, take_over);
        self
    }

    /// A benchmark of an input: in criterion's way the function's name is its group.
    pub fn bench_with_input<F, I: ?Sized>(&mut self, id: BenchmarkId, input: &I, mut f: F) -> &mut Self
    where
        F: FnMut(&mut Bencher<'_, M>, &I),
    {
        let mut body = |bencher: &mut Bencher<'_, M>| f(bencher, input);
        visit(&Name::alone(id), &self.config, None, &self.measurement, &mut body, take_over);
        self
    }

    /// A benchmark of each of these inputs, as criterion 0.3 has it.
    pub fn bench_function_over_inputs<I, F>(
        &mut self,
        id: &str,
        mut f: F,
        inputs: impl IntoIterator<Item = I>,
    ) -> &mut Self
    where
        I: fmt::Debug,
        F: FnMut(&mut Bencher<'_, M>, &I),
    {
        for input in inputs {
            self.bench_with_input(BenchmarkId::new(id, format!("{input:?}")), &input, &mut f);
        }
        self
    }

    /// Benchmarks that belong together.
    pub fn benchmark_group<S: Into<String>>(&mut self, group_name: S) -> BenchmarkGroup<'_, M> {
        let config = self.config.clone();
        BenchmarkGroup { name: group_name.into(), config, throughput: None, criterion: self }
    }
}

/// Benchmarks that belong together.
pub struct BenchmarkGroup<'a, M: Measurement = WallTime> {
    name: String,
    config: Config,
    throughput: Option<Throughput>,
    criterion: &'a mut Criterion<M>,
}

impl<M: Measurement> fmt::Debug for BenchmarkGroup<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BenchmarkGroup").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<M: Measurement> BenchmarkGroup<'_, M> {
    /// States how much an iteration of those that follow handles.
    pub fn throughput(&mut self, throughput: Throughput) -> &mut Self {
        self.throughput = Some(throughput);
        self
    }

    /// The least number of samples in each process.
    pub fn sample_size(&mut self, n: usize) -> &mut Self {
        self.config.samples = Some(n.max(1));
        self
    }

    /// The most time that the samples of one process take.
    pub fn measurement_time(&mut self, dur: Duration) -> &mut Self {
        self.config.most_time = Some(dur);
        self
    }

    /// No effect: the profile counts batches.
    pub fn warm_up_time(&mut self, _: Duration) -> &mut Self {
        self
    }

    /// No effect: intervals are exact.
    pub fn nresamples(&mut self, _: usize) -> &mut Self {
        self
    }

    /// No effect: `--threshold` says which change counts.
    pub fn noise_threshold(&mut self, _: f64) -> &mut Self {
        self
    }

    /// No effect: 95 %.
    pub fn confidence_level(&mut self, _: f64) -> &mut Self {
        self
    }

    /// No effect.
    pub fn significance_level(&mut self, _: f64) -> &mut Self {
        self
    }

    /// No effect: samples are blocks of about a millisecond.
    pub fn sampling_mode(&mut self, _: SamplingMode) -> &mut Self {
        self
    }

    /// No effect: there are no plots.
    pub fn plot_config(&mut self, _: PlotConfiguration) -> &mut Self {
        self
    }

    /// A benchmark.
    pub fn bench_function<ID: IntoBenchmarkId, F>(&mut self, id: ID, mut f: F) -> &mut Self
    where
        F: FnMut(&mut Bencher<'_, M>),
    {
        let name = Name::in_group(&self.name, &id.into_benchmark_id());
        visit(&name, &self.config, self.throughput.as_ref(), &self.criterion.measurement, &mut f, take_over);
        self
    }

    /// A benchmark of an input.
    pub fn bench_with_input<ID: IntoBenchmarkId, F, I: ?Sized>(
        &mut self,
        id: ID,
        input: &I,
        mut f: F,
    ) -> &mut Self
    where
        F: FnMut(&mut Bencher<'_, M>, &I),
    {
        self.bench_function(id, |bencher: &mut Bencher<'_, M>| f(bencher, input))
    }

    /// The end of the group.
    pub fn finish(self) {}
}
