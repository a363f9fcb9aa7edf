//! CKPT-6: a save that is cancelled while it is under way.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use weighbridge::Requirements;
use weighbridge::prelude::*;
use weighbridge_data::Cache;

use super::cancelled::CancelledRounds;
use super::collected::{CollectedAction, collect};
use super::medium::Medium;
use crate::contract::{Checkpointer, SaveOptions, SaveWaiter};
use crate::workload::{DeviceMesh, Placement, State};

/// The axes of CKPT-6.
#[derive(Clone, Debug, Sweep)]
struct CancelAxes {
    #[sweep(
            default = State::MB_268, tiny = State::MB_16, large = State::GB_1, huge = State::GB_4
        )]
    variant: State,
    #[sweep(implied, CancelDelay::SHORT, CancelDelay::NONE)]
    cancel_delay_secs: CancelDelay,
    #[sweep(implied, DeviceMesh::NONE, DeviceMesh::line(8))]
    mesh: DeviceMesh,
}

/// A save in the background that is cancelled before it is complete.
///
/// What does it cost to call a save off, as a training does that is about to be moved? `cancel_delay_secs`
/// after the caller could go on, the save is cancelled; the name is Orbax's. Two things may be left: no
/// checkpoint under its name, or a whole one, where the save was quicker. A system that saves in the
/// background alone can be asked; one that has no call for it is a recorded skip.
///
/// Timed: from the request to cancel until nothing of the save goes on, with the way to a worker and back:
/// the block `cancel` is the request, `waiting` what it takes until the system is at rest. Not timed: the
/// save before it, the delay, looking. Metrics say how often the cancel came too late (`cancelled/whole`),
/// the most bytes that a cancelled save has left in files of other names (`cancelled/left_behind`), and how
/// often such files were there again after the harness had removed them (`cancelled/wrote_on`). After each
/// cancel a checkpoint under the name must load whole, the one that was saved before must have the same
/// files, and no checkpoint of a save that was cancelled earlier may come back. After the rounds the one
/// before is compared tensor by tensor, and a new save is proven as in CKPT-1. Last of all, one cancel more
/// has collectors.
#[scenario(id = "CKPT-6", category = "Checkpoints", sets = ["checkpoint"], equivalence = exact,
    filter = fits, needs = needs, describe = describe)]
fn cancel(bencher: &mut Bencher, checkpointer: &mut dyn Checkpointer, axes: CancelAxes) -> Result<()> {
    let CancelAxes { variant, cancel_delay_secs, mesh } = axes;
    let state = if bencher.is_smoke() { State::SMALL } else { variant };
    let placement = Placement::as_written(mesh, &state);
    let options = SaveOptions::on(SaveWaiter::Background, placement);
    let data = Arc::new(state.open(&Cache::from_env())?);
    let place = Medium::Disk.place(bencher, 3 * state.bytes())?;
    let mut checkpoints = bencher.open(|| checkpointer.open(&options, &data))?;
    checkpoints.executed().check_platform(bencher.platform())?;
    bencher.work(checkpoints.executed().report(&data, checkpoints.entry_point()));
    bencher.bytes(state.bytes() as usize);
    let delay = cancel_delay_secs.0;
    CancelledRounds::new(bencher, &mut *checkpoints, &data, place.path(), delay).run()?;
    drop(checkpoints);
    collect(bencher, checkpointer.open(&options, &data), place.path(), CollectedAction::Cancel(delay));
    Ok(())
}

/// Time that a save goes on before it is cancelled, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CancelDelay(Duration);

impl CancelDelay {
    /// It is cancelled as soon as the caller can go on.
    pub const NONE: Self = Self(Duration::ZERO);
    /// It is cancelled while bytes are written.
    pub const SHORT: Self = Self(Duration::from_millis(20));
}

impl fmt::Display for CancelDelay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_secs_f64().fmt(f)
    }
}

impl FromStr for CancelDelay {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let seconds = text.parse().ok().filter(|seconds| (0.0..=60.0).contains(seconds));
        let seconds = seconds.ok_or_else(|| format!("`{text}` is no number of seconds from 0 to 60"))?;
        Ok(Self(Duration::from_secs_f64(seconds)))
    }
}

/// Checks that the state can lie on the mesh, for the plan.
fn fits(axes: &CancelAxes) -> Result<(), String> {
    let CancelAxes { variant, mesh, .. } = axes;
    mesh.holds(variant)
}

/// The memory that a point needs, for the plan.
fn needs(axes: &CancelAxes) -> Requirements {
    let CancelAxes { variant, .. } = axes;
    variant.needs()
}

/// Describes what a point does, for listings.
fn describe(axes: &CancelAxes) -> String {
    let CancelAxes { variant, cancel_delay_secs: delay, mesh } = axes;
    let devices = if *mesh == DeviceMesh::NONE { String::new() } else { format!(", cut over {mesh}") };
    format!("save of {}{devices}, cancelled after {delay} s", variant.describe())
}
