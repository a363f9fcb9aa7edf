//! What lies somewhere is loaded and proven, each way to lie about it is told, and nothing that is damaged is
//! called good.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weighbridge::{Bencher, Budget, Delivery, Purpose, RepeatResult, Result, Settings};
use weighbridge_data::{Cache, DataSet, ExecutedWork};

use super::{CheckpointDigests, Cut, StoredProof, copy, measure, place, write_safetensors};
use crate::adapters::native::{ReferenceSharded, Safetensors};
use crate::contract::{
    CheckpointFormat, Checkpointer, LoadedTensor, SaveOptions, SaveWaiter, StoredCheckpoint, StoredFiles,
    TensorHeader,
};
use crate::workload::{DeviceMesh, Placement, State, SystemOptions};

fn state() -> Arc<DataSet> {
    let place = tempfile::tempdir().unwrap();
    Arc::new(Cache::at(place.path()).open(&State::SMALL.data()).unwrap())
}

/// The checkpoint of a state, by who reads the format.
fn saved(format: CheckpointFormat, data: &Arc<DataSet>, directory: &Path) {
    match format {
        CheckpointFormat::Safetensors => write_safetensors(data, directory).unwrap(),
        _ => {
            let mut checkpointer = ReferenceSharded;
            let options = SaveOptions::whole(SaveWaiter::Blocking);
            checkpointer.open(&options, data).unwrap().save(directory, false).unwrap();
        }
    }
}

fn opened(directory: &Path) -> Result<Box<dyn StoredCheckpoint>> {
    let format = copy::format(directory)?;
    let files = StoredFiles { directory, store: None, format, system: &SystemOptions::NONE };
    // Neither of the two borrows itself.
    match format {
        CheckpointFormat::Safetensors => Box::leak(Box::new(Safetensors)).open_stored(files),
        _ => Box::leak(Box::new(ReferenceSharded)).open_stored(files),
    }
}

/// Runs what the scenario does with a checkpoint that is open, at a size for tests.
fn run(
    stored: &mut dyn StoredCheckpoint,
    directory: &Path,
    expected: Option<&CheckpointDigests>,
    mesh: DeviceMesh,
) -> Result<(CheckpointDigests, RepeatResult)> {
    let bencher = Bencher::new(Settings::new(Purpose::Measure, Budget::SMOKE));
    bencher.work(stored.executed().untied(stored.entry_point()));
    let onto = place(stored, mesh, Cut::Spread)?;
    measure(&bencher, stored, Some(directory), onto.as_ref())?;
    let found = StoredProof { expected, onto: onto.as_ref(), apart: None }.prove(
        &bencher,
        stored,
        Some(directory),
    )?;
    Ok((found, bencher.finish()?))
}

const FORMATS: [CheckpointFormat; 2] = [CheckpointFormat::Safetensors, CheckpointFormat::Sharded];

#[test]
fn what_lies_somewhere_is_copied_loaded_and_has_the_digests_whoever_reads_it() {
    let data = state();
    let digests = CheckpointDigests::of(&data);
    let mut contents = Vec::new();
    for format in FORMATS {
        let place = tempfile::tempdir().unwrap();
        let [there, copied] = ["there", "copied"].map(|name| place.path().join(name));
        saved(format, &data, &there);
        copy::copy(&there, &copied).unwrap();
        let (found, done) =
            run(&mut *opened(&copied).unwrap(), &copied, Some(&digests), DeviceMesh::NONE).unwrap();
        assert_eq!(found, digests);
        contents.push(done.work.unwrap().content);
        let there = run(&mut *opened(&there).unwrap(), &there, Some(&digests), DeviceMesh::NONE);
        there.expect("the copy alone was overwritten");
    }
    assert_eq!(contents[0], contents[1]);
}

