//! The Criteo click log: lines of a label, 13 whole numbers and 26 categories, parted by tabs; any may be
//! missing.
//!
//! The 13 numbers become one `f32` row; a missing one is 0. Where a second field is asked for, the 26
//! categories become one `i64` row: the CRC-32 of each one's text; a missing one is 0.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use weighbridge::{Error, Result};

use super::{DataSpec, root};

/// The columns of numbers.
const DENSE: usize = 13;

/// The columns of categories.
const CATEGORIES: usize = 26;

const COLUMNS: usize = 1 + DENSE + CATEGORIES;

pub(super) const FILES: &[&str] = &["criteo/train.txt", "criteo/dac_sample.txt"];

pub(super) const REMEDY: &str = "unpack the Criteo display advertising data (`train.txt`, or the small \
                                 `dac_sample.txt` of dac_sample.tar.gz, \
                                 https://huggingface.co/datasets/Recommenders/criteo)";

/// The whole log, or the sample of it.
pub(super) fn find(data_root: Option<&Path>) -> Result<Vec<PathBuf>> {
    Ok(vec![root::below_root(data_root, FILES, REMEDY)?])
}

/// The fields of the first lines: the numbers, and the categories if `spec` has a field for them.
pub(super) fn read(path: &Path, spec: &DataSpec) -> Result<Vec<Vec<u8>>> {
    let rows = spec.elements;
    let with_categories = spec.fields.len() > 1;
    let file = File::open(path).map_err(|error| root::unreadable(path, &error))?;
    let mut numbers = Vec::with_capacity(rows * DENSE * size_of::<f32>());
    let mut categories =
        Vec::with_capacity(if with_categories { rows * CATEGORIES * size_of::<i64>() } else { 0 });
    let mut lines = 0;
    for line in BufReader::new(file).lines().take(rows) {
        let line = line.map_err(|error| root::unreadable(path, &error))?;
        lines += 1;
        let wrong = |what: String| Error::new(format!("{}, line {lines}: {what}", path.display()));
        let columns: Vec<&str> = line.split('\t').collect();
        if columns.len() != COLUMNS {
            return Err(wrong(format!(
                "{} columns instead of {COLUMNS}: the file is truncated or of another format",
                columns.len()
            )));
        }
        if !matches!(columns[0], "0" | "1") {
            return Err(wrong(format!("the label is `{}`, but a click is 0 or 1", columns[0])));
        }
        for (number, column) in columns[1..=DENSE].iter().enumerate() {
            let value = match *column {
                "" => 0,
                text => text.parse::<i64>().map_err(|_| wrong(format!("number {number} is `{text}`")))?,
            };
            numbers.extend((value as f32).to_le_bytes());
        }
        if with_categories {
            for text in &columns[1 + DENSE..] {
                categories.extend(i64::from(crc32fast::hash(text.as_bytes())).to_le_bytes());
            }
        }
    }
    if lines < rows {
        return Err(Error::new(format!(
            "{} has {lines} lines, but {rows} are asked for: the file is truncated or only a sample; \
             unpack the whole",
            path.display()
        )));
    }
    Ok(if with_categories { vec![numbers, categories] } else { vec![numbers] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use weighbridge::Dtype;

    use crate::{Cache, FieldValues, Origin};

    fn open(text: &str, rows: usize) -> Result<Vec<f32>> {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("criteo")).unwrap();
        std::fs::write(place.path().join("criteo/dac_sample.txt"), text).unwrap();
        let cache = Cache::at(place.path().join("cache")).with_data_root(place.path());
        let set = cache.open(&DataSpec::table(rows, DENSE).read_from(Origin::Criteo))?;
        Ok(bytemuck::cast_slice(set.rows(0, 0..rows)).to_vec())
    }

    fn line(label: &str, numbers: &str) -> String {
        format!("{label}\t{numbers}\t{}\n", ["68fd1e64"; 26].join("\t"))
    }

    #[test]
    fn numbers_are_read_and_missing_ones_are_zero() {
        let text = line("0", "1\t-2\t\t4\t5\t6\t7\t8\t9\t10\t11\t\t13") + &line("1", &["0"; 13].join("\t"));
        let rows = open(&text, 2).unwrap();
        assert_eq!(rows[..DENSE], [1.0, -2.0, 0.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 0.0, 13.0]);
        assert_eq!(rows[DENSE..], [0.0; 13]);
    }

    #[test]
    fn categories_are_a_field_of_their_own_where_they_are_asked_for() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("criteo")).unwrap();
        let text = line("0", &["0"; 13].join("\t")).replacen("68fd1e64", "", 1);
        std::fs::write(place.path().join("criteo/train.txt"), text).unwrap();
        let cache = Cache::at(place.path().join("cache")).with_data_root(place.path());
        let spec = DataSpec::normal("dense", 1, vec![DENSE]);
        let spec =
            spec.with("sparse", Dtype::I64, &[CATEGORIES], FieldValues::Read).read_from(Origin::Criteo);
        let set = cache.open(&spec).unwrap();
        let ids: Vec<i64> = bytemuck::pod_collect_to_vec(set.rows(1, 0..1));
        // CRC-32 of nothing, and of `68fd1e64` as zlib computes it.
        assert_eq!(ids[..2], [0, 0xa130_a0a3]);
        assert_eq!(ids.len(), CATEGORIES);
    }

    #[test]
    fn malformed_lines_are_named() {
        let said = |text: &str| open(text, 1).unwrap_err().to_string();
        assert!(said("0\t1\t2\n").contains("line 1: 3 columns instead of 40"));
        assert!(said(&line("2", &["0"; 13].join("\t"))).contains("the label is `2`"));
        assert!(said(&line("1", &["x"; 13].join("\t"))).contains("number 0 is `x`"));
        assert!(said("").contains("has 0 lines, but 1 are asked for"));
    }

    #[test]
    fn an_absent_log_is_a_skip_that_says_what_to_fetch() {
        let place = tempfile::tempdir().unwrap();
        let cache = Cache::at(place.path()).with_data_root(place.path());
        let error = cache.open(&DataSpec::table(1, DENSE).read_from(Origin::Criteo)).unwrap_err();
        assert!(error.is_skip() && error.to_string().contains("dac_sample.tar.gz"), "{error}");
    }
}
