//! An honest checkpointer passes, and each way to lie about a cancel is told.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use weighbridge::{Bencher, Budget, Delivery, ItemCopy, Purpose, RepeatResult, Result, Settings};
use weighbridge_data::{Cache, DataSet, ExecutedWork};

use super::CancelledRounds;
use crate::adapters::native::{ReferenceSharded, Safetensors};
use crate::contract::{Checkpointer, Checkpoints, SaveOptions, SaveWaiter};
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

fn run(checkpoints: &mut dyn Checkpoints) -> Result<RepeatResult> {
    let place = tempfile::tempdir().unwrap();
    let bencher = Bencher::new(Settings::new(Purpose::Measure, Budget::SMOKE));
    let data = state();
    checkpoints.executed().check_platform(bencher.platform())?;
    bencher.work(checkpoints.executed().report(&data, None));
    CancelledRounds::new(&bencher, checkpoints, &data, place.path(), Duration::ZERO).run()?;
    bencher.finish()
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Lie {
    /// It is as it says.
    None,
    /// Nothing is cancelled, and it says at once that it was.
    SaysSoAtOnce,
    /// A half is left under the checkpoint's name.
    LeavesAHalf,
    /// A file of a name of its own stays, which is no lie.
    LeavesAFile,
    /// The save goes on after all.
    GoesOn,
    /// A save writes files of other names after it was cancelled, which is told.
    WritesOn,
    /// A file of the checkpoint before is gone.
    RemovesOfTheOneBefore,
    /// A number of the checkpoint before is another.
    ChangesTheOneBefore,
}

struct LyingSystem<'a> {
    lie: Lie,
    honest: Box<dyn Checkpoints + 'a>,
    saving: PathBuf,
    cancelled: Option<PathBuf>,
}

impl Checkpoints for LyingSystem<'_> {
    fn save(&mut self, directory: &Path, durable: bool) -> Result<()> {
        self.saving = directory.to_owned();
        match self.lie {
            Lie::GoesOn if let Some(cancelled) = self.cancelled.take() => fs::create_dir(cancelled)?,
            Lie::WritesOn if let Some(cancelled) = self.cancelled.take() => {
                fs::write(cancelled.with_extension("tmp"), "1")?;
            }
            _ => {}
        }
        self.honest.save(directory, durable)
    }

    fn wait(&mut self) -> Result<()> {
        self.honest.wait()?;
        // When the honest save has ended: it may have given the checkpoint its name after the cancel.
        if matches!(self.lie, Lie::LeavesAHalf)
            && let Some(cancelled) = self.cancelled.take()
        {
            let _ = fs::remove_dir_all(&cancelled);
            fs::create_dir(&cancelled)?;
            fs::copy(cancelled.with_file_name("before").join("shard-0.bin"), cancelled.join("shard-0.bin"))?;
        }
        Ok(())
    }

    fn cancel(&mut self) -> Result<()> {
        let before = self.saving.with_file_name("before");
        match self.lie {
            Lie::SaysSoAtOnce => return Ok(()), // what it began is whole when it has waited: that is no lie
            Lie::LeavesAFile => {
                let name = self.saving.file_name().unwrap().to_string_lossy().into_owned();
                fs::write(self.saving.with_file_name(format!("{name}.tmp")), "12345")?;
            }
            Lie::RemovesOfTheOneBefore => fs::remove_file(before.join("shard-0.bin"))?,
            Lie::ChangesTheOneBefore => {
                let shard = before.join("shard-0.bin");
                let mut bytes = fs::read(&shard)?;
                bytes[0] ^= 1;
                fs::write(shard, bytes)?;
            }
            Lie::None | Lie::GoesOn | Lie::WritesOn | Lie::LeavesAHalf => {}
        }
        self.cancelled = Some(self.saving.clone());
        self.honest.cancel()
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

    fn executed(&self) -> ExecutedWork {
        ExecutedWork::ours(Vec::new(), Delivery::Owned, 1)
    }
}

fn lying(lie: Lie) -> Result<RepeatResult> {
    let mut checkpointer = ReferenceSharded;
    let honest = checkpointer.open(&SaveOptions::whole(SaveWaiter::Background), &state()).unwrap();
    run(&mut LyingSystem { lie, honest, saving: PathBuf::new(), cancelled: None })
}

/// A metric of a repeat.
fn told(done: &RepeatResult, name: &str) -> f64 {
    done.seen.custom.iter().find(|metric| &*metric.name == name).expect("it is told").value
}

#[test]
fn a_cancelled_save_leaves_nothing_or_a_whole_checkpoint_and_the_next_save_is_proven() {
    let done = lying(Lie::None).unwrap();
    assert!((0.0..=1.0).contains(&told(&done, "cancelled/whole")));
    let is = |done: &RepeatResult, name: &str, due: f64| {
        assert!((told(done, name) - due).abs() < 1e-9, "{name}: {}", told(done, name));
    };
    is(&done, "cancelled/left_behind", 0.0);
    let mut paths: Vec<_> = done.seen.regions.iter().map(|region| region.path.clone()).collect();
    paths.sort();
    paths.dedup();
    assert_eq!(paths, ["cancel", "waiting"]);
    let late = lying(Lie::SaysSoAtOnce).unwrap();
    // It was not cancelled, and that is told.
    is(&late, "cancelled/whole", 1.0);
    is(&done, "cancelled/wrote_on", 0.0);
    assert_eq!(late.work.unwrap().content, done.work.unwrap().content);
    assert!(told(&lying(Lie::WritesOn).unwrap(), "cancelled/wrote_on") > 0.0);
    is(&lying(Lie::LeavesAFile).unwrap(), "cancelled/left_behind", 5.0);
}

#[test]
fn each_way_to_lie_about_a_cancel_is_told() {
    for (lie, words) in [
        (Lie::LeavesAHalf, "has left a checkpoint under its name that is not whole"),
        (Lie::GoesOn, "went on after it was said to have ended: `cancelled-000001` is there"),
        (Lie::RemovesOfTheOneBefore, "has changed the files of the checkpoint before it"),
        (Lie::ChangesTheOneBefore, "before is damaged"),
    ] {
        let said = lying(lie).unwrap_err().to_string();
        assert!(said.contains(words), "{lie:?}: {said}");
    }
}

#[test]
fn who_cannot_cancel_declines() {
    let mut checkpointer = Safetensors;
    let data = state();
    let mut checkpoints = checkpointer.open(&SaveOptions::whole(SaveWaiter::Blocking), &data).unwrap();
    let declined = run(&mut *checkpoints).unwrap_err();
    assert!(declined.is_skip() && declined.to_string().contains("cancelling a save"), "{declined}");
}
