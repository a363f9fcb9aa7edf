//! One distributed scenario: the timed stream of whole batches, then the proof.
//!
//! Its tests drive a worker of the protocol, in as many processes as a mesh has places.

use std::sync::Arc;

use weighbridge::remote::LifeData;
use weighbridge::{Bencher, Direction, Error, Requirements, Result, Unit, WorkReport, Workload};
use weighbridge_data::ranks::{AnswerPlace, LaunchedRanks, RemoteEpochs, answer_epochs};
use weighbridge_data::{Cache, DataSet, Epochs};
use xxhash_rust::xxh3::Xxh3;

use super::mesh::{Mesh, MeshPlace};
use super::pool::{Band, WorkerPool};
use super::proof::judge;
use crate::adapters::native::Reference;
use crate::contract::{Loader, for_each_batch, open_data};
use crate::workload::PipelineSpec;

/// Runs a pipeline over a mesh. Where several processes of a launch share it, each has its places, and rank 0
/// drives all of them.
pub(super) fn run(bencher: &Bencher, loader: &mut dyn Loader, spec: &PipelineSpec, mesh: Mesh) -> Result<()> {
    mesh.places(spec)?;
    let (spec, data) = open_data(bencher, spec)?;
    let places = mesh.places(&spec)?;
    let mut launched = LaunchedRanks::meet(bencher, mesh.workers())?;
    if !launched.is_first() {
        return follow(loader, &mut launched, &spec, &data, mesh);
    }
    live(bencher, loader, &mut launched, &spec, &data, mesh)?;
    let opened = OpenedData { data: &data, is_part: false };
    let pipelines = open_places(loader, &mut launched, &places, opened, mesh)?;
    let report = pipelines[0].executed().report(&data, pipelines[0].entry_point());
    let in_order = pipelines.iter().all(|pipeline| pipeline.in_order());
    let pipelines = with_bands(pipelines, &places);
    let run_epoch = std::thread::scope(|scope| {
        let mut pool = WorkerPool::start(scope, "worker", pipelines)?;
        bencher.stream(&mut pool)?;
        pool.run_epoch(0)
    })?;
    data.check_unchanged()?;
    let mut alone = vec![Vec::new(); mesh.bands];
    let mut hash = Xxh3::new();
    // Whose shards come in any order has no place to be looked up by either.
    let alone_of: &mut dyn Loader = if in_order { loader } else { &mut Reference };
    for_each_batch(&mut *alone_of.open(&spec, &data)?, 0, &mut |batch| {
        for (index, hashes) in alone.iter_mut().enumerate() {
            Band { index, of: mesh.bands }.hash(batch, &mut hash, hashes);
        }
    })?;
    let found = judge(mesh, &spec, &run_epoch, &alone, in_order)?;
    bencher.work(WorkReport {
        ran_on: format!("{}, mesh {mesh}", report.ran_on),
        workers: found.workers as u64 * report.workers.max(1),
        ..report
    });
    let say = |name, value: usize| bencher.metric(name, value as f64, Unit::COUNT, Direction::Information);
    say("active_workers", found.workers);
    say("mesh/shards", mesh.shards);
    say("mesh/bands", mesh.bands);
    if !in_order {
        say("unordered_shards", mesh.shards);
    }
    let share = found.overlap.as_secs_f64() / found.wall.as_secs_f64().max(f64::MIN_POSITIVE);
    bencher.metric("worker_overlap", share * 100.0, Unit::other("%"), Direction::Information);
    Ok(())
}

/// The data that pipelines are opened over: all of it, or the part that lives are over.
#[derive(Clone, Copy)]
struct OpenedData<'a> {
    data: &'a Arc<DataSet>,
    is_part: bool,
}

/// One pipeline for each place of a mesh.
fn open_places<'a>(
    loader: &'a mut dyn Loader,
    launched: &mut LaunchedRanks,
    places: &[MeshPlace],
    OpenedData { data, is_part }: OpenedData<'_>,
    mesh: Mesh,
) -> Result<Vec<Box<dyn Epochs + Send + 'a>>> {
    let own = launched.order(&is_part.into())?;
    let own = own.map_or(places, |own| &places[own.first..][..own.here]);
    let specs: Vec<PipelineSpec> = own.iter().map(|place| place.spec.clone()).collect();
    let pipelines = loader.open_many(&specs, data);
    let pipelines = launched.join(pipelines, |line, opened| {
        Ok(Box::new(RemoteEpochs::new(line, &opened)?) as Box<dyn Epochs + Send>)
    })?;
    if pipelines.len() == mesh.workers() {
        return Ok(pipelines);
    }
    let (asked, got) = (mesh.workers(), pipelines.len());
    Err(Error::new(format!("`mesh` {mesh} has {asked} workers, and the loader made {got} pipelines")))
}

