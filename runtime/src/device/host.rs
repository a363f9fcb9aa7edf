//! The host as a device: work is done when a call returns.

use std::cell::RefCell;

use super::{Backend, Clock, Device, DeviceError, DeviceInfo, Queue, QueueMark};

/// The host's own processors. Its clock is the host's, so a mark is a reading of it.
#[derive(Debug)]
pub struct Host {
    info: DeviceInfo,
    clock: Clock,
    marks: RefCell<Vec<u64>>,
}

impl Host {
    /// The host, by the monotonic clock.
    pub fn new() -> Self {
        let info = DeviceInfo {
            backend: Backend::Cpu,
            name: "the host's processors".to_owned(),
            has_clock: true,
            ..DeviceInfo::default()
        };
        Self { info, clock: Clock::monotonic(), marks: RefCell::default() }
    }
}

impl Device for Host {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn host_ns(&self) -> u64 {
        self.clock.now().as_nanos() as u64
    }

    fn mark(&self, _: Queue) -> Result<QueueMark, DeviceError> {
        let mut marks = self.marks.borrow_mut();
        marks.push(self.host_ns());
        Ok(QueueMark(marks.len() - 1))
    }

    fn recycle(&self) {
        self.marks.borrow_mut().clear();
    }

    fn elapsed_ns(&self, from: QueueMark, to: QueueMark) -> Result<f64, DeviceError> {
        let marks = self.marks.borrow();
        match (marks.get(from.0), marks.get(to.0)) {
            (Some(from), Some(to)) => Ok(*to as f64 - *from as f64),
            _ => Err(DeviceError::refused("read a mark", "it has been given back")),
        }
    }

    fn sync(&self) -> Result<(), DeviceError> {
        Ok(())
    }

    fn is_idle(&self) -> Result<bool, DeviceError> {
        Ok(true)
    }

    fn flush_cache(&self) -> Result<(), DeviceError> {
        Err(DeviceError::refused(
            "flush the cache",
            "the host has no call for it; use another mode than cold",
        ))
    }

    fn open_queues(&self, _: usize) -> Result<(), DeviceError> {
        Ok(())
    }

    fn wait(&self, _: Queue, _: QueueMark) -> Result<(), DeviceError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_of_the_host_is_a_reading_of_its_clock() {
        let host = Host::new();
        let (a, b) = (host.mark(Queue::MEASURED).unwrap(), host.mark(Queue::beside(0)).unwrap());
        assert!(host.elapsed_ns(a, b).unwrap() >= 0.0);
        assert!(host.is_idle().unwrap());
        assert!(host.hold().unwrap().is_none() && !host.occupy(1).unwrap());
        host.recycle();
        assert!(host.elapsed_ns(a, b).unwrap_err().to_string().contains("given back"));
    }
}
