//! Why a case is incomplete: facts. `report` has the words.

use serde::{Deserialize, Serialize};

use super::RankAggregate;

/// The reason why a case is incomplete.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnfinishedReason {
    /// Ranks of it did not tell what they were to tell, in one repeat at least: those that told nothing
    /// first.
    Ranks(Vec<MissingRanks>),
    /// The run ended before all repeats were done.
    #[default]
    Ended,
}

/// Ranks that did not tell something.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MissingRanks {
    /// The ranks, from 0.
    pub ranks: Vec<usize>,
    /// The number of all ranks.
    pub of: usize,
    /// The metric that they did not tell; none where they told nothing at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
}

impl UnfinishedReason {
    /// The reason why a case with these metrics of ranks is incomplete.
    pub(super) fn of(aggregates: &[RankAggregate]) -> Self {
        let missing = MissingRanks::of(aggregates);
        if missing.is_empty() { Self::Ended } else { Self::Ranks(missing) }
    }
}

impl MissingRanks {
    /// The ranks that told nothing, in one repeat at least, then those that told some metrics and not others.
    pub(super) fn of(aggregates: &[RankAggregate]) -> Vec<Self> {
        let Some(first) = aggregates.first() else { return Vec::new() };
        let never = |rank: &usize| aggregates.iter().all(|one| one.missing.contains(rank));
        let gone: Vec<usize> = (0..first.ranks).filter(never).collect();
        let some = aggregates.iter().map(|one| Self {
            ranks: one.missing.iter().copied().filter(|rank| !gone.contains(rank)).collect(),
            of: one.ranks,
            metric: Some(one.name.clone()),
        });
        let all = Self { ranks: gone.clone(), of: first.ranks, metric: None };
        std::iter::once(all).chain(some).filter(|missing| !missing.ranks.is_empty()).collect()
    }
}
