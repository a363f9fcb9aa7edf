//! The seam between the way a device is timed and the device: one trait, which backends implement.
//!
//! Allocation, copies and launches stay with whoever is measured: nothing here computes.

use std::ffi::c_void;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{DeviceInfo, DeviceMemory, Telemetry};

/// A device under measurement: one queue that is timed, and queues beside it.
///
/// What a backend cannot do is told by data (`None`, `false`), never by a panic.
pub trait Device: fmt::Debug {
    /// The description of the device.
    fn info(&self) -> &DeviceInfo;

    /// The host's clock, in nanoseconds since an arbitrary moment.
    fn host_ns(&self) -> u64;

    /// Enqueues a time stamp. Never waits.
    ///
    /// # Errors
    /// When the backend has no clock of its own, or the device failed.
    fn mark(&self, queue: Queue) -> Result<QueueMark, DeviceError>;

    /// Gives all marks back: theirs are the stamps of the next ones. Creating a stamp is not free, reusing
    /// one is.
    fn recycle(&self) {}

    /// Time between two marks, in nanoseconds. Both must have been reached: synchronise first.
    ///
    /// # Errors
    /// When one has not been reached, or the device failed.
    fn elapsed_ns(&self, from: QueueMark, to: QueueMark) -> Result<f64, DeviceError>;

    /// Waits for all queues of the device, those of others in this process included, and surfaces their
    /// errors.
    ///
    /// # Errors
    /// When the device failed; so may work that was enqueued long before.
    fn sync(&self) -> Result<(), DeviceError>;

    /// Tells whether the measured queue has nothing left to do. Never waits.
    ///
    /// # Errors
    /// When the device failed.
    fn is_idle(&self) -> Result<bool, DeviceError>;

    /// Makes the device's cache hold nothing of the body's: enqueued, not waited for.
    ///
    /// # Errors
    /// When the device failed.
    fn flush_cache(&self) -> Result<(), DeviceError> {
        Ok(())
    }

    /// Stops the measured queue before what is enqueued next, until the guard is dropped. `None`: it cannot.
    ///
    /// # Errors
    /// When the device failed.
    fn hold(&self) -> Result<Option<Hold<'_>>, DeviceError> {
        Ok(None)
    }

    /// Tells whether the queue that was held last went on by itself, since nobody let it go in time. Once it
    /// has been drained.
    fn hold_expired(&self) -> bool {
        false
    }

    /// Keeps the measured queue busy for about this long. `false`: it cannot.
    ///
    /// # Errors
    /// When the device failed.
    fn occupy(&self, _ns: u64) -> Result<bool, DeviceError> {
        Ok(false)
    }

    /// Enqueues a stamp of the device's own cycle counter, beside its clock.
    ///
    /// # Errors
    /// When the device failed.
    fn stamp(&self, _place: CycleStamp) -> Result<(), DeviceError> {
        Ok(())
    }

    /// The clock of the processors between the last two stamps, in megahertz, once both have been reached; or
    /// what the driver says of it.
    fn clock_mhz(&self) -> Option<f64> {
        self.telemetry().sm_clock_mhz
    }

    /// The telemetry of the device as it is now. May take milliseconds: never within a window.
    fn telemetry(&self) -> Telemetry {
        Telemetry::default()
    }

    /// Memory in use, where the backend tells.
    ///
    /// # Errors
    /// When the device failed.
    fn memory(&self) -> Result<Option<DeviceMemory>, DeviceError> {
        Ok(None)
    }

    /// Starts the high-water mark of memory again, where there is one.
    fn reset_memory_peak(&self) {}

    /// Makes sure that there are so many queues beside the measured one.
    ///
    /// # Errors
    /// When they cannot be made.
    fn open_queues(&self, beside: usize) -> Result<(), DeviceError>;

    /// Makes a queue wait for a mark of another one. Never makes the host wait.
    ///
    /// # Errors
    /// When the device failed.
    fn wait(&self, queue: Queue, mark: QueueMark) -> Result<(), DeviceError>;

    /// The backend's own handle of a queue (`CUstream`), for whoever launches work.
    fn raw(&self, _queue: Queue) -> Option<*mut c_void> {
        None
    }

    /// Records what is enqueued from now on instead of running it. `false`: it cannot.
    ///
    /// # Errors
    /// When the device failed.
    fn begin_capture(&self) -> Result<bool, DeviceError> {
        Ok(false)
    }

    /// Ends the recording and gives what was recorded.
    ///
    /// # Errors
    /// When what was enqueued cannot be recorded: a synchronisation, a copy from pageable memory. It was not
    /// run.
    fn end_capture(&self) -> Result<Box<dyn Replay + '_>, DeviceError> {
        Err(DeviceError::refused("record work", "this backend records nothing"))
    }

    /// Buffers between which copies can be timed, of so many bytes each. `None`: the backend has none of its
    /// own.
    ///
    /// # Errors
    /// When they cannot be had.
    fn copies(&self, _bytes: usize) -> Result<Option<Box<dyn Copies + '_>>, DeviceError> {
        Ok(None)
    }

    /// A product of two square matrices of so many rows, whose time can be taken. `None`: the backend
    /// multiplies nothing.
    ///
    /// # Errors
    /// When no library that multiplies is found, or it refuses.
    fn product(&self, _numbers: Numbers, _side: usize) -> Result<Option<Box<dyn Product + '_>>, DeviceError> {
        Ok(None)
    }
}

