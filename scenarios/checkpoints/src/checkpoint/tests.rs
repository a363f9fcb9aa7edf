//! Honest checkpointers pass, and each way to lie is told.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use weighbridge::{
    Bencher, Budget, Delivery, Error, FieldCopy, ItemCopy, Purpose, RepeatResult, Result, Settings, skip,
};
use weighbridge_data::{Cache, DataSet, ExecutedWork};

use super::inventory::Inventory;
use super::looks::LookedState;
use super::proof::{Proof, prove};
use super::rounds::SaveRounds;
use super::shares::{Shares, WriterRule};
use crate::adapters::native::{ReferenceSharded, Safetensors};
use crate::contract::{Checkpointer, Checkpoints, Replicas, SaveLayer, SaveOptions, SaveWaiter};
use crate::workload::{Compression, DeviceMesh, Placement, Setting, State, StateChange};

/// Runs what a scenario does with a checkpointer, at a size for tests.
fn run(checkpointer: &mut dyn Checkpointer, operation: &str) -> Result<RepeatResult> {
    run_onto(checkpointer, operation, None)
}

/// The same, loaded onto other devices.
fn run_onto(
    checkpointer: &mut dyn Checkpointer,
    operation: &str,
    onto: Option<Placement>,
) -> Result<RepeatResult> {
    run_with(checkpointer, operation, &SaveOptions { onto, ..SaveOptions::whole(SaveWaiter::Blocking) })
}

/// The same, saved so.
fn run_with(
    checkpointer: &mut dyn Checkpointer,
    operation: &str,
    options: &SaveOptions,
) -> Result<RepeatResult> {
    run_of(&State::SMALL, checkpointer, operation, options)
}

/// The same, of another state.
fn run_of(
    state: &State,
    checkpointer: &mut dyn Checkpointer,
    operation: &str,
    options: &SaveOptions,
) -> Result<RepeatResult> {
    let place = tempfile::tempdir().unwrap();
    let data = Arc::new(Cache::at(place.path().join("data")).open(&state.data()).unwrap());
    let bencher = Bencher::new(Settings::new(Purpose::Measure, Budget::SMOKE));
    let mut checkpoints = checkpointer.open(options, &data)?;
    checkpoints.executed().check_platform(bencher.platform())?;
    bencher.work(checkpoints.executed().report(&data, checkpoints.entry_point()));
    let directory = place.path().join("checkpoints");
    fs::create_dir(&directory).unwrap();
    let looked = LookedState { data: &data, onto: options.onto.as_ref() };
    let rounds = SaveRounds::new(&bencher, &mut *checkpoints, &directory, looked);
    let saved = match operation {
        "load" => rounds.load(&|_, _| Ok(()), &|| Ok(()))?,
        _ => rounds.save(operation == "durable_save")?,
    };
    saved.inventory.tell(&bencher);
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 1, "one checkpoint is left");
    if let Some(Replicas { number, share }) = options.replicas {
        let marked = directory.join("marked");
        let shares = Shares::of(&mut *checkpoints, &data, &marked, [number, 2])?;
        shares.check(if share { WriterRule::Each } else { WriterRule::TheFirst })?;
    }
    let proof = options.onto.as_ref().map_or_else(|| Proof::whole(&data), |onto| Proof::onto(&data, onto));
    drop(checkpoints);
    let mut anew = checkpointer.open(options, &data)?;
    prove(&bencher, &mut *anew, saved.proof(proof), &saved.directory)?;
    drop(anew);
    bencher.finish()
}

const OPERATIONS: [&str; 3] = ["save", "durable_save", "load"];

#[test]
fn tensors_of_every_type_and_single_numbers_are_saved_and_loaded_as_they_are() {
    let state: State =
        "a:bfloat16[64x32];b:float64[8];c:int32[16];d:int64[8];e:float32[8x8];f:bfloat16[]".parse().unwrap();
    let options = SaveOptions::whole(SaveWaiter::Blocking);
    let content = |checkpointer: &mut dyn Checkpointer| {
        run_of(&state, checkpointer, "load", &options).unwrap().work.unwrap().content
    };
    assert_eq!(content(&mut ReferenceSharded), content(&mut Safetensors));
}

