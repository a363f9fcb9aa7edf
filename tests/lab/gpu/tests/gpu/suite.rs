//! A bench target on a device, for tests that start it: scenarios that behave, and scenarios that do not; and
//! the catalogue.

mod spin;

use std::collections::BTreeMap;
use std::sync::Arc;

use fake_gpu::FakeGpu;
use spin::Spin;
use weighbridge::gpu::Backend;
use weighbridge::prelude::*;
use weighbridge::worker::{Command, PipelineTask, Worker};
use weighbridge::{Error, Mode};
use weighbridge_data::{Cache, DataSpec};
use weighbridge_loaders::adapters::native::ReferenceCuda;
use weighbridge_loaders::contract::Loader as _;
use weighbridge_loaders::workload::{PipelineSpec, Transform};

/// Loses the device at the first kernel of the catalogue's loader.
#[scenario(id = "BREAKS-1")]
fn breaks(bencher: &mut Bencher) -> Result<()> {
    let fake = FakeGpu::load().map_err(|why| Error::new(why.to_string()))?;
    let spec = PipelineSpec::new(DataSpec::images(8, 8, 3), 4).map(Transform::Normalize);
    let data = Arc::new(Cache::at(bencher.scratch()?).open(&spec.source)?);
    let mut loader = ReferenceCuda;
    let mut epochs = loader.open(&spec, &data)?;
    fake.fault("kernel:1:700");
    epochs.begin(0)?;
    while epochs.advance()? {
        epochs.ready()?;
    }
    Ok(())
}

/// A kernel of two milliseconds.
#[scenario(id = "SPIN-1")]
fn spins(bencher: &mut Bencher) -> Result<()> {
    let device = bencher.device()?.on(Backend::Cuda)?;
    let spin = Spin::load(c"spin")?;
    device.mode(Mode::Event).time(|stream| spin.launch(stream.raw()?, 2_000_000))
}

/// A kernel of four million cycles.
#[scenario(id = "CYCLES-1")]
fn counts(bencher: &mut Bencher) -> Result<()> {
    let device = bencher.device()?.on(Backend::Cuda)?;
    let cycles = Spin::load(c"cycles")?;
    // The fake is told nanoseconds at its highest clock.
    let ns = 4_000_000.0 / device.info().max_clock_mhz.unwrap_or(2_000.0) * 1e3;
    device.mode(Mode::Event).time(|stream| cycles.launch(stream.raw()?, ns as u64))
}

/// Says that it is complete when it returns, and is not.
#[scenario(id = "FORGETS-1")]
fn forgets(bencher: &mut Bencher) -> Result<()> {
    let device = bencher.device()?.on(Backend::Cuda)?;
    let spin = Spin::load(c"spin")?;
    device.returns_complete().time(|stream| spin.launch(stream.raw()?, 2_000_000))
}

/// Loses the device at its first kernel.
#[scenario(id = "LOSES-1")]
fn loses(bencher: &mut Bencher) -> Result<()> {
    let device = bencher.device()?.on(Backend::Cuda)?;
    let spin = Spin::load(c"spin")?;
    let fake = FakeGpu::load().map_err(|why| Error::new(why.to_string()))?;
    device.time(|stream| {
        fake.fault("kernel:1:700");
        spin.launch(stream.raw()?, 1_000)
    })
}

/// A worker in another process, in plain Python.
#[scenario(id = "FAR-1")]
fn far(_bencher: &mut Bencher) -> Result<()> {
    feed(true)?;
    Err(Error::new("it opened a pipeline on a device that it does not know"))
}

/// The same, asked for batches on the host. It is given no data, and says so.
#[scenario(id = "NEAR-1")]
fn near(_bencher: &mut Bencher) -> Result<()> {
    feed(false)
}

/// Opens a pipeline in the worker.
fn feed(on_device: bool) -> Result<()> {
    let tiny = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workers/tiny.py");
    let mut worker = Worker::start(&Command::new("python3").arg(tiny))?;
    let none: &[&str] = &[];
    let pipeline = BTreeMap::from([("transforms", none), ("asks", none)]);
    let parts = BTreeMap::from([("pipeline", pipeline)]);
    worker
        .open(
            PipelineTask {
                contract: "feeder",
                converted: "far",
                epoch: None,
                on_device,
                works_on_device: false,
            },
            &parts,
        )
        .map(drop)
}

weighbridge::main!();
