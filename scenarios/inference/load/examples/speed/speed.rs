//! Requests and events per second and core, as ratios to the bare loop.

use std::time::Duration;

use weighbridge_load::mock::{Behaviour, MockServer};
use weighbridge_load::{Api, ClientLimits, Level, Load, Session, SessionError, Target, Think, Workload};

use crate::bare::{self, LoopResult};

/// Connections at once.
const USERS: u32 = 64;

/// Tokens of an answer.
const TOKENS: u32 = 128;

const CHAT: &str =
    "{\"messages\":[{\"role\":\"user\",\"content\":\"a b c\"}],\"max_tokens\":128,\"stream\":true}";

/// Both kinds, bare and by the client in turns.
pub fn run(length: Duration, rounds: usize) -> Result<(), Box<dyn std::error::Error>> {
    println!("{USERS} connections, one core; the mock server has a thread of its own on the same machine.");
    println!("per second: as it was here. of a core: per second of the client's processor time.\n");
    kind("requests", Api::Plain, 1.0, length, rounds)?;
    kind("events", Api::Chat, f64::from(TOKENS), length, rounds)
}

fn kind(
    name: &str,
    api: Api,
    each: f64,
    length: Duration,
    rounds: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    let server = MockServer::start(Behaviour { is_noted: false, ..Behaviour::default() })?;
    let mut ratios = Vec::new();
    for _ in 0..rounds {
        let bare = bare(&server, api, length);
        let ours = client(&server, api, length)?;
        let rate = |result: LoopResult| result.requests * each / result.seconds;
        let core = |result: LoopResult| result.requests * each / result.busy;
        println!(
            "{name}: bare {:.0}/s ({:.0} of a core), client {:.0}/s ({:.0} of a core)",
            rate(bare),
            core(bare),
            rate(ours),
            core(ours)
        );
        ratios.push((rate(ours) / rate(bare), core(ours) / core(bare)));
    }
    let median = |pick: fn(&(f64, f64)) -> f64| {
        let mut values: Vec<f64> = ratios.iter().map(pick).collect();
        values.sort_unstable_by(f64::total_cmp);
        values[values.len() / 2]
    };
    println!(
        "{name}: the client has {:.2} of the bare loop's rate, and {:.2} of its rate per core\n",
        median(|ratio| ratio.0),
        median(|ratio| ratio.1)
    );
    Ok(())
}

fn bare(server: &MockServer, api: Api, length: Duration) -> LoopResult {
    let address = server.url().trim_start_matches("http://").to_owned();
    let (path, body) = if api == Api::Plain { ("/", "") } else { ("/v1/chat/completions", CHAT) };
    bare::run(&address, path, body, USERS, length)
}

fn client(server: &MockServer, api: Api, length: Duration) -> Result<LoopResult, Box<dyn std::error::Error>> {
    let target = Target::parse(&server.url(), Some(api))?;
    let workload = Workload { words: 3, tokens: Some(TOKENS), ..Workload::fresh() };
    let level = Level { length, ..Level::of(Load::Closed { users: USERS, think: Think::None }) };
    let mut session = Session::new(target, workload, vec![level]);
    session.limits = ClientLimits { cores: 1, ..session.limits };
    session.allows_cache = true;
    let report = session.run().map_err(Box::<SessionError>::new)?;
    let row = &report.rows[0];
    let seconds = length.as_secs_f64();
    let requests = (row.figures.requests - row.figures.failed()) as f64;
    Ok(LoopResult { requests, seconds, busy: row.client.busy * seconds })
}
