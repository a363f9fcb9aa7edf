//! From what experiments took to a sentence: what limits a pipeline, how that is known, what to do, and what
//! it should bring.

use std::fmt;

use weighbridge::data::{Unit, quantity};

/// The times of experiments on a pipeline, in seconds of a step or a sample: as it is, or with one thing
/// replaced. An experiment that was not made shows nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Experiments {
    /// The unit of work that the seconds are of: a step, a sample.
    pub of: &'static str,
    /// As it is.
    pub whole: f64,
    /// The loader is replaced by cached batches.
    pub cached: f64,
    /// The compute of a step is replaced by a stub.
    pub stub: f64,
    /// Twice the workers make batches.
    pub more_workers: Option<f64>,
    /// Rows are read from memory.
    pub in_memory: Option<f64>,
    /// Each worker has an interpreter of its own.
    pub own_interpreters: Option<f64>,
    /// A step runs on one rank, with nobody to hear from.
    pub one_rank: Option<f64>,
    /// A step is not waited for.
    pub not_waited_for: Option<f64>,
    /// A step does the same on data that a cache holds.
    pub in_cache: Option<f64>,
    /// Of the time in which workers made batches, the share that they ran on a processor: from 0 to 1.
    pub workers_ran: Option<f64>,
    /// Of the time of the pipeline as it is, the share that a step waited for its batch: from 0 to 1.
    pub waited: Option<f64>,
}

/// A resource that a pipeline waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Workers that wait for something of their own, and are too few.
    Loader,
    /// The processors that make batches.
    Processor,
    /// The way to memory.
    Memory,
    /// The lock of an interpreter.
    Interpreter,
    /// A disk, or what is behind it.
    Disk,
    /// The end of each step, which is waited for.
    Synchronisation,
    /// Other ranks.
    Communication,
}

impl Resource {
    /// One thing to do about it.
    fn remedy(self) -> &'static str {
        match self {
            Self::Loader => "add workers, until the loader alone is faster than the step",
            Self::Processor => "do less for each sample, once and ahead of the training, or on a device",
            Self::Memory => "work on parts that a cache holds, or fuse passes over the same data",
            Self::Interpreter => "load in processes, or in code that leaves the lock",
            Self::Disk => "stage the data on a faster medium, or read further ahead",
            Self::Synchronisation => "wait for a result every some steps, and not in each",
            Self::Communication => "let communication overlap with the backward pass, or send less",
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Loader => "loader",
            Self::Processor => "processor",
            Self::Memory => "memory bandwidth",
            Self::Interpreter => "lock of the interpreter",
            Self::Disk => "disk",
            Self::Synchronisation => "synchronisation",
            Self::Communication => "communication",
        })
    }
}

/// The limit of a pipeline, and the experiment that shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Diagnosis {
    /// The resource.
    pub resource: Resource,
    /// The experiment that shows it.
    experiment: &'static str,
    /// The unit of work that the seconds are of.
    of: &'static str,
    /// Seconds of a step as it is.
    whole: f64,
    /// Seconds that a step should take without it: what the experiment took.
    pub without: f64,
    /// `true` if the remedy can bring as much as the experiment did, and not only a part of it.
    in_full: bool,
}

impl Diagnosis {
    /// Returns the factor by which a step should be faster.
    pub fn gain(&self) -> f64 {
        self.whole / self.without
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, experiment, of, whole, without, in_full } = self;
        let time = |seconds: f64| quantity::show(seconds, &Unit::SECONDS);
        let article = if of.starts_with('e') { "an" } else { "a" };
        write!(
            f,
            "the {resource} limits {article} {of}: it takes {}, and {} {experiment}. To do: {}. {}: \
             {:.2} times as fast.",
            time(*whole),
            time(*without),
            if *of == EPOCH && *resource == Resource::Loader { MORE_WORKERS } else { resource.remedy() },
            if *in_full { "Expected" } else { "Expected at most" },
            self.gain()
        )
    }
}

/// A change below this share of a step accuses nobody.
const LEAST: f64 = 0.1;

/// An experiment explains another one if it saves this share of what that one does.
pub(crate) const EXPLAINS: f64 = 0.7;

/// More workers are a remedy if they save this share of what cached batches do.
const HELPS: f64 = 0.4;

/// Workers that ran on processors for this share of their time were held up by those.
const RAN: f64 = 0.5;

