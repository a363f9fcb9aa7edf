//! `WikiText-103` as it was released: `wiki.train.raw`, UTF-8 text with one paragraph or heading a line.
//!
//! What whitespace parts is a word, its id is its CRC-32 modulo the vocabulary, and ids are packed into rows
//! without regard to where an article ends, in the order of the file. (The hub's copy of the same text is
//! Parquet, for which there is no reader that is light to build: unpack the release instead.)

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use weighbridge::{Error, Result};

use super::{root, text};

pub(super) const FILES: &[&str] = &["wikitext-103-raw/wiki.train.raw"];

pub(super) const REMEDY: &str =
    "unpack wikitext-103-raw-v1.zip (the raw, character-level release of WikiText-103, 192 MB)";

/// The training text.
pub(super) fn find(data_root: Option<&Path>) -> Result<Vec<PathBuf>> {
    Ok(vec![root::below_root(data_root, FILES, REMEDY)?])
}

/// The first rows of token ids.
pub(super) fn read(path: &Path, rows: usize, length: usize) -> Result<Vec<u8>> {
    let wanted = rows * length * 4;
    let mut field = Vec::with_capacity(wanted);
    let mut file = BufReader::new(File::open(path).map_err(|error| root::unreadable(path, &error))?);
    let (mut line, mut number) = (Vec::new(), 0);
    while field.len() < wanted {
        line.clear();
        if file.read_until(b'\n', &mut line).map_err(|error| root::unreadable(path, &error))? == 0 {
            return Err(Error::new(format!(
                "{} holds {} rows of {length} words, but {rows} are asked for: the file is truncated; \
                 unpack it again",
                path.display(),
                field.len() / (length * 4)
            )));
        }
        number += 1;
        let words = std::str::from_utf8(&line).map_err(|error| {
            Error::new(format!(
                "{}, line {number} is no UTF-8 text: {error}; unpack it again",
                path.display()
            ))
        })?;
        for word in words.split_whitespace() {
            field.extend(text::token(word, super::VOCABULARY).to_le_bytes());
        }
    }
    field.truncate(wanted);
    Ok(field)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cache, DataSpec, Origin, VOCABULARY};

    fn open(text: &[u8], rows: usize, length: usize) -> Result<Vec<i32>> {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join(FILES[0]);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        let cache = Cache::at(place.path().join("cache")).with_data_root(place.path());
        let set = cache.open(&DataSpec::tokens(rows, length).read_from(Origin::WikiText))?;
        Ok(bytemuck::cast_slice(set.rows(0, 0..rows)).to_vec())
    }

    /// The beginning of an article, in the form of the release.
    const ARTICLE: &str =
        " \n = Valkyria Chronicles III = \n \n Senjō no Valkyria 3 : <unk> Chronicles ( Japanese : 戦場の \n";

    #[test]
    fn words_are_packed_over_lines_and_headings() {
        let rows = open(ARTICLE.as_bytes(), 3, 4).unwrap();
        let words = "= Valkyria Chronicles III = Senjō no Valkyria 3 : <unk> Chronicles";
        assert_eq!(rows, words.split(' ').map(|word| text::token(word, VOCABULARY)).collect::<Vec<_>>());
    }

    #[test]
    fn a_truncated_or_damaged_file_is_named() {
        let short = open(ARTICLE.as_bytes(), 9, 4).unwrap_err();
        assert!(!short.is_skip() && short.to_string().contains("holds 4 rows of 4 words, but 9"), "{short}");
        let damaged = open(b" = A = \n \xff\xfe \n", 1, 9).unwrap_err();
        assert!(damaged.to_string().contains("line 2 is no UTF-8 text"), "{damaged}");
    }

    #[test]
    fn an_absent_file_is_a_skip_that_says_what_to_fetch() {
        let place = tempfile::tempdir().unwrap();
        let cache = Cache::at(place.path()).with_data_root(place.path());
        let error = cache.open(&DataSpec::tokens(1, 1).read_from(Origin::WikiText)).unwrap_err();
        assert!(error.is_skip() && error.to_string().contains("wikitext-103-raw-v1.zip"), "{error}");
    }
}
