//! Traces: a file of arrivals, one a line.

use crate::arrivals::Arrival;

/// The reason that a trace is none. Lines count from 1.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum TraceError {
    /// A line that is none of a trace.
    #[error("line {line} of the trace: {why}; a line is SECONDS, or SECONDS,WORDS,TOKENS")]
    Line {
        /// Its number.
        line: usize,
        /// The fault.
        why: String,
    },
    /// A line that is earlier than the one before.
    #[error("line {line} of the trace is due at {at} s, before the line above it: sort it by time")]
    GoesBack {
        /// Its number.
        line: usize,
        /// Its time.
        at: f64,
    },
    /// No arrival at all.
    #[error("the trace has no arrivals")]
    Empty,
}

/// The longest time of a trace: a week.
const LONGEST: f64 = 7.0 * 86_400.0;

/// Reads a trace: lines of `SECONDS` or `SECONDS,WORDS,TOKENS`, in the order of time. Blank lines and
/// lines that begin with `#` are passed over.
///
/// # Errors
///
/// If a line is not of that form, if times go back, or if there is none.
pub fn trace(text: &str) -> Result<Vec<Arrival>, TraceError> {
    let mut arrivals: Vec<Arrival> = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let arrival = arrival(text).map_err(|why| TraceError::Line { line, why })?;
        if arrivals.last().is_some_and(|before| arrival.at < before.at) {
            return Err(TraceError::GoesBack { line, at: arrival.at as f64 / 1e9 });
        }
        arrivals.push(arrival);
    }
    if arrivals.is_empty() { Err(TraceError::Empty) } else { Ok(arrivals) }
}

/// One line.
fn arrival(text: &str) -> Result<Arrival, String> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    let (seconds, lengths) = parts.split_first().ok_or("it is empty")?;
    let seconds: f64 = seconds.parse().map_err(|_| format!("`{seconds}` is no number"))?;
    if !(0.0..=LONGEST).contains(&seconds) {
        return Err(format!("{seconds} s is not within a week"));
    }
    let length = |text: &str| text.parse::<u32>().map_err(|_| format!("`{text}` is no length"));
    let (words, tokens) = match lengths {
        [] => (None, None),
        [words, tokens] => (Some(length(words)?), Some(length(tokens)?)),
        _ => return Err(format!("it has {} fields", parts.len())),
    };
    Ok(Arrival { at: (seconds * 1e9) as u64, words, tokens })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_time_and_perhaps_lengths() {
        let found = trace("# from a log\n0\n\n0.5,10,20\n0.5\n").unwrap();
        assert_eq!(found[1], Arrival { at: 500_000_000, words: Some(10), tokens: Some(20) });
        assert_eq!(found.iter().map(|arrival| arrival.at).collect::<Vec<_>>(), [0, 500_000_000, 500_000_000]);
    }

    #[test]
    fn a_trace_whose_times_go_back_is_an_error_with_its_line() {
        assert_eq!(trace("1\n2\n1.5"), Err(TraceError::GoesBack { line: 3, at: 1.5 }));
    }

    #[test]
    fn what_is_no_trace_is_an_error() {
        for text in ["", "# nothing", "x", "nan", "-1", "1e30", "1,2", "1,2,3,4", "1,-2,3", "inf,1,1"] {
            assert!(trace(text).is_err(), "{text}");
        }
    }
}
