//! What each process of a case measured, condensed: enough to judge by when its samples are not at hand.

use serde::{Deserialize, Serialize};

use crate::metric::{Cause, Observation, SampleKind};
use crate::stats;

/// The quantiles that are kept of blocks.
const QUANTILES: [f64; 3] = [0.10, 0.50, 0.90];

/// One measured repeat, condensed. All numbers have five digits: the noise is far above.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Process {
    /// Iterations or items of all samples.
    pub iterations: u64,
    /// The blocks of its body; `None` for a stream and where only `measure` blocks were measured.
    pub blocks: Option<Blocks>,
    /// The 10th percentile of each kind of yardstick, in nanoseconds of CPU time, in the order of
    /// `chain`, `sort`, `stream`; `None` where it was not measured.
    pub yardsticks: [Option<f64>; 3],
}

/// The blocks of a body in one process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Blocks {
    /// The number that there were.
    pub count: u64,
    /// Iterations of each.
    pub iterations: u64,
    /// Wall time of one iteration in nanoseconds: the 10th, 50th and 90th percentile of the clean blocks, or
    /// of all where none is clean. Clean is a block in which no thread was taken off its processor.
    pub wall: [f64; 3],
    /// CPU time of all threads of the process for one iteration, the same way.
    pub cpu: [f64; 3],
    /// The share of blocks in which a thread was taken off its processor.
    pub switched: f64,
    /// The share of blocks in which the processor or its control group was throttled.
    pub throttled: f64,
    /// Page faults served without the disk, for one block.
    pub faults: f64,
    /// Elements of one iteration; 0 where none were stated.
    pub elements: f64,
    /// Bytes of one iteration; 0 where none were stated.
    pub bytes: f64,
}

/// Processes as files have them: a column for each number, so that a name is written once. Without blocks the
/// columns of blocks have 0.
#[derive(Default, Serialize, Deserialize)]
struct ProcessColumns {
    iterations: Vec<u64>,
    blocks: Vec<u64>,
    block_iterations: Vec<u64>,
    wall: Vec<[f64; 3]>,
    cpu: Vec<[f64; 3]>,
    switched: Vec<f64>,
    throttled: Vec<f64>,
    faults: Vec<f64>,
    elements: Vec<f64>,
    bytes: Vec<f64>,
    yardsticks: Vec<[Option<f64>; 3]>,
}

/// Writes processes as columns: for `#[serde(with)]`.
pub(super) fn serialize<S: serde::Serializer>(processes: &[Process], to: S) -> Result<S::Ok, S::Error> {
    let mut columns = ProcessColumns::default();
    for process in processes {
        let blocks = process.blocks.unwrap_or_default();
        columns.iterations.push(process.iterations);
        columns.blocks.push(blocks.count);
        columns.block_iterations.push(blocks.iterations);
        columns.wall.push(blocks.wall);
        columns.cpu.push(blocks.cpu);
        columns.switched.push(blocks.switched);
        columns.throttled.push(blocks.throttled);
        columns.faults.push(blocks.faults);
        columns.elements.push(blocks.elements);
        columns.bytes.push(blocks.bytes);
        columns.yardsticks.push(process.yardsticks);
    }
    columns.serialize(to)
}

/// Reads what [`serialize`] wrote.
pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<Process>, D::Error> {
    let ProcessColumns {
        iterations,
        blocks,
        block_iterations,
        wall,
        cpu,
        switched,
        throttled,
        faults,
        elements,
        bytes,
        yardsticks,
    } = ProcessColumns::deserialize(from)?;
    let rows = iterations.len();
    for (name, length) in [
        ("blocks", blocks.len()),
        ("block_iterations", block_iterations.len()),
        ("wall", wall.len()),
        ("cpu", cpu.len()),
        ("switched", switched.len()),
        ("throttled", throttled.len()),
        ("faults", faults.len()),
        ("elements", elements.len()),
        ("bytes", bytes.len()),
        ("yardsticks", yardsticks.len()),
    ] {
        if length != rows {
            let why = format_args!("the column `{name}` has {length} rows and `iterations` {rows}");
            return Err(serde::de::Error::custom(why));
        }
    }
    let process = |at: usize| Process {
        iterations: iterations[at],
        blocks: (blocks[at] > 0).then(|| Blocks {
            count: blocks[at],
            iterations: block_iterations[at],
            wall: wall[at],
            cpu: cpu[at],
            switched: switched[at],
            throttled: throttled[at],
            faults: faults[at],
            elements: elements[at],
            bytes: bytes[at],
        }),
        yardsticks: yardsticks[at],
    };
    Ok((0..rows).map(process).collect())
}

impl Process {
    /// Condenses what a repeat saw.
    pub(super) fn of(seen: &Observation) -> Self {
        let mut yardsticks = [None; 3];
        for (kind, blocks) in yardsticks.iter_mut().zip(seen.yardsticks.blocks()) {
            if !blocks.is_empty() {
                let times: Vec<f64> = blocks.iter().map(|block| *block as f64).collect();
                *kind = Some(short(stats::quantile(&times, QUANTILES[0])));
            }
        }
        Self { iterations: seen.iterations(), blocks: Blocks::of(seen), yardsticks }
    }
}

