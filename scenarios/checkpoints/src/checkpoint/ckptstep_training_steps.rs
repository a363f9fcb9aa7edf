//! CKPT-STEP: what a checkpoint costs the training around it.

use std::fs::File;
use std::sync::Arc;
use std::time::Instant;

use weighbridge::Requirements;
use weighbridge::prelude::*;
use weighbridge_data::Cache;

use super::inventory::Inventory;
use super::looks::LookedState;
use super::lots::Lots;
use super::medium::Medium;
use super::proof::{Proof, prove};
use super::rounds::flush;
use super::stamp::FileStamp;
use crate::contract::{Checkpointer, SaveOptions, SaveWaiter, StepTimes};
use crate::workload::{State, StateChange, StepKind};

/// The axes of CKPT-STEP.
#[derive(Clone, Debug, Sweep)]
struct TrainingStepsAxes {
    #[sweep(
            default = State::MB_268, tiny = State::MB_16, large = State::GB_1, huge = State::GB_4
        )]
    variant: State,
    #[sweep(
        all,
        processor = StepKind::Processor,
        memory = StepKind::Memory,
        interpreter = StepKind::Interpreter
    )]
    step: StepKind,
    #[sweep(SaveWaiter::Blocking, SaveWaiter::Background)]
    saving: SaveWaiter,
}

/// Steps of a training loop, and a save in the middle of them.
///
/// What does a checkpoint take from the training? Steps of a stub run in the process that holds the state:
/// first alone, then on while the state is saved, until that is complete. `step` says what they are bound by:
/// one `processor`, the way to `memory`, or the lock of an `interpreter`. The metrics of each save:
///
/// - `lost_time`: all time from its request until it was complete, less what as many steps take alone;
/// - `stall`: how long the loop waited before it could go on;
/// - `step_slowdown_p50` (without the stall) and `step_slowdown_p99` (with it): over those of steps alone;
/// - `time_to_durable`: from the request until its file system was flushed, so that it would survive a power
///   cut.
///
/// As soon as a save lets the loop go on, the whole state is changed, which counts in no time: what is saved
/// must be the state of the call. Each repeat saves four times, the first of which does not count. Timed:
/// the steps, by the clock of the process that they run in, which may not claim more than passed. Not timed:
/// making the state, removing checkpoints. The work report and the proof are those of CKPT-1.
#[scenario(id = "CKPT-STEP", category = "Checkpoints", sets = ["checkpoint"], equivalence = exact,
    needs = needs, describe = describe)]
fn training_steps(
    bencher: &mut Bencher,
    checkpointer: &mut dyn Checkpointer,
    axes: TrainingStepsAxes,
) -> Result<()> {
    let TrainingStepsAxes { variant, step, saving } = axes;
    let size = if bencher.is_smoke() { State::SMALL } else { variant };
    let (saves, steps) = if bencher.is_smoke() { (2, 5) } else { (SAVES, STEPS) };
    let data = Arc::new(size.open(&Cache::from_env())?);
    let place = Medium::Disk.place(bencher, 3 * size.bytes())?;
    let mut checkpoints = bencher.open(|| checkpointer.open(&SaveOptions::whole(saving), &data))?;
    checkpoints.executed().check_platform(bencher.platform())?;
    bencher.work(checkpoints.executed().report(&data, checkpoints.entry_point()));
    let file_system = File::open(place.path())?;
    let (lots, looked) = (Lots::new(), LookedState { data: &data, onto: None });
    let mut state = StateChange::default();
    let mut last = None;
    for save in 0..saves {
        let directory = place.path().join(format!("step-{save}"));
        let change = lots.whole(&data);
        let before = Instant::now();
        let times = checkpoints.steps(step, steps, &directory, &change)?;
        let inventory = Inventory::of(&directory)?;
        let stamp = FileStamp::of(&inventory, &lots)?;
        flush(&file_system)?;
        // The steps before the save are not part of it.
        let safe = before.elapsed().saturating_sub(times.idle.iter().sum());
        if save > 0 {
            tell(bencher, &times, safe.as_secs_f64());
        }
        // The state of the call, and not one that it was changed into while it was written.
        checkpoints.load(&directory)?;
        let parts = looked.draw(&lots);
        let seen = checkpoints.look(&parts)?;
        checkpoints.release()?;
        looked.check(&state, &parts, &seen)?;
        stamp.check()?;
        let after = state.and(&change);
        let saved = std::mem::replace(&mut state, after);
        if let Some((last, ..)) = last.replace((directory, saved, stamp)) {
            std::fs::remove_dir_all(last)?;
        }
    }
    let (last, saved, stamp) = last.ok_or_else(|| Error::new("nothing was saved"))?;
    Inventory::of(&last)?.tell(bencher);
    drop(checkpoints);
    let mut anew = checkpointer.open(&SaveOptions::whole(saving), &data)?;
    prove(bencher, &mut *anew, Proof::whole(&data).changed(&saved).stamped(&stamp), &last)
}

