//! Encoded images as people keep them: a file for each, or a tar file of those, beside the data set, written
//! once.

use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use weighbridge::{Error, Result};
use weighbridge_data::{DataSet, TAR_BLOCK, TAR_END, encoded, encoded_name, tar_header, tar_places};

/// The folder of the files of a data set with one field, in which each element is a file, filled up with
/// zeros. They are made first if they are not there: under another name, so that a folder with this one is
/// whole.
///
/// # Errors
/// Where the cache cannot be written.
pub(super) fn of(data: &DataSet) -> Result<PathBuf> {
    let folder = data.path(0).with_extension("files");
    if folder.is_dir() {
        return Ok(folder);
    }
    let failed = |error: std::io::Error| Error::new(format!("failed to write {}: {error}", folder.display()));
    let making = folder.with_extension(format!("making-{}", std::process::id()));
    fs::create_dir_all(&making).map_err(failed)?;
    for element in 0..data.elements() {
        fs::write(making.join(encoded_name(element)), encoded(data, element)).map_err(failed)?;
    }
    match fs::rename(&making, &folder) {
        // Another process was as quick.
        Err(_) if folder.is_dir() => fs::remove_dir_all(&making).map_err(failed)?,
        moved => moved.map_err(failed)?,
    }
    Ok(folder)
}

/// Reads the file of an element; what is left of the room is zeros.
///
/// # Errors
/// Where it cannot be read.
pub(super) fn read(folder: &Path, element: usize, mut room: &mut [u8]) -> Result<()> {
    let path = folder.join(encoded_name(element));
    let failed = |error: std::io::Error| Error::new(format!("failed to read {}: {error}", path.display()));
    let mut file = File::open(&path).map_err(failed)?;
    while !room.is_empty() {
        match file.read(room).map_err(failed)? {
            0 => break,
            count => room = &mut room[count..],
        }
    }
    room.fill(0);
    Ok(())
}

/// A tar file of all elements, and where each lies in it: found out in set-up, as an index beside a shard
/// says it.
#[derive(Debug)]
pub(super) struct ShardFile {
    path: PathBuf,
    file: File,
    /// The bytes of each.
    places: Vec<Range<u64>>,
}

impl ShardFile {
    /// The shard of a data set with one field, made first if it is not there.
    ///
    /// # Errors
    /// Where the cache cannot be written, or the shard not be read.
    pub(super) fn of(data: &DataSet) -> Result<Self> {
        let path = data.path(0).with_extension("tar");
        let failed =
            |error: std::io::Error| Error::new(format!("failed to write {}: {error}", path.display()));
        if !path.is_file() {
            let making = path.with_extension(format!("making-{}", std::process::id()));
            let mut tar = BufWriter::new(File::create(&making).map_err(failed)?);
            for element in 0..data.elements() {
                let content = encoded(data, element);
                tar.write_all(&tar_header(element, content.len())).map_err(failed)?;
                tar.write_all(content).map_err(failed)?;
                let rest = content.len().next_multiple_of(TAR_BLOCK) - content.len();
                tar.write_all(&[0; TAR_BLOCK][..rest]).map_err(failed)?;
            }
            tar.write_all(&[0; TAR_END]).map_err(failed)?;
            tar.flush().map_err(failed)?;
            fs::rename(&making, &path).map_err(failed)?;
        }
        Ok(Self { file: File::open(&path).map_err(failed)?, path, places: tar_places(data) })
    }

    /// Reads an element; what is left of the room is zeros.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub(super) fn read(&self, element: usize, room: &mut [u8]) -> Result<()> {
        let place = &self.places[element];
        let (image, rest) = room.split_at_mut((place.end - place.start) as usize);
        rest.fill(0);
        let failed =
            |error: std::io::Error| Error::new(format!("failed to read {}: {error}", self.path.display()));
        self.file.read_exact_at(image, place.start).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use weighbridge_data::{Cache, DataSpec};

    use super::*;

    #[test]
    fn files_and_shards_give_back_the_rows_and_a_shard_is_a_tar_file() {
        let place = tempfile::tempdir().unwrap();
        let data = Cache::at(place.path()).open(&DataSpec::photographs(3)).unwrap();
        for _ in ["made", "found"] {
            let (folder, shard) = (of(&data).unwrap(), ShardFile::of(&data).unwrap());
            for element in [2, 0, 1] {
                let row = data.rows(0, element..element + 1);
                let (mut file, mut entry) = (vec![7; row.len()], vec![7; row.len()]);
                read(&folder, element, &mut file).unwrap();
                shard.read(element, &mut entry).unwrap();
                assert!(file == row && entry == row, "{element}");
            }
        }
        let listed =
            std::process::Command::new("tar").arg("-tf").arg(data.path(0).with_extension("tar")).output();
        if let Ok(listed) = listed {
            assert_eq!(
                String::from_utf8_lossy(&listed.stdout),
                "000000000.jpg\n000000001.jpg\n000000002.jpg\n"
            );
        }
        fs::remove_file(of(&data).unwrap().join(encoded_name(1))).unwrap();
        let said = read(&of(&data).unwrap(), 1, &mut [0; 8]).unwrap_err().to_string();
        assert!(said.contains("000000001.jpg"), "{said}");
    }
}
