//! The live line: which case, which repeat, how long still. Drawn before a repeat starts, never while one is timed.

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
            Event::Started { plan, repeats } => (self.repeats, self.of) = (*repeats, plan.repeats),
            Event::RepeatStarted { case, number, finished, remaining } => {
                let what = match number {
                    0 => "verifying".to_owned(),
                    number => format!("repeat {number}/{}", self.of),
                };
                let left = clock(*remaining);
                let is_due = |least| self.drawn.is_none_or(|drawn: Instant| drawn.elapsed() >= least);
                if self.terminal.live {
                    if is_due(LEAST) {
                        let line = format!("[{finished:>4}/{}] {left} left  {what}  {case}", self.repeats);
                        self.terminal.redraw(&line.chars().take(NARROWEST).collect::<String>());
                        self.drawn = Some(Instant::now());
                    }
                } else if self.round != Some(*number) || is_due(LEAST_IN_A_LOG) {
                    (self.round, self.drawn) = (Some(*number), Some(Instant::now()));
                    self.terminal
                        .remark(&format!("[{finished:>4}/{}] {what}, about {left} left", self.repeats));
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
