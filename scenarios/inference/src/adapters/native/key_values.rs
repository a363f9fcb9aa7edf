//! The keys and values of what came before, for one layer of attention.

use ndarray::{Array2, ArrayView2, s};

use super::real::HandNumber;

/// Keys and values of each sample, place after place, in room for all that will come.
#[derive(Debug)]
pub(super) struct KeyValues<T> {
    samples: Vec<[Array2<T>; 2]>,
    /// Places that are filled.
    pub(super) length: usize,
}

impl<T: HandNumber> KeyValues<T> {
    /// Room for so many places of so many samples.
    pub(super) fn new(batch: usize, places: usize, width: usize) -> Self {
        let none = || Array2::zeros((places, width));
        Self { samples: (0..batch).map(|_| [none(), none()]).collect(), length: 0 }
    }

    /// Writes the keys and values of a sample's next places behind those that are there.
    pub(super) fn write(&mut self, sample: usize, keys: ArrayView2<'_, T>, values: ArrayView2<'_, T>) {
        let places = self.length..self.length + keys.nrows();
        for (kept, new) in self.samples[sample].iter_mut().zip([keys, values]) {
            kept.slice_mut(s![places.clone(), ..]).assign(&new);
        }
    }

    /// The keys and the values of a sample in its first places.
    pub(super) fn seen(&self, sample: usize, places: usize) -> [ArrayView2<'_, T>; 2] {
        let [keys, values] = &self.samples[sample];
        [keys.slice(s![..places, ..]), values.slice(s![..places, ..])]
    }
}
