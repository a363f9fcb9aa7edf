//! A bench target on a device, for tests that start it: scenarios that behave, and scenarios that do not.

mod spin;

use fake_gpu::Stand;
use spin::Spin;
use weighbridge::gpu::Backend;
use weighbridge::prelude::*;
use weighbridge::{Error, Mode};

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
    // The stand-in is told nanoseconds at its highest clock.
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
    let stand = Stand::load().map_err(|why| Error::new(why.to_string()))?;
    device.time(|stream| {
        stand.fault("kernel:1:700");
        spin.launch(stream.raw()?, 1_000)
    })
}

weighbridge::main!();
