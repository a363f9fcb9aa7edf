//! HDIST-1: large images shared among workers.

use weighbridge::Requirements;
use weighbridge::prelude::*;

use super::{Mesh, run};
use crate::prelude::*;

/// Images of 224 pixels, cropped, resized and normalised by workers that share the data set and move in step.
///
/// Does sharing pay where a batch is long work, unlike in DIST-1? Every worker is a thread, or a process of a
/// framework, with a pipeline over a shard of its own; a batch is there when its last part is.
///
/// Timed: the order to every worker, fetching the rows, all three transforms, waiting for the last part. Not
/// timed: making and mapping the data, opening the pipelines, starting threads and processes, the proof,
/// which is that of DIST-1. The work report must show the three transforms and as many workers as the axis
/// says. The older suite ran on one device whatever it was asked.
#[scenario(id = "HDIST-1", category = "Distribution", sets = ["heavy"], equivalence = exact,
    ranks = "collective", filter = fits, needs = needs, describe = describe)]
fn sharded_images(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(
        shard_small = Images::new(50_000, 224, 256),
        tiny = Images::new(512, 48, 32),
        shard_medium = Images::new(200_000, 224, 1_024)
    )]
    variant: Images,
    #[sweep(1, 2)] workers: usize,
) -> Result<()> {
    run::run(bencher, loader, &pipeline(&variant), Mesh::line(workers))
}

/// Checks that the mesh divides the work of a point, for the plan.
fn fits(variant: &Images, workers: &usize) -> Result<(), String> {
    if *workers == 0 {
        return Err("`workers` is 0: at least one makes the batches".to_owned());
    }
    run::fits(&pipeline(variant), Mesh::line(*workers))
}

/// Returns the requirements of a point, for the plan.
fn needs(variant: &Images, workers: &usize) -> Requirements {
    run::needs(&pipeline(variant), Mesh::line((*workers).max(1)))
}

/// Returns the description of a point, for listings.
fn describe(variant: &Images, workers: &usize) -> String {
    run::describe(&pipeline(variant), Mesh::line((*workers).max(1)))
}

fn pipeline(variant: &Images) -> PipelineSpec {
    let chain = [RandomResizedCrop, Normalize, CastToFloat32];
    chain.into_iter().fold(PipelineSpec::images(variant), PipelineSpec::map)
}

#[cfg(test)]
mod tests {
    use weighbridge::{Budget, Purpose, Settings};

    use super::*;
    use crate::adapters::native::{Reference, ReferenceFused};

    #[test]
    fn random_crops_are_the_same_however_many_workers_make_them() {
        let loaders: [&mut dyn Loader; 2] = [&mut Reference, &mut ReferenceFused];
        for loader in loaders {
            for workers in [1, 2, 4] {
                let mut bencher = Bencher::new(Settings::new(Purpose::Smoke, Budget::SMOKE));
                sharded_images(&mut bencher, loader, Images::new(64, 48, 16), workers).unwrap();
                let report = bencher.finish().unwrap().work.unwrap().report;
                assert_eq!(report.workers, workers as u64);
                assert_eq!(report.transforms, ["RandomResizedCrop", "Normalize", "CastToFloat32"]);
            }
        }
    }

    #[test]
    fn a_number_of_workers_that_cannot_be_is_refused_in_the_plan() {
        let variant = Images::new(64, 48, 16);
        assert!(fits(&variant, &0).unwrap_err().contains("`workers` is 0"));
        assert!(fits(&variant, &3).unwrap_err().contains("does not divide"));
        assert!(fits(&variant, &2).is_ok());
    }
}
