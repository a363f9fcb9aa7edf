//! The table of truth: the client's times against the stamps of the mock server's socket, by one clock.

use std::collections::HashMap;
use std::time::Duration;

use weighbridge_load::mock::{Behaviour, MockServer};
use weighbridge_load::{
    Answer, Class, Level, Load, ParseLimits, Records, Session, Stamp, Target, Think, Workload, percentile,
};

/// From a request to its first token.
const FIRST: Duration = Duration::from_millis(50);

/// From token to token.
const BETWEEN: Duration = Duration::from_millis(10);

/// Tokens of an answer.
const TOKENS: u32 = 20;

/// One line for each number of users.
pub fn run(length: Duration, users: &[u32]) -> Result<(), Box<dyn std::error::Error>> {
    println!(
        "first token after {FIRST:?}, then one each {BETWEEN:?}, {TOKENS} tokens; errors are the client's"
    );
    println!(
        "stamp less the server's before its write: p50, p99 and greatest. Gaps: the client's median in that"
    );
    println!("of the server's stamps.\n");
    for count in users {
        line(*count, length)?;
    }
    Ok(())
}

fn line(users: u32, length: Duration) -> Result<(), Box<dyn std::error::Error>> {
    let server = MockServer::start(Behaviour { first: FIRST, between: BETWEEN, ..Behaviour::default() })?;
    let folder = tempfile::tempdir()?;
    let workload = Workload { words: 16, tokens: Some(TOKENS), ..Workload::fresh() };
    let level = Level { length, ..Level::of(Load::Closed { users, think: Think::None }) };
    let level = level.warmed_up(Duration::from_secs(1));
    let mut session = Session::new(Target::parse(&server.url(), None)?, workload, vec![level]);
    session.limits.cores = 1;
    session.allows_cache = true;
    session.folder = Some(folder.path().to_owned());
    let report = session.run()?;
    let served: HashMap<String, Vec<Stamp>> =
        server.served().into_iter().map(|served| (served.prompt, served.writes)).collect();
    let limits = ParseLimits { is_protocol: true, is_stream: true, may_end_early: false, line: 1 << 20 };
    let (mut errors, mut gaps, mut true_gaps) = (Vec::new(), Vec::new(), Vec::new());
    for file in std::fs::read_dir(folder.path())? {
        for exchange in Records::open(&file?.path())? {
            let exchange = exchange?;
            let prompt = session.workload.prompt(exchange.ask);
            let first_word = prompt.split(' ').next().unwrap_or_default();
            let (Some(writes), Class::Measured) = (served.get(first_word), exchange.class) else { continue };
            let answer = Answer::read(&exchange, &limits);
            let Some(first) = answer.first_token else { continue };
            errors.push((exchange.due.0 + first).saturating_sub(writes[0].0));
            gaps.extend(answer.gaps);
            true_gaps.extend(writes.windows(2).map(|pair| pair[1].since(pair[0])));
        }
    }
    for values in [&mut errors, &mut gaps, &mut true_gaps] {
        values.sort_unstable();
    }
    let at = |values: &[u64], share| {
        percentile(values, 0, share).map_or(f64::NAN, |found| found.value as f64 / 1e6)
    };
    // Not a number: too few requests for the percentile.
    let shown = |time: f64| if time.is_nan() { "-".to_owned() } else { format!("{time:.3} ms") };
    let row = &report.rows[0];
    println!(
        "{users} users, {} requests: TTFT off by {}, p99 {}, at most {}; \
         gaps {:.4} of the true; \
         {}",
        errors.len(),
        shown(at(&errors, 0.5)),
        shown(at(&errors, 0.99)),
        shown(errors.last().map_or(f64::NAN, |last| *last as f64 / 1e6)),
        at(&gaps, 0.5) / at(&true_gaps, 0.5),
        if row.verdict.is_valid() { "valid".to_owned() } else { format!("INVALID: {}", reasons(row)) }
    );
    Ok(())
}

fn reasons(row: &weighbridge_load::Row) -> String {
    let reasons: Vec<String> = row.verdict.reasons().iter().map(ToString::to_string).collect();
    reasons.join("; ")
}
