//! From the samples of a case to its record: what is done between the last sample and the table.

use std::time::Instant;

use weighbridge::data::{CaseFacts, CaseId, HeldAgainst, Outcome, Point, Purpose, Repeat, assemble};
use weighbridge::{Equivalence, Observation};

use crate::Result;
use crate::table::{median, print as print_table, time};

/// Samples of the case, over all its repeats.
const SAMPLES: usize = 100_000;

const ROUNDS: usize = 15;

/// Prints how long it takes to analyse a case of 100,000 samples, few processes or many.
pub fn print() -> Result<()> {
    println!("analysing a case of {SAMPLES} samples; median of {ROUNDS} (to be under 10 ms)");
    let mut rows = Vec::new();
    for processes in [1, 10] {
        let mut took = Vec::new();
        for _ in 0..ROUNDS {
            let repeats: Vec<Repeat> = (1..=processes).map(|number| repeat(number, processes)).collect();
            let facts = facts();
            let start = Instant::now();
            let record = assemble(facts, repeats, processes, &HeldAgainst::Missing("it is alone".into()));
            took.push(start.elapsed().as_nanos() as f64);
            if record.metrics.iter().all(|metric| metric.estimate.is_none()) {
                return Err("the case has no estimate".into());
            }
        }
        let most = took.iter().copied().fold(0.0, f64::max);
        rows.push(vec![format!("{processes} processes"), time(median(&took)), time(most)]);
    }
    print_table(&["", "median", "longest"], &rows);
    Ok(())
}

fn facts() -> CaseFacts {
    CaseFacts {
        id: CaseId { scenario: "MANY-2".into(), point: Point(Vec::new()), adapter: None, told_apart: false },
        category: "Overhead".into(),
        description: "Many samples.".into(),
        beside: None,
        tier: None,
        version: None,
        equivalence: Equivalence::None,
        primary_metric: None,
        memory: None,
    }
}

fn repeat(number: u32, of: u32) -> Repeat {
    let count = SAMPLES as u64 / u64::from(of);
    let samples: Vec<u64> = (0..count).map(|at| 50_000 + (at * 7919 + u64::from(number)) % 10_007).collect();
    let wall = samples.iter().sum();
    let seen = Observation {
        taken: None,
        cpu: samples.clone(),
        samples,
        iterations_per_sample: 10,
        passes: 1,
        wall,
        ..Observation::default()
    };
    Repeat {
        utilisation: None,
        number,
        purpose: Purpose::Measure,
        slot: wall + 1_000_000,
        start: Some(900_000),
        tree: None,
        surroundings: 0,
        outcome: Outcome::Measured { seen: Box::new(seen), work: None, evidence: Box::default() },
    }
}
