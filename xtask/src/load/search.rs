//! `--find-rate`: the highest rate that holds the targets.

use anyhow::{Result, bail};
use weighbridge::data::Exit;
use weighbridge_load::{CacheProbe, FoundRate, RateSearch, RateTrial, Row, Session};

use super::LoadArgs;
use super::args::LoadSide;
use crate::command_output::{CommandOutput, say};
use crate::stop;

/// Searches, and says what was found.
///
/// # Errors
/// Without a target; and where the client was too slow, which says nothing of the server.
pub(super) fn run(args: &LoadArgs, (low, high): (f64, f64)) -> Result<CommandOutput> {
    if !args.goals().any() {
        return Err(stop::usage(
            "--find-rate needs a target: --target-ttft, --target-per-token or --target-latency",
        ));
    }
    let session = args.session(LoadSide::Judged)?;
    let probe = session.look_for_cache().map_err(super::args::told)?;
    if probe.as_ref().is_some_and(CacheProbe::finds_cache) {
        let why = "the server answers repeated prompts faster: turn its cache off, or say --allow-cache";
        return Err(stop::with(Exit::Failed, why.to_owned()));
    }
    let mut number = 0;
    let found = RateSearch { low, high, within: args.within }.run(|rate| {
        let outcome = trial(args, &session, rate, &mut number)?;
        say(&format!("{rate:.4} requests/s: {}\n", words(&outcome)));
        Ok::<_, anyhow::Error>(outcome)
    })?;
    let exit = if found.holds.is_some() { Exit::Fine } else { Exit::Failed };
    Ok(CommandOutput { exit, ..CommandOutput::fine(told(args, found, (low, high))) })
}

/// The windows of a rate, until two disagree.
fn trial(args: &LoadArgs, session: &Session, rate: f64, number: &mut u32) -> Result<RateTrial> {
    let session = Session { levels: vec![args.level_of(rate)], ..session.clone() };
    let mut held = None;
    for _ in 0..RateSearch::WINDOWS {
        let row = session.window(*number, None, None).map_err(super::args::told)?;
        *number += 1;
        if let Some(why) = row.verdict.reasons().iter().find(|reason| reason.is_of_client()) {
            let why = format!("at {rate:.4} requests/s {why}: the search says nothing of the server");
            return Err(stop::with(Exit::Failed, why));
        }
        let holds = holds(args, &row)?;
        if held.replace(holds).is_some_and(|before| before != holds) {
            return Ok(RateTrial::Mixed);
        }
    }
    Ok(if held == Some(true) { RateTrial::Holds } else { RateTrial::Fails })
}

/// Tells whether so many requests of a window met the targets as have to.
fn holds(args: &LoadArgs, row: &Row) -> Result<bool> {
    let figures = &row.figures;
    let least = (1.0 / (1.0 - args.hold).max(1e-6)).min(100.0);
    if (figures.requests as f64) < least {
        bail!(stop::usage(format!(
            "a window of {} has {} requests, and {:.1} % of them are told from all by {least:.0}: a longer \
             --length has more",
            row.name,
            figures.requests,
            args.hold * 100.0
        )));
    }
    Ok(figures.met as f64 >= args.hold * figures.requests as f64)
}

fn words(outcome: &RateTrial) -> &'static str {
    match outcome {
        RateTrial::Holds => "every window held the targets",
        RateTrial::Fails => "no window held the targets",
        RateTrial::Mixed => "windows disagree",
    }
}

fn told(args: &LoadArgs, found: FoundRate, (low, high): (f64, f64)) -> String {
    let share = args.hold * 100.0;
    let line = match (found.holds, found.fails) {
        (Some(holds), Some(fails)) => {
            format!("the highest rate lies between {holds:.4} and {fails:.4} requests/s")
        }
        (Some(holds), None) => {
            format!(
                "the highest rate is at least {holds:.4} requests/s: {high:.4} did not fail in every window"
            )
        }
        (None, Some(fails)) => {
            format!("the highest rate is below {fails:.4} requests/s: {low:.4} did not hold in every window")
        }
        (None, None) => "windows disagree at both ends: make them longer, or the range wider".to_owned(),
    };
    format!(
        "{line}\nIt is a rate at which {share:.1} % of the requests meet the targets, counted from when\n\
         they were due.\n\
         At the lower end each of {windows} windows held them, at the upper end none did.\n",
        windows = RateSearch::WINDOWS
    )
}
