//! Honest checkpointers pass, and each way to lie is told.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weighbridge::{
    Bencher, Budget, Delivery, Error, Kept, KeptField, Purpose, RepeatResult, Result, Settings, skip,
};

use super::inventory::Inventory;
use super::proof::prove;
use super::rounds::SaveRounds;
use crate::adapters::native::{ReferenceSharded, Safetensors};
use crate::contract::{Checkpointer, Checkpoints, Executed, SaveOptions, Saving};
use crate::data::{Cache, DataSet};
use crate::workload::State;

/// What a scenario does with a checkpointer, at a size for tests.
fn run(checkpointer: &mut dyn Checkpointer, operation: &str) -> Result<RepeatResult> {
    let place = tempfile::tempdir().unwrap();
    let data = Arc::new(Cache::at(place.path().join("data")).open(&State::SMALL.data()).unwrap());
    let bencher = Bencher::new(Settings::new(Purpose::Measure, Budget::SMOKE));
    let mut checkpoints = checkpointer.open(&SaveOptions::whole(Saving::Blocking), &data)?;
    bencher.work(checkpoints.executed().report(&data, checkpoints.entry_point()));
    let directory = place.path().join("checkpoints");
    fs::create_dir(&directory).unwrap();
    let rounds = SaveRounds::new(&bencher, &mut *checkpoints, &directory);
    let saved = match operation {
        "load" => rounds.load(&|_, _| Ok(()), &|| Ok(()))?,
        _ => rounds.save(operation == "durable_save")?,
    };
    saved.inventory.tell(&bencher);
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 1, "one checkpoint is left");
    prove(&bencher, &mut *checkpoints, &data, &saved.directory)?;
    drop(checkpoints);
    bencher.finish()
}

const OPERATIONS: [&str; 3] = ["save", "durable_save", "load"];

#[test]
fn every_native_checkpointer_is_proven_and_all_deliver_the_same() {
    let mut contents = Vec::new();
    for checkpointer in [&mut ReferenceSharded as &mut dyn Checkpointer, &mut Safetensors] {
        for operation in OPERATIONS {
            let done = run(checkpointer, operation).unwrap();
            let told: Vec<&str> = done.seen.custom.iter().map(|metric| &*metric.name).collect();
            assert_eq!(told, ["checkpoint size", "checkpoint files", "files below 1 MiB", "largest file"]);
            contents.push(done.work.unwrap().content);
        }
    }
    assert!(contents.iter().all(|content| content == &contents[0] && content.elements == 1));
}

/// The reference, which lies in one way.
struct Liar(Lie, ReferenceSharded);

#[derive(Clone, Copy, PartialEq)]
enum Lie {
    /// What was loaded is read from the files when it is looked at.
    LooksLater,
    /// What was loaded is the state that it has anyway.
    KeepsTheState,
    /// The files of a checkpoint are links to those of the one before it.
    LinksTheLastOne,
    /// Every other checkpoint has its smallest file alone.
    SavesHalf,
    /// A number is lost.
    LosesANumber,
    /// A tensor has another name.
    Renames,
    /// No save ends.
    Fails,
    /// There is no such thing.
    Declines,
}

struct Lying<'a> {
    lie: Lie,
    honest: Box<dyn Checkpoints + 'a>,
    data: Arc<DataSet>,
    from: PathBuf,
    last: Option<PathBuf>,
    saved: usize,
}

impl Checkpointer for Liar {
    fn open(&mut self, options: &SaveOptions, data: &Arc<DataSet>) -> Result<Box<dyn Checkpoints + '_>> {
        if self.0 == Lie::Declines {
            return Err(skip("it saves nothing"));
        }
        Ok(Box::new(Lying {
            lie: self.0,
            honest: self.1.open(options, data)?,
            data: data.clone(),
            from: PathBuf::new(),
            last: None,
            saved: 0,
        }))
    }
}

