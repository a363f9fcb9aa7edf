//! What the plan says of a pipeline's memory is what a process that runs it gets resident for it, up to its
//! peak.
//!
//! Each pipeline runs in a process of its own: this very test binary, started again for one test. Its code is
//! not that of a bench target, and without optimisation far more, so what the same pipeline has resident over
//! a few elements is left out, and the plan's own share for a process stands in its place: that share is not
//! tested here.

use std::process::Command;
use std::sync::Arc;
use std::thread;

use weighbridge::{Bencher, Budget, Purpose, Settings};
use weighbridge_data::Cache;
use weighbridge_loaders::adapters::native::{Reference, ReferenceFused};
use weighbridge_loaders::prelude::*;
use weighbridge_loaders::workload::PROCESS;

/// The plan may be off by this share of the peak.
const OFF: f64 = 0.25;

/// Data up to this size are made in builds without optimisation, which take minutes for more.
const SMALL: u64 = if cfg!(debug_assertions) { 128 << 20 } else { 1 << 30 };

/// The pipelines of the gate scenarios' default variants, over `most` elements and no more.
fn pipelines(most: usize) -> Vec<(&'static str, PipelineSpec)> {
    let few = |elements: usize| elements.min(most);
    let io1 = |access| PipelineSpec::images(&Images::new(few(5_000), 64, 64)).access(access).map(Normalize);
    let cv1 = PipelineSpec::images(&Images::new(few(10_000), 32, 64)).map(Normalize).map(CastToFloat32);
    vec![
        ("CV-1 small, two workers", cv1.clone().workers(2)),
        ("CV-1 small", cv1),
        ("NLP-1 small", PipelineSpec::tokens(&Tokens::new(few(10_000), 128, 32))),
        ("TAB-1 small", PipelineSpec::table(&VariantTable::new(few(10_000), 100, 256)).map(Normalize)),
        (
            "PC-1 depth_1",
            PipelineSpec::new(DataSpec::normal("data", few(50_000), vec![64, 64]), 64).map(Normalize),
        ),
        ("IO-1 memory_source", io1(Access::Memory)),
        ("IO-1 file_eager", io1(Access::FileEager)),
        ("IO-1 file_streaming", io1(Access::FileStreaming)),
        (
            "PR-2 small",
            PipelineSpec::images(&Images::new(few(5_000), 64, 64)).map(RandomCrop).map(RandomFlip),
        ),
    ]
}

/// Tells the child which pipeline, through which loader, and where the data lie.
const CHILD: &str = "MEMORY_OF_PIPELINE";
const CACHE: &str = "MEMORY_OF_PIPELINE_CACHE";

#[test]
fn the_plan_is_within_a_quarter_of_the_measured_peak() {
    let place = tempfile::tempdir().unwrap();
    let cache = Cache::at(place.path());
    for (index, (name, spec)) in pipelines(usize::MAX).iter().enumerate() {
        if spec.source.bytes() > SMALL {
            eprintln!("{name}: too much data for this build");
            continue;
        }
        cache.open(&spec.source).unwrap(); // made here, so that the child only maps them
        let check = |loader| {
            let [base, peak] = resident(index, loader, place.path());
            let peak = peak - base + PROCESS as f64;
            let planned = spec.needs().memory as f64;
            let off = planned / peak - 1.0;
            assert!(
                off.abs() <= OFF,
                "{name}, {loader}: planned {planned}, measured {peak}: off by {off:.2}"
            );
        };
        // Each has a process of its own.
        thread::scope(|scope| {
            scope.spawn(|| check("plain"));
            check("fused");
        });
    }
}

/// Returns the peak resident bytes of a pipeline's process, over a few elements and over all.
fn resident(index: usize, loader: &str, cache: &std::path::Path) -> [f64; 2] {
    let this = std::env::current_exe().unwrap();
    let mut child = Command::new(this);
    child.args(["--exact", "runs_one_pipeline_for_its_parent", "--nocapture"]);
    child.env(CHILD, format!("{index} {loader}")).env(CACHE, cache);
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    ["base: ", "peak: "].map(|name| {
        let line = text.lines().find_map(|line| line.split_once(name));
        line.unwrap_or_else(|| panic!("{output:?}")).1.parse().unwrap()
    })
}

/// The child's part: a measured repeat of one pipeline, as the harness does it.
#[test]
fn runs_one_pipeline_for_its_parent() {
    let (Ok(which), Ok(cache)) = (std::env::var(CHILD), std::env::var(CACHE)) else { return };
    let (index, loader) = which.split_once(' ').unwrap();
    let index = index.parse().unwrap();
    let mut loader: Box<dyn Loader> = match loader {
        "fused" => Box::new(ReferenceFused),
        _ => Box::new(Reference),
    };
    let mut peak = |most| {
        let spec = pipelines(most).swap_remove(index).1;
        let data = Arc::new(Cache::at(&cache).open(&spec.source).unwrap());
        let budget =
            Budget { warmup: 3, batches: 20, min_time: std::time::Duration::from_millis(1), max_time: None };
        let bencher = Bencher::new(Settings::new(Purpose::Measure, budget));
        let mut epochs = loader.open(&spec, &data).unwrap();
        bencher
            .stream(
                &mut weighbridge_loaders::contract::EpochStream::new(&mut *epochs, 0, &spec, &data).unwrap(),
            )
            .unwrap();
        bencher.finish().unwrap().seen.peak_memory.unwrap().value().unwrap()
    };
    // Over a few elements first: then all of its code is there.
    println!("base: {}", peak(8));
    println!("peak: {}", peak(usize::MAX));
}