#[test]
fn every_native_checkpointer_is_proven_and_all_deliver_the_same() {
    let mut contents = Vec::new();
    for checkpointer in [&mut ReferenceSharded as &mut dyn Checkpointer, &mut Safetensors] {
        for operation in OPERATIONS {
            let done = run(checkpointer, operation).unwrap();
            let told: Vec<&str> = done.seen.custom.iter().map(|metric| &*metric.name).collect();
            let first = ["checkpoint_size", "checkpoint_files", "small_files", "largest_file"];
            assert_eq!(told[..4], first);
            assert!(
                told[4..].iter().all(|name| ["files/", "size/", "small_file_share"]
                    .iter()
                    .any(|of| name.starts_with(of)))
            );
            contents.push(done.work.unwrap().content);
        }
    }
    assert!(contents.iter().all(|content| content == &contents[0] && content.elements == 1));
}

#[test]
fn each_layer_and_replicas_that_share_a_save_or_do_not_deliver_the_same_and_who_has_none_declines() {
    let whole = run(&mut ReferenceSharded, "save").unwrap().work.unwrap().content;
    let mut all = Vec::new();
    for saving in [SaveWaiter::Blocking, SaveWaiter::Background] {
        let plain = SaveOptions::whole(saving);
        for layer in [SaveLayer::Tree, SaveLayer::Arrays, SaveLayer::ArraysWithMetadata] {
            all.push(SaveOptions { layer, ..plain.clone() });
        }
        for (number, share) in [(2, true), (2, false), (4, true), (4, false)] {
            let placement = on(&[("replica", number), ("model", 2)]);
            let replicas = Some(Replicas { number, share });
            all.push(SaveOptions { placement, replicas, ..plain.clone() });
        }
    }
    for options in all {
        for operation in OPERATIONS {
            let done = run_with(&mut ReferenceSharded, operation, &options);
            let done = done.unwrap_or_else(|error| panic!("{operation}, {options:?}: {error}"));
            assert_eq!(done.work.unwrap().content, whole, "{operation}, {options:?}");
        }
        let declined = run_with(&mut Safetensors, "save", &options).unwrap_err();
        assert!(declined.is_skip(), "{declined}");
    }
}

#[test]
fn what_is_compressed_is_proven_and_delivers_the_same_and_who_does_not_compress_declines() {
    let asked = |compression| SaveOptions {
        compression: Setting::Set(compression),
        ..SaveOptions::whole(SaveWaiter::Blocking)
    };
    let (none, zstd) = (asked(Compression::None), asked(Compression::Zstd));
    let plain = run(&mut ReferenceSharded, "save").unwrap();
    let size = |done: &RepeatResult| done.seen.custom[0].value;
    for operation in OPERATIONS {
        let done = run_with(&mut ReferenceSharded, operation, &zstd);
        if cfg!(feature = "zstd") {
            let done = done.unwrap();
            // Numbers that are drawn gain a tenth.
            assert!(size(&done) < 0.97 * size(&plain), "{operation}");
            assert_eq!(done.work.unwrap().content, plain.work.as_ref().unwrap().content, "{operation}");
        } else {
            let why = done.unwrap_err();
            assert!(why.is_skip() && why.to_string().contains("cargo bench --features zstd"), "{why}");
        }
        let declined = run_with(&mut Safetensors, operation, &zstd).unwrap_err();
        assert!(declined.is_skip() && declined.to_string().contains("compression zstd"), "{declined}");
        for checkpointer in [&mut ReferenceSharded as &mut dyn Checkpointer, &mut Safetensors] {
            run_with(checkpointer, operation, &none).unwrap();
        }
    }
}

/// The small state on a mesh, cut as often as it lets it.
fn on(mesh: &[(&str, usize)]) -> Placement {
    Placement::spread(DeviceMesh::grid(mesh), &State::SMALL)
}

