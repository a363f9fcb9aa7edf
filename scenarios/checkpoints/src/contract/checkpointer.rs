//! The checkpointer contract: a state in memory to files, and back.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weighbridge::worker::CollectorAnswer;
use weighbridge::{Error, ItemCopy, Result, skip};
use weighbridge_data::ranks::LaunchPlace;
use weighbridge_data::{DataSet, ExecutedWork};

use crate::contract::{LookedPart, Manager, Retention, StoredCheckpoint, StoredFiles, TensorHeader};
use crate::workload::{Compression, Placement, Setting, StateChange, StepKind, Stub, SystemOptions};

/// A system that saves states and loads them.
pub trait Checkpointer {
    /// Takes a state, whose tensors are the fields of `data` (one element), into memory of its own, in the
    /// form that its users have there. What happens here is set-up and never timed. A system that knows
    /// nothing of devices has the state whole, and takes no notice of options that are another's.
    ///
    /// # Errors
    /// A [`skip`](weighbridge::skip) for a way to save that the system does not have. A failure for anything
    /// else.
    fn open(&mut self, options: &SaveOptions, data: &Arc<DataSet>) -> Result<Box<dyn Checkpoints + '_>>;

    /// Opens a state that lies on several processes: the device of the same number in
    /// [`SaveOptions::placement`] is each one's own. They are asked for everything together, from threads of
    /// their own, and save one checkpoint. [`Checkpoints::part`] gives what a rank has after a load, by the
    /// number of its device.
    ///
    /// # Errors
    /// As [`Checkpointer::open`]. A system that saves from one process declines, which is what happens unless
    /// it says otherwise.
    fn open_ranks(
        &mut self,
        options: &SaveOptions,
        data: &Arc<DataSet>,
    ) -> Result<Vec<Box<dyn Checkpoints + Send + '_>>> {
        let _ = (options, data);
        Err(skip("saving from several processes: it saves from one"))
    }

    /// Looks into a checkpoint that lies somewhere, and loads nothing of it yet.
    ///
    /// # Errors
    /// A [`skip`](weighbridge::skip) for a format that the system does not read. A failure for files that are
    /// damaged.
    fn open_stored(&mut self, _files: StoredFiles<'_>) -> Result<Box<dyn StoredCheckpoint + '_>> {
        Err(skip("a checkpoint that lies somewhere: it is not asked for those here"))
    }
}

/// Layout of a state in memory, and the options of its saves.
#[derive(Clone, Debug, PartialEq)]
pub struct SaveOptions {
    /// Who waits.
    pub saving: SaveWaiter,
    /// The devices that the state lies on.
    pub placement: Placement,
    /// The replicas that have all of it, along the first axis of the devices, and who of them writes. A
    /// system that holds a state once declines.
    pub replicas: Option<Replicas>,
    /// The devices that it is loaded onto, where that is to be another placement.
    pub onto: Option<Placement>,
    /// Compression of the files.
    pub compression: Setting<Compression>,
    /// Options of the system, by its own names.
    pub system: SystemOptions,
    /// Layer of the system that saves and loads.
    pub layer: SaveLayer,
    /// The ranks that are this process's own, where others are of other processes of a launch; `None` where
    /// all are.
    pub place: Option<LaunchPlace>,
}

impl SaveOptions {
    /// A state that is whole, saved so.
    pub fn whole(saving: SaveWaiter) -> Self {
        Self::on(saving, Placement::WHOLE)
    }

    /// A state that lies so, saved so.
    pub fn on(saving: SaveWaiter, placement: Placement) -> Self {
        Self {
            saving,
            placement,
            replicas: None,
            onto: None,
            compression: Setting::Own,
            system: SystemOptions::NONE,
            layer: SaveLayer::Checkpointer,
            place: None,
        }
    }

    /// Returns the ranks that are this process's own.
    pub fn own_ranks(&self) -> Range<usize> {
        self.place.map_or(0..self.placement.devices(), |place| place.first..place.first + place.here)
    }

    /// Declines to save by a layer below.
    ///
    /// # Errors
    /// A skip where that is asked for.
    pub fn no_layers(&self) -> Result<()> {
        match self.layer {
            SaveLayer::Checkpointer => Ok(()),
            layer => Err(skip(format!("saving by its {layer}: it has no layers that are called alone"))),
        }
    }

    /// Declines to compress.
    ///
    /// # Errors
    /// A skip where that is asked for.
    pub fn no_compression(&self) -> Result<()> {
        match self.compression {
            Setting::Own | Setting::Set(Compression::None) => Ok(()),
            Setting::Set(other) => Err(skip(format!("compression {other}: it writes numbers as they are"))),
        }
    }

    /// Declines to load onto other devices.
    ///
    /// # Errors
    /// A skip where that is asked for.
    pub fn no_devices(&self) -> Result<()> {
        match self.onto {
            Some(_) => Err(skip("loading onto other devices: it has none, and holds a state whole")),
            None => Ok(()),
        }
    }