#[test]
fn one_file_a_linked_one_and_a_list_of_files_are_read_and_a_file_that_the_list_lacks_is_told() {
    let (data, place) = (state(), tempfile::tempdir().unwrap());
    let [there, cache, copied] = ["there", "cache", "copied"].map(|name| place.path().join(name));
    saved(CheckpointFormat::Safetensors, &data, &there);
    fs::create_dir(&cache).unwrap();
    std::os::unix::fs::symlink(there.join("model.safetensors"), cache.join("a.safetensors")).unwrap();
    let index = |file: &str| format!("{{\"weight_map\": {{\"norm\": \"{file}\"}}}}");
    fs::write(cache.join("model.safetensors.index.json"), index("a.safetensors")).unwrap();
    copy::copy(&cache, &copied).unwrap();
    assert!(fs::symlink_metadata(copied.join("a.safetensors")).unwrap().is_file());
    assert_eq!(copy::format(&copied).unwrap(), CheckpointFormat::Safetensors);
    fs::write(copied.join("model.safetensors.index.json"), index("b.safetensors")).unwrap();
    let told = copy::format(&copied).unwrap_err().to_string();
    assert!(
        told.contains("has no `b.safetensors`, where `model.safetensors.index.json` has the tensor `norm`"),
        "{told}"
    );
    let alone = place.path().join("alone");
    copy::copy(&there.join("model.safetensors"), &alone).unwrap();
    assert_eq!(opened(&alone).unwrap().headers().len(), data.kinds().count());
    fs::copy(alone.join("model.safetensors"), alone.join("other.safetensors")).unwrap();
    let told = opened(&alone).map(drop).unwrap_err().to_string();
    assert!(told.contains("is in another file as well"), "{told}");
}

#[test]
fn each_device_has_its_part_of_what_lies_somewhere_and_who_has_no_devices_declines() {
    let (data, place) = (state(), tempfile::tempdir().unwrap());
    let mesh = || DeviceMesh::grid(&[("data", 2), ("model", 2)]);
    let [file, sharded] = FORMATS.map(|format| {
        let there = place.path().join(format.to_string());
        saved(format, &data, &there);
        there
    });
    let told = run(&mut *opened(&file).unwrap(), &file, None, mesh()).unwrap_err();
    assert!(told.is_skip() && told.to_string().contains("loading onto devices"), "{told}");
    let digests = CheckpointDigests::of(&data);
    let (found, _) = run(&mut *opened(&sharded).unwrap(), &sharded, Some(&digests), mesh()).unwrap();
    assert_eq!(found, digests);
    let many = run(&mut *opened(&file).unwrap(), &file, None, DeviceMesh::line(128)).unwrap_err();
    assert!(many.is_skip() && many.to_string().contains("needs 128 devices"), "{many}");
}

#[test]
fn who_reads_files_alone_declines_what_lies_in_an_object_store() {
    let (directory, system) = (Path::new("nowhere"), &SystemOptions::NONE);
    for format in FORMATS {
        let files = StoredFiles { directory, store: Some("s3://weights/llama"), format, system };
        for checkpointer in [&mut ReferenceSharded as &mut dyn Checkpointer, &mut Safetensors] {
            let declined = checkpointer.open_stored(files).map(drop).unwrap_err();
            assert!(declined.is_skip() && declined.to_string().contains("object store"), "{declined}");
        }
    }
}

/// Damage to a checkpoint, and what is said of it then.
type Damage<'a> = (CheckpointFormat, &'a dyn Fn(&Path), &'a str);

#[test]
fn nothing_that_is_damaged_is_called_good() {
    let data = state();
    let digests = CheckpointDigests::of(&data);
    let flip = |file: &'static str| {
        move |there: &Path| {
            let mut bytes = fs::read(there.join(file)).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(there.join(file), bytes).unwrap();
        }
    };
    let cut = |file: &'static str| {
        move |there: &Path| {
            let length = fs::metadata(there.join(file)).unwrap().len();
            fs::File::options().write(true).open(there.join(file)).unwrap().set_len(length / 2).unwrap();
        }
    };
    let (flipped, flipped_shard) = (flip("model.safetensors"), flip("shard-0.bin"));
    let (truncated, truncated_shard) = (cut("model.safetensors"), cut("shard-0.bin"));
    let none = |there: &Path| fs::remove_dir_all(there).unwrap();
    let other = |there: &Path| {
        fs::remove_dir_all(there).unwrap();
        fs::create_dir(there).unwrap();
        fs::write(there.join("weights.gguf"), "x").unwrap();
    };
    let damage: [Damage<'_>; 6] = [
        (CheckpointFormat::Safetensors, &flipped, "has not the numbers that its digest is of"),
        (CheckpointFormat::Sharded, &flipped_shard, "is damaged: "),
        (CheckpointFormat::Safetensors, &truncated, "safetensors: "),
        (CheckpointFormat::Sharded, &truncated_shard, "that can be read"),
        (CheckpointFormat::Safetensors, &none, "there is no checkpoint at"),
        (CheckpointFormat::Sharded, &other, "is no checkpoint that is known"),
    ];
    for (format, damage, words) in damage {
        let place = tempfile::tempdir().unwrap();
        let [there, copied] = ["there", "copied"].map(|name| place.path().join(name));
        saved(format, &data, &there);
        damage(&there);
        let told = copy::copy(&there, &copied)
            .and_then(|()| run(&mut *opened(&copied)?, &copied, Some(&digests), DeviceMesh::NONE).map(drop));
        let told = told.unwrap_err();
        assert!(!told.is_skip() && told.to_string().contains(words), "{told}");
    }
}

