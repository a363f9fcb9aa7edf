//! Bodies that are recorded together and replayed: what they cost without their launches.

use super::sample::{DeviceBody, let_go};
use crate::bencher::Error;
use crate::device::{Device, Queue};
use crate::metric::{Reading, ReplayCosts};
use crate::stats;

/// Bodies that are recorded together.
const BODIES: u64 = 20;

/// The number of times that they are replayed, after once that is not timed.
const REPLAYS: usize = 10;

/// Records bodies and replays them; says why where they cannot be recorded.
///
/// # Errors
/// When the device was lost.
pub(super) fn replay(
    device: &dyn Device,
    round_trip: f64,
    body: &mut DeviceBody<'_>,
) -> Result<ReplayCosts, Error> {
    if body.beside > 0 {
        return Ok(ReplayCosts { each: Reading::absent("the body has streams of its own"), bodies: 0 });
    }
    let each = match try_replay(device, round_trip, body) {
        Ok(each) => each,
        Err(error) if error.is_lost() => return Err(error),
        Err(error) => Reading::absent(format!("the body cannot be recorded: {error}")),
    };
    device.sync()?;
    Ok(ReplayCosts { each, bodies: BODIES })
}

fn try_replay(device: &dyn Device, round_trip: f64, body: &mut DeviceBody<'_>) -> Result<Reading, Error> {
    device.sync()?;
    if !device.begin_capture()? {
        return Ok(Reading::absent("this device records nothing"));
    }
    let ran = (0..BODIES).try_for_each(|_| body.run(device));
    let recorded = device.end_capture(); // also after a failure, or the queue would go on recording
    ran?;
    let recorded = recorded?;
    let mut times = Vec::with_capacity(REPLAYS);
    for number in 0..=REPLAYS {
        device.recycle();
        device.sync()?;
        let hold = device.hold()?;
        let a = device.mark(Queue::MEASURED)?;
        recorded.replay()?;
        let b = device.mark(Queue::MEASURED)?;
        let_go(device, hold, Some(round_trip as u64))?;
        device.sync()?;
        if number > 0 {
            times.push(device.elapsed_ns(a, b)? / BODIES as f64);
        }
    }
    Ok(Reading::Value(stats::median(&times)))
}

#[cfg(test)]
mod tests {
    use super::super::Stream;
    use super::super::double::{Double, STAMP};
    use super::*;

    #[test]
    fn recorded_bodies_cost_their_work_and_no_launches() {
        let device = Double::new();
        let of = device.clone();
        let mut run = |_: &Stream<'_>| {
            of.kernel(Queue::MEASURED, 1_000);
            Ok(())
        };
        let seen = replay(&*device, 0.0, &mut DeviceBody::new(&mut run)).unwrap();
        assert_eq!(seen.each, Reading::Value((20.0 * 1_000.0 + STAMP as f64) / 20.0));
        device.can_record.set(false);
        let seen = replay(&*device, 0.0, &mut DeviceBody::new(&mut run)).unwrap();
        assert_eq!(seen.each, Reading::absent("this device records nothing"));
    }

    #[test]
    fn a_body_that_fails_while_it_is_recorded_is_no_failure_of_the_repeat() {
        let device = Double::new();
        let mut run = |_: &Stream<'_>| Err(Error::new("operation not permitted when stream is capturing"));
        let seen = replay(&*device, 0.0, &mut DeviceBody::new(&mut run)).unwrap();
        assert!(seen.each.why().unwrap().contains("cannot be recorded: operation not permitted"), "{seen:?}");
    }
}
