//! `bencher.serve`: a server that is started, loaded by the client of this workspace and stopped, and the
//! answers that it gave meanwhile.

use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use weighbridge::{Bencher, Direction, Error, Result, Unit};
use weighbridge_data::processes::{forget_peak, sums};
use weighbridge_data::{Cache, DataSet};
use weighbridge_load::{
    Api, Class, ClientLimits, Exchange, Level, Purpose, Records, RequestBodies, Row, Session, Workload,
    measures,
};

use super::patience::Patience;
use super::server::{Server, StartedServer};
use crate::workload::{ModelInput, PredictionSpec, ServingSpec, WORDS, drawn_input};

/// Requests of a smoke run, and the time that they have.
const SMOKE: (u64, Duration) = (4, Duration::from_mins(1));

/// The measured time is so many times what a repeat is to measure at least, between these.
const WINDOW: (u32, Duration, Duration) = (10, Duration::from_secs(2), Duration::from_secs(20));

/// The rest between two looks whether a server takes requests.
const REST: Duration = Duration::from_millis(20);

/// Answers that are kept to be looked at: of more, each is as likely to be among them.
const KEPT: usize = 64;

/// An answer that a server gave while it was loaded.
#[derive(Clone, Debug)]
pub struct ServedAnswer {
    /// The number of its request.
    pub number: u64,
    /// The prompt, where the request had one.
    pub prompt: String,
    /// The body, as it came.
    pub body: Vec<u8>,
}

/// A server that was loaded.
#[derive(Debug)]
pub struct ServedLoad {
    /// Answers that were drawn afterwards among all that were measured.
    pub answers: Vec<ServedAnswer>,
    /// The seed of the requests: inputs are drawn of it and the number.
    pub seed: u64,
    /// The weights.
    pub weights: Arc<DataSet>,
}

/// Adds `serve` to the bencher.
pub trait Serve {
    /// Starts a server, waits until it takes requests, looks for a cache, loads it, and stops it. Hands in
    /// the figures of the client, with the time until it took requests (`ready_after`), the time that it took
    /// to stop (`stopped_after`) and the peak of its memory (`memory/peak`).
    ///
    /// Every request is drawn for it from a seed that no server has seen.
    ///
    /// # Errors
    /// What the system declines (a skip) or says; that the server dies, takes no requests in time, does not
    /// stop by itself, or is at an address that is none of this machine; the client's reasons against the
    /// row.
    fn serve(&self, server: &mut dyn Server, spec: &ServingSpec) -> Result<ServedLoad> {
        self.serve_with(server, spec, Patience::from_environment()?)
    }

    /// The same with other times than those of the environment.
    ///
    /// # Errors
    /// As [`Serve::serve`].
    fn serve_with(
        &self,
        server: &mut dyn Server,
        spec: &ServingSpec,
        patience: Patience,
    ) -> Result<ServedLoad>;
}

impl Serve for Bencher {
    fn serve_with(
        &self,
        server: &mut dyn Server,
        spec: &ServingSpec,
        patience: Patience,
    ) -> Result<ServedLoad> {
        spec.check()?;
        let weights = Arc::new(Cache::from_env().open(spec.prediction.weights()?.data())?);
        let place = self.scratch()?;
        let (own, records) = (place.join("server"), place.join("records"));
        std::fs::create_dir_all(&own)?;
        let begun = Instant::now();
        let mut started = server.start(spec, &weights, &own)?;
        wait_ready(&mut *started, begun, patience.ready)?;
        let ready = begun.elapsed();
        let session = session(self, &*started, spec, &patience, &records)?;
        // Before it is loaded: what it does with a repeated prompt is known by then.
        let probe = match self.is_smoke() {
            true => None,
            false => alive(&mut *started, session.look_for_cache().map_err(Error::new))?,
        };
        forget(&*started);
        let row = alive(&mut *started, session.window(0, probe.as_ref(), None).map_err(Error::new))?;
        let [peak] = sums(&[started.process()], "status", ["VmHWM:"]);
        let executed = started.executed(spec)?;
        // One that has died in the last moment says why.
        started.look()?;
        hand_in(self, &row)?;
        if started.keeps_prompts() {
            self.note("the server keeps what it computed of prompts; no two prompts here begin alike");
        }
        let stopping = Instant::now();
        started.stop(patience.stop)?;
        for (name, took) in [("ready_after", ready), ("stopped_after", stopping.elapsed())] {
            self.metric(name, took.as_secs_f64(), Unit::SECONDS, Direction::Lower);
        }
        if let Some(peak) = peak {
            self.metric("memory/peak", peak as f64, Unit::BYTES, Direction::Lower);
        }
        self.work(executed.report(&weights, None));
        weights.check_unchanged()?;
        let answers = drawn_answers(&records, &session.workload)?;
        Ok(ServedLoad { answers, seed: session.workload.seed, weights })
    }
}

/// Passes on the outcome of a load; where the server has died meanwhile, that.
fn alive<T>(server: &mut dyn StartedServer, came: Result<T>) -> Result<T> {
    server.look()?;
    came
}

