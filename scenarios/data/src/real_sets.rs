//! Every real data set in one list: what it is, where it comes from, which files it has below the data root,
//! and whether they are what they should be.
//!
//! A published checksum is of the archive that the set is released in; it is checked where the archive lies
//! in the data root beside its content. The files themselves have none, so they are *unpinned*: their length
//! and `xxh3-128` are recorded when they are first verified, in `weighbridge-data.json` in the data root, and
//! later files are held against that.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use weighbridge::{Error, Result};
use xxhash_rust::xxh3::Xxh3;

use super::manifest::hex;
use super::root::unreadable;
use super::{cifar10, coco, criteo, wikitext};

/// A real data set.
#[derive(Clone, Copy, Debug)]
pub struct RealSet {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its contents, in words.
    pub description: &'static str,
    /// The place of the release, and its version.
    pub source: &'static str,
    /// The scenarios that use it.
    pub used_by: &'static [&'static str],
    /// Files or folders below the data root.
    pub files: &'static [&'static str],
    /// `true` if one of `files` is enough.
    pub any: bool,
    /// The release's archive below the data root and its published MD5, where there is one.
    pub archive: Option<(&'static str, &'static str)>,
    /// The instruction that says what to fetch.
    pub remedy: &'static str,
}

/// All of them.
pub const REAL_SETS: &[RealSet] = &[
    RealSet {
        name: "cifar10",
        description: "CIFAR-10, binary version: 50,000 training images of 32 x 32 x 3 bytes",
        source: "https://www.cs.toronto.edu/~kriz/cifar.html, cifar-10-binary.tar.gz",
        used_by: &["CV-1", "CV-3", "HCV-1"],
        files: &[cifar10::FOLDER],
        any: false,
        // As printed on that page.
        archive: Some(("cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530")),
        remedy: cifar10::REMEDY,
    },
    RealSet {
        name: "wikitext103",
        description: "WikiText-103 raw: the training text",
        source: "wikitext-103-raw-v1.zip; the same text as the hub's Salesforce/wikitext at revision \
                 b08601e0",
        used_by: &["NLP-1", "HNLP-1"],
        files: wikitext::FILES,
        any: false,
        archive: None,
        remedy: wikitext::REMEDY,
    },
    RealSet {
        name: "criteo",
        description: "Criteo display advertising challenge: clicks with 13 numbers and 26 categories",
        source: "https://huggingface.co/datasets/Recommenders/criteo, dac_sample.tar.gz at revision 1d462d3f",
        used_by: &["TAB-1", "HTAB-1"],
        files: criteo::FILES,
        any: true,
        archive: None,
        remedy: criteo::REMEDY,
    },
    RealSet {
        name: "coco",
        description: "COCO captions: the 5,000 validation images of 2017, about five captions each",
        source: "https://cocodataset.org, val2017.zip and annotations_trainval2017.zip",
        used_by: &["MM-1", "HMM-1"],
        files: coco::FILES,
        any: false,
        archive: None,
        remedy: coco::REMEDY,
    },
];

/// The result of a look at a set's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetStatus {
    /// Files are not there: what to do.
    Absent(String),
    /// All files are there and are what was recorded or published.
    Same,
    /// All files are there, seen for the first time; they are recorded now.
    Recorded,
    /// Files are there that differ from what was recorded or published: in what.
    Differs(String),
}