#[test]
fn what_is_loaded_onto_devices_is_proven_part_by_part_and_delivers_the_same() {
    let whole = run(&mut ReferenceSharded, "load").unwrap().work.unwrap().content;
    let grids: [&[(&str, usize)]; 4] = [&[], &[("data", 8)], &[("data", 2), ("model", 4)], &[("data", 3)]];
    for mesh in grids {
        let done = run_onto(&mut ReferenceSharded, "load", Some(on(mesh))).unwrap();
        assert_eq!(done.work.unwrap().content, whole, "{mesh:?}");
    }
}

#[test]
fn who_has_no_devices_declines_and_what_a_mesh_does_not_divide_is_told() {
    let refused = run_onto(&mut Safetensors, "load", Some(on(&[("data", 2)]))).unwrap_err();
    assert!(refused.is_skip() && refused.to_string().contains("loading onto other devices"), "{refused}");
    let mut placement = on(&[("data", 7)]);
    placement.shardings[0] = vec![vec!["data".into()]];
    let told = run_onto(&mut ReferenceSharded, "load", Some(placement)).unwrap_err().to_string();
    assert!(
        told.contains("`embedding` cannot be loaded onto the mesh data=7: its dimension of 200"),
        "{told}"
    );
}

#[test]
fn each_way_to_lie_about_devices_is_told() {
    let told = |lie| {
        let onto = on(&[("data", 2), ("model", 2)]);
        run_onto(&mut Liar::new(lie), "load", Some(onto)).unwrap_err().to_string()
    };
    for (lie, words) in [
        // Eight parts have been looked at while the clock ran, and are too short.
        (Lie::KeepsTheOldMesh, "numbers of the tensor `embedding` that were looked at"),
        (Lie::SwapsDevices, "numbers of the tensor `embedding` that were looked at"),
        // By that number, if it is drawn.
        (Lie::LosesANumberOfAPart, "the tensor `norm`"),
        (Lie::LacksADevice, "there is no device 3: there are 3"),
    ] {
        let said = told(lie);
        assert!(said.contains(words), "{said}");
    }
}

/// The reference, which lies in one way.
struct Liar(Lie, ReferenceSharded, LoadedBefore);

/// The tensors that were loaded from a place, by their positions.
type LoadedBefore = Rc<RefCell<HashMap<(PathBuf, usize), ItemCopy>>>;

impl Liar {
    fn new(lie: Lie) -> Self {
        Self(lie, ReferenceSharded, LoadedBefore::default())
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Lie {
    /// Reads what was loaded from the files when it is looked at.
    LooksLater,
    /// Hands out the state that it was opened with as what was loaded.
    KeepsTheState,
    /// Hands out what it has loaded from a place before.
    Remembers,
    /// The files of a checkpoint are links to those of the one before it.
    LinksTheLastOne,
    /// Every other checkpoint has its smallest file alone.
    SavesHalf,
    /// A number is lost.
    LosesANumber,
    /// A tensor has another name.
    Renames,
    /// Leaves what is loaded on the devices that it was saved from.
    KeepsTheOldMesh,
    /// Two devices have the other's parts.
    SwapsDevices,
    /// A number of one part is lost, and the whole is right.
    LosesANumberOfAPart,
    /// The last device has nothing.
    LacksADevice,
    /// No save ends.
    Fails,
    /// There is no such thing.
    Declines,
}

struct LyingSystem<'a> {
    lie: Lie,
    honest: Box<dyn Checkpoints + 'a>,
    data: Arc<DataSet>,
    before: LoadedBefore,
    from: PathBuf,
    last: Option<PathBuf>,
    saved: usize,
}

impl Checkpointer for Liar {
    fn open(&mut self, options: &SaveOptions, data: &Arc<DataSet>) -> Result<Box<dyn Checkpoints + '_>> {
        if self.0 == Lie::Declines {
            return Err(skip("it saves nothing"));
        }
        Ok(Box::new(LyingSystem {
            lie: self.0,
            honest: match self.0 {
                Lie::KeepsTheOldMesh => {
                    let onto = Some(on(&[("data", 8)]));
                    self.1.open(&SaveOptions { onto, ..options.clone() }, data)?
                }
                _ => self.1.open(options, data)?,
            },
            data: data.clone(),
            before: self.2.clone(),
            from: PathBuf::new(),
            last: None,
            saved: 0,
        }))
    }
}

