//! Metrics that gate and that are nowhere.

use std::collections::BTreeSet;

use super::{Comparison, Policy, Row};

impl Policy {
    /// The metrics that are to gate and that no case of these comparisons has, in order: a misspelt name, or
    /// one that this method does not measure. One that gates a single scenario must be in a case of that
    /// scenario, where one is compared. `is_elsewhere` tells of a metric whether cases may have it that are
    /// not compared here: the settings of a workspace are for all of its suites.
    pub fn absent_metrics<'a>(
        &self,
        comparisons: impl IntoIterator<Item = &'a Comparison>,
        is_elsewhere: &dyn Fn(&str) -> bool,
    ) -> Vec<String> {
        let rows: Vec<&Row> = comparisons.into_iter().flat_map(|one| &one.rows).collect();
        let weighed: Vec<&Row> = rows.into_iter().filter(|row| !row.metrics.is_empty()).collect();
        let mut absent = BTreeSet::new();
        if weighed.is_empty() {
            return Vec::new(); // that nothing was compared is said already
        }
        for metric in self.gate.metrics.iter().flatten() {
            if !weighed.iter().any(|row| row.has(metric)) && !is_elsewhere(metric) {
                absent.insert(metric.clone());
            }
        }
        for (id, gate) in &self.scenarios {
            let own: Vec<&&Row> = weighed.iter().filter(|row| row.case.scenario == *id).collect();
            for metric in gate.metrics.iter().flatten().filter(|_| !own.is_empty()) {
                if !own.iter().any(|row| row.has(metric)) {
                    absent.insert(metric.clone());
                }
            }
        }
        absent.into_iter().collect()
    }
}

impl Row {
    /// Tells whether a side has a value of this metric, or it decided that there is none.
    fn has(&self, metric: &str) -> bool {
        self.metric == metric || self.metrics.iter().any(|one| one.metric == metric)
    }
}
