//! Files that other harnesses run and that are easily run wrongly: names, order, what a process may do once.

#[macro_use]
extern crate criterion;

use std::hint::black_box;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use ::criterion::Criterion;

fn sum(b: &mut criterion::Bencher) {
    b.iter(|| (0..black_box(50_u64)).sum::<u64>());
}

/// A benchmark outside of groups that is called like a group, in the order that the caller asks for.
fn like_a_group(c: &mut Criterion) {
    let group_first = std::env::var_os("GROUP_FIRST").is_some();
    if !group_first {
        c.bench_function("parse", sum);
    }
    let mut group = c.benchmark_group("parse");
    group.bench_function("short", sum);
    group.finish();
    if group_first {
        c.bench_function("parse", sum);
    }
}

/// Found only where the closure before it has run, and that closure's count is read behind it.
fn dependent(c: &mut Criterion) {
    let mut made = None;
    c.bench_function("maker", |b| b.iter(|| made = Some([1_u64; 8])));
    assert!(made.is_some(), "the closure was not run");
    if let Some(made) = &made {
        c.bench_function("user", |b| b.iter(|| made.iter().sum::<u64>()));
    }
}

/// Names that a file's name does not tell apart.
fn names(c: &mut Criterion) {
    let mut group = c.benchmark_group("names");
    for name in ["a + b", "a - b", "0", "-0", "Vec", "vec", "漢字", "仮名", "hören", "hüren"] {
        group.bench_function(name, sum);
    }
    group.finish();
}

/// A name that is there twice.
fn doubled(c: &mut Criterion) {
    c.bench_function("twice", sum);
    c.bench_function("twice", sum);
}

/// A thing that a process does once, and not in a closure.
fn once(c: &mut Criterion) {
    static POOL: OnceLock<u64> = OnceLock::new();
    POOL.set(3).expect("the pool is there already");
    c.bench_function("pooled", |b| b.iter(|| black_box(POOL.get())));
}

fn panics(c: &mut Criterion) {
    c.bench_function("before the panic", sum);
    panic!("no such file");
}

/// Threads that code behind the benchmark ends, and that are waited for.
fn beside_threads(c: &mut Criterion) {
    for name in ["beside one", "beside another"] {
        let goes_on = AtomicBool::new(true);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while goes_on.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
            });
            c.bench_function(name, sum);
            goes_on.store(false, Ordering::Relaxed);
        });
    }
}

criterion_group!(benches, like_a_group, dependent, names, doubled, once, beside_threads, panics);
criterion_main!(benches);
