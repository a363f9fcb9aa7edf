//! Scenarios in every shape an author may give them.

use weighbridge::prelude::*;

use crate::contract::{self, Loader};

/// Says what arrived.
fn saw(bencher: &Bencher, value: usize) {
    bencher.metric("seen", value as f64, Unit::COUNT, Direction::Information);
}

///   Sort a vector of integers.
/// And more that no listing shows.
#[scenario(id = "SORT-1", category = "Algorithms", sets = ["gate", "canonical"])]
fn sort(bencher: &mut Bencher, #[sweep(1_000, 1_000_000)] len: usize) {
    saw(bencher, len);
}

#[scenario(id = "PLAIN-1")]
fn plain(bencher: &mut Bencher) {
    saw(bencher, 0);
}

/// A type and a constant as axes.
#[scenario(id = "TYPES-1", types = [u8, wide = [u64; 2], std::num::NonZero<u32>], consts = [1, 1_000],
           filter = is_even)]
fn generic<T, const N: usize>(bencher: &mut Bencher, #[sweep(2, 3)] times: usize) {
    saw(bencher, std::mem::size_of::<T>() * N * times);
}

fn is_even(times: &usize) -> bool {
    times.is_multiple_of(2)
}

/// How much is measured, and beside whom.
#[scenario(id = "BUDGET-1", group = "Budgets", samples = 50, min_time = 0.25, max_time = 2, repeats = 9)]
fn budget(bencher: &mut Bencher) {
    saw(bencher, 0);
}

/// An options struct that is borrowed.
#[scenario(id = "BORROWED-1")]
fn borrowed(bencher: &mut Bencher, options: &Options) {
    saw(bencher, options.workers);
}

/// Neither `Clone`, `Display`, `Debug`, `Send` nor `Default`.
struct Images(usize, std::marker::PhantomData<*const ()>);

impl Images {
    fn new(side: usize) -> Self {
        Self(side, std::marker::PhantomData)
    }
}

#[scenario(id = "LABEL-1")]
fn labelled(
    bencher: &mut Bencher,
    #[sweep(small = Images::new(32), large = Images::new(512))] variant: Images,
    #[sweep(all, "32px" = Images::new(32), "224px" = Images::new(224))] resolution: Images,
) {
    saw(bencher, variant.0 + resolution.0);
}

#[scenario(id = "TEXT-1")]
fn text(bencher: &mut Bencher, #[sweep("zstd", "lz4")] codec: &str) {
    saw(bencher, codec.len());
}

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Fast,
    Safe,
}

#[derive(Sweep)]
#[sweep(filter = Options::fits)]
struct Options {
    #[sweep(0, 2, 64)]
    workers: usize,
    #[sweep(fast = Mode::Fast, safe = Mode::Safe)]
    mode: Mode,
}

impl Options {
    fn fits(&self) -> Result<(), String> {
        if self.workers == 64 { Err("64 workers need 64 cores".to_owned()) } else { Ok(()) }
    }
}

fn has_workers(_batch: &usize, options: &Options) -> bool {
    options.workers > 0
}

#[scenario(id = "LOAD-1", filter = has_workers)]
fn load(bencher: &mut Bencher, #[sweep(8)] batch: usize, options: Options) {
    let mode = if options.mode == Mode::Fast { 100 } else { 0 };
    saw(bencher, batch * options.workers + mode);
}

/// Axes of its own, and an options struct whose axes and filter are its own too.
#[derive(Sweep)]
struct NestedOptions {
    #[sweep(1, 3)]
    count: usize,
    options: Options,
}

#[scenario(id = "NESTED-1")]
fn nested(bencher: &mut Bencher, axes: NestedOptions) {
    let NestedOptions { count, options } = axes;
    saw(bencher, count + options.workers);
}

/// A workload that says itself what must agree.
struct Half(usize);

impl weighbridge::Workload for Half {
    fn needs(&self) -> weighbridge::Requirements {
        weighbridge::Requirements { memory: self.0 as u64, ..weighbridge::Requirements::default() }
    }

    fn describe(&self) -> String {
        "half".to_owned()
    }

    fn agreement(&self) -> weighbridge::Equivalence {
        weighbridge::Equivalence::Approx(self.0 as f64)
    }
}

fn half(count: &usize) -> Half {
    Half(count / 2)
}

#[scenario(id = "WORKLOAD-1", workload = half)]
fn agreed(bencher: &mut Bencher, loader: &mut dyn Loader, #[sweep(2, 8)] count: usize) {
    saw(bencher, loader.load(count));
}

#[scenario(id = "WORKLOAD-2", workload = half, equivalence = shape)]
fn agreed_by_the_scenario(bencher: &mut Bencher, loader: &mut dyn Loader, #[sweep(2)] count: usize) {
    saw(bencher, loader.load(count));
}

#[scenario(id = "WORKLOAD-3", workload = half)]
fn agreed_by_nobody(bencher: &mut Bencher, #[sweep(2)] count: usize) {
    saw(bencher, count);
}

fn is_odd(count: &usize, letter: &&'static str) -> bool {
    count % 2 == 1 && *letter == "a"
}

#[scenario(id = "FILTER-1", filter = is_odd)]
fn filtered(bencher: &mut Bencher, #[sweep(1, 2)] count: usize, #[sweep("a")] _letter: &'static str) {
    saw(bencher, count);
}

#[scenario(id = "CONTRACT-1")]
fn through_contract(bencher: &mut Bencher, loader: &mut dyn Loader, #[sweep(1)] count: usize) -> Result<()> {
    let loaded = loader.load(count);
    if loader.name().is_empty() {
        return Err(Error::new("a loader has a name"));
    }
    saw(bencher, loaded);
    Ok(())
}

#[scenario(id = "GENERIC-1", equivalence = approx(1e-5))]
fn narrow(bencher: &mut Bencher, width: &mut dyn contract::Width<u8>) {
    saw(bencher, width.bits());
}

#[scenario(id = "GENERIC-2", equivalence = shape)]
fn wide(bencher: &mut Bencher, width: &mut dyn contract::Width<u16>) {
    saw(bencher, width.bits());
}

#[scenario(id = "ERROR-1")]
fn skipped(_: &mut Bencher, #[sweep(true, false)] large: bool) -> weighbridge::Result<()> {
    if large { Err(skip("needs 64 GB")) } else { Ok(()) }
}

#[scenario(id = "ERROR-2")]
fn failed(_: &mut Bencher) -> std::result::Result<(), Box<dyn std::error::Error + Send + Sync>> {
    Err("it broke".into())
}

#[scenario(id = "GONE-1")]
#[cfg(any())]
fn gone(bencher: &mut Bencher) {
    nobody_resolves_this(bencher);
}

// Names that the expansion uses itself must not get in the way.
#[scenario(id = "NAMES-1")]
fn point(bencher: &mut Bencher, #[sweep(Text(1).0)] __index: usize, #[sweep(one = Text(2))] name: Text) {
    saw(bencher, __index + name.0);
}

struct Text(usize);

macro_rules! handed {
    ($id:literal, $category:literal, $set:literal) => {
        #[scenario(id = $id, category = $category, sets = [$set])]
        fn handed(bencher: &mut Bencher, queue: &mut dyn contract::Width<u32>) {
            saw(bencher, queue.bits());
        }
    };
}

handed!("HANDED-1", "Macros", "gate");
