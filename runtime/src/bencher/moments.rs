//! Sums over numbers, for work that agrees only approximately.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weighbridge_yardsticks::Sums;

/// Sums over the numbers of a field, for work that agrees only approximately.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    /// The number of finite numbers.
    pub count: u64,
    /// The number of values that are infinite or no number: they are in none of the sums.
    pub not_finite: u64,
    /// Their sum.
    pub sum: f64,
    /// Sum of their squares.
    pub squares: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
}

impl Moments {
    pub(crate) const NONE: Self =
        Self { count: 0, not_finite: 0, sum: 0.0, squares: 0.0, min: f64::MAX, max: f64::MIN };

    pub(crate) fn add(&mut self, value: f64) {
        if !value.is_finite() {
            self.not_finite += 1;
            return;
        }
        self.count += 1;
        self.sum += value;
        self.squares += value * value;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds a share of other numbers: 0.5 of four of them counts as two that are as large.
    pub(crate) fn add_share(&mut self, other: &Self, share: f64) {
        let part = |count: u64| (count as f64 * share).round() as u64;
        self.count += part(other.count);
        self.not_finite += part(other.not_finite);
        self.sum += other.sum * share;
        self.squares += other.squares * share;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.bound();
    }

    /// Keeps sums that no number can hold at the largest one: what is stored as JSON must be a number.
    pub(super) fn bound(&mut self) {
        self.sum = self.sum.clamp(f64::MIN, f64::MAX);
        self.squares = self.squares.min(f64::MAX);
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        self.sum / self.count as f64
    }

    /// The standard deviation (population).
    pub fn deviation(&self) -> f64 {
        (self.squares / self.count as f64 - self.mean().powi(2)).max(0.0).sqrt()
    }
}

impl From<Sums> for Moments {
    fn from(sums: Sums) -> Self {
        let Sums { count, not_finite, sum, squares, min, max } = sums;
        Self { count, not_finite, sum, squares, min, max }
    }
}

/// Moments of each field, by its name.
pub type MomentsByField = BTreeMap<String, Moments>;
