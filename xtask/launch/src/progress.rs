//! What is seen while a launch is followed: a bar, a sign of life, and the newest line of any rank.

use std::time::Duration;

use crate::agent::Beat;
use crate::machine::Phase;
use crate::spec::LaunchSpec;

/// Between two bars on a terminal, where each takes the place of the one before.
const BAR: Duration = Duration::from_secs(2);
/// Between two signs of life in a log, where each is a line.
const LINE: Duration = Duration::from_secs(30);
const WIDTH: usize = 8;

/// Something to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown<'a> {
    /// A line that stays.
    Line(&'a str),
    /// A line that the next one takes the place of, where that can be; elsewhere nothing.
    Bar(&'a str),
}

/// The moments at which something was shown.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    bar: Option<Duration>,
    line: Option<Duration>,
    latest: String,
}

impl Progress {
    /// Shows what there is to show at this moment.
    pub(crate) fn show(
        &mut self,
        spec: &LaunchSpec,
        phase: Phase,
        reason: &str,
        beats: &[Option<Beat>],
        now: Duration,
        show: &mut dyn FnMut(Shown<'_>),
    ) {
        let is_due = |last: Option<Duration>, pace| last.is_none_or(|last| now >= last + pace);
        let text = told(spec, phase, reason, beats, now);
        if is_due(self.bar, BAR) {
            self.bar = Some(now);
            show(Shown::Bar(&text));
        }
        let latest = latest(beats) + &waited_for(beats);
        let is_news = latest != self.latest;
        if is_due(self.line, LINE) && (is_news || now >= self.line.unwrap_or_default() + 2 * LINE) {
            (self.line, self.latest) = (Some(now), latest);
            show(Shown::Line(&text));
        }
    }
}

fn latest(beats: &[Option<Beat>]) -> String {
    let speaking = beats.iter().flatten().filter(|beat| !beat.latest.is_empty());
    let newest = speaking.max_by_key(|beat| beat.written);
    newest.map(|beat| format!("{}: {}", beat.host, beat.latest)).unwrap_or_default()
}

/// The ranks that the others wait for, once some wait.
fn waited_for(beats: &[Option<Beat>]) -> String {
    let named = |(rank, beat): (usize, &Option<Beat>)| {
        let beat = beat.as_ref().filter(|beat| !beat.is_done)?;
        Some(format!("rank {rank} on {}", beat.host))
    };
    let slow: Vec<String> = beats.iter().enumerate().filter_map(named).collect();
    if slow.is_empty() || !beats.iter().flatten().any(|beat| beat.is_done) {
        return String::new();
    }
    let more = slow.len().saturating_sub(3);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("; the others wait for {}{more}", slow[..slow.len().min(3)].join(", "))
}

/// One line on all of it.
fn told(spec: &LaunchSpec, phase: Phase, reason: &str, beats: &[Option<Beat>], now: Duration) -> String {
    let at = Phase::ALL.iter().position(|of| *of == phase).unwrap_or_default();
    let done = at * WIDTH / (Phase::ALL.len() - 1);
    let bar = format!("{}{}", "#".repeat(done), "-".repeat(WIDTH - done));
    let mut text = format!("launch: [{bar}] {} s {}", now.as_secs(), phase.name());
    if phase == Phase::Queued && !reason.is_empty() {
        text.push_str(&format!(" ({reason})"));
    }
    let there: Vec<&Beat> = beats.iter().flatten().collect();
    if let Some(first) = there.first() {
        let stage = spec.stages.iter().position(|stage| stage.name == first.stage);
        let of = stage.map(|at| format!(" {}/{}", at + 1, spec.stages.len())).unwrap_or_default();
        text.push_str(&format!(", {} of {} ranks, {}{of}", there.len(), spec.ranks, first.stage));
    }
    let latest = latest(beats);
    if !latest.is_empty() {
        text.push_str(&format!("; {latest}"));
    }
    text.push_str(&waited_for(beats));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::tests::four;

    fn beat(written: u64, latest: &str) -> Option<Beat> {
        let (stage, host) = ("full".to_owned(), format!("node{written}"));
        Some(Beat { count: 1, host, stage, written, is_done: false, latest: latest.to_owned() })
    }

    #[test]
    fn the_bar_tells_the_state_the_ranks_and_the_newest_line() {
        let at = Duration::from_secs(75);
        let queued = told(&four(), Phase::Queued, "Priority", &[None, None], at);
        assert_eq!(queued, "launch: [#-------] 75 s queued (Priority)");
        let running = told(&four(), Phase::Running, "", &[beat(3, "CV-1"), None, beat(9, "CV-2")], at);
        assert_eq!(running, "launch: [###-----] 75 s running, 2 of 4 ranks, full 1/1; node9: CV-2");
    }

    #[test]
    fn a_rank_that_the_others_wait_for_is_named() {
        let done = |written| beat(written, "").map(|beat| Beat { is_done: true, ..beat });
        assert_eq!(waited_for(&[done(1), beat(2, ""), done(3)]), "; the others wait for rank 1 on node2");
        assert_eq!(waited_for(&[beat(1, ""), beat(2, "")]), "", "nobody waits");
        assert_eq!(waited_for(&[done(1), done(2), None]), "", "who never came is named by the first stage");
        let many = [vec![done(9)], (0..5).map(|at| beat(at, "")).collect()].concat();
        assert!(waited_for(&many).ends_with("rank 3 on node2 and 2 more"), "{}", waited_for(&many));
    }

    #[test]
    fn a_log_gets_a_line_when_there_is_news_and_a_sign_of_life_when_there_is_none() {
        let mut progress = Progress::default();
        let mut lines = Vec::new();
        for second in 0..200 {
            let beats = [beat(1, if second < 40 { "one" } else { "two" })];
            let now = Duration::from_secs(second);
            progress.show(&four(), Phase::Running, "", &beats, now, &mut |shown| {
                if let Shown::Line(_) = shown {
                    lines.push(second);
                }
            });
        }
        assert_eq!(lines, [0, 40, 100, 160]);
    }
}
