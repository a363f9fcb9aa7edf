//! What this process says of itself among ranks, and what differs between them.

use std::collections::BTreeMap;

use super::Context;
use super::session::Session;
use crate::plan::Plan;
use crate::ranks::{RankDifference, RankFacts, RankSeat, host};
use crate::run::Program;

/// Facts of the machine that whoever starts a process sets for it.
const SET_FOR_PROCESS: [&str; 3] = ["allowed cpus", "cpu quota", "memory limit"];

/// Facts of the software that may well differ from machine to machine, or that the digest of the program
/// answers for.
const OF_PLACE: [&str; 3] = ["storage", "branch", "working tree"];

/// The facts of this rank.
pub(super) fn facts(seat: &RankSeat, session: &Session, plan: &Plan) -> RankFacts {
    let without = |facts: &BTreeMap<String, String>, names: &[&str]| {
        let kept = facts.iter().filter(|(name, _)| !names.contains(&name.as_str()));
        kept.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let environment = &session.environment;
    let program = Program::own().and_then(|own| own.digest()).ok();
    let same = [
        ("program", program),
        ("commit", environment.software.get("commit").cloned()),
        ("plan", Some(digest(plan))),
    ];
    let same = same.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    RankFacts {
        host: host(),
        local_rank: seat.local_rank,
        devices: devices(),
        same: same.collect(),
        machine: without(&environment.machine, &SET_FOR_PROCESS),
        software: without(&environment.software, &OF_PLACE),
    }
}

/// The digest of what is measured, and of how: two ranks with the same one do the same.
fn digest(plan: &Plan) -> String {
    let cases = plan.cases.iter().map(|case| (&case.id, case.repeats, case.budget, case.measured));
    let skips = plan.skips.iter().map(|skip| &skip.id);
    let text = format!(
        "{:?} {:?} {:?} {:?}",
        cases.collect::<Vec<_>>(),
        skips.collect::<Vec<_>>(),
        plan.run,
        plan.together
    );
    format!("{:032x}", xxhash_rust::xxh3::xxh3_128(text.as_bytes()))
}

/// The devices that this process sees.
fn devices() -> usize {
    if let Ok(visible) = std::env::var("CUDA_VISIBLE_DEVICES") {
        return visible.split(',').filter(|device| !device.trim().is_empty()).count();
    }
    std::fs::read_dir("/proc/driver/nvidia/gpus").map_or(0, Iterator::count)
}

/// Returns the differences that no run may have: in the program, the commit, the plan, the type of machine.
pub(super) fn must_not_differ(all: &[RankFacts], context: &Context<'_>) -> Vec<RankDifference> {
    let first = &all[0];
    let of = |(rank, facts): (usize, &RankFacts)| {
        let mut found = facts.differences(rank, first, |facts| &facts.same);
        // Where the checkout cannot be seen, the digest of the program answers for it.
        found.retain(|one| one.what != "commit" || (one.there.is_some() && one.first.is_some()));
        if !context.args.allow_different_machine {
            found.extend(facts.differences(rank, first, |facts| &facts.machine));
        }
        found
    };
    all.iter().enumerate().skip(1).flat_map(of).collect()
}

/// Returns the differences that a run may have.
pub(super) fn may_differ(all: &[RankFacts]) -> Vec<RankDifference> {
    let first = &all[0];
    let of = |(rank, facts): (usize, &RankFacts)| {
        let mut found = facts.differences(rank, first, |facts| &facts.machine);
        found.extend(facts.differences(rank, first, |facts| &facts.software));
        found
    };
    all.iter().enumerate().skip(1).flat_map(of).collect()
}
