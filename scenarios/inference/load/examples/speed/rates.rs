//! Achieved against asked rate in an open loop, and the client's delay.

use std::time::Duration;

use weighbridge_load::mock::{Behaviour, MockServer};
use weighbridge_load::{Api, Level, Load, Session, Shape, Stage, Target, Workload};

/// One line for each rate.
pub fn run(length: Duration, rates: &[f64]) -> Result<(), Box<dyn std::error::Error>> {
    println!("\nplain requests in an open loop (Poisson), one core of the client:\n");
    for rate in rates {
        line(*rate, length)?;
    }
    Ok(())
}

fn line(rate: f64, length: Duration) -> Result<(), Box<dyn std::error::Error>> {
    let server = MockServer::start(Behaviour { is_noted: false, ..Behaviour::default() })?;
    let load = Load::Open { stages: vec![Stage { rate, length }], shape: Shape::Poisson };
    let target = Target::parse(&server.url(), Some(Api::Plain))?;
    let levels = vec![Level::of(load).warmed_up(Duration::from_millis(500))];
    let mut session = Session::new(target, Workload::fresh(), levels);
    session.limits.cores = 1;
    let report = session.run()?;
    let row = &report.rows[0];
    let figures = &row.figures;
    let at = |times: &weighbridge_load::Times, share| {
        times.at(share).map_or_else(|| "-".to_owned(), |found| format!("{:.0} us", found.value as f64 / 1e3))
    };
    println!(
        "{rate}/s: due {:.0}/s, answered {:.0}/s; client's delay p50 {}, p99 {}; latency p50 {}, p99 {}; {}",
        figures.asked_rate,
        figures.achieved_rate,
        at(&figures.delay, 0.5),
        at(&figures.delay, 0.99),
        at(&figures.latency, 0.5),
        at(&figures.latency, 0.99),
        if row.verdict.is_valid() { "valid" } else { "INVALID" }
    );
    Ok(())
}
