//! What a run and a duel share: all is as it must be, nobody else measures, and it is known where, on what
//! and under which name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::stated_budgets::stated;
use super::usage::UsageError;
use super::wait::wait_for_machine;
use super::{Context, Suite, TargetError, resume};
use crate::bencher::{INJECT, RunSettings, draw_epoch};
use crate::device::{DeviceInfo, Platform, add_libraries, find_device};
use crate::plan::{CaseId, Plan};
use crate::process::{OwnFolders, words_without_secrets};
use crate::record::{Build, Environment, RunId, RunManifest, RunPlan, RunStatus};
use crate::report;
use crate::run::Program;
use crate::store::{Layout, MachineLock, RunLock, Runs};

/// A machine that is ready to measure, until this is dropped.
pub(super) struct Session {
    /// The name of the backend that serves the platform that was asked for.
    backend: String,
    pub(super) layout: Layout,
    /// As it was before anything was measured: the load is the machine's and not ours, the commit the one
    /// that runs.
    pub(super) environment: Environment,
    /// The time that is left of the budget after waiting for others.
    pub(super) budget: Option<Duration>,
    _locks: Vec<MachineLock>,
}

impl Session {
    /// Waits until no other run measures on this machine, and looks at that; `None` when the user asked for
    /// an end meanwhile.
    ///
    /// # Errors
    /// That the budget was spent on waiting; those of the lock.
    pub(super) fn begin(context: &Context<'_>, device: DeviceInfo) -> Result<Option<Self>, TargetError> {
        Self::alone(context, &build(context.suite), &on_device(&device), device.backend.platform().name())
    }

    /// The same for programs that this process judges: what only they know of their build and of the device,
    /// they tell.
    ///
    /// # Errors
    /// As [`Session::begin`].
    pub(super) fn alone(
        context: &Context<'_>,
        build: &Build,
        device: &Environment,
        backend: &str,
    ) -> Result<Option<Self>, TargetError> {
        let Context { suite, args, .. } = context;
        let before = Instant::now();
        let Some(locks) = wait_for_machine(context)? else { return Ok(None) };
        let budget = args.budget.map(|budget| budget.saturating_sub(before.elapsed()));
        let layout = Layout::new(suite.data(args.data.as_deref())).with_workspace(suite.workspace());
        let environment = Environment::capture(layout.data(), &suite.workspace(), build).with_more(device);
        Ok(Some(Self { backend: backend.to_owned(), layout, environment, budget, _locks: locks }))
    }

    /// Makes the directory and the manifest of a run or of a duel, or takes up those of one that was broken
    /// off. `versus` is the hash of the other program, where it is measured in turns with one.
    ///
    /// # Errors
    /// That another process goes on with it, or that it would go on as another one; those of the store.
    pub(super) fn take_up(
        &self,
        context: &Context<'_>,
        plan: &Plan,
        runs: &Runs,
        versus: Option<String>,
    ) -> Result<(RunManifest, RunLock), TargetError> {
        if let Some(run) = &context.args.resume {
            let id: RunId = run.parse().map_err(|error| UsageError(format!("--resume: {error}")))?;
            let lock = going_on(runs, &id)?;
            let mut manifest = runs.manifest(&id)?;
            resume::check(context.suite, &manifest, plan)?;
            resume::same_ranks(&manifest, context.seat.as_ref())?;
            let own = Program::own().and_then(|own| own.digest()).ok();
            resume::same_place(&manifest, [own, versus], &self.environment)?;
            resume::take_surroundings(&mut manifest, &self.environment, &context.args)?;
            let lost = runs.lost_cases(&manifest)?.len();
            if manifest.status == RunStatus::Damaged && lost > 0 {
                context.terminal.remark(&format!(
                    "{lost} records of cases are gone: they are derived again from the journal's repeats"
                ));
            }
            // Whoever lost nothing but what follows from the journal was not broken off.
            manifest.resumed |= manifest.status != RunStatus::Damaged || !runs.has_its_journal(&manifest)?;
            manifest.status = RunStatus::Running;
            runs.enter(&id)?;
            runs.write_manifest(&manifest)?;
            return Ok((manifest, lock));
        }
        let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        let started = Started {
            id: None,
            words,
            programs: [Program::own().and_then(|own| own.digest()).ok(), versus],
            profile: plan.profile.clone(),
            run: plan.run,
            planned: planned(plan),
        };
        self.enter(context, runs, started)
    }

    /// Makes the directory and the manifest of what starts now.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) fn enter(
        &self,
        context: &Context<'_>,
        runs: &Runs,
        started: Started,
    ) -> Result<(RunManifest, RunLock), TargetError> {
        let now = now();
        let Started { id, words, programs: [program, versus], profile, run, planned } = started;
        let manifest = RunManifest {
            id: id.unwrap_or_else(|| run_id(now)),
            suite: context.suite.name(),
            started: now.as_secs(),
            command: kept_command(words, &context.suite.workspace()),
            program,
            versus,
            profile,
            requested_platform: run.platform.name().to_owned(),
            active_backend: self.backend.clone(),
            seed: run.seed,
            epoch: draw_epoch(),
            planned,
            status: RunStatus::Running,
            resumed: false,
            journalled: None,
            other_surroundings: Vec::new(),
            ranks: None,
            environment: self.environment.clone(),
            load_at_end: None,
        };
        if let Some(newest) = runs.ids()?.first().filter(|newest| **newest > manifest.id) {
            context.terminal.remark(&report::clock_is_behind(newest));
        }
        runs.create(&manifest)?;
        let lock = going_on(runs, &manifest.id)?;
        Ok((manifest, lock))
    }
}

