//! The benchmarks of a program: from what its processes found, line by line, to one list with a name for
//! each.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::id::Name;

/// One line of what a process finds, in order.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Line {
    Function(String),
    Bench(BenchLine),
    Panicked { function: String, text: String },
    Note(String),
}

/// A benchmark, before its closure runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct BenchLine {
    pub(crate) group: Option<String>,
    pub(crate) own: String,
    pub(crate) samples: Option<usize>,
    pub(crate) most_time: Option<Duration>,
    /// True if a filter in the file does not take it.
    pub(crate) filtered: bool,
}

/// A benchmark that was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FoundBench {
    /// Its group and its name, told apart from those of the same.
    pub(crate) group: Option<String>,
    pub(crate) own: String,
    /// Its name as the file has it, and how many of that name come before it.
    pub(crate) wanted: (String, usize),
    pub(crate) function: String,
    /// True if closures before its own must run.
    pub(crate) closures: bool,
    pub(crate) samples: Option<usize>,
    pub(crate) most_time: Option<Duration>,
    pub(crate) filtered: bool,
}

/// A function that panicked outside of its closures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FailedFunction {
    /// The name of the case that stands for it.
    pub(crate) case: String,
    pub(crate) why: String,
}

/// All that was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Catalogue {
    pub(crate) benches: Vec<FoundBench>,
    pub(crate) failed: Vec<FailedFunction>,
    pub(crate) notes: Vec<String>,
}

impl Catalogue {
    /// Puts together what the process with closures found, and the one without.
    pub(crate) fn of(with: &[Line], without: &[Line]) -> Self {
        let mut counts = Counts::default();
        let reached: BTreeSet<(String, usize)> = benches(without)
            .map(|(_, bench)| {
                let name = name(bench);
                (name.to_string(), counts.count(&name))
            })
            .collect();
        let mut counts = Counts::default();
        let mut taken = BTreeSet::new();
        let mut catalogue = Self::default();
        let mut places: BTreeMap<String, &str> = BTreeMap::new();
        for (function, bench) in benches(with) {
            let name = name(bench);
            let wanted = (name.to_string(), counts.count(&name));
            let mut shown = name.clone();
            let mut number = 1;
            while !taken.insert(shown.to_string()) {
                number += 1;
                shown.own = format!("{} ({number})", name.own);
            }
            let first = *places.entry(wanted.0.clone()).or_insert(function);
            if number > 1 {
                catalogue.notes.push(format!(
                    "two benchmarks are called `{name}`, in `{first}` and in `{function}`: the \
                     latter is `{shown}` here"
                ));
            }
            catalogue.benches.push(FoundBench {
                group: shown.group,
                own: shown.own,
                closures: !reached.contains(&wanted),
                wanted,
                function: function.to_owned(),
                samples: bench.samples,
                most_time: bench.most_time,
                filtered: bench.filtered,
            });
        }
        for line in with {
            match line {
                Line::Panicked { function, text } => {
                    let why = format!("`{function}` panicked outside its closures: {text}");
                    let mut case = function.clone();
                    while !taken.insert(case.clone()) {
                        case.push_str(" (outside its closures)");
                    }
                    catalogue.failed.push(FailedFunction { case, why });
                }
                Line::Note(note) => catalogue.notes.push(format!("note: {note}")),
                Line::Function(_) | Line::Bench(_) => {}
            }
        }
        catalogue
    }
}

fn name(bench: &BenchLine) -> Name {
    Name { group: bench.group.clone(), own: bench.own.clone() }
}

/// The benchmarks of these lines, each with the function that it is in.
pub(crate) fn benches(lines: &[Line]) -> impl Iterator<Item = (&str, &BenchLine)> {
    let mut function = "main";
    lines.iter().filter_map(move |line| match line {
        Line::Function(name) => {
            function = name;
            None
        }
        Line::Bench(bench) => Some((function, bench)),
        _ => None,
    })
}

/// Counts the benchmarks of each name.
#[derive(Debug, Default)]
struct Counts(BTreeMap<String, usize>);

impl Counts {
    /// The number of those that came before this one.
    fn count(&mut self, name: &Name) -> usize {
        let count = self.0.entry(name.to_string()).or_insert(0);
        *count += 1;
        *count - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bench(group: Option<&str>, own: &str) -> Line {
        Line::Bench(BenchLine {
            group: group.map(str::to_owned),
            own: own.to_owned(),
            samples: None,
            most_time: None,
            filtered: false,
        })
    }

    fn shown(catalogue: &Catalogue) -> Vec<(String, bool)> {
        let name =
            |bench: &FoundBench| Name { group: bench.group.clone(), own: bench.own.clone() }.to_string();
        catalogue.benches.iter().map(|bench| (name(bench), bench.closures)).collect()
    }

    #[test]
    fn what_is_found_with_closures_alone_needs_them_and_a_name_that_is_there_twice_is_numbered() {
        let function = |name: &str| Line::Function(name.to_owned());
        let with = [
            function("one"),
            bench(None, "parse"),
            bench(Some("parse"), "small"),
            function("other"),
            bench(None, "parse"),
            bench(None, "second"),
            Line::Panicked { function: "other".into(), text: "no file".into() },
        ];
        let without = [function("one"), bench(None, "parse"), bench(Some("parse"), "small")];
        let found = Catalogue::of(&with, &without);
        let expected = [("parse", false), ("parse/small", false), ("parse (2)", true), ("second", true)];
        assert_eq!(shown(&found), expected.map(|(name, closures)| (name.to_owned(), closures)));
        assert_eq!(found.benches[2].wanted, ("parse".to_owned(), 1));
        assert!(found.notes[0].contains("in `one` and in `other`"), "{:?}", found.notes);
        assert_eq!(found.failed[0].case, "other");
        assert_eq!(found.failed[0].why, "`other` panicked outside its closures: no file");
    }
}
