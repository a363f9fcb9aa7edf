//! The part of a process that finds benchmarks: it writes each down before its closure runs.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;

use crate::catalogue::{BenchLine, Line};
use crate::config::Config;
use crate::id::Name;

/// The variable that names the file which a process is to write what it finds to.
pub(crate) const FILE: &str = "WEIGHBRIDGE_FIND";
/// The variable that is `0` where it is to run no closures, else has the numbers of those that end the
/// process.
pub(crate) const CLOSURES: &str = "WEIGHBRIDGE_FIND_CLOSURES";
/// The one that this process is.
#[derive(Debug)]
pub(crate) struct Finder {
    file: File,
    closures: bool,
    /// The closures that end the process.
    left_out: BTreeSet<usize>,
    found: usize,
    notes: BTreeSet<String>,
}

impl Finder {
    /// The one that this process was started to be.
    pub(crate) fn from_env() -> Option<Self> {
        let file = File::options().append(true).create(true).open(std::env::var_os(FILE)?).ok()?;
        let closures = std::env::var(CLOSURES).unwrap_or_default();
        let left_out = closures.split(',').filter_map(|number| number.strip_prefix('#')?.parse().ok());
        Some(Self {
            file,
            closures: closures != "0",
            left_out: left_out.collect(),
            found: 0,
            notes: BTreeSet::new(),
        })
    }

    fn write(&mut self, line: &Line) {
        if let Ok(mut text) = serde_json::to_string(line) {
            text.push('\n');
            // What cannot be written is not found, and the parent tells that.
            let _ = self.file.write_all(text.as_bytes());
        }
    }

    /// Begins a function of the file.
    pub(crate) fn enter(&mut self, function: &str) {
        self.write(&Line::Function(function.to_owned()));
    }

    /// Notes a benchmark, and tells whether its closure is to run.
    pub(crate) fn found(&mut self, name: &Name, config: &Config) -> bool {
        let is_taken = config.filter.as_ref().is_none_or(|filter| filter.takes(&name.to_string()));
        self.write(&Line::Bench(BenchLine {
            group: name.group.clone(),
            own: name.own.clone(),
            samples: config.samples,
            most_time: config.most_time,
            filtered: !is_taken,
        }));
        self.found += 1;
        self.closures && !self.left_out.contains(&(self.found - 1))
    }

    /// Notes a function that panicked outside of its closures.
    pub(crate) fn panicked(&mut self, function: &str, text: &str) {
        self.write(&Line::Panicked { function: function.to_owned(), text: text.to_owned() });
    }

    /// Notes something to say to whoever measures, once.
    pub(crate) fn note(&mut self, text: &str) {
        if self.notes.insert(text.to_owned()) {
            self.write(&Line::Note(text.to_owned()));
        }
    }
}
