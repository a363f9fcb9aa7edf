//! Where data sets are kept, and how one gets there.
//!
//! One directory per data set:
//!
//! ```text
//! <cache>/<fields, shapes, count, origin>-v1/data.json    what is in it: format, elements, fields, digests
//!                                            <field>.bin  elements one after the other, little-endian,
//!                                                         C order
//! ```
//!
//! `<cache>` is `$WEIGHBRIDGE_DATA_CACHE`, else `$XDG_CACHE_HOME/weighbridge`, else `~/.cache/weighbridge`,
//! else a directory of that name among the temporary files. A directory is written under another name,
//! synced, and renamed, so that one with its final name is whole; two processes that make the same data set
//! at once do not harm each other.
//!
//! The cache holds no more than its cap, `$WEIGHBRIDGE_DATA_CACHE_CAP` (16 GiB): see [`super::room`].

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use weighbridge::{Error, FieldKind, Result};
use xxhash_rust::xxh3::Xxh3;

use super::generate::FieldGenerator;
use super::manifest::{DataManifest, FORMAT, FieldEntry, hex};
use super::real::RealFiles;
use super::room::{Cap, make_room};
use super::statistics::Statistics;
use super::{DataSet, DataSpec, FieldSpec, Origin, layout, real};

/// The rights of a file that nobody writes to.
const READ_ALONE: u32 = 0o444;

/// The number of bytes that are generated at a time.
const CHUNK: usize = 4 << 20;

/// The place where data sets are kept, and the place of real data.
#[derive(Clone, Debug)]
pub struct Cache {
    directory: PathBuf,
    data_root: Option<PathBuf>,
    cap: Cap,
}

impl Cache {
    /// The cache that the environment names: `WEIGHBRIDGE_DATA_CACHE`, `WEIGHBRIDGE_DATA_CACHE_CAP` and
    /// `WEIGHBRIDGE_DATA_ROOT`.
    pub fn from_env() -> Self {
        Self::from_variables(&|name| std::env::var_os(name).filter(|value| !value.is_empty()))
    }

    /// A cache in this directory, without real data.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), data_root: None, cap: Cap::default() }
    }

    /// The same cache, holding no more than this many bytes.
    #[must_use]
    pub fn capped(self, bytes: u64) -> Self {
        Self { cap: Cap::Bytes(bytes), ..self }
    }

    /// The directory of the data sets.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The place of real data, if one is named.
    pub fn data_root(&self) -> Option<&Path> {
        self.data_root.as_deref()
    }

    /// The same cache, with real data below this directory.
    #[must_use]
    pub fn with_data_root(self, data_root: impl Into<PathBuf>) -> Self {
        Self { data_root: Some(data_root.into()), ..self }
    }

    fn from_variables(variable: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let below = |name: &str, path: &str| variable(name).map(|home| Path::new(&home).join(path));
        let directory = variable("WEIGHBRIDGE_DATA_CACHE")
            .map(PathBuf::from)
            .or_else(|| below("XDG_CACHE_HOME", "weighbridge"))
            .or_else(|| below("HOME", ".cache/weighbridge"))
            .unwrap_or_else(|| std::env::temp_dir().join("weighbridge"));
        let cap = variable("WEIGHBRIDGE_DATA_CACHE_CAP");
        let cap = cap.map_or_else(Cap::default, |text| Cap::Text(text.to_string_lossy().into_owned()));
        Self { directory, data_root: variable("WEIGHBRIDGE_DATA_ROOT").map(PathBuf::from), cap }
    }

    /// The data set, mapped. It is made first if it is not there, or not what it should be.
    ///
    /// # Errors
    /// A skip when real data are absent, or when the cache has no room below its cap. A failure when they are
    /// malformed, or when the cache cannot be written.
    pub fn open(&self, spec: &DataSpec) -> Result<DataSet> {
        let files = match spec.origin {
            Origin::Synthetic { .. } => None,
            origin => Some(real::find(origin, self.data_root.as_deref())?),
        };
        self.open_from(spec, files)
    }

    /// The data set that is in these files: the weights of a training, or a state.
    ///
    /// # Errors
    /// As [`Cache::open`].
    pub fn open_files(&self, spec: &DataSpec, paths: Vec<PathBuf>) -> Result<DataSet> {
        self.open_from(spec, Some(real::named(spec.origin, paths)))
    }

    fn open_from(&self, spec: &DataSpec, files: Option<RealFiles>) -> Result<DataSet> {
        if spec.elements == 0 || spec.fields.is_empty() {
            return Err(Error::new("the data set is empty: it needs `elements` and fields"));
        }
        let origin = match (&files, spec.origin) {
            (None, Origin::Synthetic { seed }) => format!("seed{seed}"),
            (None, _) => unreachable!("only synthetic data come without files"),
            (Some(files), _) => files.fingerprint()?,
        };
        let directory = self.directory.join(format!("{}-v{FORMAT}", spec.name(&origin)));
        if let Ok(set) = DataSet::map(&directory, spec) {
            return Ok(set);
        }
        let failed = |what: &str, error: std::io::Error| {
            Error::new(format!(
                "failed to {what} in the data cache {}: {error}; WEIGHBRIDGE_DATA_CACHE names another place",
                self.directory.display()
            ))
        };
        fs::create_dir_all(&self.directory).map_err(|error| failed("make a directory", error))?;
        // The lock spares a second process the work, and two from taking the same room; correctness does not
        // hang on it (see `put`), so a file system without locks is no reason to stop.
        let lock = File::create(self.directory.join("lock")).map_err(|error| failed("make a lock", error))?;
        let _ = lock.lock();
        if let Ok(set) = DataSet::map(&directory, spec) {
            return Ok(set); // made while this process waited
        }
        make_room(&self.directory, &directory, spec.bytes(), &self.cap)?;
        let making = layout::making(&self.directory);
        let made = (|| {
            fs::create_dir(&making).map_err(|error| failed("make a directory", error))?;
            let manifest = match &files {
                None => generate(spec, &making).map_err(|error| failed("write data", error))?,
                Some(files) => {
                    let fields = files.read(spec)?;
                    store(spec, &fields, &making).map_err(|error| failed("write data", error))?
                }
            };
            seal(&making, &manifest).map_err(|error| failed("write data", error))?;
            self.put(&making, &directory).map_err(|error| failed("put data", error))
        })();
        let _ = fs::remove_dir_all(&making); // gone already, unless something went wrong
        made?;
        DataSet::map(&directory, spec).map_err(|what| {
            Error::new(format!(
                "the data set was written to {} but does not read back: {what}",
                directory.display()
            ))
        })
    }

    /// Gives a whole directory its name. What has that name already is moved away first: it was looked at and
    /// is wrong. If another process was quicker, its directory is as good as ours.
    fn put(&self, making: &Path, directory: &Path) -> std::io::Result<()> {
        let aside = layout::aside(&self.directory);
        if fs::rename(directory, &aside).is_ok() {
            fs::remove_dir_all(&aside)?;
        }
        match fs::rename(making, directory) {
            Err(_) if directory.is_dir() => Ok(()),
            renamed => renamed,
        }
    }
}

