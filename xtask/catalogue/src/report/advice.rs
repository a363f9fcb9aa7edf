//! What to do about a gap, by where its time goes.

use super::batch_spending::{BatchSpending, SpentFit};
use super::field::{ComparedField, ShownDuel, name};
use super::label::{GapKind, Label, time};

/// From this share of waiting on, processes are in each other's way.
const WAITS: f64 = 0.10;
/// Below this share of a batch on a processor it is idle for the most part.
const IDLE: f64 = 0.5;
/// From so many processors on a batch keeps more than one busy.
const BUSY: f64 = 1.5;
/// Bytes that a page fault brings.
const PAGE: f64 = 4096.0;
/// An epoch's beginning that takes as long as so many batches is worth a word.
const BATCHES: f64 = 10.0;

/// Returns what to do, the most telling first. Never empty.
pub(super) fn advice(duel: &ShownDuel<'_>, label: &Label, field: &ComparedField<'_>) -> Vec<String> {
    let us = name(duel.ours);
    let (ours, theirs) = (BatchSpending::of(duel.ours), BatchSpending::of(duel.rival));
    let mut advice = Vec::new();
    match label.kind {
        GapKind::UnequalWork => advice.push("let both hand over the same, then measure again".to_owned()),
        GapKind::HostVersusDevice => {
            advice.push("compare with the copy to the device inside the timed region of both".to_owned());
        }
        GapKind::IterationBound => {
            let fit = SpentFit::of(field, us, duel.group.by_cpu());
            let fixed = fit.map(|fit| time(fit.line.fixed)).unwrap_or_default();
            advice.push(format!(
                "cut what each batch costs whatever is in it ({fixed}), or deliver larger batches"
            ));
            if let Some(faster) = scan(duel, us) {
                advice.push(format!("{us}-scan goes through the same epoch {faster:.1} times as fast"));
            }
        }
        GapKind::Unexplained => {}
    }
    // Where the rival waits as well, the machine was busy with something else, and times tell nothing of
    // either.
    let waits = |spent: &BatchSpending| spent.waiting.unwrap_or(0.0) > WAITS;
    let is_disturbed = waits(&theirs);
    if let Some(share) = ours.waiting.filter(|share| *share > WAITS && !is_disturbed) {
        advice.push(format!(
            "its threads wait for a processor in {:.0} % of their time: fewer workers or threads",
            100.0 * share
        ));
    }
    if let Some((cpu, wall)) = ours.cpu.zip(ours.wall).filter(|_| !is_disturbed) {
        if cpu < IDLE * wall && !waits(&ours) {
            advice.push(format!(
                "it is on a processor in {:.0} % of a batch's time alone: \
                 look at hand-over between threads and processes",
                100.0 * cpu / wall
            ));
        }
        let theirs = theirs.cpu.zip(theirs.wall).map_or(0.0, |(cpu, wall)| cpu / wall);
        if cpu > BUSY * wall && theirs < BUSY {
            advice.push(format!(
                "it keeps {:.1} processors busy and is slower for it: threads that spin, \
                 or work that is parted too finely",
                cpu / wall
            ));
        }
    }
    if let Some((faults, bytes)) = ours.faults.zip(ours.bytes)
        && faults * PAGE > IDLE * bytes
        && faults >= 1.0
    {
        advice.push(format!("each batch touches fresh memory ({faults:.0} page faults): use buffers again"));
    }
    if let Some((restart, wall)) = ours.restart.zip(ours.wall)
        && restart > BATCHES * wall
    {
        advice.push(format!(
            "an epoch begins anew in {}, as long as {:.0} batches take: keep workers between epochs",
            time(restart),
            restart / wall
        ));
    }
    if advice.is_empty() {
        let disturbed = if is_disturbed { " on a machine that does nothing else" } else { "" };
        advice.push(format!("profile it{disturbed}: no phase that was measured stands out"));
    }
    advice
}

/// Returns the speed-up of the subject's scan mode, where that was measured, verified and is faster.
fn scan(duel: &ShownDuel<'_>, us: &str) -> Option<f64> {
    let scan = duel.group.ranked(&format!("{us}-scan"))?.metric(duel.group.metric)?;
    let ratio = weighbridge::data::Ratio::between(scan, duel.ours.metric(duel.group.metric)?)?;
    (ratio.estimate > 1.0).then_some(ratio.estimate)
}
