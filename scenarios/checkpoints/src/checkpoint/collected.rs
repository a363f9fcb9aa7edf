//! What was timed, once more, with everything collected that there is: after all that is measured, so that it
//! costs that nothing.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use weighbridge::worker::{Better, CollectorAnswer};
use weighbridge::{Bencher, Direction, Result, Unit};

use super::operation::Operation;
use super::watched::{ProcessWatch, WatchedUse};
use crate::contract::{Checkpointer, Checkpoints, Manager, SaveWaiter, StoredCheckpoint, StoredFiles};

/// So many readings of a region are told.
const MOST: usize = 500;

/// A longer tag than this is told as none.
const LONGEST: usize = 150;

/// A mebibyte, which the tags of Orbax's benchmarks call a megabyte.
const MB: f64 = (1 << 20) as f64;

/// An action that is done while collectors look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CollectedAction {
    /// A save: its caller's part is the region `blocking`, and the rest of one in the background `waiting`.
    Save(SaveWaiter),
    /// A load, the region `load`.
    Load,
    /// A read of what a checkpoint says of itself: the region `metadata`.
    Metadata,
    /// A save that is cancelled after so long: the request is the region `cancel`, and until nothing goes on
    /// `waiting`.
    Cancel(Duration),
}

impl CollectedAction {
    /// The action that was timed, to be done once more.
    pub(super) fn of(operation: Operation, saving: SaveWaiter) -> Self {
        match operation {
            Operation::Save | Operation::DurableSave => Self::Save(saving),
            Operation::Load => Self::Load,
        }
    }
}

/// Does once more below a directory what was timed, with collectors. What they find are metrics of the case,
/// called by region and tag: `blocking/0_basics/time_s`. Time, memory and what is read and written are looked
/// at from here, of every system alike; what else there is, the system tells.
///
/// What a collector took itself is told as well. Nothing that goes wrong here is a failure of the case: it is
/// noted.
///
/// The state is one that was opened for it: a system that has refused a damaged checkpoint may be asked
/// nothing more.
pub(super) fn collect(
    bencher: &Bencher,
    opened: Result<Box<dyn Checkpoints + '_>>,
    place: &Path,
    collecting: CollectedAction,
) {
    let directory = place.join("collected");
    let collected =
        opened.and_then(|mut checkpoints| try_collect(bencher, &mut *checkpoints, &directory, collecting));
    note_uncollected(bencher, collected);
}

/// Notes why nothing was collected. It is no failure of the case.
pub(super) fn note_uncollected(bencher: &Bencher, collected: Result<()>) {
    if let Err(error) = collected {
        bencher.note(&format!("nothing was collected: {error}"));
    }
}

/// Loads a checkpoint that lies somewhere once more, with collectors, as [`collect`] does: the region `load`.
///
/// The one that was measured was overwritten: `make` makes another, and `prepare` says where it is loaded to.
pub(super) fn collect_stored(
    bencher: &Bencher,
    checkpointer: &mut dyn Checkpointer,
    files: StoredFiles<'_>,
    make: &dyn Fn(&mut dyn Checkpointer, &Path) -> Result<()>,
    prepare: &dyn Fn(&mut dyn StoredCheckpoint) -> Result<()>,
) {
    let mut try_collect = || {
        make(checkpointer, files.directory)?;
        let mut stored = checkpointer.open_stored(files)?;
        prepare(&mut *stored)?;
        over(bencher, &mut *stored, |stored| {
            region(bencher, stored, "load", &mut |stored| stored.load())?;
            stored.release()
        })
    };
    note_uncollected(bencher, try_collect());
}

/// A system that can be looked at while it works.
pub(super) trait WorkLooked {
    fn collect(&mut self, on: bool) -> Result<CollectorAnswer>;
    fn collected(&mut self) -> Result<CollectorAnswer>;
    fn processes(&self) -> Vec<u32>;
}

