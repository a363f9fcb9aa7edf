//! Loads by a mapping, which is read in the time of the load or is not, and files that are written when a
//! save is over or are not.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;
use weighbridge::{Budget, Delivery, ErrorKind, FieldCopy, FieldKind, ItemCopy, Purpose, Settings};
use weighbridge_data::{Cache, ExecutedWork};

use super::super::alone::alone;
use super::*;
use crate::workload::State;

#[test]
fn a_checkpoint_that_lacks_a_tenth_is_less_and_an_honest_small_one_is_not() {
    for (bytes, whole) in [(0, 5_015), (3_000, 5_015), (0, 1), (240_000, 300_000), (8_900_000, 10_000_000)] {
        assert!(is_less(bytes, whole), "{bytes} of {whole}");
    }
    // Two saves of one state of 300 bytes by Orbax had 4,428 and 5,015.
    for (bytes, whole) in [(4_428, 5_015), (290_000, 300_000), (9_000_000, 10_000_000), (0, 0)] {
        assert!(!is_less(bytes, whole), "{bytes} of {whole}");
    }
}

/// A file of tensors that is mapped.
struct MappedFile {
    kinds: Vec<FieldKind>,
    state: Vec<Vec<u8>>,
    held: Option<(Mmap, File)>,
    reading: MappedReading,
}

/// The bytes of a mapping that are read when a load is looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
enum MappedReading {
    /// Those that are looked at.
    Pages,
    /// Those at the drawn places alone: a kernel may map all the others with them.
    Places,
    /// Those that are looked at, by a call for each: nothing is mapped.
    Calls,
}

impl MappedFile {
    fn tensor(&self, field: usize) -> Result<&[u8]> {
        let (held, _) = self.held.as_ref().ok_or_else(|| Error::new("nothing was loaded"))?;
        Ok(&held[self.offset(field)..][..self.state[field].len()])
    }

    /// The place of a tensor in the file.
    fn offset(&self, field: usize) -> usize {
        self.state[..field].iter().map(Vec::len).sum()
    }

    /// Reads of a tensor what is looked at, and maps nothing of it.
    fn read_by_calls(&self, part: &LookedPart, seen: &mut Vec<u8>) -> Result<()> {
        let (_, file) = self.held.as_ref().ok_or_else(|| Error::new("nothing was loaded"))?;
        let read = |place, length| {
            let mut bytes = vec![0; length];
            file.read_exact_at(&mut bytes, (self.offset(part.field) + place) as u64)?;
            Ok::<_, Error>(bytes)
        };
        for place in &part.places {
            seen.extend(read(*place, part.width)?);
        }
        let sum =
            part.pages().try_fold(0, |sum, place| Ok::<_, Error>(sum + u64::from(read(place, 1)?[0])))?;
        seen.extend(sum.to_le_bytes());
        Ok(())
    }
}

impl Checkpoints for MappedFile {
    fn change(&mut self, change: &StateChange) -> Result<()> {
        for (field, (tensor, kind)) in self.state.iter_mut().zip(&self.kinds).enumerate() {
            change.apply(field, kind.dtype.size(), tensor);
        }
        Ok(())
    }

    fn save(&mut self, directory: &Path, _: bool) -> Result<()> {
        fs::create_dir(directory)?;
        Ok(fs::write(directory.join("tensors"), self.state.concat())?)
    }

    fn load(&mut self, directory: &Path) -> Result<()> {
        let file = File::open(directory.join("tensors"))?;
        #[expect(unsafe_code, reason = "nobody changes the file while it is mapped")]
        let mapped = unsafe { Mmap::map(&file) }?;
        self.held = Some((mapped, file));
        Ok(())
    }

    fn loaded(&mut self, field: usize) -> Result<ItemCopy> {
        let bytes = self.tensor(field)?.to_vec();
        let FieldKind { name, dtype, shape, .. } = self.kinds[field].clone();
        Ok(ItemCopy { elements: 1, fields: vec![FieldCopy { name, dtype, shape, bytes }] })
    }

    fn view(&mut self, field: usize, _: Option<usize>, see: &mut dyn FnMut(&[u8])) -> Result<()> {
        see(self.tensor(field)?);
        Ok(())
    }