/// A checkpoint that is read honestly, and lied about in one way.
struct LyingSystem<'a> {
    lie: Lie,
    honest: Box<dyn StoredCheckpoint + 'a>,
    /// The tensors that were loaded first.
    first: Vec<LoadedTensor>,
    /// `true` if somebody has looked at what was loaded.
    looked_at: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Lie {
    None,
    /// A number is lost.
    LosesANumber,
    /// A tensor has another type, and the same bytes.
    HasAnotherType,
    /// Headers and tensors have another shape, and the same bytes.
    HasAnotherShape,
    /// A tensor is left out.
    LeavesOneOut,
    /// Files are read when somebody looks.
    LooksLater,
    /// Hands out for ever what was loaded first.
    KeepsTheFirst,
    /// Loads that are timed read nothing.
    LoadsNothingInTime,
    /// A part on a device is of another.
    SwapsDevices,
}

impl StoredCheckpoint for LyingSystem<'_> {
    fn headers(&self) -> &[TensorHeader] {
        let headers = self.honest.headers();
        if self.lie == Lie::LeavesOneOut { &headers[..headers.len() - 1] } else { headers }
    }

    fn place(&mut self, onto: &Placement) -> Result<()> {
        self.honest.place(onto)
    }

    fn load(&mut self) -> Result<()> {
        match self.lie {
            Lie::LooksLater => Ok(()),
            Lie::KeepsTheFirst if !self.first.is_empty() => Ok(()),
            Lie::LoadsNothingInTime if !self.looked_at => Ok(()),
            _ => self.honest.load(),
        }
    }

    fn loaded(&mut self, tensor: usize) -> Result<LoadedTensor> {
        self.looked_at = true;
        match self.lie {
            Lie::LooksLater => self.honest.load()?,
            Lie::KeepsTheFirst => {
                if self.first.is_empty() {
                    let tensors = 0..self.honest.headers().len();
                    self.first = tensors.map(|at| self.honest.loaded(at)).collect::<Result<_>>()?;
                }
                return Ok(self.first[tensor].clone());
            }
            _ => {}
        }
        let mut found = self.honest.loaded(tensor)?;
        match self.lie {
            Lie::LosesANumber if tensor == 3 => found.bytes[5] ^= 1,
            Lie::HasAnotherType if tensor == 3 => found.header.dtype = "<i4".to_owned(),
            _ => {}
        }
        Ok(found)
    }

    fn part(&mut self, tensor: usize, device: usize) -> Result<LoadedTensor> {
        let device = if self.lie == Lie::SwapsDevices { [0, 2, 1, 3][device] } else { device };
        self.honest.part(tensor, device)
    }

    fn release(&mut self) -> Result<()> {
        self.honest.release()
    }

    fn executed(&self) -> ExecutedWork {
        ExecutedWork::ours(Vec::new(), Delivery::Owned, 1)
    }
}

/// A checkpoint whose headers and tensors have other shapes.
struct Reshaped<'a>(Box<dyn StoredCheckpoint + 'a>, Vec<TensorHeader>);

impl StoredCheckpoint for Reshaped<'_> {
    fn headers(&self) -> &[TensorHeader] {
        &self.1
    }

    fn load(&mut self) -> Result<()> {
        self.0.load()
    }

    fn loaded(&mut self, tensor: usize) -> Result<LoadedTensor> {
        Ok(LoadedTensor { header: self.1[tensor].clone(), ..self.0.loaded(tensor)? })
    }

    fn release(&mut self) -> Result<()> {
        self.0.release()
    }

    fn executed(&self) -> ExecutedWork {
        self.0.executed()
    }
}

fn lying(lie: Lie, expected: Option<&CheckpointDigests>) -> Result<CheckpointDigests> {
    let (data, place) = (state(), tempfile::tempdir().unwrap());
    let there = place.path().join("there");
    saved(CheckpointFormat::Sharded, &data, &there);
    let honest = opened(&there)?;
    let mesh = if lie == Lie::SwapsDevices {
        DeviceMesh::grid(&[("data", 2), ("model", 2)])
    } else {
        DeviceMesh::NONE
    };
    if lie == Lie::HasAnotherShape {
        let turned = |header: &TensorHeader| TensorHeader {
            shape: header.shape.iter().rev().copied().collect(),
            ..header.clone()
        };
        let headers = honest.headers().iter().map(turned).collect();
        return run(&mut Reshaped(honest, headers), &there, expected, mesh).map(|(found, _)| found);
    }
    let mut lying = LyingSystem { lie, honest, first: Vec::new(), looked_at: false };
    run(&mut lying, &there, expected, mesh).map(|(found, _)| found)
}

