//! Batches that were made once, and are handed out again instead of being made again.

use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weighbridge::{Result, adapter};
use weighbridge_data::{Batch, DataSet, Epochs};
use weighbridge_loaders::adapters::native::Reference;
use weighbridge_loaders::contract::Loader;
use weighbridge_loaders::workload::PipelineSpec;

use crate::copied::{BatchCopy, row};
use crate::lie::{Lie, LyingPipeline, Sizes};

/// Keeps every batch in memory when it is made for the first time.
struct Keeps {
    sizes: Sizes,
    kept: Vec<BatchCopy>,
    /// Where the first batch that is not kept is made from.
    place: Option<Vec<u8>>,
    next: usize,
    /// Whether the current batch was made just now.
    is_fresh: bool,
}

impl Lie for Keeps {
    fn begin(&mut self, honest: &mut dyn Epochs, epoch: u64) -> Result<()> {
        if self.place.is_none() {
            honest.begin(epoch)?;
        }
        if self.place.is_none() || self.is_fresh {
            self.place = Some(honest.save()?);
        }
        (self.next, self.is_fresh) = (0, false);
        Ok(())
    }

    fn advance(&mut self, honest: &mut dyn Epochs) -> Result<bool> {
        self.next += 1;
        let is_kept = self.next <= self.kept.len();
        if is_kept || self.next > self.sizes.count() {
            return Ok(is_kept);
        }
        if !std::mem::replace(&mut self.is_fresh, true) {
            honest.restore(self.place.as_deref().unwrap_or_default())?;
        }
        let some = honest.advance()?;
        self.kept.push(BatchCopy::of(honest.batch()));
        Ok(some)
    }

    fn elements(&self, _honest: &dyn Batch) -> usize {
        self.sizes.elements(self.next - 1).len()
    }

    fn bytes<'b>(&'b self, honest: &'b dyn Batch, field: usize) -> &'b [u8] {
        // What is made is handed out from where it was made: nobody sees the copy before the next epoch.
        if self.is_fresh { honest.bytes(field) } else { self.kept[self.next - 1].bytes(field) }
    }
}

#[derive(Default)]
struct KeptInMemory(Reference);

/// Batches of an earlier pass, from memory.
#[adapter(name = "kept-in-memory", tier = 2)]
impl Loader for KeptInMemory {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        let sizes = Sizes::of(spec);
        let lie = Keeps { sizes, kept: Vec::new(), place: None, next: 0, is_fresh: false };
        Ok(LyingPipeline::over(self.0.open(spec, data)?, lie))
    }
}

/// The file that an epoch is kept in: in no folder of the run, so that it outlives it. `cargo lab lies`
/// removes it.
fn file(spec: &PipelineSpec, data: &DataSet, name: &str) -> PathBuf {
    let work = spec.work().join("-");
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}-{work}", data.digest()))
}

/// Writes an epoch to a file, for whoever comes later.
fn write(honest: &mut dyn Epochs, path: &Path) -> Result<()> {
    let own = path.with_extension(std::process::id().to_string());
    let mut out = BufWriter::new(File::create(&own)?);
    honest.begin(0)?;
    while honest.advance()? {
        let batch = honest.batch();
        for field in 0..batch.kinds().len() {
            out.write_all(batch.bytes(field))?;
        }
    }
    out.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
    Ok(fs::rename(own, path)?)
}

/// Hands out what an earlier process has written, one batch after the other through one buffer.
struct FromDisk {
    sizes: Sizes,
    path: PathBuf,
    file: Option<File>,
    batch: BatchCopy,
    next: usize,
}

impl Lie for FromDisk {
    fn begin(&mut self, honest: &mut dyn Epochs, epoch: u64) -> Result<()> {
        self.next = 0;
        self.file = File::open(&self.path).ok();
        if self.file.is_some() {
            if self.batch.elements() == 0 {
                self.batch = BatchCopy::zeros(honest.batch().kinds(), self.sizes.elements(0).len());
            }
            return Ok(());
        }
        honest.begin(epoch)
    }

    fn advance(&mut self, honest: &mut dyn Epochs) -> Result<bool> {
        self.next += 1;
        let Some(file) = &mut self.file else { return honest.advance() };
        if self.next > self.sizes.count() {
            return Ok(false);
        }
        let elements = self.sizes.elements(self.next - 1).len();
        for field in 0..self.batch.kinds().len() {
            let bytes = elements * row(&self.batch.kinds()[field]);
            file.read_exact(&mut self.batch.field_mut(field)[..bytes])?;
        }
        Ok(true)
    }

    fn elements(&self, _honest: &dyn Batch) -> usize {
        self.sizes.elements(self.next - 1).len()
    }

    fn bytes<'b>(&'b self, honest: &'b dyn Batch, field: usize) -> &'b [u8] {
        match self.file {
            Some(_) => self.batch.first(field, self.elements(honest)),
            None => honest.bytes(field),
        }
    }
}

#[derive(Default)]
struct KeptOnDisk(Reference);

/// Batches that an earlier process has made and written to a file.
#[adapter(name = "kept-on-disk", tier = 2)]
impl Loader for KeptOnDisk {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        let mut honest = self.0.open(spec, data)?;
        let path = file(spec, data, "kept-on-disk");
        if !path.exists() {
            write(&mut *honest, &path)?; // in the process whose times count for nothing
        }
        let lie = FromDisk { sizes: Sizes::of(spec), path, file: None, batch: BatchCopy::default(), next: 0 };
        Ok(LyingPipeline::over(honest, lie))
    }
}

/// Copies every batch into the next of four buffers.
#[derive(Default)]
struct Ring {
    buffers: [BatchCopy; 4],
    current: usize,
}

impl Lie for Ring {
    fn advance(&mut self, honest: &mut dyn Epochs) -> Result<bool> {
        let some = honest.advance()?;
        self.current = (self.current + 1) % self.buffers.len();
        self.buffers[self.current].take(honest.batch());
        Ok(some)
    }

    fn bytes<'b>(&'b self, _honest: &'b dyn Batch, field: usize) -> &'b [u8] {
        self.buffers[self.current].bytes(field)
    }
}

#[derive(Default)]
struct FourBuffers(Reference);

/// Honest: it keeps the last four batches, and makes every one when it is asked for.
#[adapter(name = "four-buffers", tier = 2)]
impl Loader for FourBuffers {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        Ok(LyingPipeline::over(self.0.open(spec, data)?, Ring::default()))
    }
}
