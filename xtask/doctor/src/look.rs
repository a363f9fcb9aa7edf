//! Where the time of a run went: loop by loop, and within its steps.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use weighbridge::data::clopper_pearson;

use crate::journal::{Event, Journal};
use crate::place::SourceLine;

/// The confidence of the intervals of what samples say.
const LEVEL: f64 = 0.95;

/// Steps that are left out of an average.
const WARM_UP: usize = 3;

/// A run as it was looked at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Look {
    /// The loops, the one with the most time first.
    pub(crate) loops: Vec<LoopSight>,
    /// Seconds from the first batch to the last event.
    pub(crate) whole: f64,
    /// The making of batches, in all processes together.
    pub(crate) fetch: FetchSums,
    /// Samples of stacks.
    pub(crate) stacks: Stacks,
    /// Calls that tell of the training or save it.
    pub(crate) calls: Vec<CallSight>,
}

/// A loop over a loader.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoopSight {
    pub(crate) key: String,
    pub(crate) framework: String,
    /// The line that makes the loader, and the line that goes through it.
    pub(crate) made: Option<SourceLine>,
    pub(crate) iterated: Option<SourceLine>,
    pub(crate) settings: BTreeMap<String, Value>,
    /// The changes that its framework knows.
    pub(crate) arms: Vec<String>,
    /// Seconds of each `next`, of each step, and of each start of an iteration.
    pub(crate) next: Vec<f64>,
    pub(crate) step: Vec<f64>,
    pub(crate) starts: Vec<f64>,
    /// Seconds on processors of the process while it stepped, and of its main thread in the queue before one.
    pub(crate) step_cpu: f64,
    pub(crate) step_queued: f64,
}

/// Sums over the making of batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct FetchSums {
    /// The batches.
    pub(crate) count: u64,
    /// Seconds: in all, on a processor, in the queue before one.
    pub(crate) wall: f64,
    pub(crate) cpu: f64,
    pub(crate) queued: f64,
    /// Files that were opened.
    pub(crate) opened: u64,
}

impl FetchSums {
    /// The share of its own time in which a batch in the making waited for something else than a processor.
    /// The queue before one is left out: how long that is, is a matter of other programs too.
    pub(crate) fn waiting(&self) -> f64 {
        let waited = (self.wall - self.cpu - self.queued).max(0.0);
        if waited + self.cpu > 0.0 { waited / (waited + self.cpu) } else { 0.0 }
    }

    /// The share that it ran, on one processor or several; above 1 for several.
    pub(crate) fn running(&self) -> f64 {
        if self.wall > 0.0 { self.cpu / self.wall } else { 0.0 }
    }

    /// Files that were opened for a batch.
    pub(crate) fn files(&self) -> f64 {
        if self.count > 0 { self.opened as f64 / self.count as f64 } else { 0.0 }
    }
}

/// Samples of the main threads, by label and line; and of the interpreter's lock.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stacks {
    counts: BTreeMap<(String, String), u64>,
    /// By label and innermost function.
    leaves: BTreeMap<(String, String), u64>,
    probes: u64,
    held: u64,
    wanting: u64,
}

impl Stacks {
    /// The user's line that most samples with this label are in, with the share of them and its interval.
    pub(crate) fn hottest(&self, label: &str) -> Option<(SourceLine, f64, (f64, f64))> {
        let all = self.total(label);
        let of = self.counts.iter().filter(|((of, line), _)| of == label && !line.is_empty());
        let ((_, line), count) = of.max_by_key(|(_, count)| **count)?;
        let interval = clopper_pearson(*count, all, LEVEL);
        Some((SourceLine::read(line)?, *count as f64 / all as f64, interval?))
    }

    /// The innermost function that most samples with this label are in, as `FILE:FUNCTION`, with its share.
    pub(crate) fn innermost(&self, label: &str) -> Option<(&str, f64)> {
        let of = self.leaves.iter().filter(|((of, _), _)| of == label);
        let ((_, leaf), count) = of.max_by_key(|(_, count)| **count)?;
        Some((leaf.rsplit('/').next().unwrap_or(leaf), *count as f64 / self.total(label) as f64))
    }

    /// Samples with this label.
    pub(crate) fn total(&self, label: &str) -> u64 {
        self.counts.iter().filter(|((of, _), _)| of == label).map(|(_, count)| count).sum()
    }

    /// The share of looks at which somebody held the interpreter's lock, and threads of Python that did not
    /// wait for one another, on average.
    pub(crate) fn lock(&self) -> (f64, f64) {
        let probes = self.probes.max(1) as f64;
        (self.held as f64 / probes, self.wanting as f64 / probes)
    }
}

/// Calls of one kind from one line.
#[derive(Clone, Debug)]
pub(crate) struct CallSight {
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) line: Option<SourceLine>,
    pub(crate) count: u64,
    pub(crate) seconds: f64,
}

