//! What every loader and every learner of this build must do, over toy pipelines; and that the checks would
//! notice if it did not.

mod alike;
mod chains;
mod golden;
mod installed;
mod learners;
mod oracle;
#[path = "../../../tests/own/mod.rs"]
mod own;
mod structure;
mod wrong;

use std::any::TypeId;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use tempfile::TempDir;
use weighbridge::__private::{AdapterEntry, Registry};
use weighbridge::{Bencher, Budget, Content, ItemCopy, Purpose, Result, Settings};
use weighbridge_data::{Cache, DataSet, DataSpec, Epochs};
use weighbridge_loaders::adapters::native::Reference;
use weighbridge_loaders::contract::{Loader, for_each_batch};
use weighbridge_loaders::workload::{Access, PipelineSpec, Shard, Transform};

use self::own::is_own;

type NamedLoader = (&'static str, Box<dyn Loader>);

/// Every loader of this build. One that makes batches on a device has tests of its own, which bring a device
/// (`tests/lab/gpu/tests/cuda_loader.rs` of the workspace).
fn loaders() -> Vec<NamedLoader> {
    let registry = Registry::collect().unwrap();
    let adapters = registry.adapters().iter().filter(|entry| {
        (entry.contract.id)() == TypeId::of::<dyn Loader>() && is_own(entry) && !entry.name.contains("CUDA")
    });
    let make = |entry: &&AdapterEntry| {
        let made = *(entry.make)().unwrap().downcast::<Box<dyn Loader>>().unwrap();
        (entry.name, if entry.name == "rayon" { Box::new(Pooled(made)) } else { made })
    };
    adapters.map(make).collect()
}

/// A loader that is nothing without a pool: where no worker is asked for, it is given one.
struct Pooled(Box<dyn Loader>);

impl Pooled {
    fn spec(spec: &PipelineSpec) -> PipelineSpec {
        spec.clone().workers(spec.workers.max(1))
    }
}

impl Loader for Pooled {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        self.0.open(&Self::spec(spec), data)
    }

    fn open_many(
        &mut self,
        specs: &[PipelineSpec],
        data: &Arc<DataSet>,
    ) -> Result<Vec<Box<dyn Epochs + Send + '_>>> {
        self.0.open_many(&specs.iter().map(Self::spec).collect::<Vec<_>>(), data)
    }
}

/// The loaders that run this pipeline: the reference ones always, others unless they decline it by name.
fn takers(spec: &PipelineSpec, data: &Arc<DataSet>) -> Vec<NamedLoader> {
    let takes = |(name, loader): &mut NamedLoader| match loader.open(spec, data).map(drop) {
        Ok(()) => true,
        Err(error) => {
            assert!(error.is_skip() && !name.starts_with("Reference"), "{name}: {error}");
            false
        }
    };
    let mut all = loaders();
    all.retain_mut(takes);
    all
}

fn data(spec: &PipelineSpec) -> (TempDir, Arc<DataSet>) {
    let place = tempfile::tempdir().unwrap();
    let data = Cache::at(place.path()).open(&spec.source).unwrap();
    (place, Arc::new(data))
}

/// The batches of one epoch, copied.
fn epoch(epochs: &mut dyn Epochs, number: u64) -> Vec<ItemCopy> {
    let mut batches = Vec::new();
    for_each_batch(epochs, number, &mut |batch| batches.push(batch.keep())).unwrap();
    batches
}

fn batches(loader: &mut dyn Loader, spec: &PipelineSpec, data: &Arc<DataSet>) -> Vec<ItemCopy> {
    epoch(&mut *loader.open(spec, data).unwrap(), 0)
}

/// Returns whether a loader gives the batches of this pipeline in the order of the epoch. Those of one that
/// does not are compared in any order, by a test of their own.
fn keeps_order(loader: &mut dyn Loader, spec: &PipelineSpec, data: &Arc<DataSet>) -> bool {
    loader.open(spec, data).unwrap().in_order()
}

