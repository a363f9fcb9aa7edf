//! Loads that have loaded nothing when they are over, saves that have saved nothing, and saves in the
//! background of a state that was changed meanwhile.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::SystemTime;

use weighbridge::{Delivery, Error, FieldCopy, FieldKind, ItemCopy, Result, adapter};
use weighbridge_checkpoints::contract::{Checkpointer, Checkpoints, LookedPart, SaveOptions};
use weighbridge_checkpoints::workload::StateChange;
use weighbridge_data::{DataSet, ExecutedWork};

/// What a system does otherwise than an honest one.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// Nothing: a file that is written and read.
    Plain,
    /// A load opens the file, and each tensor is read when somebody asks for it.
    LazyTensors,
    /// The same, and of a tensor that is looked at the places alone are read.
    PlacesAlone,
    /// What was loaded from a file is kept, and given again while the times of the file are unchanged.
    Remembers,
    /// The file of a checkpoint is a link to that of the one before the last.
    LinksTheOneBefore,
    /// A file of the right length is filled when somebody loads it.
    FilledLater,
    /// A thread writes a copy into a file that has its length, and nobody waits for it.
    Unawaited,
    /// A thread writes a copy, and `wait` waits for it.
    Awaited,
    /// A thread writes the tensors themselves, and `wait` waits for it.
    ChangedMeanwhile,
}

/// The tensors of a state, which a thread may write while they are changed.
type SharedState = Arc<Vec<Mutex<Vec<u8>>>>;

/// A state and its checkpoints: one file each, in which tensors lie one after the other.
struct FileOfTensors {
    way: Way,
    kinds: Vec<FieldKind>,
    state: SharedState,
    /// The last two files.
    last: [Option<PathBuf>; 2],
    under_way: Option<JoinHandle<Result<()>>>,
    /// The state of each file that is not filled yet.
    unfilled: HashMap<PathBuf, Vec<Vec<u8>>>,
    loaded: Option<LoadedFile>,
    /// What was loaded, by the time of its file.
    before: HashMap<(PathBuf, SystemTime), Arc<Vec<u8>>>,
}

/// A file that was loaded.
enum LoadedFile {
    Read(Arc<Vec<u8>>),
    Opened(File),
}

/// The file of a checkpoint.
const FILE: &str = "tensors";

fn held(tensor: &Mutex<Vec<u8>>) -> MutexGuard<'_, Vec<u8>> {
    tensor.lock().expect("no thread panics with it")
}

fn write(path: &Path, state: &SharedState) -> Result<()> {
    let mut file = File::options().write(true).create(true).truncate(false).open(path)?;
    for tensor in &**state {
        file.write_all(&held(tensor))?;
    }
    Ok(())
}

impl FileOfTensors {
    fn boxed<'a>(way: Way, data: &DataSet) -> Box<dyn Checkpoints + 'a> {
        let kinds: Vec<FieldKind> = data.kinds().cloned().collect();
        let tensor = |field| Mutex::new(data.rows(field, 0..1).to_vec());
        Box::new(Self {
            way,
            state: Arc::new((0..kinds.len()).map(tensor).collect()),
            kinds,
            last: [None, None],
            under_way: None,
            unfilled: HashMap::new(),
            loaded: None,
            before: HashMap::new(),
        })
    }

    /// The state as it is.
    fn copy(&self) -> Vec<Vec<u8>> {
        self.state.iter().map(|tensor| held(tensor).clone()).collect()
    }

    /// The place of a tensor in a file.
    fn place(&self, field: usize) -> (usize, usize) {
        let bytes = |kind: &FieldKind| kind.shape.iter().product::<usize>() * kind.dtype.size();
        (self.kinds[..field].iter().map(bytes).sum(), bytes(&self.kinds[field]))
    }

    /// Makes a file of the right length with nothing in it.
    fn make_empty(&self, path: &Path) -> Result<()> {
        let bytes: usize = self.state.iter().map(|tensor| held(tensor).len()).sum();
        Ok(File::create(path)?.set_len(bytes as u64)?)
    }

    fn join(&mut self) -> Result<()> {
        self.under_way.take().map_or(Ok(()), |thread| thread.join().expect("it does not panic"))
    }

    fn tensor(&self, field: usize) -> Result<Vec<u8>> {
        let (offset, bytes) = self.place(field);
        match &self.loaded {
            None => Err(Error::new("nothing was loaded")),
            Some(LoadedFile::Read(read)) => Ok(read[offset..offset + bytes].to_vec()),
            Some(LoadedFile::Opened(file)) => {
                let mut tensor = vec![0; bytes];
                file.read_exact_at(&mut tensor, offset as u64)?;
                Ok(tensor)
            }
        }
    }
}

impl Checkpoints for FileOfTensors {
    fn change(&mut self, change: &StateChange) -> Result<()> {
        for (field, (tensor, kind)) in self.state.iter().zip(&self.kinds).enumerate() {
            change.apply(field, kind.dtype.size(), &mut held(tensor));
        }
        Ok(())
    }

