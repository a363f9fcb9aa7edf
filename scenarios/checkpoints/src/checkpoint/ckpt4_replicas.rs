//! CKPT-4: a state of which several replicas have every number, saved by one of them or by all.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use weighbridge::Requirements;
use weighbridge::prelude::*;
use weighbridge_data::Cache;

use super::collected::{CollectedAction, collect};
use super::looks::LookedState;
use super::medium::Medium;
use super::proof::{Proof, prove};
use super::rounds::SaveRounds;
use super::shares::{Shares, WriterRule};
use crate::contract::{Checkpointer, Replicas, SaveOptions, SaveWaiter};
use crate::workload::{DeviceCount, DeviceMesh, OrbaxOptions, Placement, Setting, State, Tensor};

/// The axes of CKPT-4.
#[derive(Clone, Debug, Sweep)]
struct ReplicasAxes {
    #[sweep(
            default = State::MB_268, tiny = State::MB_16, large = State::GB_1
        )]
    variant: State,
    #[sweep(implied, DeviceCount::TWO, DeviceCount::FOUR)]
    replicas: DeviceCount,
    #[sweep(implied, DeviceCount::TWO, DeviceCount::ONE, DeviceCount::FOUR)]
    model: DeviceCount,
    #[sweep(all, first = Writers::First, shared = Writers::Shared, shared_apart = Writers::SharedApart)]
    writers: Writers,
    #[sweep(implied, SaveWaiter::Blocking, SaveWaiter::Background)]
    saving: SaveWaiter,
    orbax: OrbaxOptions,
}

/// A state on `replicas` times `model` devices, saved by the first replica or by all replicas together.
///
/// Is a save quicker if each replica writes a share? The devices are a grid as in CKPT-3: `replicas` times
/// the devices that a replica is cut over, `model`. With `writers=first` the first replica writes all, with
/// `shared` each replica writes its share of every tensor that it divides, with `shared_apart` likewise, and
/// what was shared lies in a folder of its own. Orbax does it by `use_replica_parallel` and
/// `enable_replica_parallel_separate_folder`, with simulated devices of one process: they share its disk and
/// its processors, so what is gained where every replica has its own is not measured here. A replica of
/// Reference (sharded) is a copy in memory, and each writes a file. A system that has no replicas is a
/// recorded skip.
///
/// Timed: the save, until a reader finds it, with the way to a worker and back; the blocks are those of
/// CKPT-1. Not timed: making the state, removing checkpoints. The work report has no transforms; content is
/// the digests of all tensors. After the rounds the state is overwritten so that every byte says on which
/// device it lies, saved once more and loaded: metrics say which share each replica has written. The first
/// must have written all, or each at least half of an equal share. Then the last checkpoint that was measured
/// is compared with the state as it was, and one save more has collectors, as in CKPT-1.
#[scenario(id = "CKPT-4", category = "Checkpoints", sets = ["checkpoint"], equivalence = exact,
    filter = fits, needs = needs, describe = describe)]
fn replicas(bencher: &mut Bencher, checkpointer: &mut dyn Checkpointer, axes: ReplicasAxes) -> Result<()> {
    let ReplicasAxes { variant, replicas, model, writers, saving, orbax } = axes;
    let state = if bencher.is_smoke() { State::SMALL } else { variant };
    let placement = lying(DeviceMesh::replicated(replicas, model), &state);
    let options = SaveOptions {
        replicas: Some(writers.of(replicas)),
        system: (&writers.told(orbax)).into(),
        ..SaveOptions::on(saving, placement)
    };
    let data = Arc::new(state.open(&Cache::from_env())?);
    let place = Medium::Disk.place(bencher, 4 * state.bytes())?;
    let mut checkpoints = bencher.open(|| checkpointer.open(&options, &data))?;
    checkpoints.executed().check_platform(bencher.platform())?;
    bencher.work(checkpoints.executed().report(&data, checkpoints.entry_point()));
    bencher.bytes(state.bytes() as usize);
    let looked = LookedState { data: &data, onto: None };
    let saved = SaveRounds::new(bencher, &mut *checkpoints, place.path(), looked).save(false)?;
    saved.inventory.tell(bencher);
    let marked: &Path = &place.path().join("marked");
    let shares = Shares::of(&mut *checkpoints, &data, marked, [replicas, model].map(DeviceCount::get))?;
    shares.tell(bencher);
    shares.check(writers.rule())?;
    drop(checkpoints);
    let mut anew = checkpointer.open(&options, &data)?;
    prove(bencher, &mut *anew, saved.proof(Proof::whole(&data)), &saved.directory)?;
    drop(anew);
    collect(bencher, checkpointer.open(&options, &data), place.path(), CollectedAction::Save(saving));
    Ok(())
}

