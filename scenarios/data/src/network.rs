//! Data behind a network: a copy of a data set's files on a file system that another machine serves.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use weighbridge::data::file_system;
use weighbridge::{Error, Result, skip};

use super::{Cache, DataSet, DataSpec};

/// Names a directory on such a file system.
const VARIABLE: &str = "WEIGHBRIDGE_NETWORK";

/// File systems whose files are on another machine, as the kernel calls them.
const KINDS: &[&str] = &[
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "fuse.ceph-fuse",
    "fuse.gcsfuse",
    "fuse.glusterfs",
    "fuse.goofys",
    "fuse.juicefs",
    "fuse.mount-s3",
    "fuse.rclone",
    "fuse.s3fs",
    "fuse.sshfs",
    "glusterfs",
    "gpfs",
    "lustre",
    "nfs",
    "nfs4",
    "orangefs",
    "smb3",
    "smbfs",
    "virtiofs",
    "weka",
];

/// A copy of a data set's files there, which is removed with this.
#[derive(Debug)]
pub struct NetworkCopy {
    place: PathBuf,
    data: Arc<DataSet>,
    storage: String,
}

impl NetworkCopy {
    /// Copies a data set into the directory that `WEIGHBRIDGE_NETWORK` names. Its rows, as they are held
    /// against what a loader makes, stay in memory of this process and come from the cache here, so that no
    /// page of the copy is mapped.
    ///
    /// # Errors
    /// A skip where no directory is named, or one that no other machine serves. A failure where it cannot be
    /// written.
    pub fn of(spec: &DataSpec) -> Result<Self> {
        let named = std::env::var_os(VARIABLE).filter(|path| !path.is_empty());
        let folder = named.map(PathBuf::from).ok_or_else(|| {
            skip(format!(
                "no network: set {VARIABLE} to a directory on a file system that another machine serves"
            ))
        })?;
        let (kind, device) = file_system(&folder).map_err(Error::new)?;
        check_kind(&folder, &kind)?;
        let data = Cache::from_env().open(spec)?;
        Self::in_folder(&folder, data, format!("{kind} on {device}"))
    }

    /// The same in this folder, whatever it is on.
    ///
    /// # Errors
    /// A folder that cannot be written.
    pub fn in_folder(folder: &Path, data: DataSet, storage: String) -> Result<Self> {
        let place = folder.join(format!("weighbridge-{}-{}", std::process::id(), data.digest()));
        let failed = |error: io::Error| {
            Error::new(format!("failed to copy data to {}, which {VARIABLE} names: {error}", place.display()))
        };
        fs::create_dir_all(&place).map_err(failed)?;
        let data = match data.copied_to(&place) {
            Ok(data) => Arc::new(data),
            Err(error) => {
                let _ = fs::remove_dir_all(&place); // what is half there
                return Err(failed(error));
            }
        };
        let copy = Self { place, data, storage };
        copy.each(&mut |file| file.sync_all())?; // a page that is not written yet cannot be forgotten
        Ok(copy)
    }

    /// The data set, whose files are the copy.
    pub fn data(&self) -> &Arc<DataSet> {
        &self.data
    }

    /// The file system and where it comes from.
    pub fn storage(&self) -> &str {
        &self.storage
    }

    /// Has the kernel forget what it has of the files, as far as nobody maps them: what is read next comes
    /// over the network.
    ///
    /// # Errors
    /// What the file system says.
    pub fn forget(&self) -> Result<()> {
        self.each(&mut |file| {
            posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED).map_err(io::Error::from)
        })
    }

    /// Overwrites the files where they lie: who reads them reads other bytes from now on.
    ///
    /// # Errors
    /// What the file system says.
    pub fn spoil(&self) -> Result<()> {
        self.each(&mut |file| {
            let mut left = file.metadata()?.len();
            let noise = vec![0xa5; 1 << 20];
            while left > 0 {
                let part = left.min(noise.len() as u64);
                file.write_all(&noise[..part as usize])?;
                left -= part;
            }
            file.sync_all()
        })
    }

    fn each(&self, what: &mut dyn FnMut(&mut File) -> io::Result<()>) -> Result<()> {
        for field in 0..self.data.kinds().count() {
            let path = self.data.path(field);
            let done =
                OpenOptions::new().read(true).write(true).open(path).and_then(|mut file| what(&mut file));
            done.map_err(|error| Error::new(format!("{} behind the network: {error}", path.display())))?;
        }
        Ok(())
    }
}

impl Drop for NetworkCopy {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.place); // a network that is gone has nothing to remove
    }
}

fn check_kind(folder: &Path, kind: &str) -> Result<()> {
    if KINDS.contains(&kind) {
        return Ok(());
    }
    Err(skip(format!(
        "no network: {VARIABLE} names {}, which is on {kind} of this machine",
        folder.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_of_this_machine_is_no_network() {
        for kind in ["ext4", "xfs", "tmpfs", "overlay", "fuse", "fuse.bindfs"] {
            let said = check_kind(Path::new("/data"), kind).unwrap_err();
            assert!(
                said.is_skip() && said.to_string().contains(&format!("is on {kind} of this machine")),
                "{said}"
            );
        }
        for kind in ["nfs4", "lustre", "fuse.sshfs"] {
            check_kind(Path::new("/data"), kind).unwrap();
        }
    }

    #[test]
    fn a_copy_has_the_files_and_goes_with_its_owner_and_what_is_held_against_it_is_not_spoiled() {
        let place = tempfile::tempdir().unwrap();
        let open = || Cache::at(place.path().join("cache")).open(&DataSpec::images(8, 4, 3)).unwrap();
        let far = place.path().join("far");
        let copy = NetworkCopy::in_folder(&far, open(), "ext4 on /dev/sda".into()).unwrap();
        let path = copy.data().path(0).to_owned();
        assert!(path.starts_with(&far));
        assert_eq!(fs::read(&path).unwrap(), open().rows(0, 0..8));
        copy.forget().unwrap();
        copy.spoil().unwrap();
        assert_eq!(fs::read(&path).unwrap(), [0xa5; 8 * 4 * 4 * 3]);
        assert_eq!(copy.data().rows(0, 0..8), open().rows(0, 0..8), "the rows are those of the cache");
        drop(copy);
        assert_eq!(fs::read_dir(&far).unwrap().count(), 0);
    }
}
