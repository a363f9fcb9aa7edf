//! The inputs of calls: drawn for each, so that no answer can be remembered.

use weighbridge_data::split;
use weighbridge_training::workload::model::Shape;

/// The input of a model: as many samples as a batch has, one after the other.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelInput {
    /// Numbers, in the order of the axes of the model's input.
    Numbers(Vec<f32>),
    /// Ids of rows of a table.
    Ids(Vec<i32>),
}

impl ModelInput {
    /// The samples from `first` on, so many of a batch of `batch`.
    #[must_use]
    pub fn samples(&self, first: usize, count: usize, batch: usize) -> Self {
        match self {
            Self::Numbers(numbers) => Self::Numbers(part(numbers, first, count, batch).to_vec()),
            Self::Ids(ids) => Self::Ids(part(ids, first, count, batch).to_vec()),
        }
    }
}

fn part<T>(all: &[T], first: usize, count: usize, batch: usize) -> &[T] {
    let each = all.len() / batch;
    &all[first * each..(first + count) * each]
}

/// Draws the input of a call of an epoch: number `j` of it comes of `split(split(epoch, call), j)`, so that
/// anybody can draw it in any language. Ids are the upper half of that times their bound, over 2^32. Numbers
/// are its upper 24 bits less 2^23, over 2^22: from -2 to 2, and exact in `f32`.
pub fn drawn_input(shape: Shape, batch: usize, epoch: u64, call: u64) -> ModelInput {
    let key = split(epoch, call);
    let count = (batch * shape.count()) as u64;
    match shape {
        Shape::Ids { below, .. } => {
            let id = |at| (((split(key, at) >> 32) * below as u64) >> 32) as i32;
            ModelInput::Ids((0..count).map(id).collect())
        }
        _ => {
            let number = |at| ((split(key, at) >> 40) as i32 - (1 << 23)) as f32 / (1 << 22) as f32;
            ModelInput::Numbers((0..count).map(number).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_of_each_epoch_has_an_input_of_its_own_within_its_bounds() {
        let ids = Shape::Ids { length: 8, below: 11 };
        let of = |epoch, call| drawn_input(ids, 3, epoch, call);
        assert_eq!(of(5, 0), of(5, 0));
        assert!(of(5, 0) != of(5, 1) && of(5, 0) != of(6, 0));
        let ModelInput::Ids(drawn) = of(5, 0) else { panic!("they are ids") };
        assert!(drawn.len() == 24 && drawn.iter().all(|id| (0..11).contains(id)), "{drawn:?}");
        let vector = drawn_input(Shape::Vector { width: 1_000 }, 2, 1, 1);
        let ModelInput::Numbers(numbers) = &vector else { panic!("they are numbers") };
        assert!(numbers.iter().all(|number| (-2.0..2.0).contains(number)));
        assert!(numbers.iter().sum::<f32>().abs() < 200.0, "around zero");
        assert_eq!(vector.samples(1, 1, 2), ModelInput::Numbers(numbers[1_000..].to_vec()));
    }

    #[test]
    fn the_draws_are_those_that_python_has() {
        // `python/tests/test_predictors.py` has the same numbers.
        let ids = drawn_input(Shape::Ids { length: 4, below: 1_000 }, 1, 7, 3);
        let numbers = drawn_input(Shape::Vector { width: 3 }, 1, 7, 3);
        assert_eq!(ids, ModelInput::Ids(vec![682, 231, 430, 865]));
        assert_eq!(numbers, ModelInput::Numbers(vec![0.731_045, -1.074_023_7, -0.279_859_3]));
    }
}