/// Opens this process's places of a mesh as often as rank 0 asks for it, and answers for them.
fn follow(
    loader: &mut dyn Loader,
    launched: &mut LaunchedRanks,
    spec: &PipelineSpec,
    data: &Arc<DataSet>,
    mesh: Mesh,
) -> Result<()> {
    let rank = launched.rank();
    while let Some(order) = launched.next_order() {
        let of_part = (order.with == true).then(|| part(spec));
        let (spec, data) = match of_part {
            Some(part) => {
                let data = Arc::new(Cache::from_env().open(&part.source)?);
                (part, data)
            }
            None => (spec.clone(), data.clone()),
        };
        let places = mesh.places(&spec)?;
        let own = &places[order.place.first..][..order.place.here];
        let specs: Vec<PipelineSpec> = own.iter().map(|place| place.spec.clone()).collect();
        launched.serve(loader.open_many(&specs, &data), |index, pipeline, asked| {
            answer_epochs(&mut **pipeline, AnswerPlace { rank, index }, asked)?
                .ok_or_else(|| Error::new(format!("a pipeline is asked for `{}`", asked.word)))
        });
    }
    data.check_unchanged()
}

/// A life may be over one of so many parts of the data.
const PARTS: usize = 4;

/// The pipeline over a part of the data.
fn part(spec: &PipelineSpec) -> PipelineSpec {
    spec.clone().cut_to(spec.elements().len() / spec.batch_size / PARTS)
}

/// Has the harness time lives of all workers, over all of the data and over its first quarter: whoever makes
/// a shard with its first batch takes longer for each element that it has more. (Frameworks start a process
/// for each worker, whose start is no life.)
fn live(
    bencher: &Bencher,
    loader: &mut dyn Loader,
    launched: &mut LaunchedRanks,
    spec: &PipelineSpec,
    data: &Arc<DataSet>,
    mesh: Mesh,
) -> Result<()> {
    let part = part(spec);
    if loader.is_elsewhere() || mesh.places(&part).is_err() {
        return Ok(());
    }
    let elements = [&part, spec].map(|spec| spec.elements().len() as u64);
    let mut of_part: Option<Arc<DataSet>> = None;
    bencher.lives(elements, &mut |over| {
        let (spec, data) = match (over, &of_part) {
            (LifeData::Whole, _) => (spec, data.clone()),
            (LifeData::Part(_), Some(data)) => (&part, data.clone()),
            (LifeData::Part(_), None) => {
                let data = Arc::new(Cache::from_env().open(&part.source)?);
                (&part, of_part.insert(data).clone())
            }
        };
        let places = mesh.places(spec)?;
        let opened = OpenedData { data: &data, is_part: matches!(over, LifeData::Part(_)) };
        let pipelines = with_bands(open_places(loader, launched, &places, opened, mesh)?, &places);
        std::thread::scope(|scope| WorkerPool::start(scope, "worker", pipelines)?.go_through(bencher.epoch()))
    })
}

type BandedPipeline<'a> = (Box<dyn Epochs + Send + 'a>, Band);

fn with_bands<'a>(
    pipelines: Vec<Box<dyn Epochs + Send + 'a>>,
    places: &[MeshPlace],
) -> Vec<BandedPipeline<'a>> {
    let bands = places.iter().map(|place| Band { index: place.band, of: place.bands });
    pipelines.into_iter().zip(bands).collect()
}

/// Returns the requirements of a pipeline over a mesh: the data once, and the batches of every worker.
pub(super) fn needs(spec: &PipelineSpec, mesh: Mesh) -> Requirements {
    let Requirements { memory, batch } = spec.needs();
    let data = spec.source.bytes();
    // Every band makes the whole of its elements.
    Requirements { memory: data + memory.saturating_sub(data) * mesh.bands as u64, batch }
}

/// Checks that the mesh divides the work, for the plan.
pub(super) fn fits(spec: &PipelineSpec, mesh: Mesh) -> Result<(), String> {
    mesh.places(spec).map(drop).map_err(|error| error.to_string())
}

