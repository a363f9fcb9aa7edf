//! How near the native loaders are to what the machine can do: `cargo bench --manifest-path
//! tests/lab/Cargo.toml --bench roofline`.
//!
//! For each workload, over the same data and into buffers of the same size, in turns within one run:
//!
//! - `copy`: the bytes of a batch, copied from one buffer to another that both stay in the cache;
//! - `copy far`: the same bytes, from a buffer as large as the data set's output;
//! - `by hand`: the obvious loop over the rows of a batch, in the machine's widest vectors, without any
//!   framework;
//! - the loaders, through their contract.
//!
//! A figure is the least time per batch over all turns: what the machine did when nothing disturbed it. The
//! last columns hold the fused loader against its bounds: 1.15 times the pass by hand, and the larger of 1.3
//! copies and a copy and 0.4 us. The second is told for both copies: a loader reads a data set that is no
//! more in the nearest cache than the source of the far one, and what it writes stays there, as in both.
//! Elements per second are of the fused loader.
//!
//! A second table has the harness's own loop around the fused loader, with and without its looking at every
//! batch: reading the lengths, touching each page, counting elements. The figures are median times of a
//! batch, of the least disturbed turn.

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pulp::Arch;
use weighbridge::{Bencher, Budget, Item, ItemBytes, ItemCopy, Purpose, See, Settings, Source};
use weighbridge_data::{Cache, DataSet};
use weighbridge_loaders::adapters::native::{Rayon, Reference, ReferenceFused};
use weighbridge_loaders::contract::EpochStream;
use weighbridge_loaders::prelude::*;

/// Turns through all contestants.
const TURNS: usize = 15;

/// A turn of a contestant goes on at least this long.
const TURN: Duration = Duration::from_millis(20);

/// What the obvious loop does.
#[derive(Clone, Copy)]
enum ObviousLoop {
    Divide,
    Standardise,
    Copy,
}

fn main() -> Result<(), Box<dyn Error>> {
    if !std::env::args().any(|arg| arg == "--bench") {
        return Ok(()); // `cargo test --benches` would wait minutes for nothing
    }
    let images = |count, side, batch| PipelineSpec::images(&Images::new(count, side, batch)).map(Normalize);
    let workloads = [
        ("CV-1 small", images(10_000, 32, 64).map(CastToFloat32), ObviousLoop::Divide),
        ("CV-1 medium", images(5_000, 128, 128).map(CastToFloat32), ObviousLoop::Divide),
        (
            "TAB-1 small",
            PipelineSpec::table(&VariantTable::new(10_000, 100, 256)).map(Normalize),
            ObviousLoop::Standardise,
        ),
        ("NLP-1 small", PipelineSpec::tokens(&Tokens::new(10_000, 128, 32)), ObviousLoop::Copy),
        ("IO-1 memory", images(5_000, 64, 64), ObviousLoop::Divide),
    ];
    println!(
        "{:12} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}  {:>10} {:>10} {:>10} {:>12}",
        "us per batch",
        "copy",
        "copy far",
        "by hand",
        "fused",
        "plain",
        "rayon",
        "/ by hand",
        "/ limit",
        "/ far",
        "elem/s"
    );
    for (name, spec, by_hand) in &workloads {
        let data = Arc::new(Cache::from_env().open(&spec.source).map_err(|error| error.to_string())?);
        let least = least(spec, &data, *by_hand)?;
        let [copy, far, hand, fused, plain, rayon] = least;
        let limit = |copy: f64| (1.3 * copy).max(copy + 0.4);
        let rate = spec.batch_size as f64 / fused * 1e6;
        println!(
            "{name:12} {copy:9.2} {far:9.2} {hand:9.2} {fused:9.2} {plain:9.2} {rayon:9.2}  {:10.2} {:10.2} \
             {:10.2} {rate:12.3e}",
            fused / hand,
            fused / limit(copy),
            fused / limit(far)
        );
    }
    println!("\n{:12} {:>12} {:>12} {:>10}", "us per batch", "not looked at", "looked at", "costs");
    for (name, spec, _) in &workloads {
        let data = Arc::new(Cache::from_env().open(&spec.source).map_err(|error| error.to_string())?);
        let [without, with] = looked_at(spec, &data).map_err(|error| error.to_string())?;
        println!("{name:12} {without:12.3} {with:12.3} {:9.1} %", (with / without - 1.0) * 100.0);
    }
    slope()
}

