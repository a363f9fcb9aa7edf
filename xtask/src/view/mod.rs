//! What pages, charts and comments show of a run: plain data that is computed from records once, with no
//! markup in it.
//!
//! [`ViewMaterial`] is what was read from the data directory; a [`View`] borrows it and reads nothing more.

mod case_state;
mod coverage;
mod curve;
mod detail;
mod group;
mod history;
mod learning;
pub mod learning_curve;
mod load;
mod trade_off;
mod use_over_time;

use std::collections::HashMap;

use weighbridge::data::{CaseRecord, MetricRecord, RunRecord, fake_device, machine};

pub(crate) use case_state::CaseState;
pub(crate) use coverage::{CoverageCell, CoverageView};
pub(crate) use curve::{CurveLine, CurveView};
pub(crate) use detail::{Detail, DetailLimits, clip, short};
pub(crate) use group::CaseGroup;
pub(crate) use history::{SeriesView, commit};
pub(crate) use load::{Against, ViewMaterial, last_duels, load};
pub(crate) use trade_off::{TradeOff, TradeOffLine, TradedBatch};

use crate::show;

/// A run, as people look at it.
pub(crate) struct View<'a> {
    /// The run itself.
    pub(crate) run: &'a RunRecord,
    /// The warning that comes first where the figures are of a fake for a device.
    pub(crate) fake: Option<String>,
    /// Every case, in the order of the run.
    pub(crate) cases: Vec<CaseView<'a>>,
    /// The cases of one scenario and point, ranked.
    pub(crate) groups: Vec<CaseGroup<'a>>,
    /// The number of cases that ended in each way.
    pub(crate) counts: CaseCounts,
    /// The share of the life of all repeats that no entry of the ledger explains.
    pub(crate) unexplained: Option<f64>,
    /// The curves of scenarios as a number grows.
    pub(crate) curves: Vec<CurveView<'a>>,
    /// The rates and latencies of scenarios as their batches grow.
    pub(crate) trade_offs: Vec<TradeOff<'a>>,
    /// The ends of the cases, by scenario and system.
    pub(crate) coverage: CoverageView<'a>,
    /// The run held against others.
    pub(crate) against: &'a [Against],
    /// The series of earlier runs, by case.
    pub(crate) history: Vec<SeriesView<'a>>,
    /// The details of each case, in the order of `cases`; empty where they were not asked for.
    pub(crate) details: &'a [Detail],
    /// The most that is kept of each case.
    pub(crate) room: DetailLimits,
}

/// A case and what stands for it.
pub(crate) struct CaseView<'a> {
    pub(crate) record: &'a CaseRecord,
    /// Its name for people.
    pub(crate) name: String,
    /// Its name in links: unlike those of all other cases.
    pub(crate) anchor: String,
    /// The metric that it leads with.
    pub(crate) metric: Option<&'a MetricRecord>,
    /// Its end, for people.
    pub(crate) state: CaseState,
    /// The trouble with it, where there is any.
    pub(crate) trouble: Option<String>,
}

/// The number of cases that ended in each way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CaseCounts {
    pub(crate) cases: usize,
    pub(crate) ranked: usize,
    pub(crate) unranked: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
    pub(crate) incomplete: usize,
}

impl<'a> View<'a> {
    /// The view of what was read.
    pub(crate) fn of(material: &'a ViewMaterial) -> Self {
        let run = &material.run;
        let cases = cases(run);
        Self {
            fake: fake_device(&run.manifest.environment),
            groups: group::groups(run),
            counts: CaseCounts::of(&cases),
            unexplained: unexplained(run),
            curves: [curve::curves(run), learning::curves(run)].into_iter().flatten().collect(),
            trade_offs: trade_off::trade_offs(run),
            coverage: CoverageView::of(run),
            against: &material.against,
            history: history::series(material),
            details: &material.details,
            room: material.room,
            cases,
            run,
        }
    }

    /// The start of the run, in words.
    pub(crate) fn started(&self) -> String {
        // A run is called by its start, so there is nothing to compute.
        let id = self.run.manifest.id.as_str();
        let part = |from: usize, to: usize| id.get(from..to).unwrap_or("?");
        format!(
            "{}-{}-{} {}:{}:{} UTC",
            part(0, 4),
            part(4, 6),
            part(6, 8),
            part(9, 11),
            part(11, 13),
            part(13, 15)
        )
    }

    /// The commit that was measured, twelve digits of it, and whether the tree was changed.
    pub(crate) fn commit(&self) -> String {
        commit(self.run)
    }

    /// The machine in a line.
    pub(crate) fn machine(&self) -> String {
        machine(&self.run.manifest.environment)
    }
}

impl CaseCounts {
    fn of(cases: &[CaseView<'_>]) -> Self {
        let count = |state| cases.iter().filter(|case| case.state == state).count();
        Self {
            cases: cases.len(),
            ranked: count(CaseState::Ranked),
            unranked: count(CaseState::Unranked),
            failed: count(CaseState::Failed),
            skipped: count(CaseState::Skipped),
            incomplete: count(CaseState::Incomplete),
        }
    }
}

fn cases(run: &RunRecord) -> Vec<CaseView<'_>> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut cases = Vec::with_capacity(run.cases.len());
    for record in &run.cases {
        let mut anchor = record.id.slug();
        // Two names may differ in letters that a slug has not.
        let before = seen.entry(anchor.clone()).or_default();
        *before += 1;
        if *before > 1 {
            anchor.push_str(&format!("~{before}"));
        }
        cases.push(CaseView {
            record,
            name: record.id.to_string(),
            anchor,
            metric: record.leading(),
            state: CaseState::of(record),
            trouble: show::trouble(record),
        });
    }
    cases
}

/// The share of the time of all repeats that nothing explains: over the cases that have a ledger.
fn unexplained(run: &RunRecord) -> Option<f64> {
    let (mut whole, mut rest) = (0.0, 0.0);
    for case in &run.cases {
        for metric in case.metrics.iter().filter(|metric| metric.name.starts_with("time/")) {
            let Some(estimate) = metric.estimate else { continue };
            whole += estimate.median;
            if metric.name == "time/unexplained" {
                rest += estimate.median;
            }
        }
    }
    (whole > 0.0).then(|| rest / whole)
}
