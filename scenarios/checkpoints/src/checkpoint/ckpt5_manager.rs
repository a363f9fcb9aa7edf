//! CKPT-5: a training whose checkpoints a manager keeps.

use std::fmt;
use std::sync::Arc;

use weighbridge::prelude::*;
use weighbridge::{Requirements, Sweep};
use weighbridge_data::Cache;

use super::collected::note_uncollected;
use super::managed::ManagedRounds;
use super::medium::Medium;
use crate::contract::{
    Checkpointer, KeepPolicies, KeepPolicy, Retention, SaveOptions, SavePolicies, SavePolicy, SaveWaiter,
};
use crate::workload::{DeviceMesh, Placement, State};

/// The axes of CKPT-5.
#[derive(Clone, Debug, Sweep)]
struct ManagerAxes {
    #[sweep(
            default = State::MB_268, tiny = State::MB_16, large = State::GB_1, huge = State::GB_4
        )]
    variant: State,
    #[sweep(
        all,
        save = ManagerOperation::Save,
        restore = ManagerOperation::Restore,
        delete = ManagerOperation::Delete
    )]
    operation: ManagerOperation,
    #[sweep(implied, SaveWaiter::Background, SaveWaiter::Blocking)]
    saving: SaveWaiter,
    #[sweep(implied, DeviceMesh::NONE, DeviceMesh::line(8))]
    mesh: DeviceMesh,
    training: ManagedTraining,
}

/// A training that saves some of its steps, keeps the newest checkpoints, and goes on from the last.
///
/// What does a manager of checkpoints cost? A training has `train_steps` steps. The manager saves each whose
/// number `save_interval_steps` divides, keeps the newest `max_to_keep`, and deletes older ones with
/// `num_deletion_threads` threads. With `save_decision_policy` and `preservation_policy` other rules say what
/// is saved and what is kept; several are written `interval=10 or steps=3+12`, and one suffices. `save` is
/// until a step's checkpoint is complete and what is kept no longer is gone: the block `blocking` is what the
/// training waits for, `waiting` what goes on in the background after it. `restore` loads the newest after a
/// training. `delete` has the training delete each checkpoint itself as soon as the next is complete. The
/// names are those of Orbax. A system without a manager is a recorded skip. Each checkpoint has the number of
/// its step beside the state.
///
/// Timed: the save, the load or the deletion, with the way to a worker and back. Not timed: making the state,
/// training steps, opening a manager, letting a loaded state go. A training step multiplies every number, so
/// that no two steps have the same state. The work report has no transforms; content is the digests of the
/// newest checkpoint. After every step, due or not, the directory must have the checkpoints of exactly those
/// steps that are to be kept, and the manager must say the same. Every load of a newest checkpoint must have
/// the number of the newest step, and a tensor as it was after it. After the rounds every repeat loads the
/// oldest and the newest and compares them whole; then the newest is overwritten where it lies, which may not
/// change what was loaded, and which must change what is loaded next. Last of all, what was timed is done
/// once more with collectors, as in CKPT-1.
#[scenario(id = "CKPT-5", category = "Checkpoints", sets = ["checkpoint"], equivalence = exact,
    filter = fits, needs = needs, describe = describe)]
fn manager(bencher: &mut Bencher, checkpointer: &mut dyn Checkpointer, axes: ManagerAxes) -> Result<()> {
    let ManagerAxes { variant, operation, saving, mesh, training } = axes;
    let state = if bencher.is_smoke() { State::SMALL } else { variant };
    let placement = Placement::as_written(mesh, &state);
    let options = SaveOptions::on(saving, placement);
    let retention = training.retention();
    let data = Arc::new(state.open(&Cache::from_env())?);
    // One more than is kept: the newest is complete before the oldest goes.
    let place =
        Medium::Disk.place(bencher, state.bytes().saturating_mul(training.most_kept(&retention) + 1))?;
    let mut checkpoints = bencher.open(|| checkpointer.open(&options, &data))?;
    checkpoints.executed().check_platform(bencher.platform())?;
    bencher.work(checkpoints.executed().report(&data, checkpoints.entry_point()));
    bencher.bytes(state.bytes() as usize);
    let mut manager = checkpoints.manager(&retention)?;
    let rounds =
        ManagedRounds::new(bencher, &mut *manager, &data, place.path(), retention, training.train_steps);
    match operation {
        ManagerOperation::Save => rounds.save(),
        ManagerOperation::Restore => rounds.restore(),
        ManagerOperation::Delete => rounds.delete(),
    }?;
    drop(manager);
    drop(checkpoints);
    let mut try_collect = || {
        // As it was opened: a system that has refused a damaged checkpoint may be asked nothing more.
        let mut checkpoints = checkpointer.open(&options, &data)?;
        let retention = training.retention();
        let mut manager = checkpoints.manager(&retention)?;
        let rounds =
            ManagedRounds::new(bencher, &mut *manager, &data, place.path(), retention, training.train_steps);
        match operation {
            ManagerOperation::Save => rounds.collect_save(),
            ManagerOperation::Restore => rounds.collect_restore(),
            ManagerOperation::Delete => rounds.collect_delete(),
        }
    };
    note_uncollected(bencher, try_collect());
    Ok(())
}