/// These contracts have the same three.
macro_rules! looked {
    ($($contract:ident),+) => {$(
        impl WorkLooked for dyn $contract + '_ {
            fn collect(&mut self, on: bool) -> Result<CollectorAnswer> {
                $contract::collect(self, on)
            }

            fn collected(&mut self) -> Result<CollectorAnswer> {
                $contract::collected(self)
            }

            fn processes(&self) -> Vec<u32> {
                $contract::processes(self)
            }
        }
    )+};
}
looked!(Checkpoints, StoredCheckpoint, Manager);

/// Has a system collect while it does something.
pub(super) fn over<S: WorkLooked + ?Sized>(
    bencher: &Bencher,
    system: &mut S,
    run: impl FnOnce(&mut S) -> Result<()>,
) -> Result<()> {
    // A system without collectors is looked at from here alone.
    let or_none = |found: Result<CollectorAnswer>| match found {
        Err(error) if error.is_skip() => Ok(CollectorAnswer::default()),
        found => found,
    };
    tell_failed(bencher, "at the start", &or_none(system.collect(true))?);
    run(system)?;
    or_none(system.collect(false)).map(drop)
}

fn try_collect(
    bencher: &Bencher,
    checkpoints: &mut dyn Checkpoints,
    directory: &Path,
    collecting: CollectedAction,
) -> Result<()> {
    match collecting {
        CollectedAction::Load | CollectedAction::Metadata => {
            checkpoints.release()?;
            checkpoints.save(directory, false)?;
            checkpoints.wait()?;
        }
        CollectedAction::Save(_) | CollectedAction::Cancel(_) => {}
    }
    over(bencher, checkpoints, |checkpoints| match collecting {
        CollectedAction::Save(saving) => {
            region(bencher, checkpoints, "blocking", &mut |checkpoints| checkpoints.save(directory, false))?;
            if saving == SaveWaiter::Background {
                region(bencher, checkpoints, "waiting", &mut |checkpoints| checkpoints.wait())?;
            }
            checkpoints.wait()
        }
        CollectedAction::Load => {
            region(bencher, checkpoints, "load", &mut |checkpoints| checkpoints.load(directory))?;
            checkpoints.release()
        }
        CollectedAction::Metadata => {
            region(bencher, checkpoints, "metadata", &mut |checkpoints| checkpoints.read_metadata(directory))
        }
        CollectedAction::Cancel(delay) => {
            checkpoints.save(directory, false)?;
            thread::sleep(delay);
            region(bencher, checkpoints, "cancel", &mut |checkpoints| checkpoints.cancel())?;
            region(bencher, checkpoints, "waiting", &mut |checkpoints| checkpoints.wait())
        }
    })
}

/// Runs a region and tells what was collected over it. The clock starts last and stops first.
pub(super) fn region<S: WorkLooked + ?Sized>(
    bencher: &Bencher,
    system: &mut S,
    name: &str,
    run: &mut dyn FnMut(&mut S) -> Result<()>,
) -> Result<()> {
    let entered = Instant::now();
    let watched = ProcessWatch::begin(system.processes());
    let begun = Instant::now();
    run(system)?;
    let ended = Instant::now();
    let used = watched.end();
    let looked = (begun - entered) + ended.elapsed();
    let collected = match system.collected() {
        Err(error) if error.is_skip() => CollectorAnswer::default(),
        collected => collected?,
    };
    let tell = |tag: &str, value: f64, unit, better| {
        bencher.metric(&format!("{name}/{tag}"), value, unit, better);
    };
    tell("0_basics/time_s", (ended - begun).as_secs_f64(), Unit::SECONDS, Direction::Lower);
    tell_used(&used, &tell, &|tag| {
        bencher.note(&format!("{name}/{tag} is not known: the system does not tell it of every process"));
    });
    tell_collected(bencher, name, &collected);
    tell("collecting/process_s", looked.as_secs_f64(), Unit::SECONDS, Direction::Information);
    let others = collected.cost.iter().filter(|(collector, _)| *collector != "process");
    for (collector, nanoseconds) in others.take(MOST) {
        let seconds = *nanoseconds as f64 / 1e9;
        tell(&format!("collecting/{collector}_s"), seconds, Unit::SECONDS, Direction::Information);
    }
    Ok(())
}

