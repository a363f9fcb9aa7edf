//! A checkpoint that lies somewhere, as a system reads it: what is in it, the files say and nobody else.

use std::fmt;
use std::path::Path;

use weighbridge::worker::CollectorAnswer;
use weighbridge::{Dtype, Error, FieldKind, Result, skip};
use weighbridge_data::ExecutedWork;

use crate::contract::LookedPart;
use crate::workload::{Placement, SystemOptions};

/// The file format of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointFormat {
    /// Files of safetensors, one or several.
    Safetensors,
    /// A directory of Orbax.
    Orbax,
    /// A directory of `Reference (sharded)`.
    Sharded,
}

impl fmt::Display for CheckpointFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Safetensors => "safetensors",
            Self::Orbax => "orbax",
            Self::Sharded => "sharded",
        })
    }
}

/// A checkpoint that a system is to read.
#[derive(Clone, Copy, Debug)]
pub struct StoredFiles<'a> {
    /// Its directory. Nothing in it may be changed.
    pub directory: &'a Path,
    /// Its place in an object store instead: `s3://BUCKET/PREFIX`.
    pub store: Option<&'a str>,
    /// The format of its files.
    pub format: CheckpointFormat,
    /// Options for reading it, by names of the system's own.
    pub system: &'a SystemOptions,
}

impl StoredFiles<'_> {
    /// Declines what is of another format, or in an object store.
    ///
    /// # Errors
    /// A skip where it is.
    pub fn only(&self, format: CheckpointFormat) -> Result<()> {
        if self.store.is_some() {
            return Err(skip("a checkpoint in an object store: it reads files of this machine"));
        }
        if self.format == format {
            return Ok(());
        }
        Err(skip(format!("the checkpoint is of {}, and it reads {format} alone", self.format)))
    }
}

/// The metadata of a tensor in a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorHeader {
    /// Its path in the tree of the checkpoint, as JAX writes that: `['blocks']['0']`, or `['weight']` in a
    /// flat one.
    pub key: String,
    /// Its type, as numpy writes it: `<f4`.
    pub dtype: String,
    /// Its sizes.
    pub shape: Vec<usize>,
}

impl TensorHeader {
    /// The header of a field of a state.
    pub fn of(kind: &FieldKind) -> Self {
        let dtype = match kind.dtype {
            Dtype::U8 => "|u1",
            Dtype::I32 => "<i4",
            Dtype::I64 => "<i8",
            Dtype::BF16 => "<V2", // as `ml_dtypes` writes it: numpy has no word for it
            Dtype::F32 => "<f4",
            Dtype::F64 => "<f8",
        };
        Self { key: Self::flat_key(&kind.name), dtype: dtype.to_owned(), shape: kind.shape.clone() }
    }

    /// The key of a tensor in a flat checkpoint.
    pub fn flat_key(name: &str) -> String {
        format!("['{name}']")
    }

    /// Returns its path in the tree, with dots between: `blocks.0`.
    pub fn dotted(&self) -> String {
        let parts = self.key.split(['[', ']', '\'', '.']).filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join(".")
    }

    /// Bytes of a number: the last part of a type's name.
    pub fn width(&self) -> usize {
        self.dtype.trim_start_matches(|letter: char| !letter.is_ascii_digit()).parse().unwrap_or(0)
    }

    /// Bytes of all its numbers.
    pub fn bytes(&self) -> u64 {
        self.shape.iter().fold(self.width() as u64, |bytes, size| bytes.saturating_mul(*size as u64))
    }
}

/// A tensor that was loaded, or a part of it with the part's own shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedTensor {
    /// Its metadata.
    pub header: TensorHeader,
    /// Its numbers, row by row.
    pub bytes: Vec<u8>,
}

/// A checkpoint that lies somewhere and is loaded again and again.
pub trait StoredCheckpoint {
    /// Its tensors, in the order of their keys, as the files say.
    fn headers(&self) -> &[TensorHeader];

    /// Has the loads that follow go onto these devices.
    ///
    /// # Errors
    /// A skip where the system has none.
    fn place(&mut self, _onto: &Placement) -> Result<()> {
        Err(skip("loading onto devices: it has none, and holds a state whole"))
    }

    /// Has the loads that follow read the files for one replica alone where `once`, and the others get a copy
    /// from memory. Replicas lie along the first axis of the devices. Without `once` the system does as it
    /// does without being asked.
    ///
    /// # Errors
    /// A skip where the system has no such way.
    fn share(&mut self, _once: bool) -> Result<()> {
        Err(skip("loading for one replica and copying to others: it has no devices, and holds a state whole"))
    }

    /// Loads it into memory that is owned and was touched, and keeps it.
    ///
    /// # Errors
    /// What the system says of files that are damaged.
    fn load(&mut self) -> Result<()>;

    /// A tensor of what was loaded last, by its position.
    ///
    /// # Errors
    /// When nothing was loaded. As [`StoredCheckpoint::load`].
    fn loaded(&mut self, tensor: usize) -> Result<LoadedTensor>;

    /// The part of a tensor that lies on a device after a load onto devices.
    ///
    /// # Errors
    /// When there is no such device. As [`StoredCheckpoint::load`].
    fn part(&mut self, _tensor: usize, device: usize) -> Result<LoadedTensor> {
        Err(Error::new(format!("there is no device {device}: nothing was loaded onto devices")))
    }

    /// Shows the bytes of a tensor of what was loaded last where they lie, or of its part on a device.
    ///
    /// # Errors
    /// As [`StoredCheckpoint::loaded`] and [`StoredCheckpoint::part`], a copy of which is shown unless it
    /// says otherwise.
    fn view(&mut self, tensor: usize, device: Option<usize>, see: &mut dyn FnMut(&[u8])) -> Result<()> {
        let copy = match device {
            None => self.loaded(tensor)?,
            Some(device) => self.part(tensor, device)?,
        };
        see(&copy.bytes);
        Ok(())
    }

    /// Looks at what was loaded last, as [`Checkpoints::look`](crate::contract::Checkpoints::look) does.
    ///
    /// # Errors
    /// As [`StoredCheckpoint::view`].
    fn look(&mut self, parts: &[LookedPart]) -> Result<Vec<u8>> {
        let mut seen = Vec::new();
        for part in parts {
            self.view(part.field, part.device, &mut |bytes| part.read(bytes, &mut seen))?;
        }
        Ok(seen)
    }

    /// Writes this byte all over the part of a tensor that lies on a device, where it lies.
    ///
    /// # Errors
    /// As [`StoredCheckpoint::part`].
    fn fill(&mut self, _tensor: usize, device: usize, _byte: u8) -> Result<()> {
        Err(Error::new(format!("there is no device {device}: nothing was loaded onto devices")))
    }

    /// Lets go what was loaded.
    ///
    /// # Errors
    /// As [`StoredCheckpoint::load`].
    fn release(&mut self) -> Result<()>;

    /// Has the system's own collectors collect from now on; `false` ends them. What they have so far is
    /// forgotten.
    ///
    /// # Errors
    /// What the system says. Nothing of the case depends on it.
    fn collect(&mut self, _on: bool) -> Result<CollectorAnswer> {
        Ok(CollectorAnswer::default())
    }

    /// Returns what its collectors have found since [`StoredCheckpoint::collect`], or since this was last
    /// asked.
    ///
    /// # Errors
    /// As [`StoredCheckpoint::collect`].
    fn collected(&mut self) -> Result<CollectorAnswer> {
        Ok(CollectorAnswer::default())
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
