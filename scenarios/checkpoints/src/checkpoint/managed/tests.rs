//! An honest manager passes, and each way to lie is told.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use weighbridge::{
    Bencher, Budget, Direction, Error, ItemCopy, Purpose, RepeatResult, Result, Settings, Unit,
};
use weighbridge_data::{Cache, DataSet};

use super::{ManagedRounds, ManagedRun};
use crate::adapters::native::{ReferenceSharded, Safetensors};
use crate::contract::{Checkpointer, Manager, Moment, Retention, SaveOptions, SaveWaiter, SavedStep};
use crate::workload::State;

/// A state of few numbers, made once.
fn state() -> Arc<DataSet> {
    static STATE: LazyLock<Arc<DataSet>> = LazyLock::new(|| {
        let place = tempfile::tempdir().unwrap();
        let state: State = "weight:float32[16x8];bias:float32[8]".parse().unwrap();
        Arc::new(Cache::at(place.path()).open(&state.data()).unwrap())
    });
    STATE.clone()
}

const OPERATIONS: [&str; 3] = ["save", "restore", "delete"];

/// Runs what the scenario does with a manager, at a size for tests: five steps.
fn run(lie: Lie, saving: SaveWaiter, retention: Retention, operation: &str) -> Result<RepeatResult> {
    let place = tempfile::tempdir().unwrap();
    let data = state();
    let bencher = Bencher::new(Settings::new(Purpose::Measure, Budget::SMOKE));
    let mut checkpointer = ReferenceSharded;
    let mut checkpoints = checkpointer.open(&SaveOptions::whole(saving), &data)?;
    checkpoints.executed().check_platform(bencher.platform())?;
    bencher.work(checkpoints.executed().report(&data, None));
    let directory = place.path().join("checkpoints");
    fs::create_dir(&directory).unwrap();
    let honest = checkpoints.manager(&retention)?;
    let mut manager = LyingSystem { lie, honest, directory: PathBuf::new(), held: None, newest: false };
    let rounds = ManagedRounds::new(&bencher, &mut manager, &data, &directory, retention, 5);
    match operation {
        "save" => rounds.save()?,
        "restore" => rounds.restore()?,
        _ => rounds.delete()?,
    }
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 0, "no training is left");
    drop(manager);
    drop(checkpoints);
    bencher.finish()
}

fn keep(save_interval_steps: u64, max_to_keep: u64) -> Retention {
    Retention::newest(save_interval_steps, max_to_keep, 2)
}

#[test]
fn an_honest_manager_is_proven_and_the_newest_state_is_the_same_whatever_is_timed() {
    let mut contents = Vec::new();
    for saving in [SaveWaiter::Blocking, SaveWaiter::Background] {
        for operation in OPERATIONS {
            let done = run(Lie::None, saving, keep(2, 2), operation).unwrap();
            let files = done.seen.custom.iter().find(|metric| metric.name == "checkpoint_files");
            assert!(files.expect("what is in the newest checkpoint is told").value >= 2.0);
            contents.push(done.work.unwrap().content);
        }
    }
    assert!(contents.iter().all(|content| content == &contents[0]), "step 4 is the newest of all");
    let other = run(Lie::None, SaveWaiter::Blocking, keep(3, 1), "save").unwrap().work.unwrap().content;
    assert_ne!(other, contents[0], "step 3 has another state");
}

/// The two rules by policies.
fn by(save: &str, preserve: &str) -> Retention {
    let (save_policies, keep_policies) = (save.parse().unwrap(), preserve.parse().unwrap());
    Retention { save_policies, keep_policies, ..keep(1, 1) }
}