/// Generates every field, a chunk of whole elements at a time, so that memory does not grow with the data.
fn generate(spec: &DataSpec, directory: &Path) -> std::io::Result<DataManifest> {
    let Origin::Synthetic { seed } = spec.origin else { unreachable!("asked for synthetic data alone") };
    let mut entries = Vec::new();
    let mut before = None;
    for (position, field) in spec.fields.iter().enumerate() {
        let mut generator = FieldGenerator::new(field, position, seed, before)
            .map_err(|error| std::io::Error::other(error.to_string()))?;
        let mut file = FieldFile::create(directory, field)?;
        let row = file.row_bytes;
        let per_chunk = (CHUNK / row.max(1)).max(1);
        let mut left = spec.elements;
        // Aligned for every type of number.
        let mut words = vec![0_u64; (per_chunk.min(left) * row).div_ceil(8)];
        while left > 0 {
            let rows = per_chunk.min(left);
            let chunk = &mut bytemuck::cast_slice_mut(&mut words)[..rows * row];
            generator.fill(chunk);
            file.write(chunk)?;
            left -= rows;
        }
        entries.push(file.finish()?);
        before = Some(generator);
    }
    Ok(DataManifest::new(spec.elements, entries))
}

/// Writes fields that were read from elsewhere.
fn store(spec: &DataSpec, fields: &[Vec<u8>], directory: &Path) -> std::io::Result<DataManifest> {
    let mut entries = Vec::new();
    for (field, bytes) in spec.fields.iter().zip(fields) {
        let mut file = FieldFile::create(directory, field)?;
        file.write(bytes)?;
        entries.push(file.finish()?);
    }
    Ok(DataManifest::new(spec.elements, entries))
}

/// Writes the manifest and syncs the directory: after that it may have its name.
fn seal(directory: &Path, manifest: &DataManifest) -> std::io::Result<()> {
    let mut file = File::create(directory.join(layout::MANIFEST))?;
    serde_json::to_writer_pretty(&mut file, manifest)?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    File::open(directory)?.sync_all()
}

/// The file of one field while it is written: what goes in is hashed and summed on the way.
struct FieldFile {
    file: File,
    kind: FieldKind,
    row_bytes: usize,
    bytes: u64,
    hash: Xxh3,
    statistics: Option<Statistics>,
}