/// All rows of a field, put together again.
fn rows(batches: &[ItemCopy], field: usize) -> Vec<u8> {
    batches.iter().flat_map(|batch| batch.fields[field].bytes.iter().copied()).collect()
}

fn content(batches: &[ItemCopy]) -> Content {
    let mut content = Content::default();
    for batch in batches {
        content.add(batch).unwrap();
    }
    content
}

fn toy() -> PipelineSpec {
    PipelineSpec::new(DataSpec::images(23, 8, 3), 5)
}

#[test]
fn the_reference_loaders_are_registered() {
    let names: Vec<&str> = loaders().iter().map(|(name, _)| *name).collect();
    assert!(names.contains(&"Reference") && names.contains(&"Reference (fused)"), "{names:?}");
}

#[test]
fn the_first_batch_without_transforms_is_the_first_rows_of_the_source() {
    for (name, mut loader) in loaders() {
        for access in [Access::Memory, Access::FileEager, Access::FileStreaming] {
            for workers in [0, 1, 3] {
                let spec = toy().access(access).workers(workers);
                let (_place, data) = data(&spec);
                if !keeps_order(&mut *loader, &spec, &data) {
                    continue;
                }
                let batches = batches(&mut *loader, &spec, &data);
                assert_eq!(batches[0].fields[0].bytes, data.rows(0, 0..5), "{name} {access:?} {workers}");
                assert_eq!(rows(&batches, 0), data.rows(0, 0..23), "{name} {access:?} {workers}");
            }
        }
    }
}

#[test]
fn only_real_elements_are_counted_and_the_last_batch_may_be_short() {
    for (name, mut loader) in loaders() {
        for (batch_size, expected) in
            [(5, vec![5, 5, 5, 5, 3]), (23, vec![23]), (100, vec![23]), (1, vec![1; 23])]
        {
            let spec = PipelineSpec { batch_size, ..toy() };
            let (_place, data) = data(&spec);
            let found: Vec<usize> =
                batches(&mut *loader, &spec, &data).iter().map(|batch| batch.elements).collect();
            assert_eq!(found, expected, "{name}");
        }
    }
}

#[test]
fn an_epoch_ends_stays_ended_and_is_the_same_after_going_back() {
    for (name, mut loader) in loaders() {
        for workers in [0, 2] {
            let spec = toy().map(Transform::RandomCrop).map(Transform::RandomFlip).workers(workers);
            let (_place, data) = data(&spec);
            if !keeps_order(&mut *loader, &spec, &data) {
                continue;
            }
            let mut epochs = loader.open(&spec, &data).unwrap();
            let whole = epoch(&mut *epochs, 0);
            assert!(!epochs.advance().unwrap(), "{name}");
            epochs.begin(0).unwrap();
            assert!(epochs.advance().unwrap());
            assert_eq!(epochs.batch().keep(), whole[0], "{name}");
            assert_eq!(epoch(&mut *epochs, 0), whole, "going back from the middle: {name}");
            assert_ne!(epoch(&mut *epochs, 1), whole, "another epoch has other draws: {name}");
            assert_eq!(epoch(&mut *epochs, 0), whole, "{name}");
        }
    }
}

#[test]
fn neither_workers_nor_batches_nor_shards_change_the_rows() {
    let random = toy().map(Transform::RandomCrop).map(Transform::RandomFlip).map(Transform::Normalize);
    let (_place, data) = data(&random);
    for (name, mut loader) in loaders() {
        let expected = rows(&batches(&mut *loader, &random, &data), 0);
        for workers in [1, 2, 7] {
            if !keeps_order(&mut *loader, &random.clone().workers(workers), &data) {
                continue;
            }
            let found = batches(&mut *loader, &random.clone().workers(workers), &data);
            assert_eq!(rows(&found, 0), expected, "{name}, {workers} workers");
        }
        for batch_size in [1, 7, 64] {
            let found = batches(&mut *loader, &PipelineSpec { batch_size, ..random.clone() }, &data);
            assert_eq!(rows(&found, 0), expected, "{name}, batches of {batch_size}");
        }
        let shards = (0..3)
            .flat_map(|index| batches(&mut *loader, &random.clone().shard(Shard { index, count: 3 }), &data));
        assert_eq!(rows(&shards.collect::<Vec<_>>(), 0), expected, "{name}, shards");
    }
}

