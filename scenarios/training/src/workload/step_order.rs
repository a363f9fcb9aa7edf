//! The order in which the steps of an epoch take their samples.

use weighbridge_data::split;

/// The order of an epoch: for each of so many steps the place of its samples among those of all steps. Epoch
/// 0 has them as they lie. Each other one has an order of its own (Fisher and Yates, by draws that are split
/// from its number), so that losses and weights of one epoch say nothing of another's.
pub fn step_order(epoch: u64, steps: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..steps).collect();
    if epoch > 0 {
        for last in (1..steps).rev() {
            let draw = split(epoch, (steps - 1 - last) as u64);
            order.swap(last, (draw % (last as u64 + 1)) as usize);
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_epoch_but_the_first_has_an_order_of_its_own_in_which_each_step_occurs_once() {
        assert_eq!(step_order(0, 5), [0, 1, 2, 3, 4]);
        // The Python side has the same numbers (`test_trainers.py`).
        assert_eq!(step_order(7, 6), [1, 5, 0, 2, 4, 3]);
        assert_ne!(step_order(7, 20), step_order(8, 20));
        let mut sorted = step_order(7, 20);
        sorted.sort_unstable();
        assert_eq!(sorted, step_order(0, 20));
        assert_eq!((step_order(3, 0), step_order(3, 1)), (vec![], vec![0]));
    }
}