#[test]
fn each_way_to_lie_about_what_lies_somewhere_is_told() {
    let digests = CheckpointDigests::of(&state());
    assert_eq!(lying(Lie::None, Some(&digests)).unwrap(), digests);
    for (lie, words) in [
        (Lie::LosesANumber, "the tensor ['blocks.0.gate'] has not the numbers that its digest is of"),
        (Lie::HasAnotherType, "the tensor ['blocks.0.gate'] came as ['blocks.0.gate'], <i4"),
        (Lie::HasAnotherShape, "is of <f4 [64, 128], and its digest of <f4 [128, 64]"),
        (Lie::LeavesOneOut, "there is no tensor ['output'], and there are digests of one"),
        (Lie::LooksLater, "it is a view of them, and no memory of its own"),
        (Lie::KeepsTheFirst, "it was kept elsewhere"),
        (Lie::LoadsNothingInTime, "nothing was loaded"),
        (Lie::SwapsDevices, "on device 1 has not the numbers of"),
    ] {
        let told = lying(lie, Some(&digests)).unwrap_err().to_string();
        assert!(told.contains(words), "{lie:?}: {told}");
    }
    // Without digests a lie about the numbers passes: that is why nothing is ranked without them.
    for lie in [Lie::LosesANumber, Lie::HasAnotherShape, Lie::LeavesOneOut] {
        assert_ne!(lying(lie, None).unwrap(), digests, "{lie:?}");
    }
}

#[test]
fn digests_are_captured_once_and_checked_by_type_shape_and_numbers() {
    let (data, place) = (state(), tempfile::tempdir().unwrap());
    let (digests, directory) = (CheckpointDigests::of(&data), place.path().join("digests"));
    let missing = CheckpointDigests::read(&directory).unwrap_err().to_string();
    assert!(missing.contains("there are no digests at"), "{missing}");
    digests.capture(&directory).unwrap();
    digests.capture(&directory).unwrap();
    assert_eq!(CheckpointDigests::read(&directory).unwrap(), digests);
    let other = lying(Lie::LosesANumber, None).unwrap();
    let told = other.capture(&directory).unwrap_err().to_string();
    assert!(told.contains("has the digests of something else, and is not overwritten"), "{told}");
    // Orbax writes no types and shapes.
    fs::remove_file(directory.join("tensors.json")).unwrap();
    let orbaxs = CheckpointDigests::read(&directory).unwrap();
    orbaxs.check(&digests).unwrap();
    let told = orbaxs.check(&lying(Lie::HasAnotherShape, None).unwrap()).unwrap_err().to_string();
    assert!(told.contains("or has another type or shape"), "{told}");
    for (text, words) in [
        ("{", "is damaged"),
        ("{}", "it has no tensor"),
        ("{\"['a']\": \"12\"}", "what it has of ['a'] is no SHA-256"),
    ] {
        fs::write(directory.join("host_00000.json"), text).unwrap();
        let told = CheckpointDigests::read(&directory).unwrap_err().to_string();
        assert!(told.contains(words), "{told}");
    }
}

#[test]
fn a_digest_is_that_of_orbax() {
    let header = |shape: &[usize]| TensorHeader {
        key: TensorHeader::flat_key("a"),
        dtype: "<f4".to_owned(),
        shape: shape.to_vec(),
    };
    let place = tempfile::tempdir().unwrap();
    // By `digest_pytree` of Orbax 0.12.8, of `{'a': numpy.arange(6, dtype=numpy.float32)}` in two shapes.
    for (shape, digest) in [
        (&[6][..], "98e26ddd8e1922a808d5749a7b57e2f11845ebc4afb7ffe4466f530b1c0bd73b"),
        (&[2, 3][..], "3378efc20f15f0e870a04920ebd06243767f44dd6de3dfc84997ea2f41bc964c"),
    ] {
        let bytes = (0..6_u8).flat_map(|number| f32::from(number).to_le_bytes()).collect();
        let mut digests = CheckpointDigests::default();
        digests.add(LoadedTensor { header: header(shape), bytes });
        let directory: PathBuf = place.path().join(shape.len().to_string());
        digests.capture(&directory).unwrap();
        let text = fs::read_to_string(directory.join("host_00000.json")).unwrap();
        assert!(text.contains(&format!("\"['a']\": \"{digest}\"")), "{text}");
    }
}