/// Returns the description of a point, for listings.
pub(super) fn describe(spec: &PipelineSpec, mesh: Mesh) -> String {
    format!("{}, over a mesh of {mesh}", spec.describe())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use weighbridge::{Budget, ErrorKind, Observation, Purpose, Settings};
    use weighbridge_data::DataSpec;

    use super::*;
    use crate::adapters::python::fake::Tiny;
    use crate::contract::load_epochs;

    /// Runs the fake framework over a mesh; nothing where there is no Python.
    #[track_caller]
    fn ran(fault: &str, mesh: Mesh, purpose: Purpose) -> Option<Result<(WorkReport, Observation)>> {
        Some(ran_again(&mut Tiny::new(fault)?, mesh, purpose))
    }

    fn ran_again(tiny: &mut Tiny, mesh: Mesh, purpose: Purpose) -> Result<(WorkReport, Observation)> {
        let spec = PipelineSpec::new(DataSpec::normal("image", 60, vec![8, 3]), 16);
        let bencher = Bencher::new(Settings::new(purpose, Budget::SMOKE));
        run(&bencher, tiny, &spec, mesh)?;
        let done = bencher.finish()?;
        Ok((done.work.unwrap().report, done.seen))
    }

    /// The processes that this thread, and no other test, has started.
    fn started() -> BTreeSet<u32> {
        let children = fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
        children.split_whitespace().map(|id| id.parse().unwrap()).collect()
    }

    #[test]
    fn ranks_in_processes_of_their_own_are_proven_and_what_they_used_is_told() {
        for (mesh, workers) in [(Mesh::line(1), 1), (Mesh::line(2), 2), (Mesh::grid(2, 2), 4)] {
            for purpose in [Purpose::Verify, Purpose::Measure] {
                let Some(done) = ran("none", mesh, purpose) else { return };
                let (report, seen) = done.unwrap();
                assert_eq!((report.workers, &*report.ran_on), (workers, &*format!("cpu, mesh {mesh}")));
                let entry_point = report.entry_point.unwrap();
                assert!(
                    entry_point.starts_with("tiny.Loader of") && entry_point.contains(", version 1, Python"),
                    "{entry_point}"
                );
                assert_eq!(seen.ran_elsewhere(), purpose == Purpose::Measure);
                assert_eq!((seen.usage.moved, seen.around.helpers), (None, None));
            }
        }
        assert!(started().is_empty());
    }

    #[test]
    fn a_rank_that_dies_is_told_by_number_the_others_end_and_the_next_case_runs() {
        let Some(mut tiny) = Tiny::new("dies-in-a-step") else { return };
        for _ in 0..2 {
            let told = ran_again(&mut tiny, Mesh::line(4), Purpose::Measure).unwrap_err();
            assert_eq!(told.kind(), &ErrorKind::Exit(9));
            let words = "worker 1 of 4 (from 0): the worker exited with code 9 while making a batch in step";
            assert!(told.to_string().contains(words), "{told}");
            assert!(started().len() <= 1, "the resident worker alone is there: {:?}", started());
        }
        ran_again(&mut tiny, Mesh::line(1), Purpose::Measure).unwrap();
        drop(tiny);
        assert!(started().is_empty());
    }

    #[test]
    fn a_worker_that_writes_into_the_data_that_it_is_held_against_is_told() {
        let Some(mut tiny) = Tiny::new("writes-into-its-data") else { return };
        let place = tempfile::tempdir().unwrap();
        let spec = PipelineSpec::new(DataSpec::normal("image", 60, vec![8, 3]), 16);
        let data = Arc::new(weighbridge_data::Cache::at(place.path()).open(&spec.source).unwrap());
        let bencher = Bencher::new(Settings::new(Purpose::Measure, Budget::SMOKE));
        let mut epochs = bencher.open(|| tiny.open(&spec, &data)).unwrap();
        let told = load_epochs(&bencher, &mut *epochs, &spec, &data).unwrap_err().to_string();
        assert!(told.contains("image.bin was written to while it was in use"), "{told}");
    }

    #[test]
    fn a_framework_that_ignores_its_shard_is_caught_by_the_proof() {
        let Some(done) = ran("ignores-its-shard", Mesh::line(2), Purpose::Measure) else { return };
        let told = done.unwrap_err().to_string();
        assert!(told.contains("worker 1 of `mesh` 2 did not deliver exactly the elements 30..60"), "{told}");
    }

    #[test]
    fn what_the_first_rank_declines_is_a_skip_and_one_that_cannot_open_is_told_by_number() {
        let Some(done) = ran("declines", Mesh::line(2), Purpose::Measure) else { return };
        let told = done.unwrap_err();
        assert!(told.is_skip() && told.to_string() == "ranks in step: there is but one of it", "{told}");
        let told = ran("fails-to-open", Mesh::line(2), Purpose::Measure).unwrap().unwrap_err();
        assert_eq!(told.to_string(), "worker 1 of 2 (from 0): out of cheese");
        assert!(started().is_empty());
    }
}
