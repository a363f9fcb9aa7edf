//! A file with a `main` of its own, which calls what `criterion_main!` would.

use criterion::{Criterion, criterion_group};

fn grouped(c: &mut Criterion) {
    let mut group = c.benchmark_group("grouped");
    group.bench_function("one", |b| b.iter(|| std::hint::black_box(1_u64).pow(3)));
    group.finish();
}

criterion_group!(benches, grouped);

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let mut calls = 0;
    criterion.bench_function("first", |b| {
        calls += 1;
        b.iter(|| std::hint::black_box(2_u64).pow(3));
    });
    benches();
    assert!(calls > 0, "the closure was not run");
    criterion.bench_function("last", |b| b.iter(|| std::hint::black_box(calls)));
    criterion.final_summary();
}
