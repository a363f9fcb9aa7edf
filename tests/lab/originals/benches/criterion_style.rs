// Included by two bench targets, of which one has criterion and the other what stands for it.

use std::hint::black_box;

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};

#[path = "work.rs"]
mod work;

fn alone(c: &mut Criterion) {
    c.bench_function("fibonacci", |b| b.iter(|| work::fibonacci(black_box(16))));
}

fn grouped(c: &mut Criterion) {
    let mut group = c.benchmark_group("grouped");
    group.bench_with_input(BenchmarkId::from_parameter("sum"), &work::numbers(), |b, numbers| {
        b.iter(|| numbers.iter().fold(0_u64, |sum, number| sum.rotate_left(1) ^ black_box(*number)));
    });
    group.bench_function("sort", |b| {
        b.iter_batched_ref(work::numbers, |numbers| numbers.sort_unstable(), BatchSize::SmallInput);
    });
    group.bench_function("text", |b| b.iter_with_large_drop(|| work::text(black_box(100))));
    group.finish();
}

criterion_group!(benches, alone, grouped);
criterion_main!(benches);