    fn look(&mut self, parts: &[LookedPart]) -> Result<Vec<u8>> {
        let mut seen = Vec::new();
        for part in parts {
            let tensor = self.tensor(part.field)?;
            match self.reading {
                MappedReading::Pages => part.read(tensor, &mut seen),
                MappedReading::Places => {
                    part.places.iter().for_each(|place| seen.extend(&tensor[*place..][..part.width]));
                    seen.extend([0; LookedPart::SUM]);
                }
                MappedReading::Calls => self.read_by_calls(part, &mut seen)?,
            }
        }
        Ok(seen)
    }

    fn release(&mut self) -> Result<()> {
        self.held = None;
        Ok(())
    }

    fn executed(&self) -> ExecutedWork {
        ExecutedWork::ours(Vec::new(), Delivery::Owned, 1)
    }
}

/// Loads of a state of 16 MB by a mapping.
fn load_mapped(reading: MappedReading) -> Result<()> {
    let place = tempfile::tempdir().unwrap();
    let state: State = "a:float32[2000x1000];b:float32[2000000]".parse().unwrap();
    let data = Arc::new(Cache::at(place.path().join("data")).open(&state.data()).unwrap());
    let bencher = Bencher::new(Settings::new(Purpose::Measure, Budget::SMOKE));
    let directory = place.path().join("checkpoints");
    fs::create_dir(&directory).unwrap();
    let mut mapped = MappedFile {
        kinds: data.kinds().cloned().collect(),
        state: (0..2).map(|field| data.rows(field, 0..1).to_vec()).collect(),
        held: None,
        reading,
    };
    let looked = LookedState { data: &data, onto: None };
    let rounds = SaveRounds::new(&bencher, &mut mapped, &directory, looked);
    rounds.load(&|_, _| Ok(()), &|| Ok(())).map(drop)
}

#[test]
fn a_mapping_is_read_in_the_time_of_a_load_or_told() {
    // What a process reads is counted for all its threads.
    alone(module_path!(), "a_mapping_is_read_in_the_time_of_a_load_or_told", || {
        load_mapped(MappedReading::Pages).unwrap();
        let fault = |reading| match load_mapped(reading).unwrap_err().kind() {
            ErrorKind::Work(fault) => (**fault).clone(),
            other => panic!("{other:?}"),
        };
        let untouched = fault(MappedReading::Places);
        assert!(
            matches!(untouched, WorkFault::Tensor { looked: 1961 | 1962, wrong: 1, .. }),
            "{untouched:?}"
        );
        let not_mapped = fault(MappedReading::Calls);
        assert!(matches!(not_mapped, WorkFault::Load { .. }), "{not_mapped:?}");
    });
}

/// The files in a directory, as they are now.
fn stamp(directory: &Path) -> FileStamp {
    FileStamp::of(&Inventory::of(directory).unwrap(), &Lots::new()).unwrap()
}

#[test]
fn files_that_are_written_linked_or_left_out_where_they_are_zero_are_saved_and_empty_ones_are_not() {
    let place = tempfile::tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|name| place.path().join(name));
    for directory in [&one, &two] {
        fs::create_dir(directory).unwrap();
    }
    let bytes = 8 << 20;
    fs::write(one.join("a"), vec![1; bytes]).unwrap();
    let first = stamp(&one);
    first.is_written(bytes as u64, &[], 0).unwrap();
    first.is_written(0, &[], 0).expect("a mapping writes without calls, and the file system has room for it");
    // A tensor that has not changed may be a link.
    fs::hard_link(one.join("a"), two.join("a")).unwrap();
    stamp(&two).is_written(0, &[&first], 0).unwrap();
    // A file that has its length and nothing else.
    File::create(two.join("b")).unwrap().set_len(bytes as u64).unwrap();
    let empty = stamp(&two);
    empty.is_written(0, &[&first], bytes as u64).expect("zeros may be left out");
    let told = empty.is_written(1_000, &[&first], 0).unwrap_err();
    assert_eq!(told, WorkFault::Save { files: bytes as u64, written: 1_000, allocated: 0 });
    empty.check().unwrap();
    fs::write(two.join("b"), vec![1; bytes]).unwrap();
    let told = empty.check().unwrap_err();
    assert!(matches!(told, WorkFault::Files { looked: 64, changed } if changed > 0), "{told}");
    fs::remove_dir_all(&two).unwrap();
    empty.check().expect("what is gone says nothing");
}
