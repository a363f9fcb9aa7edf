//! DIST-1: one data set shared among 1, 2, 4 or 8 workers.

use std::str::FromStr;

use weighbridge::Requirements;
use weighbridge::prelude::*;

use super::{Mesh, run};
use crate::prelude::*;

/// One data set shared among 1, 2, 4 or 8 workers that move in step.
///
/// What does it bring, and what does it cost, to have a batch of 64 made in equal parts by several workers,
/// each with a pipeline over a shard of its own? Every worker is a thread, or a process where the system runs
/// in processes of its own (a framework of Python: one for each rank, as data-parallel training has them); a
/// batch is there when its last part is. With one worker the hand-over is paid too, so that the counts
/// compare.
///
/// Timed: the order to every worker, fetching the rows, the transform, waiting for the last part; to a
/// process, the message and its answer. Not timed: making and mapping the data, opening the pipelines,
/// starting threads and processes, handing content over between processes, the proof. Processor time and
/// memory are those of all processes.
///
/// The proof runs after the clock in every repeat: all workers go through an epoch at once, stamping their
/// start and end, and every element is hashed. Fewer threads or processes at work than asked for, workers
/// that were not at work at the same time, a shard that does not hold exactly its elements, in order, as one
/// pipeline alone gives them: each is a failure. Where a system says that it loses the order, a shard is
/// compared without it, with the reference's elements. The work report must show `Normalize` and as many
/// workers as the variant says. The older suite took the number of devices and ran on one.
#[scenario(id = "DIST-1", category = "Distribution", sets = ["canonical", "tpu"], equivalence = exact,
    ranks = "collective", filter = fits, needs = needs, describe = describe)]
fn sharding(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(
        "1_device" = Devices::new(1),
        "2_devices" = Devices::new(2),
        "4_devices" = Devices::new(4),
        "8_devices" = Devices::new(8),
        tiny = Devices { count: 2, elements: 640 }
    )]
    variant: Devices,
) -> Result<()> {
    run::run(bencher, loader, &variant.pipeline(), variant.mesh())
}

/// Checks that the mesh divides the work of a point, for the plan.
fn fits(variant: &Devices) -> Result<(), String> {
    run::fits(&variant.pipeline(), variant.mesh())
}

/// Returns the requirements of a point, for the plan.
fn needs(variant: &Devices) -> Requirements {
    run::needs(&variant.pipeline(), variant.mesh())
}

/// Returns the description of a point, for listings.
fn describe(variant: &Devices) -> String {
    run::describe(&variant.pipeline(), variant.mesh())
}

/// The number of workers, and the number of elements that they share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Devices {
    count: usize,
    elements: usize,
}

impl Devices {
    const fn new(count: usize) -> Self {
        Self { count, elements: 10_000 }
    }

    fn mesh(self) -> Mesh {
        Mesh::line(self.count)
    }

    fn pipeline(self) -> PipelineSpec {
        PipelineSpec::new(DataSpec::normal("image", self.elements, vec![32, 32, 3]), 64).map(Normalize)
    }
}

impl FromStr for Devices {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let count = text.parse::<usize>().ok().filter(|count| (1..=256).contains(count));
        count.map(Self::new).ok_or_else(|| format!("`{text}` is no number of workers from 1 to 256"))
    }
}

#[cfg(test)]
mod tests {
    use weighbridge::{Budget, Purpose, Settings};

    use super::*;
    use crate::adapters::native::{Reference, ReferenceFused};

    #[test]
    fn the_workers_that_are_recorded_are_those_that_were_at_work() {
        let loaders: [&mut dyn Loader; 2] = [&mut Reference, &mut ReferenceFused];
        for loader in loaders {
            for count in [1, 2, 4, 8] {
                let mut bencher = Bencher::new(Settings::new(Purpose::Smoke, Budget::SMOKE));
                sharding(&mut bencher, loader, Devices::new(count)).unwrap();
                let done = bencher.finish().unwrap();
                assert_eq!(done.work.unwrap().report.workers, count as u64);
                let said =
                    |name: &str| done.seen.custom.iter().find(|metric| metric.name == name).unwrap().value;
                assert_eq!((said("active_workers"), said("mesh/shards")), (count as f64, count as f64));
            }
        }
    }

    #[test]
    fn a_count_that_does_not_divide_the_batch_is_refused_in_the_plan() {
        assert!(fits(&"3".parse().unwrap()).unwrap_err().contains("does not divide `batch_size` 64"));
        assert!(fits(&"16".parse().unwrap()).is_ok());
        assert!("0".parse::<Devices>().is_err());
    }

    #[test]
    fn a_loader_that_keeps_to_one_thread_is_a_skip() {
        struct OneThread;
        impl Loader for OneThread {
            fn open(
                &mut self,
                spec: &PipelineSpec,
                data: &std::sync::Arc<DataSet>,
            ) -> Result<Box<dyn Epochs + '_>> {
                let _ = (spec, data);
                Err(weighbridge::Error::new("nobody asks for it"))
            }
        }
        let mut bencher = Bencher::new(Settings::new(Purpose::Smoke, Budget::SMOKE));
        let why = sharding(&mut bencher, &mut OneThread, Devices::new(2)).unwrap_err();
        assert!(why.is_skip() && why.to_string().contains("cannot be sharded"), "{why}");
    }
}
