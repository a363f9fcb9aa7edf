//! Which replica has written which share of a checkpoint: told by a state whose bytes say on which device
//! they lie.

use std::path::Path;

use weighbridge::{Bencher, Direction, Error, Result, Unit};
use weighbridge_data::DataSet;

use super::proof::content;
use crate::contract::Checkpoints;

/// The share of each replica, first to last.
#[derive(Debug)]
pub(super) struct Shares(Vec<f64>);

/// A rule for the shares that replicas write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriterRule {
    /// The first has written all.
    TheFirst,
    /// Each has written half of an equal share or more: what a tensor does not divide by is written by one.
    Each,
}

impl Shares {
    /// Marks the devices of a state, saves it in a directory that is not there, loads it and counts.
    ///
    /// # Errors
    /// What the system says; a byte that no device has.
    pub(super) fn of(
        checkpoints: &mut dyn Checkpoints,
        data: &DataSet,
        directory: &Path,
        [replicas, model]: [usize; 2],
    ) -> Result<Self> {
        checkpoints.release()?;
        checkpoints.mark_devices()?;
        checkpoints.save(directory, false)?;
        checkpoints.wait()?;
        checkpoints.load(directory)?;
        let mut counts = vec![0_u64; replicas];
        for (field, kind) in data.kinds().enumerate() {
            let bytes = content(checkpoints.loaded(field)?, kind, &kind.shape)
                .map_err(|why| Error::new(format!("the tensor `{}` {why}", kind.name)))?;
            for byte in bytes {
                let replica = usize::from(byte).checked_sub(1).map(|device| device / model);
                let count = replica.and_then(|replica| counts.get_mut(replica)).ok_or_else(|| {
                    Error::new(format!(
                        "the tensor `{}` has the byte {byte} after each device had its own number and one: \
                         it is of none",
                        kind.name
                    ))
                })?;
                *count += 1;
            }
        }
        checkpoints.release()?;
        let all: u64 = counts.iter().sum();
        Ok(Self(counts.into_iter().map(|count| count as f64 / all.max(1) as f64).collect()))
    }

    /// Tells the shares as metrics.
    pub(super) fn tell(&self, bencher: &Bencher) {
        for (replica, share) in self.0.iter().enumerate() {
            let name = format!("share that replica {replica} wrote");
            bencher.metric(&name, *share, Unit::RATIO, Direction::Information);
        }
    }

    /// Checks that a rule holds.
    ///
    /// # Errors
    /// What is not so.
    pub(super) fn check(&self, rule: WriterRule) -> Result<()> {
        let least = 0.5 / self.0.len() as f64;
        let holds = match rule {
            WriterRule::TheFirst => self.0[1..].iter().all(|share| *share <= 0.0),
            WriterRule::Each => self.0.iter().all(|share| *share >= least),
        };
        if holds {
            return Ok(());
        }
        let shares: Vec<String> = self.0.iter().map(|share| format!("{:.0} %", 100.0 * share)).collect();
        let must = match rule {
            WriterRule::TheFirst => "the first alone".to_owned(),
            WriterRule::Each => format!("each at least {:.0} %", 100.0 * least),
        };
        Err(Error::new(format!("the replicas have written {}, and {must} was to write", shares.join(", "))))
    }
}

#[cfg(test)]
mod tests {
    use weighbridge::{Dtype, FieldCopy, ItemCopy};
    use weighbridge_data::{Cache, ExecutedWork};

    use super::*;
    use crate::workload::State;

    /// A state of 16 bytes on two replicas of two devices, whose checkpoint has these bytes.
    struct SavedBytes(Vec<u8>, bool);

    impl Checkpoints for SavedBytes {
        fn save(&mut self, _: &Path, _: bool) -> Result<()> {
            if self.1 { Ok(()) } else { Err(Error::new("the devices were not marked")) }
        }

        fn load(&mut self, _: &Path) -> Result<()> {
            Ok(())
        }

        fn loaded(&mut self, _: usize) -> Result<ItemCopy> {
            let field =
                FieldCopy { name: "a".to_owned(), dtype: Dtype::F32, shape: vec![4], bytes: self.0.clone() };
            Ok(ItemCopy { elements: 1, fields: vec![field] })
        }

        fn release(&mut self) -> Result<()> {
            Ok(())
        }

        fn mark_devices(&mut self) -> Result<()> {
            self.1 = true;
            Ok(())
        }

        fn executed(&self) -> ExecutedWork {
            ExecutedWork::ours(Vec::new(), weighbridge::Delivery::Owned, 1)
        }
    }

    #[test]
    fn a_byte_belongs_to_the_replica_of_its_device_and_one_of_no_device_is_told() {
        let place = tempfile::tempdir().unwrap();
        let state: State = "a:float32[4]".parse().unwrap();
        let data = Cache::at(place.path()).open(&state.data()).unwrap();
        let shares = |bytes: [u8; 16]| {
            Shares::of(&mut SavedBytes(bytes.to_vec(), false), &data, Path::new("x"), [2, 2])
                .map(|shares| shares.0)
        };
        assert_eq!(shares([1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4]).unwrap(), [0.5, 0.5]);
        assert_eq!(shares([2; 16]).unwrap(), [1.0, 0.0]);
        for byte in [0, 5] {
            let told = shares([byte; 16]).unwrap_err().to_string();
            assert!(told.contains(&format!("the tensor `a` has the byte {byte}")), "{told}");
        }
    }

    #[test]
    fn who_writes_alone_or_leaves_one_out_is_told() {
        let told =
            |shares: &[f64], rule| Shares(shares.to_vec()).check(rule).map_err(|error| error.to_string());
        assert_eq!(told(&[1.0, 0.0], WriterRule::TheFirst), Ok(()));
        assert_eq!(told(&[0.6, 0.4], WriterRule::Each), Ok(()));
        assert_eq!(
            told(&[0.5, 0.5], WriterRule::TheFirst),
            Err("the replicas have written 50 %, 50 %, and the first alone was to write".to_owned())
        );
        assert_eq!(
            told(&[1.0, 0.0, 0.0, 0.0], WriterRule::Each),
            Err("the replicas have written 100 %, 0 %, 0 %, 0 %, and each at least 12 % was to write"
                .to_owned())
        );
    }
}