impl Checkpoints for LyingSystem<'_> {
    fn change(&mut self, change: &StateChange) -> Result<()> {
        self.honest.change(change)
    }

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
            Lie::Remembers if self.before.borrow().contains_key(&(self.from.clone(), 0)) => Ok(()),
            _ => self.honest.load(directory),
        }
    }

    fn loaded(&mut self, field: usize) -> Result<ItemCopy> {
        match self.lie {
            Lie::LooksLater => {
                self.honest.load(&self.from)?;
                self.honest.loaded(field)
            }
            Lie::KeepsTheState => {
                let kind = self.data.kinds().nth(field).unwrap();
                let bytes = self.data.rows(field, 0..1).to_vec();
                let (name, dtype, shape) = (kind.name.clone(), kind.dtype, kind.shape.clone());
                Ok(ItemCopy { elements: 1, fields: vec![FieldCopy { name, dtype, shape, bytes }] })
            }
            Lie::Remembers => {
                let mut before = self.before.borrow_mut();
                if let Some(kept) = before.get(&(self.from.clone(), field)) {
                    return Ok(kept.clone());
                }
                let kept = self.honest.loaded(field)?;
                before.insert((self.from.clone(), field), kept.clone());
                Ok(kept)
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

    fn part(&mut self, field: usize, device: usize) -> Result<ItemCopy> {
        match self.lie {
            Lie::SwapsDevices => return self.honest.part(field, [0, 2, 1, 3][device]),
            Lie::LacksADevice if device == 3 => return Err(Error::new("there is no device 3: there are 3")),
            _ => {}
        }
        let mut kept = self.honest.part(field, device)?;
        if self.lie == Lie::LosesANumberOfAPart && kept.fields[0].name == "norm" && device == 3 {
            kept.fields[0].bytes[5] ^= 1;
        }
        Ok(kept)
    }

    fn release(&mut self) -> Result<()> {
        self.honest.release()
    }

    fn executed(&self) -> ExecutedWork {
        ExecutedWork::ours(Vec::new(), Delivery::Owned, 1)
    }
}

#[test]
fn each_way_to_lie_is_told() {
    let told = |lie, operation| {
        let error = run(&mut Liar::new(lie), operation).unwrap_err();
        assert_eq!(error.is_skip(), lie == Lie::Declines);
        error.to_string()
    };
    for operation in OPERATIONS {
        for (lie, words) in [
            (Lie::LooksLater, &["it is a view of them, and no memory of its own"] as &[_]),
            // Whichever of its tensors had changed.
            (Lie::KeepsTheState, &["has not the bytes that were saved", "numbers of the tensor `"]),
            (Lie::Remembers, &["it was kept elsewhere"]),
            (
                Lie::LinksTheLastOne,
                &["has not the bytes that were saved", "numbers of the tensor `", "damaged"],
            ),
            (Lie::SavesHalf, &["the others were not whole", "has no `shard-0.bin`"]),
            // It may be one of those that are drawn.
            (
                Lie::LosesANumber,
                &[
                    "the tensor `blocks.0.value` has not the bytes that were saved",
                    "numbers of the tensor `blocks.0.value`",
                ],
            ),
            (Lie::Renames, &["the tensor `blocks.0.value` came as `blocks.0.value2`"]),
            (Lie::Fails, &["out of ink"]),
            (Lie::Declines, &["it saves nothing"]),
        ] {
            let said = told(lie, operation);
            assert!(words.iter().any(|words| said.contains(words)), "{operation}: {said}");
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
    let refused =
        Safetensors.open(&SaveOptions::whole(SaveWaiter::Background), &state()).map(drop).unwrap_err();
    assert!(refused.is_skip(), "{refused}");
}

fn state() -> Arc<DataSet> {
    let place = tempfile::tempdir().unwrap();
    Arc::new(Cache::at(place.path()).open(&State::SMALL.data()).unwrap())
}