#[test]
fn policies_of_steps_and_of_time_are_proven_and_who_breaks_them_is_told() {
    for saving in [SaveWaiter::Blocking, SaveWaiter::Background] {
        for (save, preserve) in [
            ("interval=2", "latest=2"),
            ("steps=1+3 or initial", "latest=1 or steps=1"),
            ("interval=1", "interval=3 or latest=1"),
            ("continuous=0", "seconds=0"),
            ("continuous=60", "seconds=60"),
            ("initial", "latest=all"),
        ] {
            for operation in ["save", "restore"] {
                run(Lie::None, saving, by(save, preserve), operation)
                    .unwrap_or_else(|error| panic!("{save}, {preserve}, {operation}: {error}"));
            }
        }
    }
    let told = |lie, save, preserve| {
        run(lie, SaveWaiter::Blocking, by(save, preserve), "save").unwrap_err().to_string()
    };
    let early = told(Lie::SavesEveryStep, "continuous=60", "latest=all");
    assert!(early.contains(r#"has ["0", "1"], and the checkpoints of the steps [0]"#), "{early}");
    let gone = told(Lie::DeletesTheNewest, "interval=2", "seconds=0");
    assert!(gone.contains(r#"has ["0"], and the checkpoints of the steps [0, 2]"#), "{gone}");
    let more = told(Lie::KeepsOneTooMany, "interval=1", "latest=2 or steps=4");
    assert!(more.contains("are to be kept"), "{more}");
}

#[test]
fn a_manager_that_goes_by_the_times_of_files_is_not_early() {
    let began = std::time::Instant::now();
    let run = ManagedRun { directory: PathBuf::new(), began, next: 1, there: Vec::new() };
    let known = run.now();
    let there = [SavedStep { step: 0, saved: run.saved_since(known) }];
    // The file's time is of the tick before, so that a second has passed by it before it has since it was
    // offered.
    let offered = Moment::at(known + Duration::from_secs(1).saturating_sub(Duration::from_millis(4)));
    assert_ne!(by("continuous=1", "latest=all").is_due(1, offered, &there), Some(false));
    let early = Moment::at(known + Duration::from_millis(900));
    assert_eq!(by("continuous=1", "latest=all").is_due(1, early, &there), Some(false));
}

#[test]
fn who_has_no_manager_declines() {
    let mut checkpointer = Safetensors;
    let mut checkpoints = checkpointer.open(&SaveOptions::whole(SaveWaiter::Blocking), &state()).unwrap();
    let declined = checkpoints.manager(&keep(1, 1)).map(drop).unwrap_err();
    assert!(declined.is_skip() && declined.to_string().contains("a manager of checkpoints"), "{declined}");
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Lie {
    None,
    /// One more checkpoint is kept than is to be.
    KeepsOneTooMany,
    /// The newest goes, and an older one stays.
    DeletesTheNewest,
    /// Restores an older step as the newest.
    RestoresAnOlderStep,
    /// The same, and it says that it is the newest.
    RestoresAnOlderStateUnderTheNewestNumber,
    /// A save is said to be complete before it is there.
    IsNotThereYet,
    /// A file lies beside the checkpoints.
    LeavesAFile,
    /// A step that is not due is saved.
    SavesEveryStep,
    /// It says that it has what it has not.
    ClaimsMore,
    /// A step changes nothing.
    DoesNotTrain,
    /// Hands out for ever what was loaded first.
    KeepsTheNewestInMemory,
    /// Nothing is deleted when that is asked for.
    DeletesNothing,
    /// A save fails.
    Fails,
}

struct LyingSystem<'a> {
    lie: Lie,
    honest: Box<dyn Manager + 'a>,
    directory: PathBuf,
    /// The tensors of the newest that were loaded first, with their step.
    held: Option<(ItemCopy, Vec<ItemCopy>)>,
    /// The newest was asked for last.
    newest: bool,
}

impl LyingSystem<'_> {
    /// The steps that are there, oldest first.
    fn there(&self) -> Vec<u64> {
        let names = fs::read_dir(&self.directory).unwrap();
        let mut steps: Vec<u64> =
            names.filter_map(|name| name.unwrap().file_name().to_str()?.parse().ok()).collect();
        steps.sort_unstable();
        steps
    }

    fn at(&self, step: u64) -> PathBuf {
        self.directory.join(step.to_string())
    }
}

/// Copies a checkpoint, which has no directories in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for file in fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

impl Manager for LyingSystem<'_> {
    fn begin(&mut self, directory: &Path) -> Result<()> {
        self.directory = directory.to_owned();
        self.honest.begin(directory)
    }

    fn train(&mut self) -> Result<()> {
        if self.lie == Lie::DoesNotTrain { Ok(()) } else { self.honest.train() }
    }

    fn offer(&mut self, step: u64) -> Result<()> {
        let before = self.there();
        match self.lie {
            Lie::Fails => return Err(Error::new("out of ink")),
            Lie::SavesEveryStep if step == 1 => copy(&self.at(0), &self.at(1)),
            Lie::KeepsOneTooMany if before.len() == 2 => {
                let (oldest, aside) = (self.at(before[0]), self.directory.with_extension("aside"));
                copy(&oldest, &aside);
                self.honest.offer(step)?;
                self.honest.settle()?;
                if !oldest.exists() {
                    return Ok(fs::rename(aside, oldest)?);
                }
                return Ok(fs::remove_dir_all(aside)?);
            }
            _ => {}
        }
        self.honest.offer(step)
    }

    fn settle(&mut self) -> Result<()> {
        self.honest.settle()?;
        let newest = *self.there().last().unwrap();
        match self.lie {
            Lie::DeletesTheNewest if newest > 0 => fs::remove_dir_all(self.at(newest))?,
            Lie::IsNotThereYet => {
                let name = format!("{newest}.orbax-checkpoint-tmp");
                fs::rename(self.at(newest), self.directory.join(name))?;
            }
            Lie::LeavesAFile => fs::write(self.directory.join("list.json"), "[]")?,
            _ => {}
        }
        Ok(())
    }

    fn delete(&mut self, step: u64) -> Result<()> {
        if self.lie == Lie::DeletesNothing { Ok(()) } else { self.honest.delete(step) }
    }

    fn kept(&mut self) -> Result<ItemCopy> {
        let mut kept = self.honest.kept()?;
        if self.lie == Lie::ClaimsMore {
            kept.fields[0].bytes.extend(7_i64.to_le_bytes());
        }
        Ok(kept)
    }

    fn restore(&mut self, step: Option<u64>) -> Result<()> {
        let there = self.there();
        self.newest = step.is_none();
        match self.lie {
            Lie::RestoresAnOlderStep | Lie::RestoresAnOlderStateUnderTheNewestNumber if step.is_none() => {
                self.honest.restore(Some(there[0]))
            }
            Lie::KeepsTheNewestInMemory if step.is_none() => {
                if self.held.is_none() {
                    self.honest.restore(step)?;
                    let tensors = [self.honest.loaded(0)?, self.honest.loaded(1)?].to_vec();
                    self.held = Some((self.honest.position()?, tensors));
                }
                Ok(())
            }
            _ => self.honest.restore(step),
        }
    }

    fn position(&mut self) -> Result<ItemCopy> {
        match (self.lie, &self.held) {
            (Lie::RestoresAnOlderStateUnderTheNewestNumber, _) if self.newest => {
                let mut position = self.honest.position()?;
                position.fields[0].bytes = self.there().last().unwrap().to_le_bytes().to_vec();
                Ok(position)
            }
            (_, Some((position, _))) if self.newest => Ok(position.clone()),
            _ => self.honest.position(),
        }
    }

    fn loaded(&mut self, field: usize) -> Result<ItemCopy> {
        match &self.held {
            Some((_, tensors)) if self.newest => Ok(tensors[field].clone()),
            _ => self.honest.loaded(field),
        }
    }

    fn release(&mut self) -> Result<()> {
        self.honest.release()
    }
}

#[test]
fn what_is_timed_is_done_once_more_with_collectors() {
    let collected = |operation: &str| {
        let place = tempfile::tempdir().unwrap();
        let (data, mut checkpointer) = (state(), ReferenceSharded);
        let bencher = Bencher::new(Settings::new(Purpose::Measure, Budget::SMOKE));
        bencher.metric("measured_before", 1.0, Unit::COUNT, Direction::Lower);
        let mut checkpoints = checkpointer.open(&SaveOptions::whole(SaveWaiter::Background), &data).unwrap();
        let mut manager = checkpoints.manager(&keep(2, 2)).unwrap();
        let rounds = ManagedRounds::new(&bencher, &mut *manager, &data, place.path(), keep(2, 2), 5);
        match operation {
            "save" => rounds.collect_save(),
            "restore" => rounds.collect_restore(),
            _ => rounds.collect_delete(),
        }
        .unwrap();
        drop(manager);
        drop(checkpoints);
        let done = bencher.finish().unwrap();
        let value = |name: &str| done.seen.custom.iter().find(|metric| metric.name == name).map(|m| m.value);
        let regions = ["blocking", "waiting", "restore", "delete"].map(|region| {
            assert!(value(&format!("{region}/0_basics/time_s")).is_none_or(|seconds| seconds > 0.0));
            value(&format!("{region}/6_io/write_calls_count")).is_some()
        });
        (regions, value("restore/6_io/bytes_read_by_calls"))
    };
    assert_eq!(collected("save"), ([true, true, false, false], None));
    let (regions, read) = collected("restore");
    assert!(regions == [false, false, true, false] && read >= Some(16.0 * 8.0 * 4.0), "{read:?}");
    assert_eq!(collected("delete"), ([false, false, false, true], None));
}

#[test]
fn each_way_to_lie_is_told_whatever_is_timed() {
    for operation in OPERATIONS {
        for (lie, words) in [
            (Lie::LeavesAFile, r#"after 1 steps the directory has ["0", "list.json"]"#),
            (
                Lie::IsNotThereYet,
                r#"the directory has ["0.orbax-checkpoint-tmp"], and the checkpoints of the steps [0]"#,
            ),
            (
                Lie::SavesEveryStep,
                r#"after 2 steps the directory has ["0", "1"], and the checkpoints of the steps [0]"#,
            ),
            (
                Lie::ClaimsMore,
                "after 1 steps the manager says that it has the steps [0, 7], and [0] are there",
            ),
            (
                Lie::DeletesTheNewest,
                r#"after 3 steps the directory has ["0"], and the checkpoints of the steps [0, 2]"#,
            ),
            (Lie::DoesNotTrain, "has not the numbers that it had after that step"),
            (
                Lie::RestoresAnOlderStateUnderTheNewestNumber,
                "of step 4 has not the numbers that it had after that step",
            ),
            (Lie::RestoresAnOlderStep, "the checkpoint of step 4 says that it is of [2]"),
            (Lie::Fails, "out of ink"),
        ] {
            let said = run(lie, SaveWaiter::Blocking, keep(2, 2), operation).unwrap_err().to_string();
            assert!(said.contains(words), "{operation}, {lie:?}: {said}");
        }
    }
    let told =
        |lie, operation| run(lie, SaveWaiter::Blocking, keep(2, 2), operation).unwrap_err().to_string();
    let too_many = r#"after 5 steps the directory has ["0", "2", "4"]"#;
    assert!(told(Lie::KeepsOneTooMany, "save").contains(too_many));
    assert!(told(Lie::KeepsOneTooMany, "restore").contains(too_many));
    assert!(
        told(Lie::DeletesNothing, "delete")
            .contains(r#"the directory has ["0", "2"], and the checkpoints of the steps [2]"#)
    );
    assert!(told(Lie::KeepsTheNewestInMemory, "restore").contains("it was kept elsewhere"));
    assert!(told(Lie::KeepsTheNewestInMemory, "save").contains("it was kept elsewhere"));
}