/// The least of the median microseconds that a batch takes in the harness's loop: without a look at its
/// bytes, and with it.
fn looked_at(spec: &PipelineSpec, data: &Arc<DataSet>) -> weighbridge::Result<[f64; 2]> {
    let mut found = [f64::INFINITY; 2];
    let budget = Budget { warmup: 3, batches: 20, min_time: TURN, max_time: None };
    for _ in 0..TURNS {
        for (looks, least) in [false, true].into_iter().zip(&mut found) {
            let mut loader = ReferenceFused;
            let mut epochs = loader.open(spec, data)?;
            let bencher = Bencher::new(Settings::new(Purpose::Measure, budget));
            let mut stream = EpochStream::new(&mut *epochs, 0, spec, data)?;
            if looks {
                bencher.stream(&mut stream)?;
            } else {
                bencher.stream(&mut Unseen(stream))?;
            }
            let seen = bencher.finish()?.seen;
            let mut samples = seen.samples;
            samples.sort_unstable();
            let batches = seen.iterations_per_sample as f64; // of a pass that is one call all of them
            *least = least.min(samples[samples.len() / 2] as f64 * 1e-3 / batches);
        }
    }
    Ok(found)
}

/// A stream whose bytes the harness does not look at: it says that they are elsewhere.
struct Unseen<'a>(EpochStream<'a>);

impl Source for Unseen<'_> {
    fn rewind(&mut self) -> weighbridge::Result<()> {
        self.0.rewind()
    }

    fn next(&mut self) -> weighbridge::Result<bool> {
        self.0.next()
    }

    fn look(&mut self, see: &mut See<'_>) -> weighbridge::Result<()> {
        self.0.look(&mut |item| see(&hidden(item, &|| item.copy(None))))
    }

    fn whole_pass(&self) -> bool {
        self.0.whole_pass()
    }

    fn pass(&mut self, items: u64, see: &mut See<'_>) -> weighbridge::Result<u64> {
        self.0.pass(items, &mut |item| see(&hidden(item, &|| item.copy(None))))
    }
}

fn hidden<'a>(item: &Item<'_>, fetch: &'a dyn Fn() -> weighbridge::Result<ItemCopy>) -> Item<'a> {
    Item { elements: item.elements, bytes: ItemBytes::Elsewhere { bytes: 0, fetch } }
}

/// The least microseconds per batch of each contestant.
fn least(spec: &PipelineSpec, data: &Arc<DataSet>, by_hand: ObviousLoop) -> Result<[f64; 6], Box<dyn Error>> {
    let out = spec.output().map_err(|error| error.to_string())?;
    let row_out: usize = out[0].shape.iter().product::<usize>() * out[0].dtype.size();
    let bytes = spec.batch_size * row_out;
    let (near, mut to) = (vec![1_u8; bytes], vec![0_u8; bytes]);
    let far = vec![1_u8; row_out * spec.source.elements];
    let mut floats = vec![0_f32; bytes / 4];
    let full = spec.source.elements / spec.batch_size;
    let (mut reference, mut fused, mut rayon) = (Reference, ReferenceFused, Rayon);
    let open = |loader: &mut dyn Loader, turn: &mut dyn FnMut(&mut dyn Epochs) -> f64| {
        loader.open(spec, data).map(|mut epochs| turn(&mut *epochs)).map_err(|error| error.to_string())
    };
    let mut found = [f64::INFINITY; 6];
    for _ in 0..TURNS {
        let times = [
            repeat(|| {
                to.copy_from_slice(black_box(&near));
                black_box(&mut to);
                1
            }),
            repeat(|| {
                for from in far.chunks_exact(bytes) {
                    to.copy_from_slice(black_box(from));
                    black_box(&mut to);
                }
                full
            }),
            repeat(|| {
                for batch in 0..full {
                    let rows = data.rows(0, batch * spec.batch_size..(batch + 1) * spec.batch_size);
                    pass(by_hand, black_box(rows), data, &mut floats);
                    black_box(&mut floats);
                }
                full
            }),
            open(&mut fused, &mut epoch)?,
            open(&mut reference, &mut epoch)?,
            open(&mut rayon, &mut epoch)?,
        ];
        for (least, time) in found.iter_mut().zip(times) {
            *least = least.min(time);
        }
    }
    Ok(found)
}

