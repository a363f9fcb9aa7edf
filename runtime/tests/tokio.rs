//! Scenarios that are `async`, under the feature `tokio`.
#![cfg(feature = "tokio")]

use weighbridge::__private::{Error, find_scenario};
use weighbridge::prelude::*;
use weighbridge::{Budget, Point, Purpose, RepeatResult, Settings};

#[scenario(id = "ASYNC-1")]
async fn one_thread(bencher: &mut Bencher) {
    bencher.iter_async(async || tokio::task::yield_now().await).await;
}

#[scenario(id = "ASYNC-2", worker_threads = 2)]
async fn two_threads(bencher: &mut Bencher, #[sweep(7)] answer: usize) -> Result<()> {
    let workers = tokio::runtime::Handle::current().metrics().num_workers();
    let seen = tokio::spawn(async move { workers + answer }).await?;
    bencher.metric("seen", seen as f64, Unit::COUNT, Direction::Information);
    Ok(())
}

#[scenario(id = "ASYNC-3")]
#[expect(clippy::unused_async, reason = "what is skipped awaits nothing")]
async fn skipped(_: &mut Bencher) -> Result<()> {
    Err(skip("no network"))
}

fn run(id: &str) -> std::result::Result<RepeatResult, Error> {
    let scenario = find_scenario(id).expect("it is registered");
    let mut bencher = Bencher::new(Settings::new(Purpose::Smoke, Budget::SMOKE));
    let point: Point = scenario.axes().iter().map(|axis| axis.values[0].clone()).collect();
    (scenario.run)(&mut bencher, None, &point)?;
    bencher.finish()
}

#[test]
fn an_async_scenario_is_measured_on_a_runtime_of_one_thread() {
    assert_eq!(run("ASYNC-1").unwrap().seen.samples.len(), 2);
}

#[test]
fn worker_threads_make_a_runtime_of_that_many() {
    let value = run("ASYNC-2").unwrap().seen.custom[0].value;
    assert!((value - (2.0 + 7.0)).abs() < f64::EPSILON, "{value}");
}

#[test]
fn an_async_scenario_may_skip() {
    assert!(run("ASYNC-3").unwrap_err().is_skip());
}
