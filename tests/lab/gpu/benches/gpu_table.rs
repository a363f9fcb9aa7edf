//! What a kernel of two milliseconds takes, measured four ways: `cargo bench --manifest-path
//! tests/lab/Cargo.toml --bench gpu_table`.
//!
//! Where there is no device, on the fake driver: its figures are of no device, and show what each way sees.

#[path = "../tests/gpu/spin.rs"]
mod spin;

use std::process::ExitCode;
use std::time::Duration;

use criterion::measurement::Measurement;
use fake_gpu::FakeGpu;
use spin::Spin;
use weighbridge::criterion::DeviceTime;
use weighbridge::gpu::{OnDevice, Queue, find_device, open_device};
use weighbridge::{Bencher, Budget, Error, Mode, Platform, Purpose, Result, RunSettings, Settings};

const KERNEL: u64 = 2_000_000;

/// The caveat about a body that returns before its kernel is done.
const FORGOT: &str = "forgot-to-sync";

const BUDGET: Budget =
    Budget { warmup: 2, batches: 10, min_time: Duration::from_millis(100), max_time: None };

fn main() -> ExitCode {
    match table() {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn table() -> Result<String> {
    if let Err(why) = find_device(Platform::Gpu) {
        FakeGpu::load().map_err(|error| Error::new(format!("{why}, and no fake: {error}")))?;
    }
    let device = open_device(Platform::Gpu)?;
    let (info, spin) = (device.info().clone(), Spin::load(c"spin")?);
    let stream = device.raw(Queue::MEASURED).ok_or_else(|| Error::new("the device has no stream"))?;
    let fake = if info.fake { "FAKE DEVICE: " } else { "" };
    let mut text = format!("{fake}{}, a kernel of {:.0} us\n\n", info.name, KERNEL as f64 * 1e-3);

    let mut plain: Vec<f64> = Vec::new();
    for _ in 0..7 {
        device.sync()?;
        let start = device.host_ns();
        spin.launch(stream, KERNEL)?;
        plain.push((device.host_ns() - start) as f64);
    }
    let caveats = seen(Mode::Sync, true, spin)?.caveats;
    let flagged = match caveats.iter().find(|caveat| caveat.name() == FORGOT) {
        Some(caveat) => format!("FLAGGED: {caveat}"),
        None => "not flagged".to_owned(),
    };
    text += &line("no synchronisation", median(plain), &flagged);
    text += &line("synchronised (mode sync)", timed(Mode::Sync, spin)?, "");
    text += &line("by events (mode event)", timed(Mode::Event, spin)?, "");

    let bridge = DeviceTime::on(device);
    let mut bridged = Vec::new();
    for _ in 0..7 {
        let start = bridge.start();
        spin.launch(stream, KERNEL)?;
        bridged.push(bridge.end(start));
    }
    text += &line("through criterion's bridge", median(bridged), "");
    Ok(text)
}

/// The median time of a body in this mode.
fn timed(mode: Mode, spin: Spin) -> Result<f64> {
    Ok(median(seen(mode, false, spin)?.times()))
}

/// What is seen of a body in this mode; `complete` is what the body claims of itself.
fn seen(mode: Mode, complete: bool, spin: Spin) -> Result<Box<OnDevice>> {
    let bencher = Bencher::new(Settings {
        run: RunSettings { platform: Platform::Gpu, ..RunSettings::DEFAULT },
        ..Settings::new(Purpose::Measure, BUDGET)
    });
    let device = bencher.device()?.mode(mode);
    // The caveat is what is looked for here: known, it ends nothing, so that whatever fails is something
    // else.
    let device = if complete { device.returns_complete().allow(FORGOT) } else { device };
    device.time(|stream| spin.launch(stream.raw()?, KERNEL))?;
    bencher.finish()?.seen.device.ok_or_else(|| Error::new("nothing was timed"))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn line(what: &str, ns: f64, flagged: &str) -> String {
    format!("{what:28}{:>12.1} us  {flagged}\n", ns * 1e-3)
}