/// Saves of a repeat: the first finds memory that was never touched, and files that no directory had.
const SAVES: usize = 4;

/// Steps before each.
const STEPS: usize = 60;

/// Tells the cost of a save as metrics.
fn tell(bencher: &Bencher, times: &StepTimes, safe: f64) {
    let seconds = |times: &[std::time::Duration]| {
        let mut seconds: Vec<f64> = times.iter().map(std::time::Duration::as_secs_f64).collect();
        seconds.sort_by(f64::total_cmp);
        seconds
    };
    let (idle, during) = (seconds(&times.idle), seconds(&times.during));
    let alone = rank(&idle, 0.5);
    let lost = during.iter().sum::<f64>() - alone * during.len() as f64;
    let lower = |name, value, unit| bencher.metric(name, value, unit, Direction::Lower);
    lower("lost_time", lost.max(0.0), Unit::SECONDS);
    lower("stall", times.stall.as_secs_f64(), Unit::SECONDS);
    // The stall stands beside: the median is of steps that went on.
    let mut beside = times.during.clone();
    if let Some(first) = beside.first_mut() {
        *first = first.saturating_sub(times.stall);
    }
    lower("step_slowdown_p50", rank(&seconds(&beside), 0.5) / alone, Unit::RATIO);
    lower("step_slowdown_p99", rank(&during, 0.99) / rank(&idle, 0.99), Unit::RATIO);
    lower("time_to_complete", times.complete.as_secs_f64(), Unit::SECONDS);
    lower("time_to_durable", safe, Unit::SECONDS);
    let steps = during.len() as f64;
    bencher.metric("overlapped_steps", steps, Unit::COUNT, Direction::Information);
}

/// The value of this rank among sorted ones: the nearest.
fn rank(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get((share * last as f64).round() as usize).copied().unwrap_or(f64::NAN)
}

/// The memory that a point needs, for the plan: a copy more than other scenarios, of what is saved in the
/// background.
fn needs(axes: &TrainingStepsAxes) -> Requirements {
    let TrainingStepsAxes { variant, .. } = axes;
    let needs = variant.needs();
    Requirements { memory: needs.memory + variant.bytes(), ..needs }
}

/// Describes what a point does, for listings.
fn describe(axes: &TrainingStepsAxes) -> String {
    let TrainingStepsAxes { variant, step, saving } = axes;
    format!("steps bound by {step}, and a {saving} save of {}", variant.describe())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use weighbridge::{Budget, Purpose, Settings};

    use super::*;

    fn told(times: &StepTimes) -> Vec<(String, f64)> {
        let bencher = Bencher::new(Settings::new(Purpose::Measure, Budget::SMOKE));
        tell(&bencher, times, 2.0);
        let seen = bencher.finish().unwrap().seen;
        seen.custom.into_iter().map(|metric| (metric.name, metric.value)).collect()
    }

    #[test]
    fn what_a_save_costs_is_what_steps_take_longer_with_its_stall() {
        let ms = Duration::from_millis;
        let times = StepTimes {
            idle: vec![ms(10); 60],
            // A stall of 500 ms and a step, then three steps at half the speed.
            during: vec![ms(510), ms(20), ms(20), ms(20)],
            stall: ms(500),
            complete: ms(565),
        };
        let expected = [
            ("lost_time", 0.53),
            ("stall", 0.5),
            ("step_slowdown_p50", 2.0),
            ("step_slowdown_p99", 51.0),
            ("time_to_complete", 0.565),
            ("time_to_durable", 2.0),
            ("overlapped_steps", 4.0),
        ];
        for ((name, value), (expected_name, expected)) in told(&times).into_iter().zip(expected) {
            assert!(name == expected_name && (value - expected).abs() < 1e-9, "{name} {value} {expected}");
        }
        // Steps that were quicker by chance are no gain.
        let times = StepTimes { idle: vec![ms(10); 5], during: vec![ms(9)], stall: ms(0), complete: ms(1) };
        assert_eq!(told(&times)[0], ("lost_time".to_owned(), 0.0));
    }
}