    /// Declines to save from replicas.
    ///
    /// # Errors
    /// A skip where that is asked for.
    pub fn no_replicas(&self) -> Result<()> {
        match self.replicas {
            Some(_) => Err(skip("saving from replicas: it has none, and holds a state once")),
            None => Ok(()),
        }
    }
}

/// Who waits until a state is saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaveWaiter {
    /// Whoever saves it.
    Blocking,
    /// Nobody: it is copied, and written beside the work that follows.
    Background,
}

impl fmt::Display for SaveWaiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Blocking => "blocking",
            Self::Background => "background",
        })
    }
}

/// Replicas of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replicas {
    /// The number of replicas, which lie along the first axis of the devices.
    pub number: usize,
    /// `true` if each writes a share; else the first writes all.
    pub share: bool,
}

/// A layer of a system, which can be called without those above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaveLayer {
    /// The layer that its users call: a checkpoint that is complete has a name.
    Checkpointer,
    /// The layer that saves a tree of arrays in a directory, and says what is in it.
    Tree,
    /// The layer that saves arrays, without a tree.
    Arrays,
    /// The same, with a file of what is known of each array.
    ArraysWithMetadata,
}

impl fmt::Display for SaveLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Checkpointer => "checkpointer",
            Self::Tree => "tree",
            Self::Arrays => "arrays",
            Self::ArraysWithMetadata => "arrays with metadata",
        })
    }
}

/// A state that is saved again and again, and loaded.
pub trait Checkpoints {
    /// Changes the state where it lies: between saves, and right after [`Checkpoints::save`] has returned.
    ///
    /// # Errors
    /// As [`Checkpoints::save`]. A system whose state cannot be changed cannot be measured, which is what
    /// happens unless it says otherwise.
    fn change(&mut self, _change: &StateChange) -> Result<()> {
        Err(Error::new("the state is to be another for each save, and cannot be changed"))
    }

    /// Saves the state in a directory that is not there yet, below one that is. Returns when the caller may
    /// go on and change the state. `durable` says that the caller flushes the file system after
    /// [`Checkpoints::wait`]: a system may write in the way that is best then.
    ///
    /// # Errors
    /// What the system says; the repeat fails with it.
    fn save(&mut self, directory: &Path, durable: bool) -> Result<()>;

    /// Returns when what [`Checkpoints::save`] began is complete: a reader finds it.
    ///
    /// # Errors
    /// As [`Checkpoints::save`].
    fn wait(&mut self) -> Result<()> {
        Ok(())
    }

    /// Returns whether what [`Checkpoints::save`] began is complete, so that [`Checkpoints::wait`] returns at
    /// once.
    ///
    /// # Errors
    /// As [`Checkpoints::save`].
    fn is_complete(&mut self) -> Result<bool> {
        Ok(true)
    }

    /// Cancels what [`Checkpoints::save`] began. [`Checkpoints::wait`] returns without an error then, when
    /// the system says that nothing of it goes on. Under its name is a whole checkpoint or none.
    ///
    /// # Errors
    /// A skip where the system has no call for it. As [`Checkpoints::save`].
    fn cancel(&mut self) -> Result<()> {
        Err(skip("cancelling a save: it has no call for that"))
    }

    /// Runs steps of a stub where the state is: first as many as `steps` says with nothing beside them, then
    /// on while the state is saved in a directory, until that is complete. As soon as the caller may, it
    /// changes the state, in a time that counts in none of those that are returned.
    ///
    /// # Errors
    /// A skip where there is no such stub. As [`Checkpoints::save`].
    fn steps(
        &mut self,
        kind: StepKind,
        steps: usize,
        directory: &Path,
        change: &StateChange,
    ) -> Result<StepTimes> {
        let mut stub = Stub::new(kind)?;
        let idle = (0..steps).map(|_| stub.time()).collect();
        let begun = Instant::now();
        self.save(directory, false)?;
        let stall = begun.elapsed();
        self.change(change)?;
        let changed = begun.elapsed() - stall;
        let mut during = Vec::new();
        let mut last = Duration::ZERO; // the first step has the stall
        loop {
            stub.run();
            let now = begun.elapsed() - changed;
            during.push(now - last);
            last = now;
            if self.is_complete()? {
                break;
            }
        }
        self.wait()?;
        Ok(StepTimes { idle, during, stall, complete: begun.elapsed() - changed })
    }

    /// Loads what lies in a directory into memory that is owned and was touched, and keeps it: onto the
    /// devices of [`SaveOptions::onto`] where it names some.
    ///
    /// # Errors
    /// What the system says of a checkpoint that is damaged, is another state's or is not there.
    fn load(&mut self, directory: &Path) -> Result<()>;

