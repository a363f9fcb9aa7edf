//! A place in an epoch, as bytes: 40 of them, little-endian.
//!
//! ```text
//! 0   8  "WBPLACE1"
//! 8   8  epoch
//! 16  8  batches that were handed out
//! 24  8  xxh3-64 of the pipeline's specification
//! 32  8  xxh3-64 of the 32 bytes before
//! ```
//!
//! Draws are keyed by epoch and element, so that nothing else is needed to go on with the same bytes.

use weighbridge::{Error, Result};
use xxhash_rust::xxh3::xxh3_64;

use crate::workload::{Destination, PipelineSpec};

const MAGIC: u64 = u64::from_le_bytes(*b"WBPLACE1");

/// A pipeline's position: its epoch, and its batch in that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CopyPlace {
    pub(super) epoch: u64,
    /// Batches that were handed out.
    pub(super) next: u64,
}

impl CopyPlace {
    pub(super) fn save(self, spec: &PipelineSpec) -> Vec<u8> {
        let words = [MAGIC, self.epoch, self.next, fingerprint(spec)];
        let mut bytes: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
        bytes.extend(xxh3_64(&bytes).to_le_bytes());
        bytes
    }

    pub(super) fn restore(bytes: &[u8], spec: &PipelineSpec) -> Result<Self> {
        let (words, rest) = bytes.as_chunks::<8>();
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let &[MAGIC, epoch, next, of, check] = &words[..] else {
            return Err(Error::new(format!("the {} bytes are no saved place: save it again", bytes.len())));
        };
        if !rest.is_empty() || check != xxh3_64(&bytes[..32]) {
            return Err(Error::new("the saved place is damaged: save it again"));
        }
        if of != fingerprint(spec) {
            return Err(Error::new(
                "the saved place is of another pipeline: restore it with the same specification",
            ));
        }
        let batches = spec.elements().len().div_ceil(spec.batch_size) as u64;
        if next > batches {
            return Err(Error::new(format!("the saved place is batch {next} of an epoch of {batches}")));
        }
        Ok(Self { epoch, next })
    }
}

/// Returns a hash of all that must be the same for the bytes to go on. Workers and the destination may
/// differ: they change no bytes.
fn fingerprint(spec: &PipelineSpec) -> u64 {
    let same = PipelineSpec { workers: 0, destination: Destination::Host, ..spec.clone() };
    xxh3_64(format!("{same:?}").as_bytes())
}

#[cfg(test)]
mod tests {
    use weighbridge_data::DataSpec;

    use super::*;

    fn spec() -> PipelineSpec {
        PipelineSpec::new(DataSpec::tokens(100, 4), 8)
    }

    #[test]
    fn a_place_comes_back_and_the_workers_do_not_matter() {
        let place = CopyPlace { epoch: 3, next: 7 };
        let saved = place.save(&spec());
        assert_eq!(saved.len(), 40);
        assert_eq!(CopyPlace::restore(&saved, &spec().workers(2)).unwrap(), place);
    }

    #[test]
    fn a_place_that_cannot_be_is_refused_with_the_reason() {
        let saved = CopyPlace { epoch: 3, next: 7 }.save(&spec());
        let said =
            |bytes: &[u8], spec: &PipelineSpec| CopyPlace::restore(bytes, spec).unwrap_err().to_string();
        assert!(said(&[], &spec()).contains("0 bytes are no saved place"));
        assert!(said(&saved[..39], &spec()).contains("no saved place"));
        let mut longer = saved.clone();
        longer.push(0);
        assert!(said(&longer, &spec()).contains("damaged"));
        for byte in 8..40 {
            let mut wrong = saved.clone();
            wrong[byte] ^= 1;
            assert!(said(&wrong, &spec()).contains("damaged"));
        }
        assert!(said(&saved, &spec().seed(1)).contains("of another pipeline"));
        let far = CopyPlace { epoch: 0, next: 14 }.save(&spec());
        assert!(said(&far, &spec()).contains("batch 14 of an epoch of 13"));
    }
}
