//! `--find-rate`: the highest rate that holds the targets. A search is a repeat of one case, so that its
//! result is stored, compared and shown as all others are.

use std::fmt::Write as _;

use anyhow::Result;
use weighbridge::data::{CaseRecord, CaseStatus, Exit, RunRecord};
use weighbridge::{Bencher, Direction, Error, Unit};
use weighbridge_load::{CacheProbe, RateSearch, RateTrial, Row, Session};

use super::LoadArgs;
use crate::stop;

/// The metric that stands for a search: the highest rate at which every window held the targets.
const HOLDS: &str = "highest_rate";

/// The lowest rate at which none did: the other end of the interval.
const FAILS: &str = "failing_rate";

/// The windows that it took.
const WINDOWS: &str = "search_windows";

const REQUESTS: Unit = Unit::other("req/s");

/// The name of the case.
pub(super) fn name((low, high): (f64, f64)) -> String {
    format!("highest of {low} to {high} per s")
}

/// Refuses a search that can find nothing.
///
/// # Errors
/// Without a target; with windows of too few requests; where the server has a cache.
pub(super) fn check(args: &LoadArgs, probe: Option<&CacheProbe>) -> Result<()> {
    let Some((low, _)) = args.find_rate else { return Ok(()) };
    if !args.goals().any() {
        return Err(stop::usage(
            "--find-rate needs a target: --target-ttft, --target-per-token or --target-latency",
        ));
    }
    let requests = low * args.level_of(low).length.as_secs_f64();
    if requests < least(args) {
        return Err(stop::usage(few(args, requests.floor())));
    }
    if probe.is_some_and(CacheProbe::finds_cache) {
        let why = "the server answers repeated prompts faster: turn its cache off, or say --allow-cache";
        return Err(stop::with(Exit::Failed, why.to_owned()));
    }
    Ok(())
}

/// The requests from which such a share of them can be told from all.
fn least(args: &LoadArgs) -> f64 {
    (1.0 / (1.0 - args.hold).max(1e-6)).min(100.0)
}

fn few(args: &LoadArgs, requests: f64) -> String {
    format!(
        "a window has {requests} requests, and {:.1} % of them are told from all by {:.0}: a longer --length \
         has more",
        args.hold * 100.0,
        least(args)
    )
}

/// Searches once, and hands both ends in. Its prompts have numbers of their own.
///
/// # Errors
/// Where no rate held; where the client was too slow, which says nothing of the server.
pub(super) fn measure(
    bencher: &Bencher,
    args: &LoadArgs,
    session: &Session,
    (low, high): (f64, f64),
    search: u32,
) -> Result<(), Error> {
    let search_of = RateSearch { low, high, within: args.within };
    let begin = search.saturating_mul(search_of.most_windows());
    let mut number = begin;
    let found = search_of.run(|rate| trial(args, session, rate, &mut number))?;
    let of = |name: &str, rate: f64, direction| bencher.metric(name, rate, REQUESTS, direction);
    if let Some(holds) = found.holds {
        of(HOLDS, holds, Direction::Higher);
    }
    if let Some(fails) = found.fails {
        of(FAILS, fails, Direction::Information);
    }
    let windows = f64::from(number - begin);
    bencher.metric(WINDOWS, windows, Unit::COUNT, Direction::Information);
    match (found.holds, found.fails) {
        (None, Some(fails)) => Err(Error::new(format!(
            "the highest rate is below {fails:.4} requests/s: {low:.4} did not hold in every window"
        ))),
        (None, None) => {
            Err(Error::new("windows disagree at both ends: make them longer, or the range wider"))
        }
        _ => Ok(()),
    }
}

/// The windows of a rate, until two disagree.
fn trial(args: &LoadArgs, session: &Session, rate: f64, number: &mut u32) -> Result<RateTrial, Error> {
    let session = Session { levels: vec![args.level_of(rate)], ..session.clone() };
    let mut held = None;
    for _ in 0..RateSearch::WINDOWS {
        let row = session.window(*number, None, None).map_err(Error::new)?;
        *number += 1;
        if let Some(why) = row.verdict.reasons().iter().find(|reason| reason.is_of_client()) {
            return Err(Error::new(format!(
                "at {rate:.4} requests/s {why}: the search says nothing of the server"
            )));
        }
        let holds = holds(args, &row)?;
        if held.replace(holds).is_some_and(|before| before != holds) {
            return Ok(RateTrial::Mixed);
        }
    }
    Ok(if held == Some(true) { RateTrial::Holds } else { RateTrial::Fails })
}

/// Tells whether so many requests of a window met the targets as have to.
fn holds(args: &LoadArgs, row: &Row) -> Result<bool, Error> {
    let figures = &row.figures;
    // Drawn arrivals are sometimes fewer than the mean.
    if (figures.requests as f64) < 0.5 * least(args) {
        return Err(Error::new(few(args, figures.requests as f64)));
    }
    Ok(figures.met as f64 >= args.hold * figures.requests as f64)
}

/// The searches of a run, in words.
pub(super) fn shown(args: &LoadArgs, run: &RunRecord) -> String {
    let mut text = String::new();
    for case in &run.cases {
        let _ = writeln!(text, "{}", ends(case));
    }
    let share = args.hold * 100.0;
    let _ = write!(
        text,
        "It is a rate at which {share:.1} % of the requests meet the targets, counted from when\n\
         they were due.\n\
         At the lower end each of {windows} windows held them, at the upper end none did.\n",
        windows = RateSearch::WINDOWS
    );
    text
}

fn ends(case: &CaseRecord) -> String {
    if let CaseStatus::Failed(why) = &case.status {
        return why.to_string();
    }
    let of = |name: &str| case.metric(name)?.estimate;
    let several = |estimate: weighbridge::data::Estimate| match estimate.interval {
        Some((low, high)) => format!(" (interval of {} searches: {low:.4} to {high:.4})", estimate.n),
        None if estimate.n > 1 => format!(" (median of {} searches)", estimate.n),
        None => String::new(),
    };
    match (of(HOLDS), of(FAILS)) {
        (Some(holds), Some(fails)) => format!(
            "the highest rate lies between {:.4} and {:.4} requests/s{}",
            holds.median,
            fails.median,
            several(holds)
        ),
        (Some(holds), None) => format!(
            "the highest rate is at least {:.4} requests/s: that did not fail in every window{}",
            holds.median,
            several(holds)
        ),
        _ => "nothing was found".to_owned(),
    }
}
