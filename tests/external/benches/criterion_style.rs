//! A bench file in criterion's style, as it would stand in a crate that uses criterion.

use std::time::{Duration, Instant};

use criterion::measurement::WallTime;
use criterion::{
    AxisScale, BatchSize, Bencher, BenchmarkGroup, BenchmarkId, Criterion, PlotConfiguration, SamplingMode,
    Throughput, black_box, criterion_group, criterion_main,
};

fn fibonacci(n: u64) -> u64 {
    if n < 2 { n } else { fibonacci(n - 1) + fibonacci(n - 2) }
}

fn alone(c: &mut Criterion) {
    c.bench_function("fibonacci", |b| b.iter(|| fibonacci(black_box(12))));
    c.bench_with_input(BenchmarkId::new("fibonacci of", 8), &8, |b, n| b.iter(|| fibonacci(*n)));
}

fn sorts(c: &mut Criterion) {
    let mut group = c.benchmark_group("sort");
    group.sample_size(20).measurement_time(Duration::from_secs(2)).sampling_mode(SamplingMode::Flat);
    group.plot_config(PlotConfiguration::default().summary_scale(AxisScale::Logarithmic));
    for len in [100_u64, 1_000] {
        let numbers: Vec<u64> = (0..len).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        group.throughput(Throughput::Elements(len));
        group.bench_with_input(BenchmarkId::new("stable", len), &numbers, |b, numbers| {
            b.iter_batched(
                || numbers.clone(),
                |mut numbers| {
                    numbers.sort();
                    numbers
                },
                BatchSize::SmallInput,
            );
        });
        group.bench_with_input(BenchmarkId::new("unstable", len), &numbers, |b, numbers| {
            b.iter_batched_ref(|| numbers.clone(), |numbers| numbers.sort_unstable(), BatchSize::LargeInput);
        });
    }
    group.finish();
}

fn copies(group: &mut BenchmarkGroup<'_, WallTime>, bytes: usize) {
    let data = vec![7_u8; bytes];
    group.throughput(Throughput::Bytes(bytes as u64));
    group.bench_function(BenchmarkId::from_parameter(bytes), |b| b.iter_with_large_drop(|| data.clone()));
}

fn timed(b: &mut Bencher<'_>) {
    b.iter_custom(|iterations| {
        let start = Instant::now();
        for n in 0..iterations {
            black_box(fibonacci(black_box(n % 8)));
        }
        start.elapsed()
    });
}

fn others(c: &mut Criterion) {
    let mut group = c.benchmark_group("copy");
    copies(&mut group, 100);
    copies(&mut group, 10_000);
    group.finish();
    let mut group = c.benchmark_group("other");
    group.bench_function("custom", timed);
    group.bench_function(String::from("setup"), |b| {
        b.iter_with_setup(|| vec![1_u64; 64], |numbers| numbers.len())
    });
    group.finish();
}

criterion_group!(benches, alone, sorts);
criterion_group! {
    name = configured;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(10))
        .noise_threshold(0.05);
    targets = others
}
criterion_main!(benches, configured);