/// Finds what limits a pipeline; nothing where no experiment makes a step a tenth faster, but for a stub of
/// the compute itself, which is what a training is for.
pub fn diagnose(took: &Experiments) -> Option<Diagnosis> {
    let saved = |seconds: f64| 1.0 - seconds / took.whole;
    let due = |resource, seconds, experiment| Diagnosis {
        resource,
        experiment,
        of: took.of,
        whole: took.whole,
        without: seconds,
        in_full: true,
    };
    let made =
        |resource, seconds: Option<f64>, experiment| seconds.map(|took| due(resource, took, experiment));
    let of_step = [
        made(Resource::Communication, took.one_rank, "on one rank"),
        made(Resource::Synchronisation, took.not_waited_for, "where it is not waited for"),
        made(Resource::Memory, took.in_cache, "on data that a cache holds"),
    ];
    let best = |of: &[Option<Diagnosis>]| {
        of.iter().flatten().copied().min_by(|one, other| one.without.total_cmp(&other.without))
    };
    let step = best(&of_step).filter(|found| saved(found.without) >= LEAST);
    let loading = saved(took.cached);
    // Where a loader holds steps up, a stub of their compute hardly makes them faster, and no part of them
    // does.
    if loading.is_nan()
        || loading < LEAST
        || saved(took.stub) > loading
        || step.is_some_and(|found| saved(found.without) > loading)
    {
        return step;
    }
    let of_loader = [
        made(Resource::Disk, took.in_memory, "with rows in memory"),
        made(Resource::Interpreter, took.own_interpreters, "with an interpreter for each worker"),
    ];
    let helps = |seconds: f64| saved(seconds) >= HELPS * loading;
    let more_are_no_help = took.more_workers.is_some_and(|seconds| !helps(seconds));
    let explained = best(&of_loader).filter(|found| saved(found.without) >= EXPLAINS * loading);
    // Workers that wait for one lock may be too few besides. More of them are no help then, and locks of
    // their own are.
    let locked = of_loader[1].filter(|found| more_are_no_help && helps(found.without));
    let cached = "on cached batches";
    Some(explained.or(locked).unwrap_or_else(|| {
        // Cached batches free the processors that made them as well. A step that did not wait for its batch
        // shares those.
        let shares = took.waited.is_some_and(|share| share < HELPS * loading);
        let is_busy = shares || took.workers_ran.is_some_and(|ran| ran >= RAN) || more_are_no_help;
        due(if is_busy { Resource::Processor } else { Resource::Loader }, took.cached, cached)
    }))
}

/// The unit of work that the seconds of a loader without a step are of.
const EPOCH: &str = "epoch";

/// The remedy for too few workers where there is no step.
const MORE_WORKERS: &str = "add workers, until an epoch takes no less";

/// The times of experiments on a loader without a step, in seconds of an epoch. One that was not made shows
/// nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct LoaderExperiments {
    /// As it is.
    pub(crate) whole: f64,
    /// Rows are fetched and put together, and nothing else is done with them.
    pub(crate) without_transforms: Option<f64>,
    /// Twice the workers; two where there were none.
    pub(crate) more_workers: Option<f64>,
    /// Rows are read from memory.
    pub(crate) in_memory: Option<f64>,
}

