//! A run of several ranks, as another rank than 0 goes through it: joins, does what it is asked, keeps its
//! own repeats, tells what it has found in them.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::leading::{self, RankBegin, RankFindings, patience, place, rendezvous};
use super::rank_facts::facts;
use super::session::{Session, Started, check, planned};
use super::smoke::program;
use super::{Context, Exit, TargetError, resume};
use crate::json;
use crate::plan::{CaseId, Plan};
use crate::ranks::{LinkEnd, RankLink, RankSeat};
use crate::record::{RunId, RunManifest, RunStatus, assemble_run};
use crate::run::{Event, FollowEnd, FollowTask, Program, follow};
use crate::store::{OutputStream, RunLock, Runs, StoreError};
use crate::verify::{Agreement, Severity};

/// The interval at which it is looked whether the user has asked for an end.
const LOOK: Duration = Duration::from_millis(50);

/// Takes part in a run as this rank.
pub(super) fn take_part(context: &Context<'_>, seat: &RankSeat, plan: &Plan) -> Result<Exit, TargetError> {
    leading::check(context, plan)?;
    let device = check(context, plan)?;
    if context.args.dry_run {
        return Ok(Exit::Fine);
    }
    let Some(session) = Session::begin(context, device)? else { return Ok(Exit::Interrupted) };
    let facts = facts(seat, &session, plan);
    let goes_on = || !context.interrupted.load(Ordering::Relaxed);
    let link = rendezvous(context, seat, &session).join(seat, &facts, patience(context), &goes_on)?;
    let run = begun(context, &link)?;
    let runs = Runs::new(session.layout.of_rank(seat.rank));
    let (mut manifest, _going_on) = take_up(context, plan, &session, &runs, &run)?;
    let scratch = |case: &CaseId, number: u32| runs.layout().scratch(&run, case, number);
    let task = FollowTask {
        plan,
        scratch: &scratch,
        place: place(seat, link.address, link.token.clone()),
        surroundings: resume::number_of_surroundings(&manifest, &session.environment),
        interrupted: &context.interrupted,
    };
    let kept = runs.layout().kept(&run);
    let mut repeats = 0;
    let ended = follow(&task, program(context)?.keeping(&kept), &link, &mut |event| {
        if let Event::RepeatEnded { case, repeat, stdout, stderr } = &event {
            repeats += 1;
            runs.log(&run, case, repeat.number, OutputStream::Stdout, stdout)?;
            runs.log(&run, case, repeat.number, OutputStream::Stderr, stderr)?;
            super::bench::journal(&runs, &run, case, repeat)?;
        }
        Ok::<(), TargetError>(())
    });
    let _ = std::fs::remove_dir_all(&kept); // there only if a system under test has converted data
    let end = match ended? {
        FollowEnd::Tell(turn) => {
            tell(plan, &runs, &mut manifest, &link, turn)?;
            wait_for_the_end(context, &link)
        }
        FollowEnd::Over(end) => end,
        FollowEnd::Interrupted => LinkEnd::BrokenOff("interrupted".to_owned()),
    };
    let is_whole = end == LinkEnd::Complete;
    manifest.status = if is_whole { RunStatus::Complete } else { RunStatus::Interrupted };
    manifest.load_at_end = crate::device::load_average();
    runs.write_manifest(&manifest)?;
    let (rank, ranks, host) = (seat.rank, seat.ranks, &facts.host);
    match end {
        LinkEnd::Complete => {
            let line = format!("rank {rank} of {ranks} ({host}): {repeats} repeats, and rank 0 reports");
            context.terminal.line_of_rank(&line, context.args.quiet);
            Ok(Exit::Fine)
        }
        LinkEnd::BrokenOff(why) if why == "interrupted" => Ok(Exit::Interrupted),
        LinkEnd::BrokenOff(why) => Err(TargetError::EndedByFirst(why)),
        LinkEnd::Lost(why) => Err(TargetError::EndedByFirst(format!("it is gone: {why}"))),
    }
}

/// Waits for rank 0 to say which run it is.
fn begun(context: &Context<'_>, link: &RankLink) -> Result<RunId, TargetError> {
    loop {
        if context.interrupted.load(Ordering::Relaxed) {
            return Err(TargetError::Interrupted);
        }
        match link.next(LOOK) {
            Ok(None) => {}
            Ok(Some(turn)) => {
                let begin = json::read::<RankBegin>(turn.body.as_bytes());
                let begin = begin.map_err(|error| TargetError::EndedByFirst(error.to_string()))?;
                return Ok(begin.run);
            }
            Err(LinkEnd::Complete) => return Err(TargetError::EndedByFirst("nothing was run".to_owned())),
            Err(LinkEnd::BrokenOff(why) | LinkEnd::Lost(why)) => return Err(TargetError::EndedByFirst(why)),
        }
    }
}

/// Takes up this rank's part of a run, or makes it: another machine may have had it before.
fn take_up(
    context: &Context<'_>,
    plan: &Plan,
    session: &Session,
    runs: &Runs,
    run: &RunId,
) -> Result<(RunManifest, RunLock), TargetError> {
    match runs.manifest(run) {
        Ok(mut manifest) => {
            let lock = super::session::going_on(runs, run)?;
            let own = Program::own().and_then(|own| own.digest()).ok();
            resume::same_place(&manifest, [own, None], &session.environment)?;
            resume::take_surroundings(&mut manifest, &session.environment, &context.args)?;
            (manifest.status, manifest.resumed) = (RunStatus::Running, true);
            runs.write_manifest(&manifest)?;
            Ok((manifest, lock))
        }
        Err(StoreError::NoRun { .. }) => {
            let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
            let started = Started {
                id: Some(run.clone()),
                words,
                programs: [Program::own().and_then(|own| own.digest()).ok(), None],
                profile: plan.profile.clone(),
                run: plan.run,
                planned: planned(plan),
            };
            session.enter(context, runs, started)
        }
        Err(error) => Err(error.into()),
    }
}

/// Tells rank 0 what was found in the repeats of this one.
fn tell(
    plan: &Plan,
    runs: &Runs,
    manifest: &mut RunManifest,
    link: &RankLink,
    turn: u64,
) -> Result<(), TargetError> {
    let journal = runs.finished(&manifest.id)?;
    manifest.journalled = Some(journal.len());
    let mut cases = assemble_run(plan, &journal);
    let mut found = Vec::new();
    for case in &mut cases {
        super::bench::write_case(runs, &manifest.id, case)?;
        // Its share was measured and proven by rank 0.
        if journal.iter().any(|(id, repeat)| *id == case.id && repeat.is_led()) {
            continue;
        }
        let failing = case.findings.iter().filter(|finding| finding.severity == Severity::Fail);
        let differs = matches!(case.agreement, Agreement::Differs(_)).then(|| case.agreement.clone());
        let found_here = RankFindings { case: case.id.clone(), failing: failing.cloned().collect(), differs };
        if !found_here.failing.is_empty() || found_here.differs.is_some() {
            found.push(found_here);
        }
    }
    // Rank 0 that is gone is noticed when its last word is waited for.
    let _ = link.answer(turn, json::write(&found).unwrap_or_default());
    Ok(())
}

fn wait_for_the_end(context: &Context<'_>, link: &RankLink) -> LinkEnd {
    loop {
        if context.interrupted.load(Ordering::Relaxed) {
            return LinkEnd::BrokenOff("interrupted".to_owned());
        }
        if let Err(end) = link.next(LOOK) {
            return end;
        }
    }
}