impl LoopSight {
    /// Seconds of a batch and its step, on average: workers deliver in bursts, so that no single one of them
    /// says anything. The first ones, in which programs are compiled, are left out where there are others.
    pub(crate) fn period(&self) -> f64 {
        let mean = |times: &[f64]| {
            let late = if times.len() > 2 * WARM_UP { &times[WARM_UP..] } else { times };
            if late.is_empty() { 0.0 } else { late.iter().sum::<f64>() / late.len() as f64 }
        };
        mean(&self.next) + mean(&self.step)
    }

    /// Seconds in all, its starts but the first one among them.
    pub(crate) fn seconds(&self) -> f64 {
        self.next.iter().sum::<f64>() + self.step.iter().sum::<f64>() + self.restarts()
    }

    /// Seconds of its starts but the first, which every script has.
    pub(crate) fn restarts(&self) -> f64 {
        self.starts.iter().skip(1).sum()
    }

    /// The share of its time in which it waited for a batch.
    pub(crate) fn waiting(&self) -> f64 {
        let (next, step): (f64, f64) = (self.next.iter().sum(), self.step.iter().sum());
        if next + step > 0.0 { next / (next + step) } else { 0.0 }
    }

    /// The share of its steps in which the process neither ran nor waited for a processor.
    pub(crate) fn step_waits(&self) -> f64 {
        let step: f64 = self.step.iter().sum();
        if step > 0.0 { (1.0 - (self.step_cpu + self.step_queued) / step).max(0.0) } else { 0.0 }
    }

    /// A number among the settings.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.settings.get(name).and_then(Value::as_u64)
    }
}

/// Reads what a run told.
pub(crate) fn look(journal: &Journal) -> Look {
    let mut look = Look::default();
    let mut first = None;
    for told in &journal.all {
        if matches!(told.event, Event::First {}) {
            first.get_or_insert(told.at);
        }
        take(&mut look, &told.event);
    }
    let last = journal.all.last().map_or(0, |told| told.at);
    look.whole = first.map_or(0.0, |first| last.saturating_sub(first) as f64 * 1e-9);
    look.loops.sort_by(|one, other| other.seconds().total_cmp(&one.seconds()));
    look
}

const NANO: f64 = 1e-9;

fn take(look: &mut Look, event: &Event) {
    let seconds = |times: &[u64]| times.iter().map(|time| *time as f64 * NANO).collect::<Vec<_>>();
    match event {
        Event::Loader(loader) => {
            let found = of(look, &loader.loader);
            found.framework.clone_from(&loader.framework);
            found.made = SourceLine::read(&loader.line);
            found.iterated = SourceLine::read(&loader.iterated);
            found.settings.clone_from(&loader.settings);
            found.arms.clone_from(&loader.arms);
        }
        Event::Start { loader, took } => of(look, loader).starts.push(*took as f64 * NANO),
        Event::Steps { loader, next, step, step_cpu, step_queued } => {
            let found = of(look, loader);
            found.next.extend(seconds(next));
            found.step.extend(seconds(step));
            found.step_cpu += *step_cpu as f64 * NANO;
            found.step_queued += *step_queued as f64 * NANO;
        }
        Event::Fetch { count, wall, cpu, waited, opened } => {
            look.fetch.count += count;
            look.fetch.wall += *wall as f64 * NANO;
            look.fetch.cpu += *cpu as f64 * NANO;
            look.fetch.queued += *waited as f64 * NANO;
            look.fetch.opened += opened;
        }
        Event::Stacks { stacks, probes, held, wanting } => {
            for (label, line, leaf, count) in stacks {
                *look.stacks.leaves.entry((label.clone(), leaf.clone())).or_default() += count;
                *look.stacks.counts.entry((label.clone(), line.clone())).or_default() += count;
            }
            look.stacks.probes += probes;
            look.stacks.held += held;
            look.stacks.wanting += wanting;
        }
        Event::Call { what, name, line, count, took } => look.calls.push(CallSight {
            kind: what.clone(),
            name: name.clone(),
            line: SourceLine::read(line),
            count: *count,
            seconds: *took as f64 * NANO,
        }),
        _ => {}
    }
}

fn of<'a>(look: &'a mut Look, key: &str) -> &'a mut LoopSight {
    let at = look.loops.iter().position(|found| found.key == key).unwrap_or_else(|| {
        look.loops.push(LoopSight { key: key.to_owned(), ..LoopSight::default() });
        look.loops.len() - 1
    });
    &mut look.loops[at]
}

impl Look {
    /// The loop with the most time.
    pub(crate) fn main(&self) -> Option<&LoopSight> {
        self.loops.first().filter(|found| !found.step.is_empty())
    }

    /// The seconds of all loops and of what lies between them.
    pub(crate) fn loops_and_gaps(&self) -> f64 {
        self.whole.max(1e-9)
    }

    /// Seconds of calls of one kind, with the call that takes most of them.
    pub(crate) fn calls_of(&self, kind: &str) -> (f64, Option<&CallSight>) {
        let of = || self.calls.iter().filter(move |call| call.kind == kind);
        (of().map(|call| call.seconds).sum(), of().max_by(|one, other| one.seconds.total_cmp(&other.seconds)))
    }
}
