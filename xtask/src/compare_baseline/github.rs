//! What GitHub Actions shows: annotations on the job, and its summary page.

use std::env;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;

use weighbridge::data::{Verdict, visible_in_line};

use super::{JudgedSuite, details};

const FITS: &str = "a String takes all that is written";

/// The surroundings of a step of GitHub Actions.
#[derive(Debug, Default)]
pub(super) struct Actions {
    /// `true` if this is a step of GitHub Actions.
    pub(super) running: bool,
    /// The file that makes the job's summary page.
    pub(super) summary: Option<PathBuf>,
}

impl Actions {
    /// Reads the environment.
    pub(super) fn detect() -> Self {
        if env::var("GITHUB_ACTIONS").is_ok_and(|value| value == "true") {
            Self { running: true, summary: env::var_os("GITHUB_STEP_SUMMARY").map(PathBuf::from) }
        } else {
            Self::default()
        }
    }

    /// Adds to the summary page. That it cannot be written changes no verdict: it is a warning.
    pub(super) fn add_to_summary(&self, markdown: &str) -> Option<String> {
        let path = self.summary.as_ref()?;
        let file = OpenOptions::new().append(true).create(true).open(path);
        let written = file.and_then(|mut file| file.write_all(markdown.as_bytes()));
        let error = written.err()?;
        Some(format!("warning: failed to add to the job's summary `{}`: {error}", path.display()))
    }
}

/// An annotation for all that should catch the eye.
pub(super) fn annotations(judged: &[JudgedSuite]) -> String {
    let mut text = String::new();
    let mut say = |level: &str, title: &str, message: &str| {
        writeln!(text, "::{level} title={}::{}", property(title), data(message)).expect(FITS);
    };
    for JudgedSuite { comparison, missing, fake, .. } in judged {
        if let Some(fake) = fake {
            say("warning", &format!("{} ran on no device", comparison.suite), fake);
        }
        for note in &comparison.notes {
            say("warning", &format!("the gate of {}", comparison.suite), note);
        }
        if let Some(refusal) = &comparison.refused {
            say("error", &format!("{} was not judged", comparison.suite), &refusal.to_string());
        }
        for failure in &comparison.failures {
            say("error", &format!("{} failed", failure.case), &failure.to_string());
        }
        for row in &comparison.rows {
            match &row.verdict {
                Verdict::Regressed => {
                    let message = format!("{} has a slowdown of {}", row.metric, details::slowdown(row));
                    say("error", &format!("{} regressed", row.case), &message);
                }
                Verdict::Incomparable(why) => {
                    say("warning", &format!("{} is incomparable", row.case), &why.to_string());
                }
                Verdict::Removed => {
                    say("warning", &format!("{} is gone", row.case), "the baseline has this case");
                }
                _ => {}
            }
        }
        for id in missing {
            say("error", &format!("{id} is missing"), "it is in benches/scenarios.lock and not in the run");
        }
    }
    text
}

/// Escapes the message of a workflow command. What an author wrote stays in its line: see
/// [`visible_in_line`].
fn data(text: &str) -> String {
    visible_in_line(text).replace('%', "%25")
}

/// Escapes a property of a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