impl FieldFile {
    fn create(directory: &Path, field: &FieldSpec) -> std::io::Result<Self> {
        let kind = &field.kind;
        let columns = kind.shape.last().copied().unwrap_or(1);
        Ok(Self {
            file: File::create_new(directory.join(layout::field_file(&kind.name)))?,
            kind: kind.clone(),
            row_bytes: kind.shape.iter().product::<usize>() * kind.dtype.size(),
            bytes: 0,
            hash: Xxh3::new(),
            statistics: field.is_normalised().then(|| Statistics::new(columns)),
        })
    }

    /// Writes whole elements.
    fn write(&mut self, chunk: &[u8]) -> std::io::Result<()> {
        self.file.write_all(chunk)?;
        self.hash.update(chunk);
        self.bytes += chunk.len() as u64;
        if let Some(statistics) = &mut self.statistics {
            match bytemuck::try_cast_slice(chunk) {
                Ok(numbers) => statistics.add(numbers),
                // Not aligned: copy.
                Err(_) => statistics.add(&bytemuck::pod_collect_to_vec::<u8, f32>(chunk)),
            }
        }
        Ok(())
    }

    fn finish(self) -> std::io::Result<FieldEntry> {
        // Workers read it, and so does what they are held against: nobody writes into it by accident.
        self.file.set_permissions(Permissions::from_mode(READ_ALONE))?;
        self.file.sync_all()?;
        Ok(FieldEntry {
            kind: self.kind,
            bytes: self.bytes,
            digest: hex(self.hash.digest128()),
            normalisation: self.statistics.map(Statistics::finish),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weighbridge::Dtype;

    use crate::FieldValues;

    fn place() -> (tempfile::TempDir, Cache) {
        let place = tempfile::tempdir().unwrap();
        let cache = Cache::at(place.path());
        (place, cache)
    }

    fn digest(spec: &DataSpec) -> String {
        place().1.open(spec).unwrap().digest().to_owned()
    }

    /// The one directory in a cache.
    fn directory(place: &Path) -> PathBuf {
        let entries = fs::read_dir(place).unwrap().map(|entry| entry.unwrap().path());
        let folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
        assert_eq!(folders.len(), 1, "only the finished data set may lie there: {folders:?}");
        folders[0].clone()
    }

    #[test]
    fn the_same_data_made_twice_has_the_same_digest() {
        let spec = DataSpec::images(100, 32, 3);
        assert_eq!(digest(&spec), digest(&spec));
        assert_ne!(digest(&spec), digest(&spec.clone().cut_to(99)));
    }

    #[test]
    fn fewer_elements_are_the_first_of_more() {
        for spec in [DataSpec::images(50, 5, 1), DataSpec::tokens(50, 7), DataSpec::table(50, 9)] {
            let (_place, cache) = place();
            let (more, fewer) = (cache.open(&spec).unwrap(), cache.open(&spec.cut_to(13)).unwrap());
            assert_eq!(more.rows(0, 0..13), fewer.rows(0, 0..13));
        }
    }

    #[test]
    fn chunks_do_not_show_in_the_data() {
        // 2,100 rows of 4 KiB are three chunks.
        let (_place, cache) = place();
        let set = cache.open(&DataSpec::normal("x", 2_100, vec![1024])).unwrap();
        let last = bytemuck::cast_slice::<u8, f32>(set.rows(0, 2_099..2_100));
        assert!(last.iter().any(|&x| x != 0.0));
        let constants = set.normalisation(0).unwrap();
        // Six standard deviations of 1/sqrt(2100).
        assert!(constants.mean.iter().all(|mean| mean.abs() < 0.15));
        assert!(constants.scale.iter().all(|scale| (0.9..1.1).contains(scale)));
    }

    #[test]
    fn fields_do_not_depend_on_what_stands_beside_them() {
        let (_place, cache) = place();
        let image = DataSpec::images(4, 3, 1);
        let tokens: Vec<FieldSpec> = DataSpec::tokens(4, 5).fields;
        let both = DataSpec { fields: [image.fields.clone(), tokens].concat(), ..image.clone() };
        assert_eq!(cache.open(&both).unwrap().rows(0, 0..4), cache.open(&image).unwrap().rows(0, 0..4));
    }

    #[test]
    fn what_is_there_and_whole_is_not_written_again() {
        let (place, cache) = place();
        let spec = DataSpec::tokens(10, 4);
        cache.open(&spec).unwrap();
        let file = directory(place.path()).join("tokens.bin");
        let written = fs::metadata(&file).unwrap().modified().unwrap();
        cache.open(&spec).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), written);
    }

    fn replace(file: &Path, content: &[u8]) {
        fs::remove_file(file).unwrap();
        fs::write(file, content).unwrap();
    }

    #[test]
    fn damaged_data_are_detected_and_made_again() {
        let damage: [fn(&Path); 7] = [
            |folder| replace(&folder.join("features.bin"), &[1; 100]),
            |folder| replace(&folder.join("features.bin"), &[1; 160]),
            |folder| fs::remove_file(folder.join("features.bin")).unwrap(),
            |folder| fs::write(folder.join(layout::MANIFEST), "{").unwrap(),
            |folder| fs::remove_file(folder.join(layout::MANIFEST)).unwrap(),
            |folder| {
                let text = fs::read_to_string(folder.join(layout::MANIFEST)).unwrap();
                // A constant of Normalize.
                fs::write(folder.join(layout::MANIFEST), text.replacen("0.", "1.", 1)).unwrap();
            },
            |folder| {
                let text = fs::read_to_string(folder.join(layout::MANIFEST)).unwrap();
                fs::write(folder.join(layout::MANIFEST), text.replace("\"elements\": 10", "\"elements\": 9"))
                    .unwrap();
            },
        ];
        let spec = DataSpec::table(10, 4);
        let good = digest(&spec);
        for damage in damage {
            let (place, cache) = place();
            cache.open(&spec).unwrap();
            damage(&directory(place.path()));
            let again = cache.open(&spec).unwrap();
            assert_eq!(again.digest(), good);
            directory(place.path()); // nothing else is left behind
        }
    }

    #[test]
    fn many_who_make_the_same_data_at_once_all_get_it() {
        let (place, cache) = place();
        let spec = DataSpec::table(2_000, 50);
        let digests: Vec<String> = std::thread::scope(|scope| {
            let open = || cache.open(&spec).unwrap().digest().to_owned();
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(digests.iter().all(|found| *found == digests[0]));
        directory(place.path());
    }

    #[test]
    fn a_slower_maker_without_a_lock_does_no_harm() {
        let (place, cache) = place();
        let spec = DataSpec::tokens(10, 4);
        let first = cache.open(&spec).unwrap();
        let late = place.path().join(".making-late");
        fs::create_dir(&late).unwrap();
        seal(&late, &generate(&spec, &late).unwrap()).unwrap();
        cache.put(&late, &directory_without(place.path(), ".making-late")).unwrap();
        assert_eq!(cache.open(&spec).unwrap().rows(0, 0..10), first.rows(0, 0..10));
    }

    fn directory_without(place: &Path, name: &str) -> PathBuf {
        let mut entries = fs::read_dir(place).unwrap().map(|entry| entry.unwrap().path());
        entries.find(|path| path.is_dir() && !path.ends_with(name)).unwrap()
    }

    #[test]
    fn a_cache_that_cannot_be_written_says_how_to_mend_it() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        fs::write(&file, "").unwrap();
        let error = Cache::at(file.join("cache")).open(&DataSpec::tokens(1, 1)).unwrap_err();
        assert!(error.to_string().contains("WEIGHBRIDGE_DATA_CACHE names another place"), "{error}");
    }

    #[test]
    fn a_data_set_of_many_fields_has_a_name_that_file_systems_take() {
        let (_place, cache) = place();
        let fields = |count: usize| {
            let rows = DataSpec::table(3, 2);
            (0..count).fold(rows, |rows, field| {
                rows.with(&format!("x{field}"), Dtype::I64, &[], FieldValues::Below(9))
            })
        };
        assert_eq!(cache.open(&fields(40)).unwrap().kinds().count(), 41);
        assert_ne!(fields(40).name(""), fields(41).name(""));
    }

    #[test]
    fn an_empty_data_set_is_refused() {
        assert!(place().1.open(&DataSpec::tokens(0, 1)).unwrap_err().to_string().contains("`elements`"));
    }

    #[test]
    fn the_place_is_the_first_that_the_environment_names() {
        let cache = |set: &[(&str, &str)]| {
            let find =
                |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value));
            Cache::from_variables(&find)
        };
        let all = [("WEIGHBRIDGE_DATA_CACHE", "/own"), ("XDG_CACHE_HOME", "/xdg"), ("HOME", "/home/me")];
        assert_eq!(cache(&all).directory, Path::new("/own"));
        assert_eq!(cache(&all[1..]).directory, Path::new("/xdg/weighbridge"));
        assert_eq!(cache(&all[2..]).directory, Path::new("/home/me/.cache/weighbridge"));
        assert_eq!(cache(&[]).directory, std::env::temp_dir().join("weighbridge"));
        assert_eq!(cache(&[]).data_root, None);
        assert_eq!(cache(&[("WEIGHBRIDGE_DATA_ROOT", "/data")]).data_root, Some("/data".into()));
    }
}