/// Tells what processes used, by tags; of what is not known, the tag.
fn tell_used(used: &WatchedUse, tell: &dyn Fn(&str, f64, Unit, Direction), missing: &dyn Fn(&str)) {
    use Direction::{Information, Lower};
    let bytes = |bytes: Option<u64>| bytes.map(|bytes| bytes as f64);
    let readings = [
        ("0_basics/host_rss_diff_mb", used.memory_change.map(|bytes| bytes as f64 / MB), MEBIBYTES, Lower),
        ("0_basics/host_rss_peak_diff_mb", bytes(used.more_memory).map(|b| b / MB), MEBIBYTES, Lower),
        ("6_io/read_calls_count", bytes(used.calls[0]), Unit::COUNT, Information),
        ("6_io/write_calls_count", bytes(used.calls[1]), Unit::COUNT, Information),
        ("6_io/bytes_read_by_calls", bytes(used.bytes[0]), Unit::BYTES, Information),
        ("6_io/bytes_written_by_calls", bytes(used.bytes[1]), Unit::BYTES, Information),
        ("6_io/bytes_read_from_storage", bytes(used.read), Unit::BYTES, Information),
        ("6_io/bytes_written_to_storage", bytes(used.written), Unit::BYTES, Information),
    ];
    for (tag, value, unit, direction) in readings {
        value.map_or_else(|| missing(tag), |value| tell(tag, value, unit, direction));
    }
}

/// Returns whether a tag is one that is told from here: no system has a say in it.
fn is_own(tag: &str) -> bool {
    const OWN: [&str; 6] = [
        "0_basics/",
        "6_io/read_calls",
        "6_io/write_calls",
        "6_io/bytes_read",
        "6_io/bytes_written",
        "collecting/",
    ];
    OWN.iter().any(|own| tag.starts_with(own))
}

/// The unit of memory and volumes in the tags of Orbax's benchmarks.
const MEBIBYTES: Unit = Unit::other("MB");

/// The units that a reading may have.
const UNITS: &[Unit] = &[
    Unit::COUNT,
    Unit::SECONDS,
    Unit::RATIO,
    Unit::BYTES,
    Unit::BYTES_PER_SECOND,
    MEBIBYTES,
    Unit::other("GiB"),
    Unit::other("GiB/s"),
];

/// Tells what the system's own collectors have found. It is another program that says so: of what is none,
/// the reason is noted.
fn tell_collected(bencher: &Bencher, region: &str, collected: &CollectorAnswer) {
    let mut told: Vec<&str> = Vec::new();
    if collected.metrics.len() > MOST {
        let all = collected.metrics.len();
        bencher.note(&format!("{region}: {all} readings were collected, the first {MOST} are told"));
    }
    for metric in collected.metrics.iter().take(MOST) {
        let tag = &*metric.tag;
        let unit = UNITS.iter().find(|unit| unit.symbol() == metric.unit);
        let why = match (metric.value, unit) {
            _ if tag.is_empty() || tag.len() > LONGEST => {
                Some("its tag has no letter, or too many".to_owned())
            }
            _ if is_own(tag) => Some("the harness itself tells it".to_owned()),
            _ if told.contains(&tag) => Some("it is there twice, and the first one is told".to_owned()),
            (None, _) => Some("it has no value".to_owned()),
            (_, None) => Some(format!("its unit `{}` is none", cut(&metric.unit))),
            (Some(value), Some(unit)) => {
                let direction = match metric.better {
                    Some(Better::Lower) => Direction::Lower,
                    Some(Better::Higher) => Direction::Higher,
                    None => Direction::Information,
                };
                bencher.metric(&format!("{region}/{tag}"), value, unit.clone(), direction);
                None
            }
        };
        told.push(tag);
        if let Some(why) = why {
            bencher.note(&format!("{region}/{} is left out: {why}", cut(tag)));
        }
    }
    tell_failed(bencher, region, collected);
}

