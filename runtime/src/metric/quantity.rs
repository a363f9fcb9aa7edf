//! Values with units, and the honest absence of a value.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The direction in which a metric is better.
///
/// ```
/// use weighbridge::prelude::*;
///
/// /// Pack a text, and say how small it gets.
/// #[scenario(id = "PACK-1")]
/// fn pack(bencher: &mut Bencher) {
///     let text = "aaaa".repeat(100);
///     let pack = || (text.as_bytes()[0], text.len());
///     bencher.metric("packed_size", size_of_val(&pack()) as f64, Unit::BYTES, Direction::Lower);
///     bencher.iter(pack);
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// More is better (throughput).
    Higher,
    /// Less is better (time, memory).
    Lower,
    /// Neither: shown, never ranked or judged.
    Information,
}

/// The unit of a value: a short text, base units only (seconds, bytes), scaled when shown.
///
/// ```
/// use weighbridge::Unit;
///
/// assert_eq!(Unit::BYTES_PER_SECOND.to_string(), "B/s");
/// assert_eq!(Unit::other("img/s").symbol(), "img/s");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Unit(Cow<'static, str>);

impl Unit {
    /// Seconds.
    pub const SECONDS: Self = Self(Cow::Borrowed("s"));
    /// Elements per second.
    pub const ELEMENTS_PER_SECOND: Self = Self(Cow::Borrowed("elem/s"));
    /// Items of a stream per second.
    pub const ITEMS_PER_SECOND: Self = Self(Cow::Borrowed("item/s"));
    /// Elements per second of processor time.
    pub const ELEMENTS_PER_CPU_SECOND: Self = Self(Cow::Borrowed("elem/CPU-s"));
    /// Bytes per second.
    pub const BYTES_PER_SECOND: Self = Self(Cow::Borrowed("B/s"));
    /// Floating-point operations per second.
    pub const FLOPS: Self = Self(Cow::Borrowed("FLOP/s"));
    /// Bytes.
    pub const BYTES: Self = Self(Cow::Borrowed("B"));
    /// A plain count.
    pub const COUNT: Self = Self(Cow::Borrowed(""));
    /// A ratio without unit.
    pub const RATIO: Self = Self(Cow::Borrowed("x"));

    /// Any other unit, by its symbol.
    pub const fn other(symbol: &'static str) -> Self {
        Self(Cow::Borrowed(symbol))
    }

    /// The symbol.
    pub fn symbol(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A value with its unit.
///
/// ```
/// use weighbridge::{Quantity, Unit};
///
/// let read = Quantity { value: 4096.0, unit: Unit::BYTES };
/// assert_eq!(format!("{} {}", read.value, read.unit), "4096 B");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quantity {
    /// The value, in base units.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
}

/// The reading of a metric: a value, a bound, or the reason why there is none. Never a made-up zero.
///
/// ```
/// use weighbridge::Reading;
///
/// assert_eq!(Reading::Value(0.5).value(), Some(0.5));
/// assert_eq!(Reading::Below(1e-9).value(), None, "a bound is no value");
/// assert_eq!(Reading::absent("no counter here").why(), Some("no counter here"));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reading {
    /// The value, in the metric's unit.
    Value(f64),
    /// Less than this, in the metric's unit: it cannot be told from nothing.
    Below(f64),
    /// The reason why it could not be measured.
    Absent(String),
    /// It cannot be measured in this process: what it is of ran in another one.
    Elsewhere,
}

impl Reading {
    /// An absence with its reason.
    pub fn absent(why: impl Into<String>) -> Self {
        Self::Absent(why.into())
    }

    /// The reason why there is no value, if there is none.
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Value(_) | Self::Below(_) => None,
            Self::Absent(why) => Some(why),
            Self::Elsewhere => Some("it ran in another process"),
        }
    }

    /// The value, if there is one.
    pub fn value(&self) -> Option<f64> {
        match self {
            Self::Value(value) => Some(*value),
            Self::Below(_) | Self::Absent(_) | Self::Elsewhere => None,
        }
    }
}