/// The obvious pass.
fn pass(what: ObviousLoop, rows: &[u8], data: &DataSet, to: &mut [f32]) {
    let arch = Arch::new();
    match what {
        ObviousLoop::Divide => arch.dispatch(
            #[inline(always)]
            || {
                for (x, y) in rows.iter().zip(to) {
                    *y = f32::from(*x) / 255.0;
                }
            },
        ),
        ObviousLoop::Standardise => {
            let constants = data.normalisation(0).expect("the table has constants");
            let numbers: &[f32] = bytemuck::cast_slice(rows);
            let width = constants.mean.len();
            arch.dispatch(
                #[inline(always)]
                || {
                    for (from, to) in numbers.chunks_exact(width).zip(to.chunks_exact_mut(width)) {
                        let constants = constants.mean.iter().zip(&constants.scale);
                        for ((x, y), (mean, scale)) in from.iter().zip(to).zip(constants) {
                            *y = (x - mean) * scale;
                        }
                    }
                },
            );
        }
        ObviousLoop::Copy => bytemuck::cast_slice_mut(to).copy_from_slice(rows),
    }
}

/// One turn through whole epochs, in microseconds per batch.
fn epoch(epochs: &mut dyn Epochs) -> f64 {
    repeat(|| {
        epochs.begin(0).expect("it began before");
        let mut batches = 0;
        while epochs.advance().expect("it advanced before") {
            black_box(epochs.batch());
            batches += 1;
        }
        batches
    })
}

/// Microseconds per batch of a body that says how many batches it made.
fn repeat(mut body: impl FnMut() -> usize) -> f64 {
    body(); // warm
    let (start, mut batches) = (Instant::now(), 0);
    while start.elapsed() < TURN {
        batches += body();
    }
    start.elapsed().as_secs_f64() * 1e6 / batches as f64
}

/// What one more transform costs per batch beyond its trip through memory: chains of 1 and of 100 over
/// batches so small that they stay in the first-level cache, through the loader that runs one transform after
/// the other.
fn slope() -> Result<(), Box<dyn Error>> {
    let rows = DataSpec::normal("data", 64, vec![64]);
    let data = Arc::new(Cache::from_env().open(&rows).map_err(|error| error.to_string())?);
    let time = |depth: usize| -> Result<f64, Box<dyn Error>> {
        let chain = [Normalize, Scale, Clip, Add, Multiply].into_iter().cycle().take(depth);
        let spec = chain.fold(PipelineSpec::new(rows.clone(), 1), PipelineSpec::map);
        let mut least = f64::INFINITY;
        for _ in 0..TURNS {
            let mut loader = Reference;
            let mut epochs = loader.open(&spec, &data).map_err(|error| error.to_string())?;
            least = least.min(epoch(&mut *epochs));
        }
        Ok(least * 1e3)
    };
    let (short, long) = (time(1)?, time(100)?);
    println!("one more transform over a batch of 256 bytes: {:.1} ns (100 asked for)", (long - short) / 99.0);
    Ok(())
}
