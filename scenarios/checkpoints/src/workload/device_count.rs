//! How many devices lie along an axis.

use std::fmt;
use std::str::FromStr;

/// So many devices along an axis of a mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceCount(usize);

impl DeviceCount {
    pub(crate) const ONE: Self = Self(1);
    pub(crate) const TWO: Self = Self(2);
    pub(crate) const FOUR: Self = Self(4);

    pub(crate) fn get(self) -> usize {
        self.0
    }
}

impl fmt::Display for DeviceCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for DeviceCount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let devices = text.parse().ok().filter(|devices| (1..=64).contains(devices));
        devices.map(Self).ok_or_else(|| format!("`{text}` is no number of devices from 1 to 64"))
    }
}
