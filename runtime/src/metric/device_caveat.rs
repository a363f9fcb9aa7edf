//! Caveats about a figure of a device, each with its evidence and one remedy.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A device time is at least so many steps of the device's clock.
pub(super) const LEAST_QUANTA: f64 = 20.0;

/// One caveat about a figure. All times in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceCaveat {
    /// The body says that its work is done when it returns, and it is not.
    ForgotToSync {
        /// The moment when it returned.
        returned: f64,
        /// The moment when its work was done.
        complete: f64,
    },
    /// Work went on that the measured queue did not have.
    HiddenStream {
        /// By the host's clock.
        wall: f64,
        /// By the device's.
        device: f64,
    },
    /// The device waited for the host.
    HostBound {
        /// Until the body returned.
        enqueue: f64,
        /// By the device's clock.
        device: f64,
    },
    /// Bodies in a row cost what launching them does.
    LaunchBound {
        /// Of one body.
        each: f64,
        /// Of one launch.
        launch: f64,
    },
    /// The time is too few steps of the device's clock.
    BelowResolution {
        /// Of one sample.
        device: f64,
        /// One step.
        quantum: f64,
    },
    /// The device was slowed down.
    Throttled {
        /// The reasons, in words.
        reasons: Vec<String>,
        /// In which share of the looks.
        share: f64,
    },
    /// The clock of the device's processors was not one clock.
    ClockDrift {
        /// The 5th and the 95th percentile, in megahertz.
        low: f64,
        /// As above.
        high: f64,
        /// The score of Mann and Kendall over the samples.
        trend: f64,
    },
    /// So many samples were left out for a low clock that the rest is a choice.
    Discarded {
        /// Left out.
        discarded: u64,
        /// Of how many.
        of: u64,
    },
    /// Other processes compute on the device.
    SharedDevice {
        /// The number of them.
        processes: u32,
    },
    /// The device is a part of one.
    Partitioned,
    /// A server shares the device among processes.
    Served,
    /// The time is too short for any work.
    ZeroWork {
        /// Of one body.
        device: f64,
        /// Of nothing.
        floor: f64,
    },
    /// The rate is beyond what the device can do.
    BeyondRoofline {
        /// The name of the limit.
        roofline: String,
        /// The rate by the limit.
        share: f64,
    },
    /// A limit of the device was another one at the end.
    DeviceDrift {
        /// The name of the limit.
        roofline: String,
        /// By what share it changed.
        change: f64,
    },
    /// Memory in use rose with every look.
    MemoryGrowth {
        /// By so many bytes.
        bytes: u64,
        /// Over so many looks.
        looks: u64,
    },
    /// The body synchronises, so its queue could not be held.
    Synchronises,
    /// A held queue went on by itself: the body waited for it.
    DeadlockUnderHold,
}

impl DeviceCaveat {
    /// All names.
    pub const NAMES: &'static [&'static str] = &[
        "forgot-to-sync",
        "hidden-stream",
        "host-bound",
        "launch-bound",
        "below-resolution",
        "throttled",
        "clock-drift",
        "discarded",
        "shared-device",
        "partitioned",
        "served",
        "zero-work",
        "beyond-roofline",
        "device-drift",
        "memory-growth",
        "synchronises",
        "deadlock-under-hold",
    ];

    /// The name by which a scenario allows it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::ForgotToSync { .. } => "forgot-to-sync",
            Self::HiddenStream { .. } => "hidden-stream",
            Self::HostBound { .. } => "host-bound",
            Self::LaunchBound { .. } => "launch-bound",
            Self::BelowResolution { .. } => "below-resolution",
            Self::Throttled { .. } => "throttled",
            Self::ClockDrift { .. } => "clock-drift",
            Self::Discarded { .. } => "discarded",
            Self::SharedDevice { .. } => "shared-device",
            Self::Partitioned => "partitioned",
            Self::Served => "served",
            Self::ZeroWork { .. } => "zero-work",
            Self::BeyondRoofline { .. } => "beyond-roofline",
            Self::DeviceDrift { .. } => "device-drift",
            Self::MemoryGrowth { .. } => "memory-growth",
            Self::Synchronises => "synchronises",
            Self::DeadlockUnderHold => "deadlock-under-hold",
        }
    }

    /// Tells whether the figure is of something else than the work: the case fails, unless the scenario
    /// allows it.
    pub fn is_fatal(&self) -> bool {
        matches!(self, Self::ForgotToSync { .. } | Self::HiddenStream { .. })
    }

    /// Advice on what to do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::ForgotToSync { .. } => {
                "synchronise in the body before it returns, or do not declare `returns_complete`"
            }
            Self::HiddenStream { .. } => {
                "enqueue on the stream that is handed in, or declare the others with `streams`, or use mode \
                 sync"
            }
            Self::HostBound { .. } => {
                "use mode hot with a body that can be recorded, or enqueue more at once"
            }
            Self::LaunchBound { .. } => "record the launches as a graph, or fuse the kernels",
            Self::BelowResolution { .. } => "use mode hot, which times many bodies together",
            Self::Throttled { .. } => "compare in cycles (device_cycles), or cool the device",
            Self::ClockDrift { .. } => "compare in cycles (device_cycles), or warm up for longer",
            Self::Discarded { .. } => "let the device cool down and run again",
            Self::SharedDevice { .. } => "run where nobody else computes",
            Self::Partitioned => "compare with the same partition alone",
            Self::Served => "stop the server (MPS), or compare with runs under it alone",
            Self::ZeroWork { .. } => "check that the body enqueues its work on the stream that is handed in",
            Self::BeyondRoofline { .. } => {
                "check the stated bytes, flops and numbers, that data does not come from the cache (mode \
                 cold), and that the body's work is waited for"
            }
            Self::DeviceDrift { .. } => "run again on a device that is left alone",
            Self::MemoryGrowth { .. } => "free what the body allocates",
            Self::DeadlockUnderHold => {
                "take what waits for the device out of the body, launch less at once, or use mode sync"
            }
            Self::Synchronises => "use mode sync, or take the synchronisation out of the body",
        }
    }
}