/// The replicas that write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writers {
    /// The first writes all.
    First,
    /// Each writes its share.
    Shared,
    /// The same, and what was shared lies in a folder of its own.
    SharedApart,
}

impl Writers {
    /// The options of Orbax with what says this.
    fn told(self, orbax: OrbaxOptions) -> OrbaxOptions {
        OrbaxOptions {
            use_replica_parallel: Setting::Set(self != Self::First),
            enable_replica_parallel_separate_folder: Setting::Set(self == Self::SharedApart),
            ..orbax
        }
    }

    fn of(self, replicas: DeviceCount) -> Replicas {
        Replicas { number: replicas.get(), share: self != Self::First }
    }

    fn rule(self) -> WriterRule {
        if self == Self::First { WriterRule::TheFirst } else { WriterRule::Each }
    }
}

impl fmt::Display for Writers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::First => "the first replica writes",
            Self::Shared => "all replicas write",
            Self::SharedApart => "all replicas write, into a folder of their own",
        })
    }
}

/// Checks that the state can lie on the devices, for the plan.
fn fits(axes: &ReplicasAxes) -> Result<(), String> {
    let ReplicasAxes { variant, replicas, model, writers, orbax, .. } = axes;
    if replicas.get() < 2 {
        return Err("one replica has nobody to share with".to_owned());
    }
    for (name, setting) in [
        ("use_replica_parallel", orbax.use_replica_parallel),
        ("enable_replica_parallel_separate_folder", orbax.enable_replica_parallel_separate_folder),
    ] {
        if setting != Setting::Own {
            return Err(format!("`{name}` is what `writers` says here"));
        }
    }
    writers.told(orbax.clone()).fit()?;
    let mesh = DeviceMesh::replicated(*replicas, *model);
    mesh.holds(variant)?;
    if *writers != Writers::First && shared(&lying(mesh, variant), variant, replicas.get()) < 90 {
        return Err(format!("over a tenth of the state has no dimension that {replicas} replicas divide"));
    }
    Ok(())
}

/// The placement of the state: cut over the devices of a replica, and whole on each replica.
fn lying(mesh: DeviceMesh, state: &State) -> Placement {
    let cut = Placement::spread(mesh.of_a_replica(), state);
    Placement { mesh, shardings: cut.shardings }
}

/// The percentage of the state's numbers whose tensors so many replicas can share: on a device they have a
/// dimension that it divides.
fn shared(placement: &Placement, state: &State, replicas: usize) -> usize {
    let (mut shared, mut all) = (0, 0);
    for (tensor, Tensor { shape, .. }) in state.tensors().iter().enumerate() {
        let numbers: usize = shape.iter().product();
        all += numbers;
        if placement.part(tensor, shape, 0).iter().any(|range| range.len().is_multiple_of(replicas)) {
            shared += numbers;
        }
    }
    100 * shared / all.max(1)
}

/// The memory that a point needs, for the plan: every replica has the whole state.
fn needs(axes: &ReplicasAxes) -> Requirements {
    let ReplicasAxes { variant, replicas, model, .. } = axes;
    let mut needs = variant.needs();
    // What the axis of the model does not divide lies on every device. It is there twice while devices are
    // marked.
    let devices = (2 * replicas.get() * model.get().min(2)) as u64;
    needs.memory = needs.memory.saturating_add(variant.bytes().saturating_mul(devices));
    needs
}

/// Describes what a point does, for listings.
fn describe(axes: &ReplicasAxes) -> String {
    let ReplicasAxes { variant, replicas, model, writers, saving, .. } = axes;
    format!("save of {} from {replicas} replicas of {model} devices, {writers}, {saving}", variant.describe())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_that_cannot_share_are_not_asked_to() {
        let part = |state: &str, replicas: usize, model: usize| {
            let state: State = state.parse().unwrap();
            let mesh = DeviceMesh::grid(&[("replica", replicas), ("model", model)]);
            shared(&lying(mesh, &state), &state, replicas)
        };
        assert_eq!([part("a:float32[8x6]", 4, 2), part("a:float32[8x6]", 3, 2)], [100, 100]);
        assert_eq!(part("a:float32[8x8]", 3, 2), 0);
        assert_eq!(part("a:float32[9];b:float32[3x3x3]", 9, 1), 25);
        let told = |replicas: &str, writers| {
            let [replicas, model] = [replicas, "2"].map(|text| text.parse().unwrap());
            let (variant, saving, orbax) = (State::MB_16, SaveWaiter::Blocking, OrbaxOptions::OWN);
            fits(&ReplicasAxes { variant, replicas, model, writers, saving, orbax })
        };
        assert_eq!(told("2", Writers::Shared), Ok(()));
        assert_eq!(told("3", Writers::First), Ok(()));
        assert!(told("3", Writers::Shared).unwrap_err().contains("that 3 replicas divide"));
    }
}
