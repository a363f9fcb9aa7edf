//! What criterion takes, and what of it has no meaning here.

use std::borrow::Cow;
use std::hint::black_box;
use std::time::Duration;

use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::*;

fn ids<M: Measurement>(group: &mut BenchmarkGroup<'_, M>) {
    let text = String::from("by reference");
    group.throughput(Throughput::Bits(16));
    group.bench_function(&text, |b| b.iter(|| black_box(1)));
    group.bench_function(Cow::Borrowed("cow"), |b| b.iter(|| black_box(1)));
    group.bench_function(Box::<str>::from("box"), |b| b.iter(|| black_box(1)));
    group.bench_function('c', |b| b.iter_batched(|| 1, |one| one, BatchSize::NumBatches(2)));
}

fn generic(c: &mut Criterion<WallTime>) {
    let mut group: BenchmarkGroup<'_, WallTime> = c.benchmark_group("ids");
    ids(&mut group);
    group.finish();
}

/// Time that is modelled, in a loop that takes next to none, and time that is scaled.
fn modelled(c: &mut Criterion) {
    c.bench_function("modelled", |b| {
        b.iter_custom(|iterations| Duration::from_millis(5) * iterations as u32)
    });
    c.bench_function("free", |b| b.iter_custom(|_| Duration::ZERO));
}

fn futures(c: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    c.bench_function("future", |b| {
        b.to_async(&runtime).iter(|| async { tokio::task::yield_now().await });
    });
    c.bench_function("future of inputs", |b| {
        b.to_async(&runtime).iter_batched(|| 3_u64, |n| async move { black_box(n) }, BatchSize::SmallInput);
    });
}

fn filtered(c: &mut Criterion) {
    c.bench_function("taken", |b| b.iter(|| black_box(1)));
    c.bench_function("not taken", |b| b.iter(|| black_box(1)));
}

/// Counts the calls of a body: every iteration is three steps.
struct Steps;

impl Measurement for Steps {
    type Intermediate = ();
    type Value = u64;

    fn start(&self) {}

    fn end(&self, (): ()) -> u64 {
        3
    }

    fn add(&self, v1: &u64, v2: &u64) -> u64 {
        v1 + v2
    }

    fn zero(&self) -> u64 {
        0
    }

    fn to_f64(&self, value: &u64) -> f64 {
        *value as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        self
    }
}

impl ValueFormatter for Steps {
    fn scale_values(&self, _: f64, _: &mut [f64]) -> &'static str {
        "steps"
    }

    fn scale_throughputs(&self, _: f64, _: &Throughput, _: &mut [f64]) -> &'static str {
        "steps/s"
    }

    fn scale_for_machines(&self, _: &mut [f64]) -> &'static str {
        "steps"
    }
}

fn own(c: &mut Criterion<Steps>) {
    c.bench_function("own", |b| b.iter_custom(|iterations| 3 * iterations));
}

fn settings() -> Criterion {
    Criterion::default()
        .with_filter("^taken$")
        .with_output_color(false)
        .output_directory(std::path::Path::new("out"))
        .plotting_backend(PlottingBackend::None)
        .save_baseline("main".to_owned())
        .retain_baseline("main".to_owned(), false)
        .with_profiler(profiler::ExternalProfiler)
        .profile_time(None)
}

criterion_group!(benches, generic, modelled, futures, of_before);
criterion_group! { name = configured; config = settings(); targets = filtered }
criterion_group! { name = measured; config = Criterion::default().with_measurement(Steps); targets = own }

/// A group that was written by hand and gives something back.
fn by_hand() -> usize {
    Criterion::default().configure_from_args().bench_function("by hand", |b| b.iter(|| 1));
    1
}

/// As it was written for criterion 0.3.
fn of_before(c: &mut Criterion) {
    c.bench_function_over_inputs("of before", move |b, len| b.iter(|| len + 1), vec![7, 70]);
}

criterion_main!(benches, configured, measured, by_hand);