/// The operation that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManagerOperation {
    /// The save of a step, until it is complete and what is kept no longer is gone.
    Save,
    /// A load of the newest.
    Restore,
    /// A deletion that the training asks for.
    Delete,
}

impl fmt::Display for ManagerOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Save => "save",
            Self::Restore => "restore",
            Self::Delete => "delete",
        })
    }
}

/// A training, and how its checkpoints are kept. The names are those of Orbax.
#[derive(Clone, Debug, PartialEq, Eq, Sweep)]
pub struct ManagedTraining {
    /// A step is saved if this divides its number.
    #[sweep(implied, 2, 1)]
    pub save_interval_steps: u64,
    /// The most checkpoints that are kept.
    #[sweep(implied, 2, 1)]
    pub max_to_keep: u64,
    /// The steps of the training.
    #[sweep(implied, 7, 1)]
    pub train_steps: u64,
    /// The threads that delete a checkpoint.
    #[sweep(implied, 1, 2)]
    pub num_deletion_threads: u64,
    /// Reasons to save a step, in place of `save_interval_steps`.
    #[sweep(implied, SavePolicies::default(), SavePolicies::from_iter([SavePolicy::Steps(vec![0, 3, 5])]))]
    pub save_decision_policy: SavePolicies,
    /// Reasons to keep a checkpoint, in place of `max_to_keep`.
    #[sweep(
        implied,
        KeepPolicies::default(),
        KeepPolicies::from_iter([KeepPolicy::Latest(Some(1)), KeepPolicy::StepInterval(4)])
    )]
    pub preservation_policy: KeepPolicies,
}

impl ManagedTraining {
    fn retention(&self) -> Retention {
        Retention {
            save_interval_steps: self.save_interval_steps,
            max_to_keep: self.max_to_keep,
            num_deletion_threads: self.num_deletion_threads,
            save_policies: self.save_decision_policy.clone(),
            keep_policies: self.preservation_policy.clone(),
        }
    }

    /// The most checkpoints that are there at a time, with the one that was just saved.
    fn most_kept(&self, retention: &Retention) -> u64 {
        if retention.goes_by_time() { self.train_steps } else { retention.at_once(self.train_steps).1 }
    }
}

/// Checks that there is such a training, for the plan.
fn fits(axes: &ManagerAxes) -> Result<(), String> {
    let ManagerAxes { variant, operation, mesh, training, .. } = axes;
    let ManagedTraining { save_interval_steps, max_to_keep, train_steps, num_deletion_threads, .. } =
        *training;
    for (name, value) in [
        ("save_interval_steps", save_interval_steps),
        ("max_to_keep", max_to_keep),
        ("train_steps", train_steps),
        ("num_deletion_threads", num_deletion_threads),
    ] {
        if value == 0 {
            return Err(format!("`{name}` is 0"));
        }
    }
    if train_steps > Retention::MOST_STEPS {
        return Err(format!("`train_steps` is over {}", Retention::MOST_STEPS));
    }
    let retention = training.retention();
    let by_policies = retention.save_policies != SavePolicies::default()
        || retention.keep_policies != KeepPolicies::default();
    if *operation == ManagerOperation::Delete && by_policies {
        return Err("a policy says what is saved or kept, so the training deletes nothing itself".into());
    }
    if *operation == ManagerOperation::Delete && (max_to_keep < 2 || train_steps <= save_interval_steps) {
        return Err(
            "nothing is left to be deleted: it needs two steps that are saved, and two that are kept".into(),
        );
    }
    if retention.at_once(train_steps).0.is_empty() {
        return Err(format!(
            "no checkpoint is left after {train_steps} steps: {} saves and {} keeps none",
            retention.save_policies, retention.keep_policies
        ));
    }
    variant.is_trained()?;
    mesh.holds(variant)
}

/// The memory that a point needs, for the plan: a copy more than other scenarios, since the next training
/// begins with the state again.
fn needs(axes: &ManagerAxes) -> Requirements {
    let ManagerAxes { variant, .. } = axes;
    let mut needs = variant.needs();
    needs.memory = needs.memory.saturating_add(variant.bytes());
    needs
}

/// Describes what a point does, for listings.
fn describe(axes: &ManagerAxes) -> String {
    let ManagerAxes { variant, operation, saving, mesh, training } = axes;
    let devices = if *mesh == DeviceMesh::NONE { String::new() } else { format!(", cut over {mesh}") };
    let ManagedTraining { save_interval_steps, max_to_keep, train_steps, .. } = training;
    let (save, keep) = (&training.save_decision_policy, &training.preservation_policy);
    let saved = match save.all() {
        [] => format!("saved every {save_interval_steps}"),
        _ => format!("saved by {save}"),
    };
    let kept = match keep.all() {
        [] => format!("{max_to_keep} kept"),
        _ => format!("kept by {keep}"),
    };
    format!("{operation} of {}, {saving}{devices}; {train_steps} steps, {saved}, {kept}", variant.describe())
}
