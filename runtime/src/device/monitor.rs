//! A device seen from a process that does not compute on it: no context is made there.

use super::{Platform, Telemetry};

/// The telemetry of the device of a platform, for one who only looks.
#[derive(Debug)]
pub struct DeviceMonitor {
    #[cfg(feature = "nvml")]
    library: super::cuda::nvml::Nvml,
}

impl DeviceMonitor {
    /// Opens the one that a process on this platform would take first; `None` where there is none, and
    /// without the feature `nvml`.
    pub fn of(platform: Platform) -> Option<Self> {
        if platform != Platform::Gpu {
            return None;
        }
        #[cfg(feature = "nvml")]
        return super::cuda::monitor().map(|library| Self { library });
        #[cfg(not(feature = "nvml"))]
        None
    }

    /// Its telemetry, and the bytes in use on it.
    #[cfg_attr(not(feature = "nvml"), expect(clippy::unused_self, reason = "there is no value of it then"))]
    pub fn look(&self) -> (Telemetry, Option<u64>) {
        #[cfg(feature = "nvml")]
        return self.library.look();
        #[cfg(not(feature = "nvml"))]
        (Telemetry::default(), None)
    }
}
