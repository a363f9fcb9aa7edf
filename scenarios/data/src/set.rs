//! A data set that is there: mapped, checked, and touched once.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use memmap2::{Mmap, MmapMut, MmapOptions};
use weighbridge::{Error, FieldKind, skip};
use xxhash_rust::xxh3::xxh3_128;

use super::manifest::{DataManifest, FieldEntry, Normalisation, hex};
use super::room::CacheLease;
use super::{DataSpec, FieldSpec, FieldValues, Leaf, layout};

/// The rows of a data set, in memory.
#[derive(Debug)]
pub struct DataSet {
    elements: usize,
    fields: Vec<SetField>,
    digest: String,
    _in_use: CacheLease,
}

#[derive(Debug)]
struct SetField {
    kind: FieldKind,
    rows: Mmap,
    row_bytes: usize,
    normalisation: Option<Normalisation>,
    leaf: Option<Leaf>,
    path: PathBuf,
    /// The file in the cache, of which `path` may be a copy.
    cached: PathBuf,
    digest: String,
}

impl DataSet {
    /// The number of elements.
    pub fn elements(&self) -> usize {
        self.elements
    }

    /// Name, type and element shape of every field, in order.
    pub fn kinds(&self) -> impl Iterator<Item = &FieldKind> {
        self.fields.iter().map(|field| &field.kind)
    }

    /// The fields that stand for values that are no arrays, with their names.
    pub fn leaves(&self) -> impl Iterator<Item = (&str, Leaf)> {
        self.fields.iter().filter_map(|field| Some((&*field.kind.name, field.leaf?)))
    }

    /// Declines a state with leaves that are no arrays: for systems that save tensors alone.
    ///
    /// # Errors
    /// A [`skip`] where there is one.
    pub fn has_arrays_alone(&self) -> weighbridge::Result<()> {
        match self.leaves().next() {
            None => Ok(()),
            Some((name, leaf)) => {
                Err(skip(format!("a state in which `{name}` is {}: it saves tensors alone", leaf.name())))
            }
        }
    }

    /// Refuses to be taken for the data of another description: loaders are opened with both.
    ///
    /// # Errors
    /// When it has other fields or another number of elements.
    pub fn check_is(&self, spec: &DataSpec) -> weighbridge::Result<()> {
        if self.elements != spec.elements || !self.kinds().eq(spec.kinds()) {
            return Err(Error::new("the data set is not the one that the pipeline describes"));
        }
        Ok(())
    }

    /// Bytes of some elements of a field, given by its position.
    ///
    /// # Panics
    /// If there is no such field or element.
    pub fn rows(&self, field: usize, elements: Range<usize>) -> &[u8] {
        let SetField { rows, row_bytes, .. } = &self.fields[field];
        &rows[elements.start * row_bytes..elements.end * row_bytes]
    }

    /// The constants of `Normalize` for a field, given by its position; `None` for one that is not `f32`.
    pub fn normalisation(&self, field: usize) -> Option<&Normalisation> {
        self.fields[field].normalisation.as_ref()
    }

    /// The file that a field lies in: its elements one after the other, little-endian, nothing else.
    pub fn path(&self, field: usize) -> &Path {
        &self.fields[field].path
    }

    /// `xxh3-128` of what lies in a field's file, as 32 hexadecimal digits.
    pub fn field_digest(&self, field: usize) -> &str {
        &self.fields[field].digest
    }

    /// Digest of everything in it: field kinds, count, contents, constants of `Normalize`.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The same with a copy of its files in another directory as its files. Its rows stay those that are
    /// mapped.
    pub(super) fn copied_to(mut self, directory: &Path) -> std::io::Result<Self> {
        for field in &mut self.fields {
            let copy = directory.join(layout::field_file(&field.kind.name));
            // The rights of the original, by which nobody writes, are not those of a copy.
            io::copy(&mut File::open(&field.path)?, &mut File::create(&copy)?)?;
            field.path = copy;
        }
        Ok(self)
    }

    /// The same with rows in memory of this process: a process that has the files, as a worker has, reaches
    /// none of what it is held against. They are checked once more, since they were mapped until now.
    ///
    /// # Errors
    /// Memory that cannot be had; files that were changed meanwhile.
    pub fn held_apart(mut self) -> weighbridge::Result<Self> {
        for field in &mut self.fields {
            let mut own = MmapMut::map_anon(field.rows.len())?;
            own.copy_from_slice(&field.rows);
            field.rows = own.make_read_only()?;
            field.check(&field.rows)?;
        }
        Ok(self)
    }

    /// Sees that the files in the cache are what they were when they were mapped: for when a worker has had
    /// them, who is to read and never to write.
    ///
    /// # Errors
    /// A file that is another one. One that is gone is none: it is made anew when it is needed.
    pub fn check_unchanged(&self) -> weighbridge::Result<()> {
        self.fields.iter().try_for_each(SetField::check_file)
    }

