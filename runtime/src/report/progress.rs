//! The live line: which case, which repeat, how long still. Drawn before a repeat starts; while one runs once a second at most,
//! by another process than the one that is timed, so that a body of minutes does not look as if it hung.

use std::time::{Duration, Instant};

use super::{Style, Terminal};
use crate::run::{Ending, Event, Outcome};

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
    repeats: usize,
    of: u32,
    round: Option<u32>,
    drawn: Option<Instant>,
}

impl Progress {
    /// A view that has shown nothing yet.
    pub fn new(terminal: Terminal) -> Self {
        Self { terminal, repeats: 0, of: 0, round: None, drawn: None }
    }

    /// Shows what has happened.
    pub fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Started { plan, repeats } => (self.repeats, self.of) = (*repeats, plan.most_repeats()),
            Event::RepeatStarted { case, number, finished, remaining } => {
                let (what, left) = (self.what(*number), clock(*remaining));
                if self.terminal.live {
                    if self.is_due(LEAST) {
                        self.draw(&format!("[{finished:>4}/{}] {left} left  {what}  {case}", self.repeats));
                    }
                } else if self.round != Some(*number) || self.is_due(LEAST_IN_A_LOG) {
                    self.log(*number, &format!("[{finished:>4}/{}] {what}, about {left} left", self.repeats));
                }
            }
            Event::RepeatGoesOn { case, number, finished, passed, remaining } => {
                let (what, left, passed) = (self.what(*number), clock(*remaining), clock(*passed));
                let all = self.repeats;
                if self.terminal.live {
                    self.draw(&format!("[{finished:>4}/{all}] {left} left  {what} for {passed}  {case}"));
                } else if self.is_due(LEAST_IN_A_LOG) {
                    let line =
                        format!("[{finished:>4}/{all}] {what} of {case} for {passed}, about {left} left");
                    self.log(*number, &line);
                }
            }
            Event::RepeatEnded { case, repeat, .. } => {
                if let Outcome::Failed(failure) = &repeat.outcome {
                    self.terminal.redraw("");
                    let failed = self.terminal.paint(Style::Red, "failed");
                    self.terminal.remark(&format!("{failed}: {case} {failure}"));
                }
            }
            Event::Ended(ending) => {
                self.terminal.redraw("");
                match ending {
                    Ending::Complete => {}
                    Ending::Interrupted => self.terminal.error("interrupted: finished repeats are kept"),
                    Ending::OutOfBudget => {
                        self.terminal.error("the budget is spent: finished repeats are kept");
                    }
                }
            }
        }
    }
}

impl Progress {
    /// What a repeat of this number is.
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
        self.terminal.redraw(&line.chars().take(most).collect::<String>());
        self.drawn = Some(Instant::now());
    }

    fn log(&mut self, round: u32, line: &str) {
        (self.round, self.drawn) = (Some(round), Some(Instant::now()));
        self.terminal.remark(line);
    }
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
