//! The cases of one scenario and point, ranked by one metric.

use std::collections::HashMap;

use weighbridge::data::{CaseRecord, Ranking, Ratio, RunRecord, rank};

/// The cases of one scenario and point.
pub(crate) struct CaseGroup<'a> {
    /// `CV-1/small/workers=0`.
    pub(crate) title: String,
    /// All of them, in the order of the run, as places in the run's list.
    pub(crate) cases: Vec<usize>,
    /// The name of the metric that they are ranked by.
    pub(crate) metric: &'a str,
    /// Those that are ranked, the best first.
    pub(crate) places: Vec<Ranking<'a>>,
    /// By what factor the first leads the second.
    pub(crate) lead: Option<Ratio>,
}

impl<'a> CaseGroup<'a> {
    /// The best of them.
    pub(crate) fn best(&self) -> Option<&Ranking<'a>> {
        self.places.first()
    }

    /// Those that cannot be told from the best, without the best.
    pub(crate) fn ties(&self) -> impl Iterator<Item = &'a CaseRecord> + '_ {
        self.places.iter().skip(1).filter(|place| place.rank == 1).map(|place| place.case)
    }
}

/// All groups of a run, in its order.
pub(super) fn groups(run: &RunRecord) -> Vec<CaseGroup<'_>> {
    let mut at: HashMap<String, usize> = HashMap::new();
    let mut members: Vec<(String, Vec<usize>)> = Vec::new();
    for (number, case) in run.cases.iter().enumerate() {
        let title = case.group();
        let place = *at.entry(title.clone()).or_insert_with(|| {
            members.push((title, Vec::new()));
            members.len() - 1
        });
        members[place].1.push(number);
    }
    let group = |(title, cases): (String, Vec<usize>)| {
        let records: Vec<&CaseRecord> = cases.iter().map(|case| &run.cases[*case]).collect();
        let metric = CaseRecord::common_metric(&records);
        let places = rank(&records, metric);
        let lead = match &places[..] {
            [first, second, ..] => Ratio::between(first.metric, second.metric),
            _ => None,
        };
        CaseGroup { title, cases, metric, places, lead }
    };
    members.into_iter().map(group).collect()
}
