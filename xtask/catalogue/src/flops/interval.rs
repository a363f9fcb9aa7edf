//! A printed number stands for all that are rounded to it.

/// All numbers from one to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Interval {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Interval {
    /// A number without caveat.
    pub(super) fn exact(number: f64) -> Self {
        Self { low: number, high: number }
    }

    /// The number that was meant, without what rounding may have taken.
    pub(super) fn middle(self) -> Self {
        Self::exact(f64::midpoint(self.low, self.high))
    }

    /// Returns the interval that a cell stands for: half a unit of its last digit to either side; with `~`
    /// before it, of its last digit that is not 0. Commas between digits and a unit behind the number are
    /// left out. `None` where there is no number.
    pub(super) fn of(cell: &str) -> Option<Self> {
        let cell = cell.trim().trim_matches('*').trim();
        let is_about = cell.starts_with('~');
        let cell: String = cell.trim_start_matches('~').trim().chars().filter(|&char| char != ',').collect();
        let end = cell.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(cell.len());
        let (digits, unit) = cell.split_at(end);
        // `H100` and `8x` are names, and `12 of 20` is no number.
        if digits.is_empty() || !["", "%", "x", "ms", "s"].contains(&unit.trim()) {
            return None;
        }
        let number: f64 = digits.parse().ok()?;
        let decimals = digits.split_once('.').map_or(0, |(_, after)| after.len());
        let mut unit = 0.1_f64.powi(decimals as i32);
        if is_about && decimals == 0 {
            let zeros = digits.len() - digits.trim_end_matches('0').len();
            unit = 10_f64.powi(zeros as i32);
        }
        Some(Self { low: number - unit / 2.0, high: number + unit / 2.0 })
    }

    /// All products of two positive numbers.
    pub(super) fn times(self, other: Self) -> Self {
        Self { low: self.low * other.low, high: self.high * other.high }
    }

    /// All quotients of two positive numbers.
    pub(super) fn over(self, other: Self) -> Self {
        Self { low: self.low / other.high, high: self.high / other.low }
    }

    /// Returns the intersection; `None` where it is empty.
    pub(super) fn and(self, other: Self) -> Option<Self> {
        let both = Self { low: self.low.max(other.low), high: self.high.min(other.high) };
        (both.low <= both.high).then_some(both)
    }

    /// In as many digits as tell its ends apart.
    pub(super) fn text(self) -> String {
        let width = (self.high - self.low).max(f64::MIN_POSITIVE);
        let decimals = (-width.log10().floor()).clamp(0.0, 6.0) as usize;
        let [low, high] = [self.low, self.high].map(|end| format!("{end:.decimals$}"));
        if low == high { low } else { format!("{low} to {high}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_stands_for_what_is_rounded_to_it() {
        let of = |cell| Interval::of(cell).map(|interval| (interval.low, interval.high));
        assert_eq!(of("22.0"), Some((21.95, 22.05)));
        assert_eq!(of("1,608"), Some((1607.5, 1608.5)));
        assert_eq!(of("~34,800"), Some((34_750.0, 34_850.0)));
        assert_eq!(of("**4.5 %**"), Some((4.45, 4.55)));
        for cell in ["CRASH", "", "H100", "8xH100", "12 of 20", "-"] {
            assert_eq!(of(cell), None, "{cell}");
        }
    }
}
