//! An epoch that an earlier process has made is read from a file, or one is written for a later process.

use super::rule::{Accusation, Rule, each_repeat};
use crate::bencher::{ExpectedEpoch, FileUse, Purpose};
use crate::verify::ExaminedCase;
use crate::verify::examined_case::EndedRepeat;
use crate::verify::finding::Severity;

pub(super) const RULE: Rule = Rule {
    name: "files",
    lie: "an epoch is kept in a file, or in shared memory, by the process that made it for the next one, of \
        this run or a later one",
    looks: "bytes that a native subject reads, writes and maps while its pipeline is opened and gone \
        through, in every repeat, the unmeasured one too. Allowed are two fifths of an epoch of prepared \
        batches, and the data set once besides. Where batches are no larger than what they are made from, or \
        other processes take part, more is a caveat. A worker may bring data into a form of its own. What it \
        writes meanwhile may not be four fifths of an epoch whose batches are two and a half times as large \
        as what they are made from; to read so much for each epoch is a caveat",
    blind: "what a worker writes or reads beyond those bounds or maps; what a process of somebody else's \
        hands over; pipelines without transforms, whose batches are in the data set's own file already",
    remedy: "make batches when they are asked for; a cache is what IO-4 measures",
    test: "verify::rules::tests::an_epoch_that_is_kept_in_a_file_is_told",
    check,
};

/// The share of an epoch that must go through files to be called kept.
const KEPT: f64 = 0.4;

/// Less than this is what a system keeps for itself, in bytes.
const LEAST: f64 = (4 << 20) as f64;

/// The harness reads counters of the system between windows: so many bytes for each second of a repeat, at
/// most. (Up to 11 MB were seen, with twelve thousand passes.)
const COUNTERS: f64 = (128 << 20) as f64;

/// From here on batches are larger than what they are made from, and a copy of the one is none of the other.
const WIDER: f64 = 1.5;

/// The least ratio of an epoch's bytes to its source's at which a worker is looked at. One may write forms of
/// its own: twice the data set (two copies, or tar files of small elements) was the most of any framework,
/// and from here on that is less than [`PREPARED`] of an epoch.
const MUCH_WIDER: f64 = 2.5;
const PREPARED: f64 = 0.8;

/// An epoch of a worker's smaller than this cannot be told from what its system keeps for itself, in bytes.
const LEAST_OF_WORKER: u64 = 32 << 20;

fn check(examined: &ExaminedCase<'_>) -> Vec<Accusation> {
    each_repeat(examined, |one| {
        let (files, expected) = (one.evidence.files?, one.evidence.expected?);
        if expected.keeps || !expected.transforms {
            return None;
        }
        if files.worker {
            return prepared(one, files, expected);
        }
        let wider = expected.bytes as f64 > expected.source as f64 * WIDER;
        let certain = wider && !files.shared;
        let (bytes, what) = kept(one, files, expected, wider)?;
        let severity = if certain { Severity::Fail } else { Severity::Caveat };
        let mebibytes = |bytes: u64| bytes >> 20;
        let detail = format!(
            "it {what} {} MiB, and an epoch of its batches has {} MiB",
            mebibytes(bytes),
            mebibytes(expected.bytes)
        );
        Some((severity, detail))
    })
}

/// An epoch that a worker has made while it brought data into a form of its own, or that it reads from a
/// file.
fn prepared(one: &EndedRepeat<'_>, files: FileUse, expected: ExpectedEpoch) -> Option<(Severity, String)> {
    let (epoch, source) = (expected.bytes as f64, expected.source as f64);
    if expected.bytes < LEAST_OF_WORKER || epoch < source * MUCH_WIDER {
        return None;
    }
    let (bytes, severity, what) = if files.written as f64 >= epoch * PREPARED {
        (files.written, Severity::Fail, "wrote or keeps")
    } else if expected.in_memory
        && one.is_measured()
        && files.read as f64 >= epoch * PREPARED * epochs(one, expected).max(1.0)
    {
        (files.read, Severity::Caveat, "read")
    } else {
        return None;
    };
    let mebibytes = |bytes: u64| bytes >> 20;
    let detail = format!(
        "it {what} {} MiB in files; the data set has {} MiB, and an epoch of its batches {} MiB",
        mebibytes(bytes),
        mebibytes(expected.source),
        mebibytes(expected.bytes)
    );
    Some((severity, detail))
}

/// The first thing that is as large as a good part of an epoch.
fn kept(
    one: &EndedRepeat<'_>,
    files: FileUse,
    expected: ExpectedEpoch,
    wider: bool,
) -> Option<(u64, &'static str)> {
    // Whoever keeps the data set in a form of its own has so much in files and no more.
    let own = if wider { expected.source as f64 } else { 0.0 };
    let is_kept = |bytes: u64, times: f64| {
        let (bytes, epoch) = (bytes as f64, expected.bytes as f64 * times);
        bytes >= LEAST && bytes >= own * times.max(1.0) + epoch * KEPT
    };
    if is_kept(files.written, 1.0) {
        return Some((files.written, "wrote"));
    }
    if !expected.in_memory {
        return None; // its data set is read from files
    }
    if is_kept(files.mapped, 1.0) {
        return Some((files.mapped, "has mapped files of"));
    }
    let counters = COUNTERS * one.repeat.slot as f64 * 1e-9;
    let read = files.read.saturating_sub(counters as u64);
    is_kept(read, epochs(one, expected)).then_some((files.read, "read"))
}

/// The number of epochs it handed out at least.
fn epochs(one: &EndedRepeat<'_>, expected: ExpectedEpoch) -> f64 {
    let unstopped = one.evidence.unstopped.map_or(0, |epoch| epoch.elements);
    let elements = match one.repeat.purpose {
        Purpose::Verify => expected.elements,
        Purpose::Measure | Purpose::Smoke => one.seen.elements.saturating_add(unstopped),
    };
    elements as f64 / expected.elements.max(1) as f64
}
