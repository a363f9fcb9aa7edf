//! Targets beside this one: `cargo bench -- FILTER` runs all of them. What is asked for may be in another,
//! and libtest may be.

use std::path::Path;

use super::call::Call;
use super::caller::Caller;
use super::targets::{Libtest, Targets};
use super::{Context, HarnessMode, TargetError};
use crate::plan::{Plan, nearest};
use crate::registry::Registry;

/// The remark where filters take no case of this bench target, and cargo goes on to others that may have it;
/// `None` where something is to be run. In a gate nothing is passed over.
///
/// # Errors
/// Where no other target is left that may have it: as far as one process can know, none of them had.
pub(super) fn passed_over(
    context: &Context<'_>,
    registry: &Registry,
    plan: &Plan,
    mode: HarnessMode,
) -> Result<Option<String>, TargetError> {
    let args = &context.args;
    let is_gate = args.baseline.is_some() || args.is_duel();
    let is_filtered_out = plan.measured() == 0 && plan.skips.is_empty() && !args.filters.is_empty();
    if !matches!(mode, HarnessMode::Bench | HarnessMode::Profile) || is_gate || !is_filtered_out {
        return Ok(None);
    }
    let filters: Vec<String> = args.filters.iter().map(|filter| format!("`{filter}`")).collect();
    let ids = || registry.scenarios().iter().map(|scenario| scenario.id);
    let near = args.filters.iter().find_map(|filter| nearest(filter, ids()));
    let near = near.map_or_else(String::new, |id| format!(" (the nearest scenario is `{id}`)"));
    let said = format!(
        "nothing to measure in the bench target `{}`: no case matches {}{near}",
        context.suite.target,
        filters.join(" or ")
    );
    // Which others there are, and what they have, only cargo knows where there is no call to ask.
    let others_may_have_it = match Call::of(context) {
        Some(call) => call.passes(),
        None => Caller::of_this_process().is_some(),
    };
    if others_may_have_it { Ok(Some(said)) } else { Err(TargetError::NothingMatches(said)) }
}

/// Flags that libtest takes as well: whoever passes them sees no refusal.
const OF_LIBTEST: [&str; 18] = [
    "bench",
    "color",
    "exact",
    "format",
    "help",
    "ignored",
    "include-ignored",
    "list",
    "logfile",
    "no-capture",
    "nocapture",
    "quiet",
    "report-time",
    "show-output",
    "shuffle",
    "shuffle-seed",
    "skip",
    "test",
];

/// The note where cargo hands a flag of ours to libtest as well, which refuses it: under plain `cargo bench
/// -- FLAGS`, where a library or a binary of the package is a bench target too.
pub(super) fn refused_elsewhere(context: &Context<'_>) -> Option<String> {
    let args = &context.args;
    let flag = args.typed.iter().find(|name| !OF_LIBTEST.contains(name)).filter(|_| args.bench)?;
    let of_libtest = Targets::of(Path::new(context.suite.directory)).of_libtest();
    let words = |target: &Libtest| match target {
        Libtest::Library => ("the library".to_owned(), "`bench = false` below `[lib]`".to_owned()),
        Libtest::Binary(name) => (
            format!("the binary `{name}`"),
            format!("`name = \"{name}\"` and `bench = false` below `[[bin]]`"),
        ),
    };
    let (targets, lines): (Vec<String>, Vec<String>) = of_libtest.iter().map(words).unzip();
    (!of_libtest.is_empty()).then(|| {
        format!(
            "note: `cargo bench -- --{flag}` without `--bench {}` ends in libtest, which {} of `{}` {} too \
             and which refuses the flag: write {} in Cargo.toml",
            context.suite.target,
            targets.join(" and "),
            context.suite.package,
            if targets.len() == 1 { "starts" } else { "start" },
            lines.join(", and ")
        )
    })
}
