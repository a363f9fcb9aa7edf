//! An epoch mixed from parts of the data set.

use std::ops::Range;

use weighbridge_data::Draws;

use crate::workload::{PipelineSpec, Shard, Structure};

/// The order of an epoch that is mixed from parts: the element at each place.
#[derive(Debug, Default)]
pub(super) struct MixtureOrder {
    elements: Vec<usize>,
    next: Vec<usize>,
}

impl MixtureOrder {
    /// Throws an epoch's order: a draw for each place, in the room of the epoch before.
    pub(super) fn throw(&mut self, spec: &PipelineSpec, draws: Draws) {
        let weights = &spec.structure.mixture;
        let elements = spec.source.elements;
        let part = |index| Shard { index, count: weights.len() }.of(elements);
        let all: f64 = weights.iter().sum();
        self.elements.clear();
        self.next.clear();
        self.next.resize(weights.len(), 0);
        for place in 0..elements {
            let thrown = draws.at(place as u64, Structure::MIXTURE_POSITION).unit(0) * all;
            let mut sum = 0.0;
            let chosen = weights.iter().position(|weight| {
                sum += weight;
                thrown < sum
            });
            // The sum of all may be rounded to just below a draw: then it is the last part that has a weight.
            let last = || weights.iter().rposition(|&weight| weight > 0.0);
            let chosen = chosen.or_else(last).expect("weights that sum to nothing are refused");
            let Range { start, end } = part(chosen);
            self.elements.push(start + self.next[chosen] % (end - start));
            self.next[chosen] += 1;
        }
    }

    /// The elements at these places.
    pub(super) fn at(&self, places: Range<usize>) -> &[usize] {
        &self.elements[places]
    }
}