fn tell_failed(bencher: &Bencher, region: &str, collected: &CollectorAnswer) {
    for (name, why) in &collected.failed {
        bencher.note(&format!("the collector {} failed, {region}: {why}", cut(name)));
    }
}

/// The beginning of a text that may be of any length.
fn cut(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weighbridge::worker::CollectedMetric;
    use weighbridge::{Budget, Error, ItemCopy, Purpose, RepeatResult, Settings, skip};
    use weighbridge_data::{Cache, DataSet, ExecutedWork};

    use super::*;
    use crate::adapters::native::ReferenceSharded;
    use crate::contract::{CheckpointFormat, SaveOptions};
    use crate::workload::{State, SystemOptions};

    /// The reference, whose collectors say this.
    struct TellingSystem<'a> {
        honest: Box<dyn Checkpoints + 'a>,
        begins: Result<CollectorAnswer>,
        tells: Result<CollectorAnswer>,
        /// `true` if nothing can be saved any more.
        fails: bool,
    }

    /// Opens it.
    struct Teller {
        reference: ReferenceSharded,
        begins: Result<CollectorAnswer>,
        tells: Result<CollectorAnswer>,
        fails: bool,
    }

    impl Checkpointer for Teller {
        fn open(&mut self, options: &SaveOptions, data: &Arc<DataSet>) -> Result<Box<dyn Checkpoints + '_>> {
            let (begins, tells) = (self.begins.clone(), self.tells.clone());
            let honest = self.reference.open(options, data)?;
            Ok(Box::new(TellingSystem { honest, begins, tells, fails: self.fails }))
        }
    }

    impl Checkpoints for TellingSystem<'_> {
        fn save(&mut self, directory: &Path, durable: bool) -> Result<()> {
            if self.fails { Err(Error::new("out of ink")) } else { self.honest.save(directory, durable) }
        }

        fn load(&mut self, directory: &Path) -> Result<()> {
            self.honest.load(directory)
        }

        fn loaded(&mut self, field: usize) -> Result<ItemCopy> {
            self.honest.loaded(field)
        }

        fn release(&mut self) -> Result<()> {
            self.honest.release()
        }

        fn read_metadata(&mut self, directory: &Path) -> Result<()> {
            self.honest.read_metadata(directory)
        }

        fn cancel(&mut self) -> Result<()> {
            self.honest.cancel()
        }

        fn wait(&mut self) -> Result<()> {
            self.honest.wait()
        }

        fn executed(&self) -> ExecutedWork {
            self.honest.executed()
        }

        fn collect(&mut self, _on: bool) -> Result<CollectorAnswer> {
            self.begins.clone()
        }

        fn collected(&mut self) -> Result<CollectorAnswer> {
            self.tells.clone()
        }
    }

    fn run(
        collecting: CollectedAction,
        begins: Result<CollectorAnswer>,
        tells: Result<CollectorAnswer>,
        fails: bool,
    ) -> RepeatResult {
        let place = tempfile::tempdir().unwrap();
        let data = Arc::new(Cache::at(place.path().join("data")).open(&State::SMALL.data()).unwrap());
        let bencher = Bencher::new(Settings::new(Purpose::Measure, Budget::SMOKE));
        bencher.metric("measured_before", 1.0, Unit::COUNT, Direction::Lower);
        let mut teller = Teller { reference: ReferenceSharded, begins, tells, fails };
        let saving = if let CollectedAction::Cancel(_) = collecting {
            SaveWaiter::Background
        } else {
            SaveWaiter::Blocking
        };
        let options = SaveOptions::whole(saving);
        collect(&bencher, teller.open(&options, &data), place.path(), collecting);
        bencher.finish().unwrap()
    }

    fn reading(tag: &str, value: Option<f64>, unit: &str) -> CollectedMetric {
        CollectedMetric { tag: tag.to_owned(), value, unit: unit.to_owned(), better: Some(Better::Higher) }
    }

    fn found(metrics: Vec<CollectedMetric>) -> Result<CollectorAnswer> {
        Ok(CollectorAnswer { metrics, ..CollectorAnswer::default() })
    }

    fn notes(done: &RepeatResult) -> String {
        done.seen.notes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    fn names(done: &RepeatResult) -> Vec<&str> {
        done.seen.custom.iter().map(|metric| &*metric.name).collect()
    }

    #[test]
    fn regions_have_time_memory_and_bytes_of_every_system_and_what_it_tells_itself() {
        let own = || found(vec![reading("4_throughput/save_total_gbps", Some(2.0), "GiB/s")]);
        let saved =
            run(CollectedAction::Save(SaveWaiter::Background), Ok(CollectorAnswer::default()), own(), false);
        for region in ["blocking", "waiting"] {
            for tag in [
                "0_basics/time_s",
                "6_io/write_calls_count",
                "4_throughput/save_total_gbps",
                "collecting/process_s",
            ] {
                assert!(names(&saved).contains(&&*format!("{region}/{tag}")), "{:?}", names(&saved));
            }
        }
        let metric = |name: &str| saved.seen.custom.iter().find(|metric| metric.name == name).unwrap();
        let rate = metric("blocking/4_throughput/save_total_gbps");
        assert_eq!((rate.value, rate.unit.symbol(), rate.direction), (2.0, "GiB/s", Direction::Higher));
        assert!(metric("blocking/6_io/bytes_written_by_calls").value >= State::SMALL.bytes() as f64);
        let loaded = run(CollectedAction::Load, Ok(CollectorAnswer::default()), own(), false);
        assert!(names(&loaded).contains(&"load/0_basics/time_s"), "{:?}", names(&loaded));
        let read = run(CollectedAction::Metadata, Ok(CollectorAnswer::default()), own(), false);
        assert!(names(&read).contains(&"metadata/0_basics/time_s"), "{:?}", names(&read));
        let cancelled =
            run(CollectedAction::Cancel(Duration::ZERO), Ok(CollectorAnswer::default()), own(), false);
        for region in ["cancel/6_io/write_calls_count", "waiting/4_throughput/save_total_gbps"] {
            assert!(names(&cancelled).contains(&region), "{:?}", names(&cancelled));
        }
        assert!(saved.seen.notes.is_empty() && loaded.seen.notes.is_empty(), "{:?}", saved.seen.notes);
    }

    #[test]
    fn a_load_of_what_lies_somewhere_is_looked_at_likewise_and_a_checkpoint_that_cannot_be_made_is_noted() {
        let place = tempfile::tempdir().unwrap();
        let data = Arc::new(Cache::at(place.path().join("data")).open(&State::SMALL.data()).unwrap());
        let directory = place.path().join("checkpoint");
        let run = |make: &dyn Fn(&mut dyn Checkpointer, &Path) -> Result<()>| {
            let bencher = Bencher::new(Settings::new(Purpose::Measure, Budget::SMOKE));
            bencher.metric("measured_before", 1.0, Unit::COUNT, Direction::Lower);
            let (format, system) = (CheckpointFormat::Sharded, &SystemOptions::NONE);
            let files = StoredFiles { directory: &directory, store: None, format, system };
            collect_stored(&bencher, &mut ReferenceSharded, files, make, &|_| Ok(()));
            bencher.finish().unwrap()
        };
        let done = run(&|checkpointer, directory| {
            checkpointer.open(&SaveOptions::whole(SaveWaiter::Blocking), &data)?.save(directory, false)
        });
        let value = |name: &str| done.seen.custom.iter().find(|metric| metric.name == name).unwrap().value;
        assert!(value("load/0_basics/time_s") > 0.0 && value("load/collecting/process_s") > 0.0);
        assert!(value("load/6_io/bytes_read_by_calls") >= State::SMALL.bytes() as f64);
        assert!(done.seen.notes.is_empty(), "{:?}", done.seen.notes);
        let done = run(&|_, _| Err(Error::new("out of ink")));
        assert_eq!(names(&done), ["measured_before"]);
        assert_eq!(notes(&done), "nothing was collected: out of ink");
    }

    #[test]
    fn what_a_worker_tells_that_is_none_is_left_out_with_its_reason_and_the_case_stands() {
        let long = "x".repeat(1_000_000);
        let done = run(
            CollectedAction::Load,
            Ok(CollectorAnswer::default()),
            found(vec![
                reading("twice", Some(1.0), ""),
                reading("twice", Some(2.0), ""),
                reading("nothing", None, "s"),
                reading("odd", Some(1.0), "furlongs"),
                reading(&long, Some(1.0), "s"),
                reading("", Some(1.0), "s"),
                reading("a\u{1b}[2J\nb", Some(1.0), "s"),
                reading("infinite", Some(f64::INFINITY), "s"),
                reading("0_basics/time_s", Some(1e-9), "s"),
                reading("6_io/bytes_written_to_storage", Some(1.0), "B"),
                reading("6_io/file_reads_per_host_count", Some(1.0), ""),
            ]),
            false,
        );
        let twice: Vec<f64> = (done.seen.custom.iter())
            .filter(|metric| metric.name == "load/twice")
            .map(|metric| metric.value)
            .collect();
        assert_eq!(twice, [1.0]);
        for own in ["load/0_basics/time_s", "load/6_io/bytes_written_to_storage"] {
            assert_eq!(names(&done).iter().filter(|name| **name == own).count(), 1, "{own}");
        }
        assert!(names(&done).contains(&"load/6_io/file_reads_per_host_count"));
        let told = names(&done);
        assert!(told.contains(&"load/a\\u{1b}[2J\\nb"), "{told:?}");
        assert!(
            !told.iter().any(|name| ["nothing", "odd", "infinite"].iter().any(|left| name.ends_with(left)))
        );
        let notes = notes(&done);
        for word in
            ["load/twice is left out", "load/nothing", "unit `furlongs`", "no letter", "`load/infinite`"]
        {
            assert!(notes.contains(word), "{notes}");
        }
        assert!(notes.len() < 3_000 && !notes.contains('\u{1b}'), "{notes}");
    }

    #[test]
    fn a_million_tags_displace_nothing() {
        let many = (0..1_000_000).map(|at| reading(&format!("tag {at}"), Some(1.0), "")).collect();
        let failed = (0..1_000_000).map(|at| (format!("collector {at}"), "no".to_owned())).collect();
        let tells = Ok(CollectorAnswer { metrics: many, failed, ..CollectorAnswer::default() });
        let done =
            run(CollectedAction::Save(SaveWaiter::Blocking), Ok(CollectorAnswer::default()), tells, false);
        let told = names(&done);
        assert!(told.len() < 600 && told.contains(&"measured_before") && told.contains(&"blocking/tag 499"));
        assert!(told.contains(&"blocking/collecting/process_s"));
        assert!(done.seen.notes.len() <= 100 && notes(&done).contains("1000000 readings"));
    }

    #[test]
    fn nothing_that_goes_wrong_while_collecting_fails_the_case() {
        let save = CollectedAction::Save(SaveWaiter::Blocking);
        let noted = |begins, tells, fails| {
            let done = run(save, begins, tells, fails);
            assert_eq!(names(&done)[0], "measured_before");
            notes(&done)
        };
        let none = || Ok(CollectorAnswer::default());
        assert!(
            noted(Err(Error::new("no such call")), none(), false)
                .contains("nothing was collected: no such call")
        );
        assert!(
            noted(none(), Err(Error::new("it ended")), false).contains("nothing was collected: it ended")
        );
        assert!(noted(none(), none(), true).contains("nothing was collected: out of ink"));
        assert_eq!(noted(Err(skip("no collectors")), Err(skip("no collectors")), false), "");
        let failed = [("tensorstore".to_owned(), "RuntimeError: no counters today".to_owned())].into();
        let said = noted(Ok(CollectorAnswer { failed, ..CollectorAnswer::default() }), none(), false);
        assert_eq!(said, "the collector tensorstore failed, at the start: RuntimeError: no counters today");
    }
}