/// A queue of a device: the measured one, or one beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue(pub(crate) usize);

impl Queue {
    /// The queue that is timed.
    pub const MEASURED: Self = Self(0);

    /// The queue beside it with this number, from 0.
    pub fn beside(number: usize) -> Self {
        Self(number + 1)
    }
}

/// A time stamp on a queue: which of the device's stamps it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueMark(pub(crate) usize);

/// One of the two stamps of the cycle counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CycleStamp {
    /// Before the body.
    Before,
    /// After it.
    After,
}

/// A queue that stands still; dropping this lets it go, also when the body fails.
#[must_use = "the queue stands still until this is dropped"]
pub struct Hold<'a>(&'a dyn Release);

/// Lets a held queue go.
pub trait Release {
    /// Lets it go. Never fails: what went wrong is told by the next synchronisation.
    fn release(&self);
}

impl<'a> Hold<'a> {
    /// A queue of `device` that stands still.
    pub fn new(device: &'a dyn Release) -> Self {
        Self(device)
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

impl fmt::Debug for Hold<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hold")
    }
}

/// Work that was recorded.
pub trait Replay {
    /// Enqueues it on the measured queue.
    ///
    /// # Errors
    /// When the device failed.
    fn replay(&self) -> Result<(), DeviceError>;
}

/// Buffers between which copies are timed.
pub trait Copies {
    /// Enqueues one copy on the measured queue and gives how many bytes it moves: those read and those
    /// written, where both are the device's.
    ///
    /// # Errors
    /// When the device failed.
    fn copy(&self, which: CopyKind) -> Result<u64, DeviceError>;
}

/// A way that a copy goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyKind {
    /// Within the device.
    Device,
    /// From page-locked memory of the host.
    FromPinned,
    /// To page-locked memory of the host.
    ToPinned,
    /// From memory of the host as any program has it.
    FromPageable,
    /// To memory of the host as any program has it.
    ToPageable,
}

impl CopyKind {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 5] =
        [Self::Device, Self::FromPinned, Self::ToPinned, Self::FromPageable, Self::ToPageable];

    /// The name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Device => "device copy",
            Self::FromPinned => "host to device, pinned",
            Self::ToPinned => "device to host, pinned",
            Self::FromPageable => "host to device, pageable",
            Self::ToPageable => "device to host, pageable",
        }
    }
}

/// A product of two matrices of random numbers.
pub trait Product {
    /// Enqueues one product on the measured queue and gives its floating-point operations.
    ///
    /// # Errors
    /// When the device failed.
    fn multiply(&self) -> Result<u64, DeviceError>;
}

/// The number type of matrices. Sums are of `f32` in all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Numbers {
    /// Single precision.
    F32,
    /// Single precision, of which a product takes 10 digits of the 23.
    Tf32,
    /// Half precision.
    F16,
    /// The upper half of single precision.
    Bf16,
}

impl Numbers {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 4] = [Self::F32, Self::Tf32, Self::F16, Self::Bf16];

    /// Bytes of a number.
    pub const fn size(self) -> usize {
        match self {
            Self::F32 | Self::Tf32 => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }

    /// The name of their product in records.
    pub const fn product(self) -> &'static str {
        match self {
            Self::F32 => "matrix product, f32",
            Self::Tf32 => "matrix product, tf32",
            Self::F16 => "matrix product, f16",
            Self::Bf16 => "matrix product, bf16",
        }
    }
}

/// The reason why a device did not do what it was asked.
///
/// It is no `std::error::Error`, so that it becomes an error of a scenario in its own way: whether the device
/// is lost must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceError {
    /// The attempt that failed: `synchronise the device`.
    pub what: String,
    /// The backend's code; 0 where it was not the backend that refused.
    pub code: i32,
    /// The backend's name of the code, or the reason.
    pub name: String,
    /// True if the device is lost to this process: whatever it is asked next fails too.
    pub fatal: bool,
}

impl DeviceError {
    /// The error where something cannot be asked of this backend, with the reason.
    pub fn refused(what: &str, why: &str) -> Self {
        Self { what: what.to_owned(), code: 0, name: why.to_owned(), fatal: false }
    }
}

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to {}: {}", self.what, self.name)?;
        if self.code != 0 {
            write!(f, " (code {})", self.code)?;
        }
        if self.fatal { f.write_str("; this process has lost the device") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_was_attempted_and_whether_the_device_is_lost() {
        let error = DeviceError {
            what: "synchronise the device".to_owned(),
            code: 700,
            name: "CUDA_ERROR_ILLEGAL_ADDRESS".to_owned(),
            fatal: true,
        };
        assert_eq!(
            error.to_string(),
            "failed to synchronise the device: CUDA_ERROR_ILLEGAL_ADDRESS (code 700); this process has lost \
             the device"
        );
        assert_eq!(
            DeviceError::refused("record work", "no graphs").to_string(),
            "failed to record work: no graphs"
        );
    }
}