impl Checkpoints for Lying<'_> {
    fn save(&mut self, directory: &Path, durable: bool) -> Result<()> {
        self.saved += 1;
        match self.lie {
            Lie::Fails => return Err(Error::new("out of ink")),
            Lie::LinksTheLastOne if let Some(last) = &self.last => {
                fs::create_dir(directory)?;
                for file in Inventory::of(last)?.files {
                    fs::hard_link(&file, directory.join(file.file_name().unwrap()))?;
                }
            }
            _ => self.honest.save(directory, durable)?,
        }
        if self.lie == Lie::SavesHalf && self.saved == 1 {
            fs::remove_file(directory.join("shard-0.bin"))?;
        }
        self.last = Some(directory.to_owned());
        Ok(())
    }

    fn load(&mut self, directory: &Path) -> Result<()> {
        self.from = directory.to_owned();
        match self.lie {
            Lie::LooksLater | Lie::KeepsTheState => Ok(()),
            _ => self.honest.load(directory),
        }
    }

    fn loaded(&mut self, field: usize) -> Result<Kept> {
        match self.lie {
            Lie::LooksLater => {
                self.honest.load(&self.from)?;
                self.honest.loaded(field)
            }
            Lie::KeepsTheState => {
                let kind = self.data.kinds().nth(field).unwrap();
                let bytes = self.data.rows(field, 0..1).to_vec();
                let (name, dtype, shape) = (kind.name.clone(), kind.dtype, kind.shape.clone());
                Ok(Kept { elements: 1, fields: vec![KeptField { name, dtype, shape, bytes }] })
            }
            _ => {
                let mut kept = self.honest.loaded(field)?;
                match self.lie {
                    Lie::LosesANumber if field == 3 => kept.fields[0].bytes[5] ^= 1,
                    Lie::Renames if field == 3 => kept.fields[0].name.push('2'),
                    _ => {}
                }
                Ok(kept)
            }
        }
    }

    fn release(&mut self) -> Result<()> {
        self.honest.release()
    }

    fn executed(&self) -> Executed {
        Executed::ours(Vec::new(), Delivery::Owned, 1)
    }
}

#[test]
fn each_way_to_lie_is_told() {
    let told = |lie, operation| {
        let error = run(&mut Liar(lie, ReferenceSharded), operation).unwrap_err();
        assert_eq!(error.is_skip(), lie == Lie::Declines);
        error.to_string()
    };
    for operation in OPERATIONS {
        for (lie, words) in [
            (Lie::LooksLater, "it is a view of them, and no memory of its own"),
            (Lie::KeepsTheState, "it was kept elsewhere"),
            (Lie::LinksTheLastOne, "is damaged"),
            (Lie::SavesHalf, "the others were not whole"),
            (Lie::LosesANumber, "the tensor `blocks.0.value` has not the bytes that were saved"),
            (Lie::Renames, "the tensor `blocks.0.value` came as `blocks.0.value2`"),
            (Lie::Fails, "out of ink"),
            (Lie::Declines, "it saves nothing"),
        ] {
            let said = told(lie, operation);
            assert!(said.contains(words), "{operation}: {said}");
        }
    }
}

#[test]
fn what_the_caller_of_a_save_waits_for_is_told_apart_from_the_rest() {
    let of = |operation| {
        let regions = run(&mut ReferenceSharded, operation).unwrap().seen.regions;
        let mut paths: Vec<String> = regions.into_iter().map(|region| region.path).collect();
        paths.sort();
        paths.dedup();
        paths
    };
    assert_eq!(of("save"), ["blocking", "waiting"]);
    assert_eq!(of("durable_save"), ["blocking", "flush", "waiting"]);
}

#[test]
fn who_cannot_save_in_the_background_declines() {
    let refused = Safetensors.open(&SaveOptions::whole(Saving::Background), &state()).map(drop).unwrap_err();
    assert!(refused.is_skip(), "{refused}");
}

fn state() -> Arc<DataSet> {
    let place = tempfile::tempdir().unwrap();
    Arc::new(Cache::at(place.path()).open(&State::SMALL.data()).unwrap())
}
