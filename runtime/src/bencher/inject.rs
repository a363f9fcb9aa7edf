//! A planted slowdown: a share of the body's own iterations, run again and not counted.
//!
//! It shows what a comparison finds. Real work of the very kind that is measured is repeated, because a delay
//! (a sleep, a spin) would leave caches, faults and the CPU clock as they are and be easier to find than a
//! slowdown is.

/// The variable that asks for it: `WEIGHBRIDGE_INJECT=0.02` repeats 2 % of the iterations of every body.
pub(crate) const VARIABLE: &str = "WEIGHBRIDGE_INJECT";

/// The largest share that is taken.
const MOST: f64 = 100.0;

/// Iterations to repeat.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Inject {
    share: f64,
    /// Part of an iteration that the blocks so far have been left owing.
    owed: f64,
}

impl Inject {
    /// Repeats this share of the iterations.
    pub(super) fn new(share: f64) -> Self {
        Self { share, owed: 0.0 }
    }

    /// Tells whether anything is repeated.
    pub(super) fn is_on(&self) -> bool {
        self.share > 0.0
    }

    /// The number of iterations a block needs at least, so that each holds a repeated one: a median over
    /// blocks would not see what only some of them hold.
    pub(super) fn least(&self) -> u64 {
        if self.is_on() { (1.0 / self.share).ceil() as u64 } else { 1 }
    }

    /// The number of iterations still to run in a block that counts for `iterations`.
    pub(super) fn more(&mut self, iterations: u64) -> u64 {
        let due = iterations as f64 * self.share + self.owed;
        self.owed = due.fract();
        due as u64
    }
}

/// Reads the variable: a share of 0 or more.
///
/// # Errors
/// What the value should have been.
pub(crate) fn read(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(share) if (0.0..=MOST).contains(&share) => Ok(share),
        _ => Err(format!("{VARIABLE} is a share such as 0.02 for 2 %, at most {MOST}, not `{text}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_met_over_blocks_of_any_size() {
        for (share, iterations) in [(0.02, 50), (0.02, 7), (0.1, 64), (1.0, 1)] {
            let mut inject = Inject::new(share);
            let more: u64 = (0..1000).map(|_| inject.more(iterations)).sum();
            let wanted = share * iterations as f64 * 1000.0;
            assert!((more as f64 - wanted).abs() <= 1.0, "{share} of {iterations}: {more}");
        }
    }

    #[test]
    fn a_block_of_the_least_size_always_holds_a_repeated_iteration() {
        let mut inject = Inject::new(0.03);
        let least = inject.least();
        assert_eq!(least, 34);
        assert!((0..1000).all(|_| inject.more(least) >= 1));
    }

    #[test]
    fn what_is_no_share_is_refused() {
        for text in ["-0.1", "two", "", "NaN", "1e9"] {
            assert!(read(text).is_err(), "{text}");
        }
        assert_eq!(read("0.02"), Ok(0.02));
    }
}
