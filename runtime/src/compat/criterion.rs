//! Bench files written for criterion: `use weighbridge::criterion_compat as criterion;`, and nothing else
//! changes.
//!
//! ```
//! use weighbridge::criterion_compat as criterion;
//! use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
//! use std::hint::black_box;
//!
//! fn sum(c: &mut Criterion) {
//!     let mut group = c.benchmark_group("sum");
//!     for len in [100, 10_000] {
//!         let numbers: Vec<u64> = (0..len).collect();
//!         group.throughput(Throughput::Elements(len));
//!         group.bench_with_input(BenchmarkId::new("iter", len), &numbers, |b, numbers| {
//!             b.iter(|| numbers.iter().map(black_box).sum::<u64>());
//!         });
//!     }
//!     group.finish();
//! }
//!
//! criterion_group!(benches, sum);
//! criterion_main!(benches);
//! ```
//!
//! The functions of a file are gone through once to find the benchmarks in it, and once more in each process
//! that measures one of them. `sum/iter/100` is what it is called everywhere, as with criterion; filters are
//! the same.
//!
//! Criterion measures in one process for as long as it is told; here each benchmark is measured in several
//! processes, one after the other, for half a second each. So `sample_size` is the least number of samples in
//! each of them, and `measurement_time` the most time that they may take. What only changes criterion's
//! statistics or its plots is accepted and has no effect. What is not here does not compile: measurements of
//! one's own, `to_async`.

use std::any::Any;
use std::cell::RefCell;
use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::Duration;

pub use std::hint::black_box;

use crate::bencher::{self, Budget, Error, PartialBudget, Purpose, Settings};
use crate::harness::Suite;
use crate::registry::{
    Additions, Axes, Axis, AxisTraits, Keep, Location, Point, ScenarioEntry, TypedAxis, WrittenValue, add,
};

/// Criterion's measurements, of which there is one.
pub mod measurement {
    /// Time by the clock on the wall.
    #[derive(Clone, Copy, Debug)]
    pub struct WallTime;
}

use measurement::WallTime;

/// The purpose of going through the functions of a file.
enum Visit {
    /// To find out what there is.
    Finding(Vec<FoundBench>),
    /// To run this one, with this bencher; `None` while it runs.
    Running { id: String, bencher: Option<Box<bencher::Bencher>>, ran: bool },
}

thread_local! {
    static VISIT: RefCell<Option<Visit>> = const { RefCell::new(None) };
}

/// The functions of the file, for children that run one benchmark of it.
static GROUPS: OnceLock<Vec<fn()>> = OnceLock::new();

/// A benchmark that was found.
#[derive(Clone, Debug, PartialEq)]
struct FoundBench {
    scenario: String,
    /// The name within its group; `None` outside of one.
    label: Option<String>,
    budget: PartialBudget,
}

/// The name of a benchmark: of its group, where it is in one, and its own.
#[derive(Clone, Debug, PartialEq)]
struct Name {
    group: Option<String>,
    own: String,
}

impl Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.group {
            Some(group) => write!(f, "{group}/{}", self.own),
            None => f.write_str(&self.own),
        }
    }
}

