//! The live line: which case, which repeat, how long still. Drawn before a repeat starts; while one runs once
//! a second at most, by another process than the one that is timed, so that a body of minutes does not look
//! as if it hung.

use std::time::{Duration, Instant};

use super::{Style, Terminal};
use crate::bencher::visible_in_line;
use crate::plan::CaseId;
use crate::run::{Event, Outcome, RoundId, RunEnding};

/// At most this often is the line drawn.
const LEAST: Duration = Duration::from_millis(100);

/// At most this often is a line added to a log, but for each round's first.
const LEAST_IN_A_LOG: Duration = Duration::from_mins(1);

/// A line that is longer than the terminal is wide cannot be drawn over; nearly all are wider than this.
const NARROWEST: usize = 79;

/// Shows a run as it goes on.
#[derive(Debug)]
pub struct Progress {
    terminal: Terminal,
    /// The number of repeats there are, or pairs in a duel.
    all: usize,
    of: u32,
    /// The round that began last; of a duel, the pair that was confirmed last.
    round: Option<u32>,
    drawn: Option<Instant>,
}

impl Progress {
    /// A view that has shown nothing yet.
    pub fn new(terminal: Terminal) -> Self {
        Self { terminal, all: 0, of: 0, round: None, drawn: None }
    }

    /// Shows what has happened.
    pub fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Started { plan, repeats } => (self.all, self.of) = (*repeats, plan.most_repeats()),
            Event::DuelStarted { pairs } => self.all = *pairs,
            Event::RepeatStarted { case, number, finished, remaining } => {
                let first = self.round != Some(*number);
                self.begins(*finished, &self.what(*number), case, *remaining, first);
                self.round = Some(*number);
            }
            Event::RepeatGoesOn { case, number, finished, passed, remaining } => {
                self.goes_on(*finished, &self.what(*number), case, *passed, *remaining);
            }
            Event::RoundStarted { case, of, remaining } => {
                if of.confirming && self.round != Some(of.pair as u32) {
                    self.round = Some(of.pair as u32);
                    self.terminal.redraw("");
                    self.terminal.remark(&format!("confirming {case}"));
                }
                self.begins(of.pair, &round(*of), case, *remaining, false);
            }
            Event::RoundGoesOn { case, of, passed, remaining } => {
                self.goes_on(of.pair, &round(*of), case, *passed, *remaining);
            }
            Event::Away { case, away } => {
                self.terminal.redraw("");
                self.terminal.remark(&format!(
                    "interrupted: {case}: the machine slept or this process was stopped for {:.0} s; it is \
                     run again",
                    away.as_secs_f64()
                ));
            }
            Event::NoRoom { case, why } => {
                self.terminal.redraw("");
                self.terminal.error(&format!("{case} is put off: the disk of the data directory: {why}"));
            }
            Event::RankLost { why } => {
                self.terminal.redraw("");
                self.terminal.error(&format!("{why}: the run cannot go on without it"));
            }
            Event::RoundEnded { .. } | Event::LeftOut { .. } | Event::OwnRepeatEnded { .. } => {}
            Event::RepeatEnded { case, repeat, .. } => {
                if let Outcome::Failed(failure) = &repeat.outcome {
                    self.terminal.redraw("");
                    let failed = self.terminal.paint(Style::Red, "failed");
                    let why = failure.to_string();
                    self.terminal.remark(&format!("{failed}: {case} {why}"));
                }
            }
            Event::Ended(ending) => {
                self.terminal.redraw("");
                match ending {
                    RunEnding::Complete => {}
                    RunEnding::Interrupted => self.terminal.error("interrupted: what is finished is kept"),
                    RunEnding::NoRoom => self.terminal.error(
                        "interrupted by its own disk: what is finished is kept; free some space, or name \
                         another place with --data",
                    ),
                    RunEnding::RankLost => {
                        self.terminal.error("broken off without a rank: what is finished is kept");
                    }
                    RunEnding::OutOfBudget => {
                        self.terminal.error("the budget is spent: what is finished is kept");
                    }
                }
            }
        }
    }
}

impl Progress {
    /// Returns the name of a repeat of this number.
    fn what(&self, number: u32) -> String {
        match number {
            0 => "verifying".to_owned(),
            number => format!("repeat {number}/{}", self.of),
        }
    }

    fn is_due(&self, least: Duration) -> bool {
        self.drawn.is_none_or(|drawn| drawn.elapsed() >= least)
    }

    fn draw(&mut self, line: &str) {
        // One less than there are: a terminal that is full to its last column goes on in the next line.
        let most = self.terminal.live_columns.map_or(NARROWEST, |columns| columns.saturating_sub(1));
        self.terminal.redraw(&visible_in_line(line).chars().take(most).collect::<String>());
        self.drawn = Some(Instant::now());
    }

    /// Something begins, after so much else has ended.
    fn begins(&mut self, finished: usize, what: &str, case: &CaseId, remaining: Duration, first: bool) {
        let (all, left) = (self.all, clock(remaining));
        if self.terminal.live {
            if self.is_due(LEAST) {
                self.draw(&format!("[{finished:>4}/{all}] {left} left  {what}  {case}"));
            }
        } else if first || self.is_due(LEAST_IN_A_LOG) {
            self.log(&format!("[{finished:>4}/{all}] {what}, about {left} left"));
        }
    }

    /// It has been running for so long.
    fn goes_on(&mut self, finished: usize, what: &str, case: &CaseId, passed: Duration, remaining: Duration) {
        let (all, left, passed) = (self.all, clock(remaining), clock(passed));
        if self.terminal.live {
            self.draw(&format!("[{finished:>4}/{all}] {left} left  {what} for {passed}  {case}"));
        } else if self.is_due(LEAST_IN_A_LOG) {
            self.log(&format!("[{finished:>4}/{all}] {what} of {case} for {passed}, about {left} left"));
        }
    }

    fn log(&mut self, line: &str) {
        self.drawn = Some(Instant::now());
        self.terminal.remark(line);
    }
}

/// Returns the name of a round of a duel.
fn round(of: RoundId) -> String {
    let what = match of.number {
        RoundId::VERIFYING => "verifying".to_owned(),
        number => format!("round {number}"),
    };
    if of.confirming { format!("confirming: {what}") } else { what }
}

/// A time as people say it: `12s`, `3m05s`, `1h02m`.
pub fn clock(time: Duration) -> String {
    let seconds = time.as_secs_f64().round() as u64;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        for (seconds, expected) in [(0, "0s"), (59, "59s"), (185, "3m05s"), (3725, "1h02m")] {
            assert_eq!(clock(Duration::from_secs(seconds)), expected);
        }
    }
}
