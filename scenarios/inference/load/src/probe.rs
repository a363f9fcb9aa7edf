//! A cache is looked for: prompts are asked once and then once more, one request at a time.

use serde::{Deserialize, Serialize};

/// The pairs that are asked.
pub(crate) const PAIRS: usize = 12;

/// Fewer pairs than that tell nothing.
const LEAST: usize = 10;

/// A repeated prompt is answered from a cache if it takes less than this share of the time of the first.
const SHARE: f64 = 0.8;

/// The times to the first token, or to the first bytes, of prompts that were new and of the same ones again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheProbe {
    /// Nanoseconds from the moment it was sent: new, and repeated.
    pub pairs: Vec<(u64, u64)>,
}

impl CacheProbe {
    /// Tells whether enough pairs were answered.
    pub fn is_complete(&self) -> bool {
        self.pairs.len() >= LEAST
    }

    /// Tells whether repeated prompts are answered faster. All pairs but one at most say so: without a cache
    /// each would say so in less than half of the cases, and 11 of 12 in less than one of 300.
    pub fn finds_cache(&self) -> bool {
        let faster = self.pairs.iter().filter(|(new, again)| (*again as f64) < SHARE * *new as f64).count();
        self.is_complete() && faster + 1 >= self.pairs.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_is_found_where_repeated_prompts_are_faster_and_nowhere_else() {
        let finds = |pairs: &[(u64, u64)]| CacheProbe { pairs: pairs.to_vec() }.finds_cache();
        assert!(finds(&[(100, 10); 12]));
        assert!(finds(&[&[(100, 10); 11][..], &[(10, 100)]].concat()));
        assert!(!finds(&[&[(100, 10); 10][..], &[(10, 100); 2]].concat()));
        assert!(!finds(&[(100, 90); 12]));
        assert!(!finds(&[(100, 10); 9])); // too few
    }
}