/// A time as people read it.
struct ShownTime(f64);

impl fmt::Display for ShownTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(ns) = *self;
        match ns.abs() {
            size if size < 1e3 => write!(f, "{ns:.0} ns"),
            size if size < 1e6 => write!(f, "{:.1} us", ns * 1e-3),
            size if size < 1e9 => write!(f, "{:.2} ms", ns * 1e-6),
            _ => write!(f, "{:.2} s", ns * 1e-9),
        }
    }
}

impl fmt::Display for DeviceCaveat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ForgotToSync { returned, complete } => write!(
                f,
                "forgot to synchronise: the body returned after {}, its work was done after {}",
                ShownTime(*returned),
                ShownTime(*complete)
            ),
            Self::HiddenStream { wall, device } => write!(
                f,
                "a hidden stream: the measured stream worked for {} of the {} until the device was done",
                ShownTime(*device),
                ShownTime(*wall)
            ),
            Self::HostBound { enqueue, device } => write!(
                f,
                "bound by the host: {} to enqueue what the device did in {}",
                ShownTime(*enqueue),
                ShownTime(*device)
            ),
            Self::LaunchBound { each, launch } => write!(
                f,
                "bound by launches: {} a body in a row, where a launch costs {}",
                ShownTime(*each),
                ShownTime(*launch)
            ),
            Self::BelowResolution { device, quantum } => write!(
                f,
                "below resolution: {} is under {LEAST_QUANTA} steps of {} of the device's clock",
                ShownTime(*device),
                ShownTime(*quantum)
            ),
            Self::Throttled { reasons, share } => {
                write!(f, "throttled in {:.0} % of the looks: {}", share * 100.0, reasons.join(", "))
            }
            Self::ClockDrift { low, high, trend } => {
                write!(f, "the device's clock was between {low:.0} and {high:.0} MHz (trend {trend:+.1})")
            }
            Self::Discarded { discarded, of } => {
                write!(f, "{discarded} of {of} samples were left out for a low clock")
            }
            Self::SharedDevice { processes } => {
                write!(f, "a shared device: other processes compute on it ({processes})")
            }
            Self::Partitioned => {
                f.write_str("a part of a device (MIG): what it says of itself may be of the whole")
            }
            Self::Served => f.write_str("a device that a server (MPS) shares among processes"),
            Self::ZeroWork { device, floor } => {
                write!(f, "no work: {} is what nothing takes ({})", ShownTime(*device), ShownTime(*floor))
            }
            Self::BeyondRoofline { roofline, share } => {
                write!(
                    f,
                    "{:.0} % of the measured limit ({roofline}): more than the device can do",
                    share * 100.0
                )
            }
            Self::DeviceDrift { roofline, change } => {
                write!(f, "the device drifted: its {roofline} changed by {:+.1} %", change * 100.0)
            }
            Self::MemoryGrowth { bytes, looks } => {
                write!(f, "memory grew by {bytes} bytes, with every one of {looks} looks")
            }
            Self::DeadlockUnderHold => f.write_str(
                "the body waited for a stream that was held: the sample was taken again, and none was held \
                 from then on",
            ),
            Self::Synchronises => f.write_str("the body synchronises: its stream could not be held"),
        }?;
        write!(f, "; remedy: {}", self.remedy())
    }
}