/// Finds what limits a loader without a step; nothing where no experiment makes an epoch a tenth faster.
///
/// A disk is named where rows in memory save most of what any experiment does. More workers let waits for a
/// disk overlap, and a loader without transforms does less: both are no remedy for it. Then come workers,
/// which change nothing in what is computed, and transforms last: removing them always saves something, so
/// they are named where workers are no help.
pub(crate) fn diagnose_loader(took: &LoaderExperiments) -> Option<Diagnosis> {
    let saved = |found: &Diagnosis| 1.0 - found.without / took.whole;
    let made = |resource, seconds: Option<f64>, experiment, in_full| {
        let found =
            Diagnosis { resource, experiment, of: EPOCH, whole: took.whole, without: seconds?, in_full };
        (saved(&found) >= LEAST).then_some(found)
    };
    let disk = made(Resource::Disk, took.in_memory, "with rows in memory", true);
    let workers = made(Resource::Loader, took.more_workers, "with more workers", true);
    let transforms = made(Resource::Processor, took.without_transforms, "without transforms", false);
    let most = [disk, workers, transforms].iter().flatten().map(saved).fold(0.0, f64::max);
    let is_disk = |found: &Diagnosis| saved(found) >= EXPLAINS * most;
    disk.filter(is_disk).or(workers).or(transforms).or(disk)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Finds what limits a loader whose epoch takes 10 seconds, by what rows in memory, more workers and no
    /// transforms take.
    fn of_loader(in_memory: f64, more_workers: f64, without_transforms: f64) -> Option<Resource> {
        let took = LoaderExperiments {
            whole: 10.0,
            without_transforms: Some(without_transforms),
            more_workers: Some(more_workers),
            in_memory: Some(in_memory),
        };
        diagnose_loader(&took).map(|found| found.resource)
    }

    #[test]
    fn a_loader_is_limited_by_its_disk_its_workers_or_its_transforms_as_experiments_show() {
        // Reads of 9 seconds, which two workers overlap.
        assert_eq!(of_loader(1.0, 5.0, 9.5), Some(Resource::Disk));
        // As long on a processor, of which two are there.
        assert_eq!(of_loader(9.8, 5.2, 2.0), Some(Resource::Loader));
        // As long on the only processor.
        assert_eq!(of_loader(9.8, 10.5, 2.0), Some(Resource::Processor));
        // Half of each.
        assert_eq!(of_loader(5.0, 9.9, 5.0), Some(Resource::Disk));
        // Nothing is to be had: rows are copied, and that is all.
        assert_eq!(of_loader(9.7, 9.5, 9.6), None);
        assert_eq!(diagnose_loader(&LoaderExperiments { whole: 10.0, ..LoaderExperiments::default() }), None);
        assert_eq!(
            diagnose_loader(&LoaderExperiments { in_memory: Some(1.0), ..LoaderExperiments::default() }),
            None
        );
    }

    #[test]
    fn what_removing_all_transforms_brings_is_told_as_the_most_that_doing_less_can() {
        let took =
            LoaderExperiments { whole: 10.0, without_transforms: Some(2.0), ..LoaderExperiments::default() };
        let said = diagnose_loader(&took).expect("transforms").to_string();
        assert_eq!(
            said,
            "the processor limits an epoch: it takes 10.0 s, and 2.00 s without transforms. To do: do less \
             for each sample, once and ahead of the training, or on a device. Expected at most: \
             5.00 times as fast."
        );
    }

    /// A step of 4 ms that nothing holds up, with changes.
    fn found(change: impl Fn(&mut Experiments)) -> Option<Resource> {
        let mut took = even(4e-3);
        took.stub = 2e-3;
        took.workers_ran = Some(0.05);
        change(&mut took);
        diagnose(&took).map(|found| found.resource)
    }

    fn even(seconds: f64) -> Experiments {
        let all = Some(seconds);
        Experiments {
            of: "step",
            whole: seconds,
            cached: seconds,
            stub: seconds,
            more_workers: all,
            in_memory: all,
            own_interpreters: all,
            one_rank: all,
            not_waited_for: all,
            in_cache: all,
            workers_ran: Some(0.0),
            waited: None,
        }
    }

    #[test]
    fn a_step_that_only_computes_accuses_nobody() {
        assert_eq!(found(|_| ()), None);
        assert_eq!(found(|took| took.cached = 3.7e-3), None);
        assert_eq!(found(|took| (took.cached, took.stub) = (3.5e-3, 1e-3)), None, "the compute saves more");
        assert_eq!(found(|took| took.stub = 1e-5), None, "computing is what a step is for");
        assert_eq!(found(|took| took.whole = f64::NAN), None);
    }

    #[test]
    fn what_makes_a_step_faster_by_itself_is_what_limits_it() {
        assert_eq!(found(|took| took.one_rank = Some(2e-3)), Some(Resource::Communication));
        assert_eq!(found(|took| took.not_waited_for = Some(2e-3)), Some(Resource::Synchronisation));
        assert_eq!(found(|took| took.in_cache = Some(2e-3)), Some(Resource::Memory));
    }

    #[test]
    fn a_loader_is_told_by_what_it_waits_for() {
        let slow = |took: &mut Experiments| took.cached = 1e-3;
        assert_eq!(found(|took| (slow(took), took.in_memory = Some(1e-3)).0), Some(Resource::Disk));
        assert_eq!(
            found(|took| (slow(took), took.own_interpreters = Some(1.2e-3)).0),
            Some(Resource::Interpreter)
        );
        // Too few workers besides: locks of their own bring half of what cached batches do, and more workers
        // nothing.
        assert_eq!(
            found(|took| (slow(took), took.own_interpreters = Some(2.2e-3)).0),
            Some(Resource::Interpreter)
        );
        assert_eq!(found(|took| (slow(took), took.more_workers = Some(2e-3)).0), Some(Resource::Loader));
        assert_eq!(found(slow), Some(Resource::Processor), "more workers are no help");
        let busy = |took: &mut Experiments| (took.more_workers, took.workers_ran) = (Some(2e-3), Some(0.9));
        assert_eq!(found(|took| (slow(took), busy(took)).0), Some(Resource::Processor));
    }

    #[test]
    fn an_experiment_that_was_not_made_accuses_nobody() {
        let took =
            Experiments { of: "sample", whole: 4e-3, cached: 1e-3, stub: 4e-3, ..Experiments::default() };
        assert_eq!(diagnose(&took).map(|found| found.resource), Some(Resource::Loader));
        assert_eq!(diagnose(&Experiments { cached: 4e-3, stub: 1e-3, ..took }), None);
    }

    #[test]
    fn a_loader_that_no_step_waits_for_is_not_accused_where_both_share_the_processors() {
        let took =
            Experiments { of: "sample", whole: 4e-3, cached: 2.5e-3, stub: 2.7e-3, ..Experiments::default() };
        let found =
            |waited| diagnose(&Experiments { waited: Some(waited), ..took }).map(|found| found.resource);
        assert_eq!(found(0.02), Some(Resource::Processor));
        assert_eq!(found(0.36), Some(Resource::Loader));
    }

    #[test]
    fn the_sentence_has_resource_evidence_remedy_and_gain() {
        let took = Experiments { cached: 1e-3, in_memory: Some(1e-3), ..even(4e-3) };
        assert_eq!(
            diagnose(&took).unwrap().to_string(),
            "the disk limits a step: it takes 4.00 ms, and 1.00 ms with rows in memory. To do: stage the \
             data on a faster medium, or read further ahead. Expected: 4.00 times as fast."
        );
    }
}
