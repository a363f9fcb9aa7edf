//! Stalls that are planted in a pipeline, and pipelines without one: is each named, and is what its removal
//! brings foretold?

use std::time::{Duration, Instant};

use weighbridge::data::median;

use weighbridge_catalogue::{Diagnosis, Experiments, Resource, diagnose};

use crate::pipeline::{Pipeline, StepBuffers, work};

/// A pipeline, what is planted in it, and the same without that.
pub(super) struct Plant {
    /// What is planted; nothing in a clean pipeline.
    pub(super) resource: Option<Resource>,
    /// Its size, for people.
    pub(super) size: String,
    with: Pipeline,
    without: Pipeline,
}

/// What became of it.
pub(super) struct PlantedOutcome {
    pub(super) diagnosis: Option<Diagnosis>,
    /// How many times as fast a step is without what was planted.
    pub(super) gain: f64,
}

impl PlantedOutcome {
    /// How far the gain that was foretold is off, as a share of the real one.
    pub(super) fn off(&self) -> Option<f64> {
        self.diagnosis.map(|found| found.gain() / self.gain - 1.0)
    }
}

/// Steps of a run.
const STEPS: usize = 10;

/// Rounds over all experiments, which are run in turns so that a disturbance meets all of them.
const ROUNDS: usize = 3;

/// Bytes that steps copy at most.
const MOST: usize = 96 << 20;

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// A pipeline that computes for so long in a step, with two workers that wait for `waits` in each batch.
fn clean(computes: Duration, waits: Duration) -> Pipeline {
    Pipeline { workers: 2, waits, computes, ..Pipeline::default() }
}

/// 21 stalls, three of each resource, and ten clean pipelines.
pub(super) fn all() -> Vec<Plant> {
    let plant = |resource, size: String, without: Pipeline, change: &dyn Fn(&mut Pipeline)| {
        let mut with = without;
        change(&mut with);
        Plant { resource: Some(resource), size, with, without }
    };
    let mut plants = Vec::new();
    let base = clean(ms(4), ms(2));
    for size in [16, 24, 32] {
        let text = format!("{size} ms a batch");
        plants.push(plant(Resource::Loader, text.clone(), base, &|with| with.waits = ms(size)));
        plants.push(plant(Resource::Disk, text, base, &|with| with.disk = ms(size)));
    }
    for size in [8, 12, 16] {
        let text = format!("{size} ms a batch");
        plants.push(plant(Resource::Interpreter, text, base, &|with| with.locked = ms(size)));
    }
    let of_millisecond = rounds_of_millisecond();
    for size in [24, 32, 40] {
        let text = format!("{size} ms of a processor a batch");
        plants.push(plant(Resource::Processor, text, base, &|with| with.rounds = size * of_millisecond));
    }
    for size in [48, 64, 96] {
        let text = format!("{size} MiB a step");
        let cached = Pipeline { copied: size << 20, in_cache: true, ..base };
        plants.push(plant(Resource::Memory, text, cached, &|with| with.in_cache = false));
    }
    for size in [3, 5, 8] {
        let text = format!("{size} ms a step");
        plants.push(plant(Resource::Synchronisation, text.clone(), base, &|with| with.waited_for = ms(size)));
        plants.push(plant(Resource::Communication, text, base, &|with| with.answers = ms(size)));
    }
    for (computes, waits) in
        [(4, 1), (4, 2), (4, 4), (6, 1), (6, 4), (6, 6), (8, 2), (8, 6), (10, 4), (10, 10)]
    {
        let pipeline = clean(ms(computes), ms(waits));
        let size = format!("step {computes} ms, batch {waits} ms");
        plants.push(Plant { resource: None, size, with: pipeline, without: pipeline });
    }
    plants
}

/// How many rounds of arithmetic take a millisecond here: of the fastest of some tries.
fn rounds_of_millisecond() -> u64 {
    const TRIED: u64 = 1_000_000;
    let time = || {
        let begun = Instant::now();
        work(TRIED);
        begun.elapsed().as_secs_f64()
    };
    let least = (0..9).map(|_| time()).fold(f64::INFINITY, f64::min);
    (TRIED as f64 * 1e-3 / least) as u64
}

impl Plant {
    /// Runs the experiments and the pipeline without what was planted, in turns.
    pub(super) fn try_out(&self, buffers: &mut StepBuffers) -> PlantedOutcome {
        let whole = self.with;
        let variants = [
            whole,
            Pipeline { cached: true, ..whole },
            Pipeline { computes: Duration::ZERO, copied: 0, ..whole },
            Pipeline { workers: 2 * whole.workers, ..whole },
            Pipeline { disk: Duration::ZERO, ..whole },
            Pipeline { own_locks: true, ..whole },
            Pipeline { answers: Duration::ZERO, ..whole },
            Pipeline { waited_for: Duration::ZERO, ..whole },
            Pipeline { in_cache: true, ..whole },
            self.without,
        ];
        let mut times = vec![Vec::with_capacity(ROUNDS); variants.len()];
        let mut ran = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            for (index, variant) in variants.iter().enumerate() {
                let done = variant.run(STEPS, buffers);
                times[index].push(done.step);
                if index == 0 {
                    ran.push(done.workers_ran);
                }
            }
        }
        let middle: Vec<f64> = times.iter().map(|times| median(times)).collect();
        let [
            whole,
            cached,
            stub,
            more_workers,
            in_memory,
            own_interpreters,
            one_rank,
            not_waited_for,
            in_cache,
            without,
        ] = middle[..]
        else {
            unreachable!("as many as there are variants")
        };
        let took = Experiments {
            of: "step",
            whole,
            cached,
            stub,
            more_workers: Some(more_workers),
            in_memory: Some(in_memory),
            own_interpreters: Some(own_interpreters),
            one_rank: Some(one_rank),
            not_waited_for: Some(not_waited_for),
            in_cache: Some(in_cache),
            workers_ran: Some(median(&ran)),
            waited: None,
        };
        PlantedOutcome { diagnosis: diagnose(&took), gain: whole / without }
    }
}

/// What steps of all plants copy from and to.
pub(super) fn buffers() -> StepBuffers {
    StepBuffers::new(MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_stalls_of_each_resource_are_planted_and_ten_pipelines_are_clean() {
        let plants = all();
        let of = |resource| plants.iter().filter(|plant| plant.resource == resource).count();
        assert_eq!(of(None), 10);
        for resource in [
            Resource::Loader,
            Resource::Processor,
            Resource::Memory,
            Resource::Interpreter,
            Resource::Disk,
            Resource::Synchronisation,
            Resource::Communication,
        ] {
            assert_eq!(of(Some(resource)), 3, "{resource}");
        }
        assert!(plants.iter().all(|plant| plant.resource.is_none() == (plant.with == plant.without)));
    }
}