/// A run or a duel that starts now, as its manifest tells of it.
pub(super) struct Started {
    /// Its name, where another process has given it one.
    pub(super) id: Option<RunId>,
    /// The command line that goes on with it.
    pub(super) words: Vec<String>,
    /// The hash of the program, and of the other one where it is measured in turns with one.
    pub(super) programs: [Option<String>; 2],
    /// The profile's name.
    pub(super) profile: String,
    pub(super) run: RunSettings,
    pub(super) planned: RunPlan,
}

/// The plan as a manifest keeps it.
pub(super) fn planned(plan: &Plan) -> RunPlan {
    RunPlan {
        cases: plan.cases.iter().map(|case| case.id.clone()).collect(),
        only_verified: only_verified(plan),
        skipped: skipped(plan),
        repeats: plan.repeats,
        stated: stated(plan),
        shortened: BTreeMap::new(),
        target: plan.together.target,
        budget: plan.budget,
        timeout: plan.timeout().as_secs(),
        isolation: plan.together.isolation.name().to_owned(),
        order: plan.together.order.name().to_owned(),
    }
}

/// Locks what is gone on with.
pub(super) fn going_on(runs: &Runs, id: &RunId) -> Result<RunLock, TargetError> {
    let why = || "another process goes on with it".to_owned();
    runs.lock(id)?.ok_or_else(|| TargetError::Resume { run: id.clone(), why: why() })
}

/// The facts of a device.
pub(super) fn on_device(device: &DeviceInfo) -> Environment {
    let mut environment = Environment::default();
    environment.add_device(device);
    environment
}

/// The command line as the manifest keeps it: without secrets, and with names for the user's own folders.
fn kept_command(words: Vec<String>, workspace: &Path) -> Vec<String> {
    let own = OwnFolders::of(workspace);
    words_without_secrets(words).iter().map(|word| own.hide(word)).collect()
}

/// Checks all that must hold before anything is measured. Returns the device that serves the platform: the
/// requested one is the active one.
pub(super) fn check(context: &Context<'_>, plan: &Plan) -> Result<DeviceInfo, TargetError> {
    let args = &context.args;
    let duel = args.is_duel();
    // In a plain run the variable slows the run down, which its record then shows; the flag would leave no
    // trace.
    if args.inject.is_some() && !duel && std::env::var_os(INJECT).is_none() {
        return Err(UsageError(format!(
            "--inject plants a slowdown into one side of a duel: add --versus, --versus-adapter or \
             --versus-param; a plain run is slowed down by the variable {INJECT}"
        ))
        .into());
    }
    if args.comparison.is_some() && !duel && args.baseline.is_none() && args.baseline_lenient.is_none() {
        let why = "--comparison writes what is compared, and nothing is: add --baseline, --versus or \
            --versus-adapter";
        return Err(UsageError(why.to_owned()).into());
    }
    if cfg!(debug_assertions) && !context.args.allow_debug {
        return Err(TargetError::DebugAssertions);
    }
    let device = device(plan.run.platform)?;
    if plan.measured() == 0 {
        let skipped = report::skips(plan);
        let why = if skipped.is_empty() {
            "no case matches; `--list` shows what there is"
        } else {
            skipped.trim_end()
        };
        return Err(TargetError::NothingSelected(why.to_owned()));
    }
    Ok(device)
}

/// The device that serves a platform.
///
/// # Errors
/// That there is none.
pub(super) fn device(requested: Platform) -> Result<DeviceInfo, TargetError> {
    let mut device = find_device(requested).map_err(|why| TargetError::NoDevice { requested, why })?;
    add_libraries(&mut device);
    let active = device.backend.platform();
    if requested == active { Ok(device) } else { Err(TargetError::Backend { requested, active }) }
}

/// The facts that this binary knows of its own build.
pub(super) fn build(suite: &Suite) -> Build {
    let mut crates = BTreeMap::new();
    crates.insert(suite.package.to_owned(), suite.version.to_owned());
    crates.insert("weighbridge".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    Build {
        rustc: None,
        debug_assertions: cfg!(debug_assertions),
        rust_flags: None,
        features: Vec::new(),
        crates,
    }
}

/// The references that nobody selected: they are verified and not measured.
fn only_verified(plan: &Plan) -> Vec<CaseId> {
    plan.cases.iter().filter(|case| !case.measured).map(|case| case.id.clone()).collect()
}

/// The cases that were left out before anything ran, each once.
fn skipped(plan: &Plan) -> Vec<CaseId> {
    let mut taken: BTreeSet<String> = plan.cases.iter().map(|case| case.id.file_name()).collect();
    let ids = plan.skips.iter().map(|skip| &skip.id);
    ids.filter(|id| taken.insert(id.file_name())).cloned().collect()
}

/// Time since the Unix epoch.
fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The name of what starts now: in 24 bits, so that those of one second sort by their start as well; a name
/// that is taken is refused.
fn run_id(now: Duration) -> RunId {
    RunId::new(now.as_secs(), now.subsec_nanos() >> 6)
}