    /// Maps what lies in `directory`, and says what is wrong when it is not what `spec` asks for.
    ///
    /// The check reads every byte, so that afterwards no page fault is left for a timed region.
    pub(super) fn map(directory: &Path, spec: &DataSpec) -> Result<Self, String> {
        let in_use = CacheLease::new(directory).map_err(|error| format!("no directory: {error}"))?;
        let text = std::fs::read(directory.join(layout::MANIFEST))
            .map_err(|error| format!("no manifest: {error}"))?;
        let manifest: DataManifest =
            serde_json::from_slice(&text).map_err(|error| format!("bad manifest: {error}"))?;
        if manifest != DataManifest::new(manifest.elements, manifest.fields.clone()) {
            return Err("the manifest is of another format or does not agree with itself".into());
        }
        let kinds = manifest.fields.iter().map(|field| &field.kind);
        if manifest.elements != spec.elements || !kinds.eq(spec.kinds()) {
            return Err("the manifest describes other data".into());
        }
        let fields = manifest.fields.into_iter().zip(&spec.fields);
        let fields = fields.map(|(entry, field)| SetField::map(directory, entry, manifest.elements, field));
        let fields = fields.collect::<Result<_, _>>()?;
        Ok(Self { elements: manifest.elements, fields, digest: manifest.digest, _in_use: in_use })
    }
}

impl SetField {
    fn map(directory: &Path, entry: FieldEntry, elements: usize, spec: &FieldSpec) -> Result<Self, String> {
        let FieldEntry { kind, bytes, digest, normalisation } = entry;
        let path = directory.join(layout::field_file(&kind.name));
        let say = |what: String| format!("{}: {what}", path.display());
        let row_bytes = kind.shape.iter().product::<usize>() * kind.dtype.size();
        let length = path.metadata().map_err(|error| say(error.to_string()))?.len();
        if length != bytes || length != (row_bytes * elements) as u64 {
            return Err(say(format!("{length} bytes instead of {}", row_bytes * elements)));
        }
        let columns = kind.shape.last().copied().unwrap_or(1);
        let wanted = spec.is_normalised().then_some((columns, columns));
        if normalisation.as_ref().map(|constants| (constants.mean.len(), constants.scale.len())) != wanted {
            return Err(say("constants of Normalize for another shape".into()));
        }
        let file = File::open(&path).map_err(|error| say(error.to_string()))?;
        #[expect(
            unsafe_code,
            reason = "memory-mapping is the point: all processes share one copy of the data"
        )]
        // SAFETY: a file in the cache is never written again once its directory has its name: it is made
        // elsewhere and renamed, and replaced by renaming. Someone who truncates one by hand gets SIGBUS, not
        // wrong numbers.
        let rows =
            unsafe { MmapOptions::new().populate().map(&file) }.map_err(|error| say(error.to_string()))?;
        if hex(xxh3_128(&rows)) != digest {
            return Err(say("its content does not have the digest in the manifest".into()));
        }
        let leaf = match spec.values {
            FieldValues::Leaf(leaf) => Some(leaf),
            _ => None,
        };
        let cached = path.clone();
        Ok(Self { kind, rows, row_bytes, normalisation, leaf, path, cached, digest })
    }

    fn check_file(&self) -> weighbridge::Result<()> {
        let file = match File::open(&self.cached) {
            // Nobody can have read anything else in it, and it is made anew.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        // One that was cut would end the process that reads it.
        if file.metadata()?.len() != self.rows.len() as u64 {
            return Err(self.changed());
        }
        #[expect(unsafe_code, reason = "as it was mapped before")]
        // SAFETY: as above; it is read once, here.
        let rows = unsafe { MmapOptions::new().map(&file) }?;
        self.check(&rows)
    }

    fn check(&self, rows: &[u8]) -> weighbridge::Result<()> {
        if hex(xxh3_128(rows)) == self.digest { Ok(()) } else { Err(self.changed()) }
    }

    fn changed(&self) -> Error {
        Error::new(format!(
            "{} was written to while it was in use: the data set is there to be read alone, by workers too",
            self.cached.display()
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{FileExt, PermissionsExt};

    use super::*;
    use crate::Cache;

    #[test]
    fn nobody_writes_into_the_files_by_accident_and_who_does_so_on_purpose_is_told() {
        let place = tempfile::tempdir().unwrap();
        let open = || Cache::at(place.path()).open(&DataSpec::tokens(100, 4)).unwrap();
        let (mapped, apart) = (open(), open().held_apart().unwrap());
        let before = mapped.rows(0, 0..100).to_vec();
        mapped.check_unchanged().unwrap();

        let path = mapped.path(0);
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o444);
        fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
        let file = fs::File::options().write(true).open(path).unwrap();
        file.write_all_at(&[!before[0]], 0).unwrap();
        assert_ne!(mapped.rows(0, 0..100), before, "a mapping shows what others write");
        assert_eq!(apart.rows(0, 0..100), before, "memory of one's own does not");
        for set in [&mapped, &apart] {
            let told = set.check_unchanged().unwrap_err().to_string();
            assert!(told.contains("was written to while it was in use"), "{told}");
        }
        file.set_len(10).unwrap();
        assert!(apart.check_unchanged().is_err());
        assert_eq!(open().rows(0, 0..100), before, "who opens it next has it made anew");
    }
}
