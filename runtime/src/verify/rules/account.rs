//! A worker's account of its time is held against the harness's clock.

use std::time::Duration;

use super::rule::{Accusation, Rule, each_measured};
use crate::bencher::Account;
use crate::verify::ExaminedCase;
use crate::verify::examined_case::EndedRepeat;
use crate::verify::finding::Severity;

pub(super) const RULE: Rule = Rule {
    name: "account",
    lie: "a clock that runs slow or is stopped in secret; processor time that is not told",
    looks: "from the request for a measured run to its answer: the parts that the worker tells must add up \
        to what passed by the harness's clock, in the middle one of the repeats: less 3 % and a tenth of \
        what was measured, but 20 to 50 ms; its processor time to as large a part of what the system says \
        of its processes, less a tenth and 100 ms, and, where none of them ended meanwhile, never more",
    blind: "a worker that tells a part of its measured time under another name: the parts are shown, and \
        `outside` bounds them",
    remedy: "charge all time from the request to the answer to a part of the ledger, by a monotonic clock",
    test: "verify::rules::tests::a_workers_account_adds_up_to_what_passed",
    check,
};

/// A worker's account may fall short by this share and by a tenth of what was measured: its answer is written
/// and read after it. Of that tenth at least the one and at most the other counts, in nanoseconds. See
/// `docs/development/log/2026-11-bounds.md` for what honest systems need.
const SHORT: f64 = 0.03;
const TENTH: u64 = 10;
const LEAST_SLACK: u64 = 20_000_000;
const MOST_SLACK: u64 = 50_000_000;

/// Processor time is told in steps of 10 ms, and processes that have ended take some along.
const CPU_SHORT: f64 = 0.1;
const CPU_SLACK: u64 = 100_000_000;

fn check(examined: &ExaminedCase<'_>) -> Vec<Accusation> {
    let each = each_measured(examined, |one| Some((Severity::Fail, fault(one.evidence.account.as_ref()?)?)));
    missing(examined).into_iter().chain(each).collect()
}

/// Time that is not told of. On a busy machine an answer may have lain there for a while: the middle one of
/// the repeats counts, as in the figure that is ranked.
fn missing(examined: &ExaminedCase<'_>) -> Option<Accusation> {
    let missing = |account: &Account| {
        let slack = (account.wall / TENTH).clamp(LEAST_SLACK, MOST_SLACK);
        let allowed = account.passed as f64 * SHORT + slack as f64;
        (account.passed.saturating_sub(account.claimed) as f64 - allowed) / account.passed.max(1) as f64
    };
    let measured = examined.ended().filter(EndedRepeat::is_measured);
    let mut accounts: Vec<&Account> = measured.filter_map(|one| one.evidence.account.as_ref()).collect();
    accounts.sort_by(|a, b| missing(a).total_cmp(&missing(b)));
    let middle = accounts.get(accounts.len().checked_sub(1)? / 2)?;
    let Account { passed, claimed, .. } = **middle;
    (missing(middle) > 0.0).then(|| Accusation {
        severity: Severity::Fail,
        repeats: Vec::new(),
        detail: format!(
            "the worker tells where {:?} went, and {:?} passed: {:?} are missing",
            Duration::from_nanos(claimed),
            Duration::from_nanos(passed),
            Duration::from_nanos(passed - claimed)
        ),
    })
}

fn fault(account: &Account) -> Option<String> {
    let time = Duration::from_nanos;
    let Account { passed, claimed, cpu, cpu_claimed, running, wall, .. } = *account;
    if wall > claimed {
        return Some(format!("its clock ran for {:?} in an account of {:?}", time(wall), time(claimed)));
    }
    let cpu = cpu?;
    if let Some(running) = running
        && account.all_seen
        && running > cpu.saturating_add(CPU_SLACK)
    {
        return Some(format!(
            "it says that it used {:?} of processor time while its clock ran, and the system says {:?} in \
             all",
            time(running),
            time(cpu)
        ));
    }
    let told = cpu_claimed?;
    // What its processes did before the worker had read the request, and while the answer lay there, is
    // nobody's lie.
    let share = (claimed as f64 / passed.max(1) as f64).min(1.0);
    let least = (cpu as f64 * share * (1.0 - CPU_SHORT)) as u64;
    (told.saturating_add(CPU_SLACK) < least).then(|| {
        format!(
            "it says that its processes used {:?} of processor time, and the system says {:?}",
            time(told),
            time(cpu)
        )
    })
}
