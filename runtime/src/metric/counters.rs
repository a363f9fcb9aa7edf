//! The counters of the processor over the measured windows.

use serde::{Deserialize, Serialize};

use super::Reading;

/// Sums over the measured windows, of the measuring thread in user mode; or why they are not known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hardware {
    /// Instructions that were completed.
    pub instructions: Option<Reading>,
    /// Cycles of the processor.
    pub cycles: Option<Reading>,
    /// Accesses that the last cache did not serve.
    pub cache_misses: Option<Reading>,
}

impl Hardware {
    /// From what the counters say.
    pub fn of(counts: [Result<u64, String>; 3]) -> Self {
        let [instructions, cycles, cache_misses] = counts.map(|count| {
            Some(match count {
                Ok(count) => Reading::Value(count as f64),
                Err(why) => Reading::Absent(why),
            })
        });
        Self { instructions, cycles, cache_misses }
    }
}
