//! A change of a state between two saves: cheap, of any type of number, and the same wherever a tensor is
//! cut.

use serde::{Deserialize, Serialize};

/// A change of a state: in each tensor that it changes, some of the seven lowest bits of every number are
/// turned over. Numbers stay as large as they are, and the same change once more takes it back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StateChange(Vec<u8>);

/// The bits that may be turned over: never one of an exponent or a sign, of whatever type.
const BITS: u8 = 0x7f;

impl StateChange {
    /// The change that turns these bits over, one byte for each tensor; 0 leaves a tensor as it is.
    pub fn of(bits: Vec<u8>) -> Self {
        Self(bits.into_iter().map(|bits| bits & BITS).collect())
    }

    /// The change that this one and another make together.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let bits = |at| self.bits(at) ^ other.bits(at);
        Self((0..self.0.len().max(other.0.len())).map(bits).collect())
    }

    /// The bits of a tensor that it turns over.
    fn bits(&self, tensor: usize) -> u8 {
        self.0.get(tensor).copied().unwrap_or(0)
    }

    /// Changes numbers of a tensor, each so many bytes wide, the lowest byte first.
    pub fn apply(&self, tensor: usize, width: usize, numbers: &mut [u8]) {
        let bits = self.bits(tensor);
        if bits != 0 {
            numbers.iter_mut().step_by(width.max(1)).for_each(|byte| *byte ^= bits);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_turns_low_bits_of_every_number_over_and_once_more_takes_it_back() {
        let change = StateChange::of(vec![0, 0xff]);
        let mut numbers = [1_f32, -2.5, 1e30].map(f32::to_le_bytes).concat();
        let before = numbers.clone();
        change.apply(0, 4, &mut numbers);
        change.apply(2, 4, &mut numbers);
        assert_eq!(numbers, before, "tensors that it does not change");
        change.apply(1, 4, &mut numbers);
        for (now, before) in numbers.as_chunks::<4>().0.iter().zip(before.as_chunks::<4>().0) {
            let (now, before) = (f32::from_le_bytes(*now), f32::from_le_bytes(*before));
            let differs = (now / before - 1.0).abs();
            assert!(differs > 0.0 && differs < 1e-4, "{now} {before}");
        }
        assert_eq!(change.and(&change), StateChange::of(vec![0, 0]));
        change.and(&change).and(&change).apply(1, 4, &mut numbers);
        assert_eq!(numbers, before);
    }
}