impl Blocks {
    fn of(seen: &Observation) -> Option<Self> {
        let count = seen.samples.len();
        if seen.taken != Some(SampleKind::Iterations) || count == 0 || seen.cpu.len() != count {
            return None;
        }
        let mut clean = vec![true; count];
        for tagged in seen.tags.iter().filter(|tagged| tagged.cause == Cause::Preempted) {
            for sample in &tagged.samples {
                if let Some(clean) = clean.get_mut(*sample as usize) {
                    *clean = false;
                }
            }
        }
        let switched = clean.iter().filter(|clean| !**clean).count();
        if switched == count {
            clean.fill(true);
        }
        let iterations = seen.iterations_per_sample.max(1);
        let quantiles = |times: &[u64]| {
            let mut of_one = Vec::with_capacity(count);
            for (time, clean) in times.iter().zip(&clean) {
                if *clean {
                    of_one.push(*time as f64 / iterations as f64);
                }
            }
            QUANTILES.map(|q| short(stats::quantile(&of_one, q)))
        };
        let throttled = seen.tags.iter().filter(|tagged| tagged.cause == Cause::Throttled);
        let throttled: usize = throttled.map(|tagged| tagged.samples.len()).sum();
        let share = |part: usize| short(part as f64 / count as f64);
        let of_one = |total: u64| short(total as f64 / (iterations as f64 * count as f64));
        Some(Self {
            count: count as u64,
            iterations,
            wall: quantiles(&seen.samples),
            cpu: quantiles(&seen.cpu),
            switched: share(switched),
            throttled: share(throttled),
            faults: short(seen.usage.minor_faults as f64 / count as f64),
            elements: of_one(seen.elements),
            bytes: of_one(seen.bytes),
        })
    }
}

/// The value with five digits.
pub(super) fn short(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let digits = 4 - value.abs().log10().floor() as i32;
    // A power below one is no exact number: dividing by the power above one rounds to the nearest.
    let scale = 10f64.powi(digits.abs());
    if digits < 0 { (value / scale).round() * scale } else { (value * scale).round() / scale }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "numbers of five digits are meant to the last")]
mod tests {
    use super::*;
    use crate::metric::{DisturbedSamples, Yardsticks};

    fn seen() -> Observation {
        Observation {
            taken: Some(SampleKind::Iterations),
            samples: vec![1000, 1010, 1020, 9000, 1030],
            cpu: vec![990, 1000, 1010, 1500, 1020],
            tags: vec![DisturbedSamples { cause: Cause::Preempted, samples: vec![3] }],
            iterations_per_sample: 10,
            elements: 50 * 7,
            yardsticks: Yardsticks { chain: vec![500, 510, 520], ..Yardsticks::default() },
            ..Observation::default()
        }
    }

    #[test]
    fn quantiles_are_of_one_iteration_over_blocks_that_were_not_preempted() {
        let process = Process::of(&seen());
        let blocks = process.blocks.unwrap();
        assert_eq!((blocks.count, blocks.iterations), (5, 10));
        assert_eq!(blocks.cpu, [99.3, 100.5, 101.7]);
        assert_eq!(blocks.wall, [100.3, 101.5, 102.7]);
        assert_eq!((blocks.switched, blocks.throttled, blocks.elements), (0.2, 0.0, 7.0));
        assert_eq!(process.yardsticks, [Some(502.0), None, None]);
    }

    #[test]
    fn where_all_blocks_were_preempted_all_count() {
        let mut seen = seen();
        seen.tags[0].samples = vec![0, 1, 2, 3, 4];
        let blocks = Process::of(&seen).blocks.unwrap();
        assert_eq!((blocks.switched, blocks.wall[1]), (1.0, 102.0));
    }

    #[test]
    fn a_stream_has_no_blocks_and_may_have_yardsticks() {
        let process = Process::of(&Observation { taken: Some(SampleKind::Items), cpu: vec![], ..seen() });
        assert_eq!((process.blocks, process.yardsticks[0]), (None, Some(502.0)));
    }

    #[test]
    fn columns_hold_what_processes_are_and_have_one_length() {
        #[derive(Serialize, Deserialize)]
        struct ProcessFile(#[serde(with = "super")] Vec<Process>);
        let processes = vec![Process::of(&seen()), Process { iterations: 3, ..Process::default() }];
        let text = serde_json::to_string(&ProcessFile(processes.clone())).unwrap();
        assert!(text.starts_with(r#"{"iterations":[50,3],"blocks":[5,0],"#), "{text}");
        assert_eq!(serde_json::from_str::<ProcessFile>(&text).unwrap().0, processes);
        for (column, shorter) in [("[50,3]", "[50]"), ("\"blocks\":[5,0]", "\"blocks\":[5]")] {
            let said = serde_json::from_str::<ProcessFile>(&text.replace(column, shorter))
                .err()
                .unwrap()
                .to_string();
            assert!(
                said.contains("the column `blocks` has") && said.contains("rows and `iterations`"),
                "{said}"
            );
        }
    }

    #[test]
    fn five_digits_are_kept_of_a_number_of_any_size() {
        for (value, expected) in [
            (0.0, 0.0),
            (1.0 / 3.0, 0.333_33),
            (123_456_789.0, 123_460_000.0),
            (-1.234_567_89e-9, -1.234_6e-9),
            (5.0, 5.0),
        ] {
            assert!((short(value) - expected).abs() <= 1e-15 * f64::abs(expected), "{value}");
        }
    }
}
