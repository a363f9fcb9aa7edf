//! From what was typed to what it means: the plan's request.

use super::args::BenchArgs;
use crate::plan::{Isolation, MemoryLimit, PlanError, Profiles, Request};

/// The mode that the command line asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HarnessMode {
    /// Measure and store.
    Bench,
    /// Run each case once on as little as possible, store nothing.
    Smoke,
    /// Run bodies for a profiler, store nothing.
    Profile,
    /// Name the cases.
    List,
}

/// The profile of a plain `cargo bench`.
const PROFILE: &str = "ci_cpu";

/// Makes the request to the plan. `settings` is the workspace's settings file: its name and its text.
///
/// # Errors
/// A wrong settings file; an unknown profile; a profile for another platform.
pub(super) fn request(
    args: &BenchArgs,
    mode: HarnessMode,
    settings: Option<(&str, &str)>,
) -> Result<Request, PlanError> {
    let profiles = Profiles::load(settings)?;
    let default = if args.quick { "quick" } else { PROFILE };
    let mut profile = profiles.get(args.profile.as_deref().unwrap_or(default))?;
    let mut run = args.run;
    // A profile that was not named adapts: only one that was named can be against the platform.
    if args.profile.is_some() && profile.backend != run.platform.name() {
        return Err(PlanError::Platform {
            profile: profile.name,
            wanted: profile.backend,
            platform: run.platform.name().to_owned(),
        });
    }
    if let Some(time) = args.profile_time {
        run.asked.repeats = Some(1);
        run.asked.min_time = Some(time);
        profile.memory = MemoryLimit::Share(1.0);
    }
    run.asked = run.asked.or(profile.asked);
    run.timeout = run.timeout.or(Some(profile.timeout));
    run.profiled = mode == HarnessMode::Profile;
    profile.repeats = run.asked.repeats.unwrap_or(profile.repeats);
    profile.budget = run.asked.over(profile.budget);
    profile.budget.warmup = args.warmup.unwrap_or(profile.budget.warmup);
    let mut together = args.together;
    if mode != HarnessMode::Bench {
        together.target = None;
    }
    if mode == HarnessMode::Profile {
        together.isolation = Isolation::None;
    }
    Ok(Request {
        run,
        together,
        filters: args.filters.clone(),
        exact: args.exact,
        expressions: false,
        skip: args.skip.clone(),
        scenarios: args.scenarios.clone(),
        adapters: adapters(args),
        set: args.set.clone(),
        // A listing has all that there is, unless it is asked what a run under a profile would have.
        profile_set: matches!(mode, HarnessMode::Bench | HarnessMode::Profile)
            || (mode == HarnessMode::List && args.profile.is_some()),
        params: args.params.clone(),
        available_memory: crate::device::available_memory().unwrap_or(u64::MAX),
        smoke: mode == HarnessMode::Smoke,
        verify: mode == HarnessMode::Bench,
        profile,
    })
}

/// The adapters that were named; the one that a duel is with is meant as well.
fn adapters(args: &BenchArgs) -> Vec<String> {
    let mut adapters = args.adapters.clone();
    if !adapters.is_empty() {
        adapters.extend(args.versus_adapter.clone());
    }
    adapters
}
