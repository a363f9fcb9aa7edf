//! Where a run is asked to be.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The platform that a run is asked to run on.
///
/// ```
/// use weighbridge::Platform;
///
/// assert_eq!(Platform::named("gpu"), Some(Platform::Gpu));
/// assert_eq!(Platform::default().to_string(), "cpu");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Platform {
    /// The host's processors.
    #[default]
    Cpu,
    /// A graphics processor.
    Gpu,
    /// A tensor processor.
    Tpu,
}

impl Platform {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Cpu, Self::Gpu, Self::Tpu];

    /// The name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
            Self::Tpu => "tpu",
        }
    }

    /// The platform of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|platform| platform.name() == name)
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The reason why there is no device of a platform: `no CUDA device (libcuda.so.1 cannot be opened)`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoDevice(pub(super) String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_platform_has_one_name() {
        for platform in Platform::ALL {
            assert_eq!(Platform::named(platform.name()), Some(platform));
        }
        assert_eq!(Platform::named("npu"), None);
    }
}