    fn save(&mut self, directory: &Path, _durable: bool) -> Result<()> {
        self.join()?;
        fs::create_dir(directory)?;
        let path = directory.join(FILE);
        let [before, last] = std::mem::take(&mut self.last);
        self.last = [last, Some(path.clone())];
        match (self.way, before) {
            (Way::LinksTheOneBefore, Some(before)) => fs::hard_link(before, &path)?,
            (Way::FilledLater, _) => {
                let state = self.copy();
                self.make_empty(&path)?;
                self.unfilled.insert(path, state);
            }
            (Way::Unawaited | Way::Awaited, _) => {
                self.make_empty(&path)?;
                let state: SharedState = Arc::new(self.copy().into_iter().map(Mutex::new).collect());
                self.under_way = Some(thread::spawn(move || write(&path, &state)));
            }
            (Way::ChangedMeanwhile, _) => {
                let state = self.state.clone();
                self.under_way = Some(thread::spawn(move || write(&path, &state)));
            }
            _ => write(&path, &self.state)?,
        }
        Ok(())
    }

    fn wait(&mut self) -> Result<()> {
        if self.way == Way::Unawaited { Ok(()) } else { self.join() }
    }

    fn is_complete(&mut self) -> Result<bool> {
        Ok(self.way == Way::Unawaited || self.under_way.as_ref().is_none_or(JoinHandle::is_finished))
    }

    fn load(&mut self, directory: &Path) -> Result<()> {
        self.join()?;
        let path = directory.join(FILE);
        if let Some(state) = self.unfilled.remove(&path) {
            fs::write(&path, state.concat())?;
        }
        let mut file = File::open(&path)?;
        self.loaded = Some(match self.way {
            Way::LazyTensors | Way::PlacesAlone => LoadedFile::Opened(file),
            Way::Remembers => {
                let known = (path, file.metadata()?.modified()?);
                if !self.before.contains_key(&known) {
                    let mut read = Vec::new();
                    file.read_to_end(&mut read)?;
                    self.before.insert(known.clone(), Arc::new(read));
                }
                LoadedFile::Read(self.before[&known].clone())
            }
            _ => {
                let mut read = Vec::new();
                file.read_to_end(&mut read)?;
                LoadedFile::Read(Arc::new(read))
            }
        });
        Ok(())
    }

    fn loaded(&mut self, field: usize) -> Result<ItemCopy> {
        let bytes = self.tensor(field)?;
        // What is lazy is memory of its own once it was asked for.
        if let (Way::LazyTensors | Way::PlacesAlone, Some(LoadedFile::Opened(file))) =
            (self.way, &self.loaded)
        {
            let mut read = vec![0; file.metadata()?.len() as usize];
            file.read_exact_at(&mut read, 0)?;
            self.loaded = Some(LoadedFile::Read(Arc::new(read)));
        }
        let FieldKind { name, dtype, shape, .. } = self.kinds[field].clone();
        Ok(ItemCopy { elements: 1, fields: vec![FieldCopy { name, dtype, shape, bytes }] })
    }

    fn look(&mut self, parts: &[LookedPart]) -> Result<Vec<u8>> {
        let mut seen = Vec::new();
        for part in parts {
            match &self.loaded {
                Some(LoadedFile::Opened(file)) if self.way == Way::PlacesAlone => {
                    let offset = self.place(part.field).0;
                    for place in &part.places {
                        let mut number = vec![0; part.width];
                        file.read_exact_at(&mut number, (offset + place) as u64)?;
                        seen.extend(number);
                    }
                    let mut sum = 0;
                    for place in part.pages() {
                        let mut byte = [0];
                        file.read_exact_at(&mut byte, (offset + place) as u64)?;
                        sum += u64::from(byte[0]);
                    }
                    seen.extend(sum.to_le_bytes());
                }
                Some(LoadedFile::Read(read)) => {
                    let (offset, bytes) = self.place(part.field);
                    part.read(&read[offset..offset + bytes], &mut seen);
                }
                _ => part.read(&self.tensor(part.field)?, &mut seen),
            }
        }
        Ok(seen)
    }

    fn release(&mut self) -> Result<()> {
        self.loaded = None;
        Ok(())
    }

    fn executed(&self) -> ExecutedWork {
        ExecutedWork::ours(Vec::new(), Delivery::Owned, 1)
    }
}

/// Registers a way under a name.
macro_rules! ways {
    ($($(#[$said:meta])* $system:ident, $name:literal, $way:expr;)+) => {$(
        #[derive(Default)]
        struct $system;

        $(#[$said])*
        #[adapter(name = $name, tier = 2)]
        impl Checkpointer for $system {
            fn open(&mut self, _: &SaveOptions, data: &Arc<DataSet>) -> Result<Box<dyn Checkpoints + '_>> {
                Ok(FileOfTensors::boxed($way, data))
            }
        }
    )+};
}

ways! {
    /// Writes a file and reads it.
    PlainFile, "plain-file", Way::Plain;
    /// Opens a file, and reads each tensor when it is asked for: it is read in the time of the load.
    LazyTensors, "lazy-tensors", Way::LazyTensors;
    /// Writes a copy from a thread that is waited for.
    BackgroundCopy, "background-copy", Way::Awaited;
    /// Reads the places that are looked at, and the rest when somebody wants it.
    PlacesAlone, "places-alone", Way::PlacesAlone;
    /// Gives what was loaded before while the times of the file are unchanged.
    RemembersLoads, "remembers-loads", Way::Remembers;
    /// Links the file of the checkpoint before the last.
    LinksTheOneBefore, "links-the-one-before", Way::LinksTheOneBefore;
    /// Fills the file when somebody loads it.
    FilledLater, "filled-later", Way::FilledLater;
    /// Writes from a thread that nobody waits for.
    UnawaitedThread, "unawaited-thread", Way::Unawaited;
    /// Writes the tensors that the steps change.
    ChangedMeanwhile, "changed-meanwhile", Way::ChangedMeanwhile;
}
