//! CIFAR-10 in its binary format: records of one label byte and 3 x 32 x 32 bytes, channel by channel.
//!
//! A record becomes one image, height by width by channel, brought to another size where one is asked for.
//! The training files are read in their order, the labels are checked and dropped.

use std::fs;
use std::path::{Path, PathBuf};

use weighbridge::{Error, Result};

use super::resize::resize;
use super::root;

pub(super) const FOLDER: &str = "cifar-10-batches-bin";

pub(super) const REMEDY: &str = "unpack the binary version of CIFAR-10 (cifar-10-binary.tar.gz from \
                      https://www.cs.toronto.edu/~kriz/cifar.html, 170 MB)";

const PIXELS: usize = 32 * 32;
const RECORD: usize = 1 + 3 * PIXELS;

/// `data_batch_1.bin` to `data_batch_5.bin`, those that are there, in order.
pub(super) fn find(data_root: Option<&Path>) -> Result<Vec<PathBuf>> {
    let folder = root::below_root(data_root, &[FOLDER], REMEDY)?;
    let files = (1..=5).map(|number| folder.join(format!("data_batch_{number}.bin")));
    let found: Vec<PathBuf> = files.filter(|path| path.exists()).collect();
    if found.is_empty() {
        let first = folder.join("data_batch_1.bin");
        return Err(weighbridge::skip(format!("{} is absent: {REMEDY} there", first.display())));
    }
    Ok(found)
}

/// The first images of the files, as squares of this side.
pub(super) fn read(paths: &[PathBuf], images: usize, side: usize) -> Result<Vec<u8>> {
    let size = 3 * side * side;
    let mut field = Vec::with_capacity(images * size);
    let mut image = Vec::with_capacity(RECORD - 1);
    let mut left = images;
    for path in paths {
        if left == 0 {
            break;
        }
        let bytes = fs::read(path).map_err(|error| root::unreadable(path, &error))?;
        if bytes.is_empty() || bytes.len() % RECORD != 0 {
            return Err(Error::new(format!(
                "{} has {} bytes, which is no whole number of CIFAR-10 records of {RECORD} bytes: the file \
                 is truncated or of another format; unpack it again",
                path.display(),
                bytes.len()
            )));
        }
        for (number, record) in bytes.chunks_exact(RECORD).take(left).enumerate() {
            if record[0] > 9 {
                return Err(Error::new(format!(
                    "{}: record {number} has the label {}, but CIFAR-10 has labels 0 to 9: \
                     the file is of another format",
                    path.display(),
                    record[0]
                )));
            }
            image.clear();
            for pixel in 0..PIXELS {
                image.extend((0..3).map(|channel| record[1 + channel * PIXELS + pixel]));
            }
            field.extend(resize(&image, 32, 32, side));
        }
        left = images - field.len() / size;
    }
    if left > 0 {
        return Err(Error::new(format!(
            "{} and the files beside it hold {} images, but {images} are asked for: \
             fetch all five training files",
            paths[0].display(),
            images - left
        )));
    }
    Ok(field)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cache, DataSpec, Origin};

    fn record(label: u8, red: u8, green: u8, blue: u8) -> Vec<u8> {
        let mut record = vec![label];
        for value in [red, green, blue] {
            record.extend([value; PIXELS]);
        }
        record
    }

    fn open(files: &[(&str, Vec<u8>)], images: usize) -> Result<Vec<u8>> {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join(FOLDER)).unwrap();
        for (name, bytes) in files {
            fs::write(place.path().join(FOLDER).join(name), bytes).unwrap();
        }
        let cache = Cache::at(place.path().join("cache")).with_data_root(place.path());
        let set = cache.open(&DataSpec::images(images, 32, 3).read_from(Origin::Cifar10))?;
        Ok(set.rows(0, 0..images).to_vec())
    }

    #[test]
    fn planes_become_pixels_over_all_files_in_order() {
        let mut first = record(3, 1, 2, 3);
        first[2] = 77; // red of the second pixel
        let rows = open(&[("data_batch_1.bin", first), ("data_batch_2.bin", record(9, 4, 5, 6))], 2).unwrap();
        assert_eq!(rows[..9], [1, 2, 3, 77, 2, 3, 1, 2, 3]);
        assert_eq!(rows[3072..3078], [4, 5, 6, 4, 5, 6]);
    }

    #[test]
    fn images_are_brought_to_another_size() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join(FOLDER)).unwrap();
        fs::write(place.path().join(FOLDER).join("data_batch_1.bin"), record(0, 10, 20, 30)).unwrap();
        let cache = Cache::at(place.path().join("cache")).with_data_root(place.path());
        let set = cache.open(&DataSpec::images(1, 64, 3).read_from(Origin::Cifar10)).unwrap();
        assert_eq!(set.rows(0, 0..1), [10, 20, 30].repeat(64 * 64));
    }

    #[test]
    fn a_truncated_file_is_named() {
        let mut short = record(0, 1, 2, 3);
        short.pop();
        let error = open(&[("data_batch_1.bin", short)], 1).unwrap_err();
        assert!(!error.is_skip() && error.to_string().contains("data_batch_1.bin has 3072 bytes"), "{error}");
    }

    #[test]
    fn a_label_that_cannot_be_is_named() {
        let error = open(&[("data_batch_1.bin", record(10, 1, 2, 3))], 1).unwrap_err();
        assert!(error.to_string().contains("record 0 has the label 10"), "{error}");
    }

    #[test]
    fn too_few_images_are_told() {
        let error = open(&[("data_batch_1.bin", record(1, 1, 2, 3))], 2).unwrap_err();
        assert!(error.to_string().contains("hold 1 images, but 2 are asked for"), "{error}");
    }

    #[test]
    fn absent_files_are_a_skip_that_says_what_to_fetch() {
        let spec = DataSpec::images(1, 32, 3).read_from(Origin::Cifar10);
        let place = tempfile::tempdir().unwrap();
        let unnamed = Cache::at(place.path()).open(&spec).unwrap_err();
        assert!(unnamed.is_skip() && unnamed.to_string().contains("--data-root"), "{unnamed}");
        let absent =
            Cache::at(place.path()).with_data_root(place.path().join("none")).open(&spec).unwrap_err();
        assert!(absent.is_skip() && absent.to_string().contains("cifar-10-binary.tar.gz"), "{absent}");
        let empty = open(&[], 1).unwrap_err();
        assert!(empty.is_skip() && empty.to_string().contains("data_batch_1.bin is absent"), "{empty}");
    }
}