fn wait_ready(server: &mut dyn StartedServer, begun: Instant, patience: Duration) -> Result<()> {
    while !server.look()? {
        if begun.elapsed() > patience {
            return Err(Error::new(format!("the server took no requests within {patience:?} of its start")));
        }
        std::thread::sleep(REST);
    }
    Ok(())
}

/// Has the peak of a server's memory begin anew; that of this process goes into the record otherwise.
fn forget(server: &dyn StartedServer) {
    if server.process() != std::process::id() {
        forget_peak(server.process());
    }
}

/// The session that loads it.
fn session(
    bencher: &Bencher,
    server: &dyn StartedServer,
    spec: &ServingSpec,
    patience: &Patience,
    records: &Path,
) -> Result<Session> {
    let target = server.target().clone();
    if let Some(other) = target.addresses()?.into_iter().find(|address| !address.ip().is_loopback()) {
        return Err(Error::new(format!(
            "the server is at {other}, which is no address of this machine alone"
        )));
    }
    let (times, shortest, longest) = WINDOW;
    let (requests, length) = match bencher.is_smoke() {
        true => (Some(SMOKE.0), SMOKE.1),
        false => (None, (bencher.budget().min_time * times).clamp(shortest, longest)),
    };
    let warm_up = if bencher.is_smoke() { Duration::ZERO } else { length / 5 };
    let level = Level { requests, length, ..Level::of(spec.load.of(length)) };
    let mut workload = Workload { words: WORDS, tokens: spec.tokens(), ..Workload::fresh() };
    for field in server.fields() {
        workload.add_field(field)?;
    }
    if target.api == Api::Posted {
        let (prediction, seed) = (spec.prediction.clone(), workload.seed);
        workload.bodies = Some(RequestBodies::new(move |ask| request(&prediction, seed, ask.number)));
        workload.stream = false;
    }
    let mut session = Session::new(target, workload, vec![level.warmed_up(warm_up)]);
    session.limits = ClientLimits { cores: 1, ..session.limits };
    if patience.delay > session.bounds.delay {
        // Who allows that allows a machine on which the client has not enough of a processor.
        session.bounds.delay = patience.delay;
        session.bounds.busy = f64::INFINITY;
    }
    session.folder = Some(records.to_owned());
    session.allows_cache = server.keeps_prompts();
    Ok(session)
}

/// The body of a request for a prediction, in the form of the Open Inference Protocol.
fn request(spec: &PredictionSpec, seed: u64, number: u64) -> Vec<u8> {
    let axes = [vec![1], spec.input().axes()].concat();
    let (datatype, data) = match drawn_input(spec.input(), 1, seed, number) {
        ModelInput::Ids(ids) => ("INT32", json!(ids)),
        ModelInput::Numbers(numbers) => ("FP32", json!(numbers)),
    };
    let input = json!({ "name": "input", "shape": axes, "datatype": datatype, "data": data });
    json!({ "inputs": [input] }).to_string().into_bytes()
}

/// Hands the figures in, or the reasons against them.
fn hand_in(bencher: &Bencher, row: &Row) -> Result<()> {
    let reasons: Vec<String> = row.verdict.reasons().iter().map(ToString::to_string).collect();
    let kinds = row.figures.failures.iter().map(|(kind, count)| format!("{count} x {}", kind.name()));
    let kinds: Vec<String> = kinds.collect();
    let failures = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
    // A smoke run is too short for the bounds of the client, and has no figures.
    let is_excused = bencher.is_smoke() && row.figures.failed() == 0 && row.figures.requests > 0;
    if !is_excused && !reasons.is_empty() {
        return Err(Error::new(format!("INVALID: {}{failures}", reasons.join("; "))));
    }
    // Without a median another figure would stand for the case.
    if row.figures.latency.at(0.5).is_none() && !bencher.is_smoke() {
        return Err(Error::new(format!(
            "{} requests within {:.1} s are too few for a median: a longer --min-time has more{failures}",
            row.figures.requests, row.figures.seconds
        )));
    }
    for measure in measures(&row.figures, &row.client, Purpose::State) {
        bencher.metric(measure.name, measure.value, measure.unit, measure.direction);
    }
    if !kinds.is_empty() {
        bencher.note(&format!("requests failed{failures}"));
    }
    Ok(())
}

/// Draws some of the answers that were measured and are good by their form.
fn drawn_answers(records: &Path, workload: &Workload) -> Result<Vec<ServedAnswer>> {
    let (mut kept, mut seen) = (Vec::new(), 0);
    for entry in std::fs::read_dir(records)? {
        for exchange in Records::open(&entry?.path())? {
            let exchange = exchange?;
            if exchange.class != Class::Measured || exchange.failure.is_some() {
                continue;
            }
            seen += 1;
            let answer = |exchange: Exchange| ServedAnswer {
                number: exchange.ask.number,
                prompt: workload.prompt(exchange.ask),
                body: exchange.body,
            };
            let place = RandomState::new().hash_one(seen) as usize % seen;
            if kept.len() < KEPT {
                kept.push(answer(exchange));
            } else if let Some(before) = kept.get_mut(place) {
                *before = answer(exchange);
            }
        }
    }
    Ok(kept)
}
