//! Scenarios that several ranks run at once: each the whole, or all one thing together; and one in which a
//! rank misbehaves on request.

#![forbid(unsafe_code)]

use std::fs;
use std::path::PathBuf;
use std::process::exit;
use std::time::Duration;

use weighbridge::prelude::*;
use weighbridge::{Dtype, Field, FieldKind, Item, ItemBytes, See, Source, WorkReport};

/// The rank of the process that has started this one, as its launcher has set it.
fn launched_as() -> Option<usize> {
    std::env::var("WEIGHBRIDGE_RANK").ok()?.parse().ok()
}

/// Add numbers, each rank all of them.
#[scenario(id = "ADD-1")]
fn add(bencher: &mut Bencher) {
    let numbers: Vec<u64> = (0..1_000).collect();
    assert_eq!((bencher.rank(), bencher.ranks()), (0, 1), "each does the whole");
    bencher.metric("own_rank", launched_as().unwrap_or(0) as f64, Unit::COUNT, Direction::Lower);
    bencher.elements(numbers.len()).iter(|| std::hint::black_box(&numbers).iter().sum::<u64>());
}

/// Add numbers, the last rank more slowly.
#[scenario(id = "SLOW-1")]
fn slow(bencher: &mut Bencher) {
    let is_last = launched_as() == Some(1);
    let numbers: Vec<u64> = (0..if is_last { 40_000 } else { 1_000 }).collect();
    bencher.iter(|| std::hint::black_box(&numbers).iter().sum::<u64>());
}

/// A rank that is told to misbehaves.
#[scenario(id = "BAD-1")]
fn bad(
    bencher: &mut Bencher,
    #[sweep("panics", "exits", "skips", "lasts", "work")] fault: &str,
) -> Result<()> {
    let is_meant = launched_as() == Some(1);
    if is_meant {
        match fault {
            "panics" => panic!("planted in a rank"),
            "exits" => exit(7),
            "skips" => return Err(skip("this rank has no such thing")),
            "lasts" => loop {
                std::thread::park();
            },
            _ => {}
        }
    }
    bencher.iter(|| std::hint::black_box(7_u64).pow(2));
    Ok(())
}

/// Every rank adds its share, and waits for all others in each iteration.
///
/// A body that runs once more on one rank than on another would wait for ever.
#[scenario(id = "TOGETHER-1", ranks = "collective")]
fn together(bencher: &mut Bencher) -> Result<()> {
    let (rank, ranks) = (bencher.rank(), bencher.ranks());
    let folder = PathBuf::from(bencher.agree(&bencher.scratch()?.display().to_string())?);
    let numbers: Vec<u64> = (0..1_000).filter(|number| *number as usize % ranks == rank).collect();
    let mut calls = 0_u64;
    bencher.elements(numbers.len()).iter(|| {
        calls += 1;
        std::hint::black_box(&numbers).iter().sum::<u64>()
    });
    fs::write(folder.join(format!("{rank}")), calls.to_string())?;
    // All have written once all have come here again.
    bencher.agree("written")?;
    let of = |rank: usize| fs::read_to_string(folder.join(rank.to_string()));
    for other in 0..ranks {
        let other_calls = of(other)?;
        if other_calls != calls.to_string() {
            return Err(fail(format!("rank {rank} ran {calls} iterations, and rank {other} {other_calls}")));
        }
    }
    bencher.agree("read")?;
    Ok(())
}

/// Numbers, one item after the other.
struct Numbers {
    at: usize,
    bytes: Vec<u8>,
    rank: usize,
    ranks: usize,
}

impl Source for Numbers {
    fn rewind(&mut self) -> Result<()> {
        self.at = 0;
        Ok(())
    }

    fn next(&mut self) -> Result<bool> {
        self.at += 1;
        let from = self.rank as u8;
        self.bytes = vec![from.wrapping_add(self.at as u8); 4096 / self.ranks];
        Ok(self.at <= 400)
    }

    fn look(&mut self, see: &mut See<'_>) -> Result<()> {
        let elements = self.bytes.len() as u64;
        let kind = FieldKind { name: "number".into(), dtype: Dtype::U8, shape: vec![] };
        let fields = [Field { kind: &kind, bytes: &self.bytes }];
        see(&Item { elements, bytes: ItemBytes::Here(&fields) });
        Ok(())
    }
}

/// Every rank streams its share.
#[scenario(id = "STREAM-1", ranks = "collective")]
fn stream(bencher: &mut Bencher) -> Result<()> {
    let (rank, ranks) = (bencher.rank(), bencher.ranks());
    bencher.work(WorkReport { ran_on: "cpu".to_owned(), workers: ranks as u64, ..WorkReport::default() });
    bencher.stream(&mut Numbers { at: 0, bytes: Vec::new(), rank, ranks })
}

/// A run of this length can be stopped in its middle.
#[scenario(id = "LONG-1")]
fn long(bencher: &mut Bencher) {
    bencher.min_time(Duration::from_secs(1)).iter(|| std::hint::black_box(7_u64).pow(2));
}

weighbridge::main!();