/// Comes to a benchmark: notes it, runs it if it is the one, or passes by.
fn visit(name: &Name, config: &Config, throughput: Option<&Throughput>, body: impl FnOnce(&mut Bencher<'_>)) {
    let bencher = VISIT.with_borrow_mut(|visit| match visit {
        Some(Visit::Finding(found)) => {
            let (scenario, label) = match &name.group {
                Some(group) => (group.clone(), Some(name.own.clone())),
                None => (name.own.clone(), None),
            };
            found.push(FoundBench { scenario, label, budget: config.budget });
            None
        }
        Some(Visit::Running { id, bencher, .. }) if *id == name.to_string() => bencher.take(),
        _ => None,
    });
    let Some(bencher) = bencher else { return };
    if let Some(samples) = config.budget.samples {
        bencher.samples(samples as usize);
    }
    if let Some(most) = config.budget.max_time {
        bencher.max_time(most);
    }
    let (elements, bytes) = throughput.map_or((0, 0), Throughput::counts);
    bencher.elements(elements as usize).bytes(bytes as usize);
    let mut lent = Bencher { bencher: *bencher, lifetime: PhantomData };
    body(&mut lent);
    VISIT.with_borrow_mut(|visit| {
        if let Some(Visit::Running { bencher, ran, .. }) = visit {
            (*bencher, *ran) = (Some(Box::new(lent.bencher)), true);
        }
    });
}

/// The whole of a bench binary: `criterion_main!` calls it.
pub fn main(suite: Suite, groups: &[fn()]) -> ExitCode {
    let groups = GROUPS.get_or_init(|| groups.to_vec());
    VISIT.set(Some(Visit::Finding(Vec::new())));
    for group in groups {
        group();
    }
    let found = match VISIT.take() {
        Some(Visit::Finding(found)) => found,
        _ => Vec::new(),
    };
    add(Additions { scenarios: entries(&found), adapters: Vec::new(), alone: false });
    crate::harness::main(suite)
}

/// The place at which all of them are written, as far as is known.
const HERE: Location = Location { module: "", file: "criterion_main!", line: 0 };

/// One scenario for each group, with what is in it on one axis. What is there twice stays so, for the
/// registry to refuse.
fn entries(found: &[FoundBench]) -> Vec<ScenarioEntry> {
    let mut names: Vec<&str> = Vec::new();
    for benchmark in found {
        let is_new = !names.contains(&&*benchmark.scenario);
        if is_new || benchmark.label.is_none() {
            names.push(&benchmark.scenario);
        }
    }
    names.into_iter().map(|name| entry(name, found)).collect()
}

fn entry(name: &str, found: &[FoundBench]) -> ScenarioEntry {
    let of = || found.iter().filter(|benchmark| benchmark.scenario == name);
    let labels: Vec<Option<&'static str>> =
        of().filter_map(|benchmark| benchmark.label.clone()).map(|label| Some(&*label.leak())).collect();
    let axes: Vec<Axis> = if labels.is_empty() {
        Vec::new()
    } else {
        let axis = TypedAxis {
            name: "benchmark",
            all: true,
            implied: false,
            labels: labels.leak(),
            make: WrittenValue,
            traits: AxisTraits { parse: None, display: None, debug: None },
        };
        vec![axis.erase()]
    };
    ScenarioEntry {
        id: name.to_owned().leak(),
        category: "criterion",
        description: "",
        sets: &[],
        equivalence: None,
        equivalence_by: None,
        contract: None,
        location: HERE,
        axes: Axes::Found(axes.leak()),
        keep: Keep::always,
        needs: None,
        describe: None,
        group: None,
        budget: of().next().map_or(PartialBudget::NONE, |benchmark| benchmark.budget),
        run,
    }
}

/// Goes through the functions of the file for the one benchmark that the bencher is for.
fn run(lent: &mut bencher::Bencher, _: Option<&mut dyn Any>, point: &Point) -> Result<(), Error> {
    let scenario = lent.scenario().to_owned();
    let id =
        point.iter().next().map_or_else(|| scenario.clone(), |value| format!("{scenario}/{}", value.text));
    let nobody = bencher::Bencher::new(Settings::new(Purpose::Smoke, Budget::SMOKE));
    let bencher = Some(Box::new(std::mem::replace(lent, nobody)));
    VISIT.set(Some(Visit::Running { id: id.clone(), bencher, ran: false }));
    for group in GROUPS.get().into_iter().flatten() {
        group();
    }
    match VISIT.take() {
        Some(Visit::Running { bencher: Some(bencher), ran, .. }) => {
            *lent = *bencher;
            if ran {
                Ok(())
            } else {
                Err(Error::new(format!("there was a benchmark `{id}`, and now there is none")))
            }
        }
        _ => Err(Error::new(format!("the benchmark `{id}` did not give its bencher back"))),
    }
}

/// Criterion's settings that have a meaning here.
#[derive(Clone, Copy, Debug, Default)]
struct Config {
    budget: PartialBudget,
}

impl Config {
    fn samples(&mut self, least: usize) {
        self.budget.samples = Some(least.max(1) as u64);
    }

    fn time(&mut self, most: Duration) {
        self.budget.max_time = Some(most);
    }
}

/// Criterion's entry point.
#[derive(Debug)]
pub struct Criterion<M = WallTime> {
    config: Config,
    measurement: PhantomData<M>,
}

impl Default for Criterion {
    fn default() -> Self {
        Self { config: Config::default(), measurement: PhantomData }
    }
}

/// Settings that only change criterion's statistics or what it prints.
macro_rules! without_effect {
    ($($(#[$doc:meta])* $name:ident: $type:ty),* $(,)?) => {
        $(
            $(#[$doc])*
            #[must_use]
            pub fn $name(self, _: $type) -> Self {
                self
            }
        )*
    };
}

impl Criterion {
    /// The least number of samples in each process.
    #[must_use]
    pub fn sample_size(mut self, least: usize) -> Self {
        self.config.samples(least);
        self
    }

    /// The most time that the samples of one process take.
    #[must_use]
    pub fn measurement_time(mut self, most: Duration) -> Self {
        self.config.time(most);
        self
    }

    without_effect! {
        /// No effect: the profile counts batches.
        warm_up_time: Duration,
        /// No effect: intervals are exact.
        nresamples: usize,
        /// No effect: `--threshold` says which change counts.
        noise_threshold: f64,
        /// No effect: 95 %.
        confidence_level: f64,
        /// No effect.
        significance_level: f64,
    }

    /// No effect: the command line is read anyway.
    #[must_use]
    pub fn configure_from_args(self) -> Self {
        self
    }

    /// No effect: there are no plots.
    #[must_use]
    pub fn without_plots(self) -> Self {
        self
    }

    /// No effect: there are none.
    #[must_use]
    pub fn with_plots(self) -> Self {
        self
    }

    /// No effect: the end of a run tells it.
    pub fn final_summary(&self) {}

    /// A benchmark in no group.
    pub fn bench_function(&mut self, id: &str, body: impl FnMut(&mut Bencher<'_>)) -> &mut Self {
        visit(&Name { group: None, own: id.to_owned() }, &self.config, None, body);
        self
    }

    /// A benchmark of an input: in criterion's way the function's name is its group.
    pub fn bench_with_input<I: ?Sized>(
        &mut self,
        id: BenchmarkId,
        input: &I,
        mut body: impl FnMut(&mut Bencher<'_>, &I),
    ) -> &mut Self {
        let name = match (id.function, id.parameter) {
            (Some(function), Some(parameter)) => Name { group: Some(function), own: parameter },
            (one, other) => Name { group: None, own: one.or(other).unwrap_or_default() },
        };
        visit(&name, &self.config, None, |bencher| body(bencher, input));
        self
    }

    /// Benchmarks that belong together.
    pub fn benchmark_group(&mut self, name: impl Into<String>) -> BenchmarkGroup<'_> {
        BenchmarkGroup { name: name.into(), config: self.config, throughput: None, criterion: PhantomData }
    }
}

/// Benchmarks that belong together.
#[derive(Debug)]
pub struct BenchmarkGroup<'a, M = WallTime> {
    name: String,
    config: Config,
    throughput: Option<Throughput>,
    criterion: PhantomData<&'a mut Criterion<M>>,
}

impl BenchmarkGroup<'_> {
    /// States how much an iteration of those that follow handles.
    pub fn throughput(&mut self, throughput: Throughput) -> &mut Self {
        self.throughput = Some(throughput);
        self
    }

    /// The least number of samples in each process.
    pub fn sample_size(&mut self, least: usize) -> &mut Self {
        self.config.samples(least);
        self
    }

    /// The most time that the samples of one process take.
    pub fn measurement_time(&mut self, most: Duration) -> &mut Self {
        self.config.time(most);
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
    pub fn bench_function(
        &mut self,
        id: impl Into<BenchmarkId>,
        body: impl FnMut(&mut Bencher<'_>),
    ) -> &mut Self {
        let name = Name { group: Some(self.name.clone()), own: id.into().text() };
        visit(&name, &self.config, self.throughput.as_ref(), body);
        self
    }

    /// A benchmark of an input.
    pub fn bench_with_input<I: ?Sized>(
        &mut self,
        id: impl Into<BenchmarkId>,
        input: &I,
        mut body: impl FnMut(&mut Bencher<'_>, &I),
    ) -> &mut Self {
        self.bench_function(id, |bencher| body(bencher, input))
    }

    /// The end of the group.
    pub fn finish(self) {}
}

/// The name of a benchmark: a function, a parameter, or both.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BenchmarkId {
    function: Option<String>,
    parameter: Option<String>,
}

impl BenchmarkId {
    /// `function/parameter`.
    pub fn new(function: impl Into<String>, parameter: impl Display) -> Self {
        Self { function: Some(function.into()), parameter: Some(parameter.to_string()) }
    }

    /// The parameter alone, where the group is of one function.
    pub fn from_parameter(parameter: impl Display) -> Self {
        Self { function: None, parameter: Some(parameter.to_string()) }
    }

    fn text(&self) -> String {
        [&self.function, &self.parameter].into_iter().flatten().cloned().collect::<Vec<_>>().join("/")
    }
}

impl From<&str> for BenchmarkId {
    fn from(function: &str) -> Self {
        Self { function: Some(function.to_owned()), parameter: None }
    }
}

impl From<String> for BenchmarkId {
    fn from(function: String) -> Self {
        Self { function: Some(function), parameter: None }
    }
}

/// The amount that one iteration handles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Throughput {
    /// Bytes, shown in powers of 1024.
    Bytes(u64),
    /// The same here.
    BytesDecimal(u64),
    /// Elements.
    Elements(u64),
    /// Both.
    ElementsAndBytes {
        /// Elements.
        elements: u64,
        /// Bytes.
        bytes: u64,
    },
}

impl Throughput {
    /// Elements and bytes; 0 of what is not stated.
    fn counts(&self) -> (u64, u64) {
        match *self {
            Self::Bytes(bytes) | Self::BytesDecimal(bytes) => (0, bytes),
            Self::Elements(elements) => (elements, 0),
            Self::ElementsAndBytes { elements, bytes } => (elements, bytes),
        }
    }
}

/// The number of inputs that are made at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchSize {
    /// As many as a sample has iterations, at most 1024.
    SmallInput,
    /// At most 64.
    LargeInput,
    /// One.
    PerIteration,
    /// The same as `SmallInput`.
    NumBatches(u64),
    /// At most so many.
    NumIterations(u64),
}

impl BatchSize {
    fn most(self) -> usize {
        match self {
            Self::SmallInput | Self::NumBatches(_) => 1024,
            Self::LargeInput => 64,
            Self::PerIteration => 1,
            Self::NumIterations(most) => most.max(1) as usize,
        }
    }
}

/// Accepted: samples are blocks of about a millisecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "none has an effect")]
pub enum SamplingMode {
    Auto,
    Linear,
    Flat,
}

/// Accepted: there are no plots.
#[derive(Clone, Debug, Default)]
pub struct PlotConfiguration(());

impl PlotConfiguration {
    /// No effect.
    #[must_use]
    pub fn summary_scale(self, _: AxisScale) -> Self {
        self
    }
}

/// Accepted: there are no plots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "none has an effect")]
pub enum AxisScale {
    Linear,
    Logarithmic,
}

/// A bencher: it times the body of one benchmark.
#[derive(Debug)]
pub struct Bencher<'a, M = WallTime> {
    bencher: bencher::Bencher,
    lifetime: PhantomData<&'a M>,
}

impl Bencher<'_> {
    /// Times the body; making and dropping what it gives back is in it.
    #[expect(clippy::iter_not_returning_iterator, reason = "criterion's name")]
    pub fn iter<T>(&mut self, body: impl FnMut() -> T) {
        self.bencher.iter(body);
    }

    /// Lets the body do the timing: it is told how many iterations to run.
    pub fn iter_custom(&mut self, body: impl FnMut(u64) -> Duration) {
        self.bencher.iter_custom(body);
    }

    /// Times the body on inputs that are made outside the clock.
    pub fn iter_batched<I, T>(
        &mut self,
        setup: impl FnMut() -> I,
        body: impl FnMut(I) -> T,
        size: BatchSize,
    ) {
        self.bencher.batched(setup).at_once(size.most()).iter(body);
    }

    /// The same, on inputs that it changes in place.
    pub fn iter_batched_ref<I, T>(
        &mut self,
        setup: impl FnMut() -> I,
        body: impl FnMut(&mut I) -> T,
        size: BatchSize,
    ) {
        self.bencher.batched(setup).at_once(size.most()).iter_ref(body);
    }

    /// The same as `iter_batched`, one input at a time.
    pub fn iter_with_setup<I, T>(&mut self, setup: impl FnMut() -> I, body: impl FnMut(I) -> T) {
        self.bencher.batched(setup).at_once(1).iter(body);
    }

    /// Times the body; what it gives back is dropped outside the clock.
    pub fn iter_with_large_drop<T>(&mut self, mut body: impl FnMut() -> T) {
        self.bencher.iter_batched(|| (), |()| body());
    }
}

/// A function that goes through these: `criterion_group!(benches, one, other)`, or with `name`, `config` and
/// `targets`.
#[macro_export]
macro_rules! criterion_group {
    (name = $name:ident; config = $config:expr; targets = $($target:path),+ $(,)?) => {
        #[allow(missing_docs)]
        pub fn $name() {
            let mut criterion: $crate::criterion_compat::Criterion = $config;
            $($target(&mut criterion);)+
        }
    };
    ($name:ident, $($target:path),+ $(,)?) => {
        $crate::criterion_group! {
            name = $name;
            config = $crate::criterion_compat::Criterion::default();
            targets = $($target),+
        }
    };
}

/// The `main` of a bench target that goes through these groups.
#[macro_export]
macro_rules! criterion_main {
    ($($group:path),+ $(,)?) => {
        fn main() -> ::std::process::ExitCode {
            let suite = $crate::__private::Suite {
                target_tmp: ::core::option_env!("CARGO_TARGET_TMPDIR"),
                package: ::core::env!("CARGO_PKG_NAME"),
                version: ::core::env!("CARGO_PKG_VERSION"),
                target: ::core::env!("CARGO_CRATE_NAME"),
                directory: ::core::env!("CARGO_MANIFEST_DIR"),
                family: ::core::option::Option::None,
            };
            $crate::criterion_compat::main(suite, &[$($group),+])
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(scenario: &str, label: Option<&str>) -> FoundBench {
        FoundBench {
            scenario: scenario.to_owned(),
            label: label.map(str::to_owned),
            budget: PartialBudget::NONE,
        }
    }

    #[test]
    fn a_group_is_a_scenario_and_a_function_alone_is_one_too() {
        let entries =
            entries(&[found("sum", Some("iter/10")), found("alone", None), found("sum", Some("iter/20"))]);
        let shown: Vec<(&str, Vec<String>)> = entries
            .iter()
            .map(|entry| {
                let values = entry.axes().into_iter().flat_map(|axis| axis.values);
                (entry.id, values.map(|value| value.to_string()).collect())
            })
            .collect();
        let expected = [("sum", vec!["iter/10".to_owned(), "iter/20".to_owned()]), ("alone", vec![])];
        assert_eq!(shown, expected);
    }

    #[test]
    fn what_is_there_twice_is_left_for_the_registry_to_refuse() {
        let twice = entries(&[found("alone", None), found("alone", None)]);
        assert_eq!(twice.len(), 2);
        let labels = entries(&[found("sum", Some("a")), found("sum", Some("a"))]);
        assert_eq!(labels[0].axes()[0].values.len(), 2);
    }

    #[test]
    fn a_name_is_put_together_as_criterion_does() {
        let text = |id: BenchmarkId| id.text();
        assert_eq!(text(BenchmarkId::new("iter", 10)), "iter/10");
        assert_eq!(text(BenchmarkId::from_parameter("fast")), "fast");
        assert_eq!(text("plain".into()), "plain");
    }
}
