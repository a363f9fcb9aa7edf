//! One epoch without a stop: the first thing that a measured stream does.
//!
//! Whoever prepares batches where no clock runs (while it stands, while an epoch is begun, in an earlier
//! epoch) is faster in passes that are stopped than here, where there is nothing but this epoch, and every
//! batch is made for the first time but the few that warm up.

use std::time::Duration;

use super::copied_item::{CopiedItem, check_shown, draw};
use super::count::ItemCounter;
use super::window::Windows;
use super::{Bencher, Budget, Result, Source, UnstoppedEpoch};
use crate::device::NoiseReader;
use crate::metric::{ExcludedTime, Surroundings};
use crate::stats::SplitMix64;

/// The longest that it goes on, once it has had as many items as a pass.
pub(super) const LONGEST: Duration = Duration::from_secs(10);

/// So many times what is measured: where little is measured, little more is worth it.
const TIMES: u32 = 20;

/// The number of items that are copied, in part, with the clock running.
const SPOTS: usize = 4;

/// For how long an epoch goes on at most.
pub(super) fn limit(budget: Budget) -> Duration {
    LONGEST.min(budget.min_time * TIMES)
}

/// An epoch without a stop as it was seen, with the copies out of it.
pub(super) struct WholeEpoch {
    pub(super) seen: UnstoppedEpoch,
    /// The first item of the process; none of a source with whole passes.
    pub(super) first_item: Option<Duration>,
    pub(super) copied: Vec<CopiedItem>,
}

/// Goes through an epoch, or its first part.
#[inline]
pub(super) fn unstopped(
    bencher: &Bencher,
    source: &mut dyn Source,
    counter: &mut ItemCounter,
    secret: &mut SplitMix64,
) -> Result<WholeEpoch> {
    let (clock, budget) = (&bencher.settings.clock, bencher.budget());
    let (least, longest) = (budget.warmup + budget.batches, limit(budget));
    let all = source.expected().map_or(least, |expected| expected.batches());
    let spots = draw(secret, SPOTS, all);
    let mut seen = UnstoppedEpoch::default();
    let mut copied = Vec::with_capacity(SPOTS);
    let mut addresses = Vec::with_capacity(all as usize);
    let mut failed = Ok(());
    // What runs for the first time is slow for a while, and an epoch may be over by then.
    let mut first_item = None;
    if !source.whole_pass() {
        counter.rewind();
        source.rewind()?;
        for _ in 0..budget.warmup.max(1) {
            let start = clock.now();
            if !source.next()? {
                break;
            }
            source.ready()?;
            source.look(&mut |item| {
                counter.see(item);
            })?;
            first_item.get_or_insert_with(|| clock.now() - start);
        }
    } else if budget.warmup > 0 {
        counter.rewind();
        source.rewind()?;
        source.pass(budget.warmup, &mut |item| {
            counter.see(item);
        })?;
    }
    let elsewhere = source.used_elsewhere()?;
    let noise = NoiseReader::new();
    let before = noise.read();
    let mut windows = Windows::new(clock.clone());
    let start = windows.open();
    counter.rewind();
    source.rewind()?;
    let begun = clock.now();
    let (mut first, mut end) = (None, begun);
    let mut see = |item: &super::Item<'_>| {
        let (at, place) = (counter.at(), counter.place());
        seen.elements += counter.see(item).elements;
        seen.batches += 1;
        addresses.extend(item.address());
        end = clock.now();
        first.get_or_insert(end);
        if spots.contains(&at) {
            match CopiedItem::of(item, place, secret, false) {
                Ok(copy) => copied.push(copy),
                Err(error) => failed = Err(error),
            }
            seen.copied += (clock.now() - end).as_nanos() as u64;
        }
        end
    };
    let ended = if source.whole_pass() {
        let mut shown = 0;
        let asked = all.max(least);
        let said = source.pass(asked, &mut |item| {
            see(item);
            shown += 1;
        })?;
        check_shown(asked, said, shown)?;
        said >= all
    } else {
        let mut done = 0;
        loop {
            if !source.next()? {
                break true;
            }
            source.ready()?;
            let mut now = start;
            source.look(&mut |item| now = see(item))?;
            done += 1;
            if done >= least && now - start >= longest {
                break false;
            }
        }
    };
    let end = clock.now().max(end);
    windows.close_at(end);
    failed?;
    addresses.sort_unstable();
    addresses.dedup();
    seen.addresses = addresses.len() as u64;
    seen.span = addresses.last().zip(addresses.first()).map_or(0, |(last, first)| (last - first) as u64);
    let nanoseconds = |time: Duration| time.as_nanos() as u64;
    let first = first.unwrap_or(end);
    seen.ended = ended;
    seen.wall = nanoseconds(end - start);
    seen.begin = nanoseconds(begun - start);
    seen.first = nanoseconds(first - begun);
    seen.cpu = Some(windows.last.cpu);
    let after = noise.read();
    seen.wait = Surroundings::between(&before, &after, end - start, ExcludedTime::default()).waited;
    seen.faults = windows.last.faults;
    if let (Some(before), Some(after)) = (elsewhere, source.used_elsewhere()?) {
        let used = after.since(before);
        seen.cpu = seen.cpu.zip(used.cpu).map(|(own, more)| own + more);
        seen.wait = seen.wait.zip(used.wait).map(|(own, more)| own + more);
        seen.faults += used.minor_faults;
    }
    Ok(WholeEpoch { seen, first_item, copied })
}
