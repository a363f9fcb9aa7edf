//! The sync audit: is the work of a body done when it returns, and does the body wait for the device?

use super::sample::DeviceBody;
use crate::bencher::Error;
use crate::device::Device;
use crate::metric::DeviceAudit;

/// The number of times that a body is looked at.
const RUNS: usize = 5;

/// Work is put before the body for at least this long, and for at least so many times what the body takes to
/// return: a body that returns before that work has ended has not waited.
const OCCUPIED: u64 = 200_000;
const TIMES: u64 = 4;

/// The longest that a queue is kept busy.
const MOST: u64 = 50_000_000;

/// Looks at the body a few times. What it costs is in no sample.
///
/// # Errors
/// When the body or the device failed.
pub(super) fn audit(device: &dyn Device, body: &mut DeviceBody<'_>) -> Result<Vec<DeviceAudit>, Error> {
    let mut audits = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        device.sync()?;
        let start = device.host_ns();
        body.run(device)?;
        let returned = device.host_ns() - start;
        let idle = device.is_idle()?;
        device.sync()?;
        let complete = device.host_ns() - start;
        audits.push(DeviceAudit { returned, complete, idle, waited: None });
    }
    for audit in &mut audits {
        audit.waited = waited(device, body, audit.returned)?;
    }
    Ok(audits)
}

/// Tells whether the body waits for work that was enqueued before it. It alone tells a body that synchronises
/// from one whose work is short: neither leaves anything to do when it returns.
fn waited(device: &dyn Device, body: &mut DeviceBody<'_>, returned: u64) -> Result<Option<bool>, Error> {
    let busy = (TIMES * returned).clamp(OCCUPIED, MOST);
    if busy < 2 * returned {
        return Ok(None); // it takes longer to return than a queue is kept busy
    }
    device.sync()?;
    let start = device.host_ns();
    if !device.occupy(busy)? {
        return Ok(None);
    }
    body.run(device)?;
    let took = device.host_ns() - start;
    device.sync()?;
    Ok(Some(took >= busy))
}

#[cfg(test)]
mod tests {
    use super::super::double::{Double, LAUNCH, SYNC};
    use super::*;
    use crate::device::Queue;

    #[test]
    fn a_body_that_enqueues_returns_before_its_work_is_done() {
        let device = Double::new();
        let of = device.clone();
        let seen = audit(
            &*device,
            &mut DeviceBody::new(&mut |_| {
                of.kernel(Queue::MEASURED, 2_000_000);
                Ok(())
            }),
        )
        .unwrap();
        let expected = DeviceAudit {
            returned: LAUNCH,
            complete: LAUNCH + 2_000_000 + SYNC,
            idle: false,
            waited: Some(false),
        };
        assert_eq!(seen, [expected; 5]);
    }

    #[test]
    fn a_body_that_synchronises_has_waited_and_one_that_is_merely_short_has_not() {
        let device = Double::new();
        let of = device.clone();
        let mut waits = |_: &super::super::Stream<'_>| {
            of.kernel(Queue::MEASURED, 10_000);
            of.sync()?;
            Ok(())
        };
        let seen = audit(&*device, &mut DeviceBody::new(&mut waits)).unwrap();
        assert!(seen.iter().all(|audit| audit.idle && audit.waited == Some(true)), "{seen:?}");

        let of = device.clone();
        let mut short = |_: &super::super::Stream<'_>| {
            of.kernel(Queue::MEASURED, 100);
            of.host(5_000);
            Ok(())
        };
        let seen = audit(&*device, &mut DeviceBody::new(&mut short)).unwrap();
        assert!(seen.iter().all(|audit| audit.idle && audit.waited == Some(false)), "{seen:?}");
    }
}
