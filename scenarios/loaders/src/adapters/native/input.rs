//! Where a loader takes its rows from.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use weighbridge::{Error, Result};
use weighbridge_data::DataSet;

use super::buffer::{Bytes, row_bytes};
use crate::adapters::native::files;
use crate::adapters::native::files::ShardFile;
use crate::adapters::native::store::StoreReader;
use crate::workload::{Access, PipelineSpec};

/// Rows of the data set, from memory or from its files. A clone has buffers of its own and shares the rest.
#[derive(Debug)]
pub(super) struct Input {
    data: Arc<DataSet>,
    from: InputSource,
}

#[derive(Debug)]
enum InputSource {
    Memory,
    Eager(Arc<OnceLock<Result<Vec<Bytes>>>>),
    Streaming {
        files: Arc<Vec<File>>,
        rows: Vec<Bytes>,
    },
    /// A file for each element.
    Each {
        folder: Arc<PathBuf>,
        rows: Bytes,
    },
    /// One tar file of them.
    Shard {
        shard: Arc<ShardFile>,
        rows: Bytes,
    },
    /// An object store.
    Store {
        reader: StoreReader,
        rows: Bytes,
    },
}

impl Input {
    pub(super) fn open(spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Self> {
        let from = match spec.access {
            Access::Memory => InputSource::Memory,
            Access::FileEager => InputSource::Eager(Arc::default()),
            // Rows of one length in one file: the form of records that this crate has.
            Access::FileStreaming | Access::Records => {
                let files: Result<_> = (0..data.kinds().count()).map(|field| open(data, field)).collect();
                InputSource::Streaming { files: Arc::new(files?), rows: room(spec, data) }
            }
            Access::Files => InputSource::Each { folder: Arc::new(files::of(data)?), rows: Bytes::default() },
            Access::Tar => {
                InputSource::Shard { shard: Arc::new(ShardFile::of(data)?), rows: Bytes::default() }
            }
            Access::StoredFiles | Access::StoredTar => {
                InputSource::Store { reader: StoreReader::open(spec, data)?, rows: Bytes::default() }
            }
        };
        Ok(Self { data: data.clone(), from })
    }

    /// Another input over the same rows, for another thread.
    pub(super) fn another(&self, spec: &PipelineSpec) -> Self {
        let from = match &self.from {
            InputSource::Memory => InputSource::Memory,
            InputSource::Eager(whole) => InputSource::Eager(whole.clone()),
            InputSource::Streaming { files, .. } => {
                InputSource::Streaming { files: files.clone(), rows: room(spec, &self.data) }
            }
            InputSource::Each { folder, .. } => {
                InputSource::Each { folder: folder.clone(), rows: Bytes::default() }
            }
            InputSource::Shard { shard, .. } => {
                InputSource::Shard { shard: shard.clone(), rows: Bytes::default() }
            }
            InputSource::Store { reader, .. } => {
                InputSource::Store { reader: reader.another(), rows: Bytes::default() }
            }
        };
        Self { data: self.data.clone(), from }
    }

    /// The bytes of some elements of a field.
    pub(super) fn rows(&mut self, field: usize, elements: Range<usize>) -> Result<&[u8]> {
        let Self { data, from } = self;
        match from {
            InputSource::Memory => Ok(data.rows(field, elements)),
            InputSource::Eager(whole) => {
                let row = row_bytes(data.kinds().nth(field).expect("a chain is made for a field"));
                let fields = whole.get_or_init(|| read_whole(data)).as_ref().map_err(Clone::clone)?;
                Ok(&fields[field].first(elements.end * row)[elements.start * row..])
            }
            InputSource::Streaming { files, rows } => {
                let row = row_bytes(data.kinds().nth(field).expect("a chain is made for a field"));
                let rows = rows[field].first_mut(elements.len() * row);
                let at = (elements.start * row) as u64;
                files[field].read_exact_at(rows, at).map_err(|error| unreadable(data, field, &error))?;
                Ok(rows)
            }
            InputSource::Each { folder, rows } => {
                let row = row_bytes(data.kinds().nth(field).expect("a chain is made for a field"));
                let room = rows.room(elements.len() * row);
                for (element, room) in elements.zip(room.chunks_exact_mut(row)) {
                    files::read(folder, element, room)?;
                }
                Ok(room)
            }
            InputSource::Shard { shard, rows } => {
                let row = row_bytes(data.kinds().nth(field).expect("a chain is made for a field"));
                let room = rows.room(elements.len() * row);
                for (element, room) in elements.zip(room.chunks_exact_mut(row)) {
                    shard.read(element, room)?;
                }
                Ok(room)
            }
            InputSource::Store { reader, rows } => {
                let row = row_bytes(data.kinds().nth(field).expect("a chain is made for a field"));
                let room = rows.room(elements.len() * row);
                reader.read(elements, room.chunks_exact_mut(row))?;
                Ok(room)
            }
        }
    }
}

fn open(data: &DataSet, field: usize) -> Result<File> {
    File::open(data.path(field)).map_err(|error| unreadable(data, field, &error))
}

/// Room for a batch of every field.
fn room(spec: &PipelineSpec, data: &DataSet) -> Vec<Bytes> {
    data.kinds().map(|kind| Bytes::new(spec.batch_size.min(data.elements()) * row_bytes(kind))).collect()
}

fn read_whole(data: &DataSet) -> Result<Vec<Bytes>> {
    let field = |(field, kind)| {
        let length = data.elements() * row_bytes(kind);
        let mut whole = Bytes::new(length);
        let read = open(data, field)?.read_exact_at(whole.first_mut(length), 0);
        read.map_err(|error| unreadable(data, field, &error))?;
        Ok(whole)
    };
    data.kinds().enumerate().map(field).collect()
}

fn unreadable(data: &DataSet, field: usize, error: &std::io::Error) -> Error {
    Error::new(format!("failed to read {}: {error}", data.path(field).display()))
}
