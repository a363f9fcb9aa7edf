//! The hashes of the elements that a reference delivered: what a measured repeat's held-back batches must be part of.

use super::files::replace;
use super::{Error, Runs};
use crate::plan::CaseId;
use crate::record::RunId;

const WIDTH: usize = size_of::<u128>();

impl Runs {
    /// Keeps the hashes of the elements of a reference: sorted, 16 bytes each, little end first.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write_hashes(&self, run: &RunId, case: &CaseId, hashes: &[u128]) -> Result<(), Error> {
        let mut sorted = hashes.to_vec();
        sorted.sort_unstable();
        let content: Vec<u8> = sorted.iter().flat_map(|hash| hash.to_le_bytes()).collect();
        replace(&*self.files, &self.layout.hashes(run, case), &content)
    }

    /// The hashes that were kept, sorted; `None` when there are none.
    ///
    /// # Errors
    /// When the file cannot be read, or is no list of hashes.
    pub fn hashes(&self, run: &RunId, case: &CaseId) -> Result<Option<Vec<u128>>, Error> {
        let path = self.layout.hashes(run, case);
        let content = match self.files.read(&path) {
            Ok(content) => content,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io("read", &path)(error)),
        };
        let (hashes, rest) = content.as_chunks::<WIDTH>();
        let hashes: Vec<u128> = hashes.iter().map(|bytes| u128::from_le_bytes(*bytes)).collect();
        if !rest.is_empty() || !hashes.is_sorted() {
            let (found, expected) = ("no sorted list of hashes".to_owned(), "one".to_owned());
            return Err(Error::Misplaced { path, found, expected });
        }
        Ok(Some(hashes))
    }
}
