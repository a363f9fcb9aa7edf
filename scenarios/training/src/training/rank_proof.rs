//! Do several ranks train one model, each on its own share? Looked at outside the clock.

use weighbridge::{Error, Result};
use weighbridge_data::ranks::at_once;
use weighbridge_loaders::contract::Tensors;

use super::proof::{STEPS, after, alike, changed_alike, near, pairs, prove_timed, same_start};
use super::settings::check_settings;
use crate::adapters::native::ByHand;
use crate::contract::{Material, TrainedEpoch, TrainingLoop};
use crate::workload::{TrainingRanks, TrainingSpec};

/// A rank of a training.
pub(super) type TrainingRank<'a> = Box<dyn TrainingLoop + Send + 'a>;

/// Holds all ranks against each other, and against the same training in one place by hand in `f64`, which
/// takes whole batches.
///
/// Weights of two ranks must be equal bit by bit: both have made the same step by the same numbers. To the
/// reference they may be as far as those of a training on one rank. Losses and logits of a rank are those of
/// its own share, so that ranks that have each other's, or the same one, are seen.
///
/// # Errors
/// What differs, with the rank.
pub(super) fn prove_ranks(
    ranks: &mut [TrainingRank<'_>],
    timed: &[Vec<TrainedEpoch>],
    asked: TrainingRanks,
    spec: &TrainingSpec,
    material: &Material,
) -> Result<()> {
    let share = asked.share(spec);
    let of_share = TrainingSpec { batch: share, ..spec.clone() };
    at_once(ranks, |_, rank| check_settings(&of_share, &rank.settings()))?;
    // First of all: whatever follows begins anew.
    let left = at_once(ranks, |_, rank| rank.left())?;
    let mut reference = ByHand::<f64>::open(spec, &material.data, &material.weights)?;
    let [of_results, of_changes, _] = spec.tolerance()?;
    let start = after(&mut reference, 0)?;
    at_once(ranks, |_, rank| same_start(&after(rank.as_mut(), 0)?, &start))?;
    let steps = left[0].0;
    if left.iter().any(|(done, _)| *done != steps) {
        let done: Vec<usize> = left.iter().map(|(done, _)| *done).collect();
        return Err(Error::new(format!("the ranks say that {done:?} steps are done of one epoch")));
    }
    let timed = of_all_ranks(timed)?;
    let left: Vec<Tensors> = left.into_iter().map(|(_, weights)| weights).collect();
    same_on_all(&format!("the {steps} steps that were done have left"), &left)?;
    prove_timed(steps, &left[0], &timed, spec, material, &mut reference)?;

    let expected = reference.first()?;
    let classes = expected.logits.len() / spec.batch;
    let losses = reference.losses_of_shares(asked.count)?;
    at_once(ranks, |index, rank| {
        let found = rank.first()?;
        let own = asked.of_batch(spec, index);
        let logits = &expected.logits[own.start * classes..own.end * classes];
        near("the logits of its share of the first step", &found.logits, logits, of_results)?;
        near("the loss of its share of the first step", &[found.loss], &[losses[index]], of_results)?;
        for (found, expected) in pairs(&found.gradients, &expected.gradients)? {
            let what = format!("the gradient of `{}`, averaged over the ranks,", expected.0);
            alike(&what, &found.1, &expected.1, of_changes, 0.0)?;
        }
        Ok(())
    })?;

    let steps = STEPS.min(spec.steps);
    let mut expected = vec![Vec::with_capacity(steps); asked.count];
    reference.train(true, 0)?;
    for _ in 0..steps {
        let losses = reference.losses_of_shares(asked.count)?;
        expected.iter_mut().zip(losses).for_each(|(of_rank, loss)| of_rank.push(loss));
        reference.train(false, 1)?;
    }
    let (_, end) = reference.left()?;
    let ends = at_once(ranks, |index, rank| {
        let losses = rank.train(true, steps)?;
        near("the losses of its share of the first steps", &losses, &expected[index], of_results)?;
        rank.left().map(|(_, weights)| weights)
    })?;
    same_on_all(&format!("{steps} steps leave"), &ends)?;
    changed_alike(&ends[0], &end, &start, steps, of_changes)
}

/// The epochs that were timed, each step with the loss of its whole batch: the mean of those of all ranks'
/// shares.
fn of_all_ranks(timed: &[Vec<TrainedEpoch>]) -> Result<Vec<TrainedEpoch>> {
    let shape = |epochs: &[TrainedEpoch]| -> Vec<(u64, usize)> {
        epochs.iter().map(|epoch| (epoch.epoch, epoch.losses.len())).collect()
    };
    let Some((first, others)) = timed.split_first() else { return Ok(Vec::new()) };
    if let Some(other) = others.iter().find(|other| shape(other) != shape(first)) {
        return Err(Error::new(format!(
            "the ranks have noted other steps, of epochs and how many: {:?} and {:?}",
            shape(first),
            shape(other)
        )));
    }
    let mean = |epoch: usize, step: usize| {
        timed.iter().map(|rank| rank[epoch].losses[step]).sum::<f32>() / timed.len() as f32
    };
    let whole = |(at, one): (usize, &TrainedEpoch)| TrainedEpoch {
        epoch: one.epoch,
        losses: (0..one.losses.len()).map(|step| mean(at, step)).collect(),
    };
    Ok(first.iter().enumerate().map(whole).collect())
}

/// That all ranks have the same weights, bit by bit.
fn same_on_all(what: &str, weights: &[Tensors]) -> Result<()> {
    let first = &weights[0];
    for (rank, other) in weights.iter().enumerate().skip(1) {
        for (found, due) in pairs(other, first)? {
            let differ = |(found, due): &(&f32, &f32)| found.to_bits() != due.to_bits();
            if let Some((found, expected)) = found.1.iter().zip(&due.1).find(differ) {
                return Err(Error::new(format!(
                    "{what} other weights on rank {rank} than on rank 0: `{}` has {found} where that has \
                     {expected}; the ranks do not train one model",
                    due.0
                )));
            }
        }
    }
    Ok(())
}
