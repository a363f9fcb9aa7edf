//! From what was typed to what it means: the plan's request.

use super::args::BenchArgs;
use crate::bencher::PartialBudget;
use crate::device::Platform;
use crate::plan::{CaseOrder, Isolation, MemoryLimit, PlanError, Profile, Profiles, Request};

/// What the command line is for.
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

/// The default seed: data sets are pinned at it.
pub(super) const SEED: u64 = 42;

/// The profile of a plain `cargo bench`.
const PROFILE: &str = "ci_cpu";

/// What the plan is asked for. `settings` is the workspace's settings file: its name and its text.
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
    let profile = adjusted(profiles.get(args.profile.as_deref().unwrap_or(default))?, args);
    let platform = platform(args);
    // A profile that was not named adapts: only one that was named can be against the platform.
    if args.profile.is_some() && profile.backend != platform.name() {
        return Err(PlanError::Platform {
            profile: profile.name,
            wanted: profile.backend,
            platform: platform.name().to_owned(),
        });
    }
    Ok(Request {
        target: if mode == HarnessMode::Bench { args.target } else { None },
        filters: args.filters.clone(),
        exact: args.exact,
        skip: args.skip.clone(),
        scenarios: args.scenarios.clone(),
        adapters: adapters(args),
        set: args.set.clone(),
        // A listing has all that there is, unless it is asked what a run under a profile would have.
        profile_set: matches!(mode, HarnessMode::Bench | HarnessMode::Profile)
            || (mode == HarnessMode::List && args.profile.is_some()),
        params: args.params.clone(),
        seed: args.seed.unwrap_or(SEED),
        order: args.order.unwrap_or(CaseOrder::Shuffled),
        isolation: if mode == HarnessMode::Profile {
            Isolation::None
        } else {
            args.isolation.unwrap_or(Isolation::Repeat)
        },
        platform,
        mode: args.mode,
        available_memory: crate::device::available_memory().unwrap_or(u64::MAX),
        smoke: mode == HarnessMode::Smoke,
        profiled: mode == HarnessMode::Profile,
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

/// The platform that was asked for.
pub(super) fn platform(args: &BenchArgs) -> Platform {
    args.platform.unwrap_or_default()
}

fn adjusted(profile: Profile, args: &BenchArgs) -> Profile {
    let mut profile = profile;
    let repeats = if args.profile_time.is_some() { Some(1) } else { args.repeats };
    let min_time = args.profile_time.or(args.min_time);
    let typed = PartialBudget { samples: args.samples, min_time, max_time: args.max_time, repeats };
    profile.asked = typed.or(profile.asked);
    profile.repeats = profile.asked.repeats.unwrap_or(profile.repeats);
    profile.budget = profile.asked.over(profile.budget);
    profile.budget.warmup = args.warmup.unwrap_or(profile.budget.warmup);
    profile.timeout = args.timeout.unwrap_or(profile.timeout);
    if args.profile_time.is_some() {
        profile.memory = MemoryLimit::Share(1.0);
    }
    profile
}
