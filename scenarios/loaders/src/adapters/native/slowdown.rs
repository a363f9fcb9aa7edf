//! A slowdown on purpose: `WEIGHBRIDGE_SLOWDOWN=1.3` makes the reference loaders make 0.3 times as many rows
//! again beside each batch: rows of the opposite side of the epoch, since those of the batch itself would
//! come from the cache.
//!
//! It is real work, the read of the rows included, so that a comparison has a true regression to find.

use weighbridge::{Error, Result};

const VARIABLE: &str = "WEIGHBRIDGE_SLOWDOWN";

/// The share of rows that is made beside each batch, and the fraction of a row that is still owed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slowdown {
    share: f64,
    owed: f64,
}

impl Slowdown {
    /// As the environment says; none if it says nothing.
    pub(super) fn from_env() -> Result<Self> {
        match std::env::var_os(VARIABLE) {
            None => Ok(Self { share: 0.0, owed: 0.0 }),
            Some(text) => Self::parse(&text.to_string_lossy()),
        }
    }

    fn parse(text: &str) -> Result<Self> {
        let factor = text.parse::<f64>().ok().filter(|factor| (1.0..=100.0).contains(factor));
        let factor = factor.ok_or_else(|| {
            Error::new(format!(
                "{VARIABLE} is `{text}`: give a factor from 1 to 100, as in {VARIABLE}=1.3, or leave it unset"
            ))
        })?;
        Ok(Self { share: factor - 1.0, owed: 0.0 })
    }

    /// Returns the number of rows to make beside a batch of `elements`. Fractions are carried over to the
    /// next batch.
    pub(super) fn rows(&mut self, elements: usize) -> usize {
        if self.share == 0.0 {
            return 0; // as nearly always: not even rounding is in a batch's way
        }
        self.owed += self.share * elements as f64;
        let rows = self.owed.floor();
        self.owed -= rows;
        rows as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_holds_over_many_batches() {
        let mut slowdown = Slowdown::parse("1.3").unwrap();
        let rows: usize = (0..1_000).map(|_| slowdown.rows(32)).sum();
        assert!((9_599..=9_600).contains(&rows), "{rows}");
        let mut threefold = Slowdown::parse("3").unwrap();
        assert_eq!(threefold.rows(5), 10);
    }

    #[test]
    fn a_bad_value_is_refused_with_an_example() {
        for bad in ["", "fast", "0.5", "-1", "NaN", "inf", "1e9"] {
            let error = Slowdown::parse(bad).unwrap_err().to_string();
            assert!(error.contains(&format!("is `{bad}`")) && error.contains("=1.3"), "{error}");
        }
    }
}
