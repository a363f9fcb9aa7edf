//! One distributed scenario: the timed stream of whole batches, then the proof.

use weighbridge::{Bencher, Direction, Error, Needs, Result, Ticket, Unit};
use xxhash_rust::xxh3::Xxh3;

use super::crew::{Band, Crew};
use super::mesh::Mesh;
use super::proof::judge;
use crate::contract::{Executed, Loader, for_each_batch, open_data};
use crate::workload::PipelineSpec;

/// Runs a pipeline over a mesh.
pub(super) fn run(bencher: &Bencher, loader: &mut dyn Loader, spec: &PipelineSpec, mesh: Mesh) -> Result<()> {
    mesh.places(spec)?;
    let (spec, data) = open_data(bencher, spec)?;
    let places = mesh.places(&spec)?;
    let specs: Vec<PipelineSpec> = places.iter().map(|place| place.spec.clone()).collect();
    let pipelines = loader.open_many(&specs, &data)?;
    if pipelines.len() != mesh.workers() {
        let (asked, got) = (mesh.workers(), pipelines.len());
        return Err(Error::new(format!(
            "`mesh` {mesh} has {asked} workers, and the loader made {got} pipelines"
        )));
    }
    let Executed { transforms, ran_on, synchronised, delivery, workers } = pipelines[0].executed();
    let bands = places.iter().map(|place| Band { index: place.band, of: place.bands });
    let pipelines = pipelines.into_iter().zip(bands).collect();
    let shifts = std::thread::scope(|scope| {
        let mut crew = Crew::start(scope, pipelines)?;
        bencher.stream(&mut crew)?;
        crew.shifts(0)
    })?;
    let mut alone = vec![Vec::new(); mesh.bands];
    let mut hash = Xxh3::new();
    for_each_batch(&mut *loader.open(&spec, &data)?, 0, &mut |batch| {
        for (index, hashes) in alone.iter_mut().enumerate() {
            Band { index, of: mesh.bands }.hash(batch, &mut hash, hashes);
        }
    })?;
    let found = judge(mesh, &spec, &shifts, &alone)?;
    bencher.work(Ticket {
        input: Some(data.digest().to_owned()),
        transforms,
        ran_on: format!("{ran_on}, mesh {mesh}"),
        synchronised,
        delivery,
        workers: found.workers as u64 * workers.max(1),
        entry_point: None,
        unequal: None,
    });
    let say = |name, value: usize| bencher.metric(name, value as f64, Unit::COUNT, Direction::Information);
    say("workers at work", found.workers);
    say("mesh shards", mesh.shards);
    say("mesh bands", mesh.bands);
    let share = found.overlap.as_secs_f64() / found.wall.as_secs_f64().max(f64::MIN_POSITIVE);
    bencher.metric("time all were at work", share * 100.0, Unit::other("%"), Direction::Information);
    Ok(())
}

/// What a pipeline over a mesh needs: the data once, and the batches of every worker.
pub(super) fn needs(spec: &PipelineSpec, mesh: Mesh) -> Needs {
    let Needs { memory, batch } = spec.needs();
    let data = spec.source.bytes();
    // Every band makes the whole of its elements.
    Needs { memory: data + memory.saturating_sub(data) * mesh.bands as u64, batch }
}

/// Whether the mesh divides the work, for the plan.
pub(super) fn fits(spec: &PipelineSpec, mesh: Mesh) -> Result<(), String> {
    mesh.places(spec).map(drop).map_err(|error| error.to_string())
}

/// What a point does, for listings.
pub(super) fn describe(spec: &PipelineSpec, mesh: Mesh) -> String {
    format!("{}, over a mesh of {mesh}", spec.describe())
}
