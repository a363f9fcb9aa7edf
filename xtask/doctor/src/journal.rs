//! What the hook tells: lines of JSON, a file for each process.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

/// One event, with the process that tells of it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Told {
    pub(crate) pid: u32,
    /// Nanoseconds of the clock that no process sets.
    pub(crate) at: u64,
    #[serde(flatten)]
    pub(crate) event: Event,
}

/// The kinds of events.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Event {
    /// A process with the hook has begun.
    Begin { python: String },
    /// A loader is gone through for the first time.
    Loader(LoaderEvent),
    /// The first batch of all was delivered.
    First {},
    /// The first batch of an iteration was delivered; nanoseconds since the iteration began.
    Start { loader: String, took: u64 },
    /// Times of `next` and of the steps after it, and for the steps the time on processors and in
    /// the queue before one.
    Steps { loader: String, next: Vec<u64>, step: Vec<u64>, step_cpu: u64, step_queued: u64 },
    /// Batches were made in this process.
    Fetch { count: u64, wall: u64, cpu: u64, waited: u64, opened: u64 },
    /// Samples of the main thread: label, the user's line, the innermost function, how often.
    Stacks { stacks: Vec<(String, String, String, u64)>, probes: u64, held: u64, wanting: u64 },
    /// Calls that tell of the training, or save it.
    Call { what: String, name: String, line: String, count: u64, took: u64 },
    /// A block of steps of an arm has ended.
    Block { arm: String, round: u64, periods: Vec<u64> },
    /// The script ended with an error.
    Failed {
        #[serde(rename = "type")]
        name: String,
        text: String,
    },
    /// A part of the hook failed.
    Trouble { attempt: String, text: String },
    /// All was seen.
    Done { why: String },
    /// The process ends.
    End {},
    /// Something of another version.
    #[serde(other)]
    Other,
}

/// A loader, and the place where it was made.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct LoaderEvent {
    pub(crate) loader: String,
    pub(crate) framework: String,
    /// The user's line that makes it.
    pub(crate) line: String,
    /// The user's line that goes through it.
    pub(crate) iterated: String,
    pub(crate) settings: BTreeMap<String, Value>,
    /// The changes that its framework knows.
    #[serde(default)]
    pub(crate) arms: Vec<String>,
}

/// All that was told in a run, in the order of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Journal {
    pub(crate) all: Vec<Told>,
}

impl Journal {
    /// Reads what is there. A line that is not whole yet is left for later.
    pub(crate) fn read(folder: &Path) -> Self {
        let mut all = Vec::new();
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with("journal-") {
                let bytes = fs::read(entry.path()).unwrap_or_default();
                let lines = bytes.split(|byte| *byte == b'\n');
                all.extend(lines.filter_map(|line| serde_json::from_slice::<Told>(line).ok()));
            }
        }
        all.sort_by_key(|told| told.at);
        Self { all }
    }

    /// The events alone.
    pub(crate) fn events(&self) -> impl Iterator<Item = &Event> {
        self.all.iter().map(|told| &told.event)
    }

    /// Tells why there was enough to see, if there was.
    pub(crate) fn done(&self) -> Option<&str> {
        self.events().find_map(|event| match event {
            Event::Done { why } => Some(why.as_str()),
            _ => None,
        })
    }

    /// True once a batch was delivered.
    pub(crate) fn has_begun(&self) -> bool {
        self.events().any(|event| matches!(event, Event::First {}))
    }

    /// The version of Python, where the hook was loaded.
    pub(crate) fn python(&self) -> Option<&str> {
        self.events().find_map(|event| match event {
            Event::Begin { python } => Some(python.as_str()),
            _ => None,
        })
    }

    /// The error that ended the script, if one did: its type and its text.
    pub(crate) fn failure(&self) -> Option<(&str, &str)> {
        self.events().find_map(|event| match event {
            Event::Failed { name, text } => Some((name.as_str(), text.as_str())),
            _ => None,
        })
    }

    /// The parts of the hook that failed, each once.
    pub(crate) fn troubles(&self) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for event in self.events() {
            if let Event::Trouble { attempt, text } = event {
                let told = format!("the hook failed {attempt}: {text}");
                if !found.contains(&told) {
                    found.push(told);
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_line_a_line_of_another_version_and_rubbish_cost_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let lines = "{\"kind\":\"first\",\"pid\":1,\"at\":2,\"loader\":\"x\"}\nrubbish\n\
                     {\"kind\":\"new\",\"pid\":1,\"at\":1,\"a\":{}}\n{\"kind\":\"done\",\"why\":\"st";
        fs::write(folder.path().join("journal-1.jsonl"), lines).unwrap();
        fs::write(folder.path().join("plan.json"), "{}").unwrap();
        let journal = Journal::read(folder.path());
        assert!(matches!(journal.all[0].event, Event::Other) && journal.all.len() == 2, "{journal:?}");
        assert!(journal.has_begun() && journal.done().is_none() && journal.python().is_none());
    }
}