/// The record of files that were verified before.
const RECORD: &str = "weighbridge-data.json";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedSet {
    /// By path below the data root.
    files: BTreeMap<String, SetEntry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SetEntry {
    bytes: u64,
    xxh3: String,
}

impl RealSet {
    /// Its files and folders below `root` that are there.
    pub fn present(&self, root: &Path) -> Vec<PathBuf> {
        self.files.iter().map(|file| root.join(file)).filter(|path| path.exists()).collect()
    }

    /// Returns whether enough of it is there to be used.
    pub fn is_present(&self, root: &Path) -> bool {
        let there = self.present(root).len();
        if self.any { there > 0 } else { there == self.files.len() }
    }

    /// The instruction that says what to do where it is absent.
    pub fn remedy(&self, root: Option<&Path>) -> String {
        let places = self.files.join(if self.any { "` or `" } else { "` and `" });
        let root = root.map_or_else(|| "<root>".to_owned(), |root| root.display().to_string());
        format!(
            "{}, so that `{places}` lies in {root}, and name that folder with --data-root or \
             WEIGHBRIDGE_DATA_ROOT; nothing is ever downloaded",
            self.remedy
        )
    }

    /// Reads every file of the set and holds it against what is published or recorded. What was not seen
    /// before is recorded.
    ///
    /// # Errors
    /// Files that cannot be read; a record that cannot be read or written.
    pub fn verify(&self, root: &Path) -> Result<SetStatus> {
        if !self.is_present(root) {
            return Ok(SetStatus::Absent(self.remedy(Some(root))));
        }
        if let Some((archive, published)) = self.archive
            && root.join(archive).is_file()
        {
            let found = md5_of(&root.join(archive))?;
            if found != published {
                return Ok(SetStatus::Differs(format!(
                    "{archive} has the MD5 {found}, published is {published}: fetch it again"
                )));
            }
        }
        let mut record = read_record(root)?;
        let (mut new, mut differs) = (false, Vec::new());
        for path in self.present(root) {
            for file in files_below(&path).map_err(|error| unreadable(&path, &error))? {
                let name = file.strip_prefix(root).unwrap_or(&file).display().to_string();
                let found = entry(&file)?;
                match record.files.get(&name) {
                    Some(known) if *known == found => {}
                    Some(known) => differs.push(format!(
                        "{name} has {} bytes and the digest {}, recorded are {} and {}",
                        found.bytes, found.xxh3, known.bytes, known.xxh3
                    )),
                    None => {
                        new = true;
                        record.files.insert(name, found);
                    }
                }
            }
        }
        if !differs.is_empty() {
            let record = root.join(RECORD);
            return Ok(SetStatus::Differs(format!(
                "{}: unpack it again, or remove its lines from {} if the change is wanted",
                differs.join("; "),
                record.display()
            )));
        }
        if new {
            write_record(root, &record)?;
            return Ok(SetStatus::Recorded);
        }
        Ok(SetStatus::Same)
    }
}

fn read_record(root: &Path) -> Result<RecordedSet> {
    let path = root.join(RECORD);
    match fs::read(&path) {
        Ok(text) => serde_json::from_slice(&text).map_err(|error| {
            Error::new(format!("{} is damaged: {error}; remove it to record all files anew", path.display()))
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(RecordedSet::default()),
        Err(error) => Err(unreadable(&path, &error)),
    }
}

/// Written beside its place and renamed, so that a broken write leaves the old one.
fn write_record(root: &Path, record: &RecordedSet) -> Result<()> {
    let (path, beside) = (root.join(RECORD), root.join(".weighbridge-data.json"));
    let written = serde_json::to_vec_pretty(record).map_err(io::Error::from);
    let written = written.and_then(|text| fs::write(&beside, text)).and_then(|()| fs::rename(&beside, &path));
    written.map_err(|error| Error::new(format!("failed to write {}: {error}", path.display())))
}

/// The file, or the files of a folder, in sorted order.
fn files_below(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = fs::read_dir(path)?.map(|entry| Ok(entry?.path()));
    let mut files: Vec<PathBuf> = entries.collect::<io::Result<_>>()?;
    files.retain(|file| file.is_file());
    files.sort();
    Ok(files)
}

fn entry(path: &Path) -> Result<SetEntry> {
    let mut hash = Xxh3::new();
    let bytes = each_piece(path, &mut |piece| hash.update(piece))?;
    Ok(SetEntry { bytes, xxh3: hex(hash.digest128()) })
}

fn md5_of(path: &Path) -> Result<String> {
    let mut hash = md5::Context::new();
    each_piece(path, &mut |piece| hash.consume(piece))?;
    Ok(format!("{:x}", hash.finalize()))
}

fn each_piece(path: &Path, see: &mut dyn FnMut(&[u8])) -> Result<u64> {
    let failed = |error: io::Error| unreadable(path, &error);
    let mut file = File::open(path).map_err(failed)?;
    let (mut piece, mut bytes) = (vec![0; 1 << 20], 0);
    loop {
        let read = file.read(&mut piece).map_err(failed)?;
        if read == 0 {
            return Ok(bytes);
        }
        see(&piece[..read]);
        bytes += read as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CIFAR: &RealSet = &REAL_SETS[0];

    fn place() -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join(cifar10::FOLDER)).unwrap();
        fs::write(place.path().join(cifar10::FOLDER).join("data_batch_1.bin"), "one").unwrap();
        place
    }

    #[test]
    fn what_is_absent_says_what_to_fetch_and_where_to_put_it() {
        let place = tempfile::tempdir().unwrap();
        for set in REAL_SETS {
            let SetStatus::Absent(why) = set.verify(place.path()).unwrap() else {
                panic!("{} is there", set.name)
            };
            assert!(
                why.contains("unpack") && why.contains(set.files[0]) && why.contains("--data-root"),
                "{why}"
            );
        }
    }

    #[test]
    fn files_are_recorded_at_first_sight_and_held_against_that_later() {
        let place = place();
        assert_eq!(CIFAR.verify(place.path()).unwrap(), SetStatus::Recorded);
        assert_eq!(CIFAR.verify(place.path()).unwrap(), SetStatus::Same);
        fs::write(place.path().join(cifar10::FOLDER).join("data_batch_1.bin"), "two").unwrap();
        let SetStatus::Differs(why) = CIFAR.verify(place.path()).unwrap() else { panic!("it was not seen") };
        assert!(why.contains("data_batch_1.bin has 3 bytes"), "{why}");
    }

    #[test]
    fn an_archive_is_held_against_its_published_checksum() {
        let place = place();
        fs::write(place.path().join("cifar-10-binary.tar.gz"), "abc").unwrap();
        let SetStatus::Differs(why) = CIFAR.verify(place.path()).unwrap() else { panic!("it was not seen") };
        assert!(why.contains("MD5 900150983cd24fb0d6963f7d28e17f72"), "{why}"); // RFC 1321's answer for "abc"
    }

    #[test]
    fn a_damaged_record_is_named() {
        let place = place();
        fs::write(place.path().join(RECORD), "{").unwrap();
        assert!(CIFAR.verify(place.path()).unwrap_err().to_string().contains("remove it"));
    }
}