#[test]
fn batches_in_any_order_are_the_same_batches() {
    let random = toy().map(Transform::RandomCrop).map(Transform::Normalize);
    let (_place, data) = data(&random);
    for (name, mut loader) in loaders() {
        let spec = random.clone().workers(3);
        let mut expected = epoch(&mut *Reference.open(&random, &data).unwrap(), 1);
        let mut epochs = loader.open(&spec, &data).unwrap();
        epochs.begin(0).unwrap();
        assert!(epochs.advance().unwrap(), "an epoch that is broken off leaves nothing behind: {name}");
        let mut found = epoch(&mut *epochs, 1);
        assert!(!epochs.advance().unwrap(), "{name}");
        let by_bytes = |batch: &ItemCopy| batch.fields[0].bytes.clone();
        expected.sort_by_key(by_bytes);
        found.sort_by_key(by_bytes);
        assert!(found == expected, "{name}");
    }
}

#[test]
fn the_work_report_says_what_was_executed() {
    for (name, mut loader) in loaders() {
        let spec = toy().map(Transform::Normalize).map(Transform::CastToFloat32).workers(2);
        let (_place, data) = data(&spec);
        let executed = loader.open(&spec, &data).unwrap().executed();
        assert_eq!(executed.transforms, ["Normalize", "CastToFloat32"], "{name}");
        assert_eq!((&*executed.ran_on, executed.workers), ("cpu", 2), "{name}");
    }
}

#[test]
fn an_impossible_pipeline_is_an_error_and_no_panic() {
    for (_, mut loader) in loaders() {
        let (_place, data) = data(&toy());
        assert!(loader.open(&PipelineSpec { batch_size: 0, ..toy() }, &data).is_err());
        assert!(loader.open(&toy().map(Transform::Scale), &data).is_err());
        assert!(loader.open(&PipelineSpec::new(DataSpec::tokens(3, 3), 1), &data).is_err());
    }
}

#[test]
fn a_file_that_fails_under_way_is_an_error_that_names_it() {
    for (name, mut loader) in loaders() {
        for access in [Access::FileEager, Access::FileStreaming] {
            for workers in [0, 2] {
                let spec = toy().access(access).workers(workers);
                let (_place, data) = data(&spec);
                let mut epochs = loader.open(&spec, &data).unwrap();
                // Shortened behind the loader's back. The map of it is not touched any more.
                let writable = std::fs::Permissions::from_mode(0o644);
                std::fs::set_permissions(data.path(0), writable).unwrap();
                std::fs::File::options().write(true).open(data.path(0)).unwrap().set_len(10).unwrap();
                epochs.begin(0).unwrap();
                let said = epochs.advance().unwrap_err();
                assert!(said.to_string().contains("image.bin") && !said.is_skip(), "{name}: {said}");
            }
        }
    }
}

#[test]
fn the_bencher_hashes_every_element_of_a_verifying_repeat() {
    use weighbridge_loaders::contract::Load as _;
    let spec = toy().map(Transform::Normalize);
    let (_place, data) = data(&spec);
    let expected = content(&batches(&mut Reference, &spec, &data));
    for (name, mut loader) in loaders() {
        let budget = Budget { warmup: 1, batches: 2, min_time: std::time::Duration::ZERO, max_time: None };
        let bencher = Bencher::new(Settings::new(Purpose::Verify, budget));
        bencher.load(&mut *loader, &spec).unwrap();
        let done = bencher.finish().unwrap();
        let work = done.work.unwrap();
        assert_eq!(work.content, expected, "{name}");
        assert_eq!(work.report.input.as_deref(), Some(data.digest()), "{name}");
        assert_eq!(done.spots.len(), 5, "{name}: batches of five and three");
    }
}