    /// The part of a tensor that lies on a device after a load onto other devices, with the part's own shape.
    ///
    /// # Errors
    /// When nothing was loaded, or there is no such device. As [`Checkpoints::save`].
    fn part(&mut self, _field: usize, device: usize) -> Result<ItemCopy> {
        Err(Error::new(format!("there is no device {device}: nothing was loaded onto devices")))
    }

    /// A tensor of what was loaded last, by its position: one element of one field.
    ///
    /// # Errors
    /// When nothing was loaded. As [`Checkpoints::save`].
    fn loaded(&mut self, field: usize) -> Result<ItemCopy>;

    /// Shows the bytes of a tensor of what was loaded last where they lie, or of its part on a device.
    ///
    /// # Errors
    /// As [`Checkpoints::loaded`] and [`Checkpoints::part`], a copy of which is shown unless it says
    /// otherwise.
    fn view(&mut self, field: usize, device: Option<usize>, see: &mut dyn FnMut(&[u8])) -> Result<()> {
        let copy = match device {
            None => self.loaded(field)?,
            Some(device) => self.part(field, device)?,
        };
        copy.fields.iter().for_each(|field| see(&field.bytes));
        Ok(())
    }

    /// Reads what was loaded last, and returns of each part what [`LookedPart::read`] sees, one after the
    /// other. It is part of what is timed: a load that is lazy reads everything here.
    ///
    /// # Errors
    /// As [`Checkpoints::view`].
    fn look(&mut self, parts: &[LookedPart]) -> Result<Vec<u8>> {
        let mut seen = Vec::new();
        for part in parts {
            self.view(part.field, part.device, &mut |bytes| part.read(bytes, &mut seen))?;
        }
        Ok(seen)
    }

    /// Lets go what was loaded.
    ///
    /// # Errors
    /// As [`Checkpoints::save`].
    fn release(&mut self) -> Result<()>;

    /// Reads what a checkpoint says of its tensors, and nothing of these.
    ///
    /// # Errors
    /// A skip where the system has no call for it. What it says of a checkpoint that is damaged or is not
    /// there.
    fn read_metadata(&mut self, _directory: &Path) -> Result<()> {
        Err(skip("reading what a checkpoint says of its tensors: it is not asked for that here"))
    }

    /// Returns the headers that [`Checkpoints::read_metadata`] read last, in the order of the state.
    ///
    /// # Errors
    /// When nothing was read; what it says that is not so, of what a header does not have. As
    /// [`Checkpoints::save`].
    fn described(&mut self) -> Result<Vec<TensorHeader>> {
        Err(Error::new("nothing was read of what a checkpoint says"))
    }

    /// Has the system's own collectors collect from now on; `false` ends them. What they have so far is
    /// forgotten.
    ///
    /// # Errors
    /// What the system says. Nothing of the case depends on it.
    fn collect(&mut self, _on: bool) -> Result<CollectorAnswer> {
        Ok(CollectorAnswer::default())
    }

    /// Returns what its collectors have found since [`Checkpoints::collect`], or since this was last asked.
    ///
    /// # Errors
    /// As [`Checkpoints::collect`].
    fn collected(&mut self) -> Result<CollectorAnswer> {
        Ok(CollectorAnswer::default())
    }

    /// Overwrites the state: on each device, every byte is the number of the device and one. What is saved
    /// then tells from which device it came. A system whose replicas are not cut has the number of a
    /// replica's first device in all of it.
    ///
    /// # Errors
    /// When the state lies on no devices. As [`Checkpoints::save`].
    fn mark_devices(&mut self) -> Result<()> {
        Err(Error::new("the state lies on no devices"))
    }

    /// A manager of the checkpoints of trainings that begin with the state.
    ///
    /// # Errors
    /// A skip where the system has none. As [`Checkpoints::save`].
    fn manager(&mut self, _retention: &Retention) -> Result<Box<dyn Manager + '_>> {
        Err(skip("a manager of checkpoints: it has none, and its users delete old checkpoints themselves"))
    }

    /// The processes that do the work, where that is not this one alone.
    fn processes(&self) -> Vec<u32> {
        vec![std::process::id()]
    }

    /// Returns the work that really happens, for the work report.
    fn executed(&self) -> ExecutedWork;

    /// Names what does the work, where it comes from, and its version: of a system that is not the adapter
    /// itself.
    fn entry_point(&self) -> Option<String> {
        None
    }
}

/// Times of steps, with nothing beside them and with a save.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepTimes {
    /// Each step before the save.
    pub idle: Vec<Duration>,
    /// Each step from the request for the save on until it was complete. The first has the time in which the
    /// caller waited.
    pub during: Vec<Duration>,
    /// Time that the caller waited before it could go on.
    pub stall: Duration,
    /// From the request for the save until it was complete.
    pub complete: Duration,
}
