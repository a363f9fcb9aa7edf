//! Was the work really shared? Looked at outside the clock, from what each worker stamped and hashed.

use std::collections::HashSet;
use std::time::Duration;

use weighbridge::{Error, Result};

use super::mesh::Mesh;
use super::pool::WorkerEpoch;
use crate::workload::{PipelineSpec, Shard};

/// The evidence that the work was shared: the workers, their overlap, and the wall time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ShardProof {
    /// Threads, or processes, that delivered something.
    pub(super) workers: usize,
    /// The time in which all of them were at work at once.
    pub(super) overlap: Duration,
    /// From the first start to the last end.
    pub(super) wall: Duration,
}

/// Holds what the workers of a mesh did against what one pipeline alone gives, whose hashes of band `b` of
/// every element are `alone[b]`, in order. Where a shard's own elements come in any order, they are compared
/// without it: `in_order` says.
///
/// # Errors
/// Fewer threads or processes at work than the mesh has; two that did not overlap; a shard that does not hold
/// exactly its elements.
pub(super) fn judge(
    mesh: Mesh,
    spec: &PipelineSpec,
    run_epoch: &[WorkerEpoch],
    alone: &[Vec<u128>],
    in_order: bool,
) -> Result<ShardProof> {
    let busy: HashSet<_> =
        run_epoch.iter().filter(|epoch| !epoch.hashes.is_empty()).map(|epoch| epoch.site).collect();
    if busy.len() != mesh.workers() {
        return Err(Error::new(format!(
            "{} workers were asked for with `mesh` {mesh}, and {} were at work: \
             a count that was not used is not reported",
            mesh.workers(),
            busy.len()
        )));
    }
    for (index, epoch) in run_epoch.iter().enumerate() {
        let (shard, band) = (Shard { index: index / mesh.bands, count: mesh.shards }, index % mesh.bands);
        let own = shard.of(spec.source.elements);
        let expected = &alone[band][own.clone()];
        let equal = if in_order {
            epoch.hashes == expected
        } else {
            let sorted = |hashes: &[u128]| {
                let mut hashes = hashes.to_vec();
                hashes.sort_unstable();
                hashes
            };
            sorted(&epoch.hashes) == sorted(expected)
        };
        if !equal {
            return Err(Error::new(format!(
                "worker {index} of `mesh` {mesh} did not deliver exactly the elements {own:?} (shard \
                 {shard}): it has {}, and the content or the order differs from one pipeline's",
                epoch.hashes.len()
            )));
        }
    }
    let last_start = run_epoch.iter().map(|epoch| epoch.start).max();
    let first_end = run_epoch.iter().map(|epoch| epoch.end).min();
    let (Some(last_start), Some(first_end)) = (last_start, first_end) else {
        return Err(Error::new("the mesh has no workers"));
    };
    let overlap = first_end.checked_duration_since(last_start);
    let Some(overlap) = overlap else {
        return Err(Error::new(format!("the workers of `mesh` {mesh} were not at work at the same time")));
    };
    let first_start = run_epoch.iter().map(|epoch| epoch.start).min().unwrap_or(last_start);
    let last_end = run_epoch.iter().map(|epoch| epoch.end).max().unwrap_or(first_end);
    Ok(ShardProof { workers: busy.len(), overlap, wall: last_end - first_start })
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use weighbridge_data::DataSpec;

    use super::*;
    use crate::distribution::pool::Site;

    fn spec() -> PipelineSpec {
        PipelineSpec::new(DataSpec::tokens(4, 2), 2)
    }

    /// Two workers with these stamps in milliseconds and these hashes.
    fn judged(change: impl FnOnce(&mut Vec<WorkerEpoch>)) -> Result<ShardProof> {
        judged_in(true, change)
    }

    fn judged_in(order: bool, change: impl FnOnce(&mut Vec<WorkerEpoch>)) -> Result<ShardProof> {
        let zero = Instant::now();
        let at = |milliseconds: u64| zero + Duration::from_millis(milliseconds);
        let thread = || Site::Thread(std::thread::spawn(|| std::thread::current().id()).join().unwrap());
        let mut run_epoch: Vec<WorkerEpoch> = ([thread(), thread()]
            .into_iter()
            .zip([(0, 10), (2, 8)])
            .zip([vec![1, 2], vec![3, 4]]))
        .map(|((site, (start, end)), hashes)| WorkerEpoch { site, start: at(start), end: at(end), hashes })
        .collect();
        change(&mut run_epoch);
        judge(Mesh::line(2), &spec(), &run_epoch, &[vec![1, 2, 3, 4]], order)
    }

    #[test]
    fn workers_that_share_the_work_at_the_same_time_pass() {
        let found = judged(|_| ()).unwrap();
        let (overlap, wall) = (Duration::from_millis(6), Duration::from_millis(10));
        assert_eq!(found, ShardProof { workers: 2, overlap, wall });
    }

    #[test]
    fn a_count_that_was_not_used_is_refused() {
        let one_thread = judged(|run_epoch| run_epoch[1].site = run_epoch[0].site).unwrap_err().to_string();
        assert!(
            one_thread.contains("2 workers were asked for") && one_thread.contains("and 1 were"),
            "{one_thread}"
        );
        let one_process =
            judged(|run_epoch| run_epoch.iter_mut().for_each(|epoch| epoch.site = Site::Process(7)));
        assert!(one_process.unwrap_err().to_string().contains("and 1 were at work"));
        let idle = judged(|run_epoch| run_epoch[1].hashes.clear()).unwrap_err().to_string();
        assert!(idle.contains("and 1 were at work"), "{idle}");
    }

    #[test]
    fn elements_that_are_missing_doubled_or_of_another_shard_are_refused() {
        for wrong in [vec![3], vec![3, 3], vec![1, 2], vec![4, 3], vec![3, 4, 1]] {
            let said = judged(|run_epoch| run_epoch[1].hashes = wrong).unwrap_err().to_string();
            assert!(
                said.contains("worker 1 of `mesh` 2 did not deliver exactly the elements 2..4"),
                "{said}"
            );
        }
    }

    #[test]
    fn where_order_is_lost_a_shard_must_hold_its_elements_in_any_order_and_no_others() {
        assert!(judged_in(false, |run_epoch| run_epoch[1].hashes = vec![4, 3]).is_ok());
        for wrong in [vec![3], vec![3, 3], vec![1, 2], vec![2, 4]] {
            assert!(judged_in(false, |run_epoch| run_epoch[1].hashes = wrong).is_err());
        }
    }

    #[test]
    fn workers_one_after_the_other_are_refused() {
        let said =
            judged(|run_epoch| run_epoch[1].start = run_epoch[0].end + Duration::from_millis(1)).unwrap_err();
        assert!(said.to_string().contains("not at work at the same time"), "{said}");
    }
}
