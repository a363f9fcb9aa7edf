//! What a rank says of itself when it joins: what must be the same on all, and what is good to know.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The facts of one rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RankFacts {
    /// The name of its machine.
    pub(crate) host: String,
    /// Its rank among those of its machine, where that is known.
    pub(crate) local_rank: Option<usize>,
    /// The devices that it sees.
    pub(crate) devices: usize,
    /// Facts that must be the same: the program, the commit, the plan.
    pub(crate) same: BTreeMap<String, String>,
    /// The facts of its machine that change timings.
    pub(crate) machine: BTreeMap<String, String>,
    /// The facts of its software.
    pub(crate) software: BTreeMap<String, String>,
}

/// Something in which a rank differs from rank 0.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RankDifference {
    pub(crate) rank: usize,
    pub(crate) host: String,
    /// The name of the fact.
    pub(crate) what: String,
    /// Its value there; `None` where it is not known.
    pub(crate) there: Option<String>,
    /// Its value on rank 0.
    pub(crate) first: Option<String>,
}

impl RankFacts {
    /// The differences of a rank from rank 0 in one kind of facts.
    pub(crate) fn differences(
        &self,
        rank: usize,
        first: &Self,
        kind: fn(&Self) -> &BTreeMap<String, String>,
    ) -> Vec<RankDifference> {
        let (own, of_first) = (kind(self), kind(first));
        let mut names: Vec<&String> = own.keys().chain(of_first.keys()).collect();
        names.sort_unstable();
        names.dedup();
        let differs = |name: &&String| own.get(*name) != of_first.get(*name);
        let difference = |name: &String| RankDifference {
            rank,
            host: self.host.clone(),
            what: name.clone(),
            there: own.get(name).cloned(),
            first: of_first.get(name).cloned(),
        };
        names.into_iter().filter(differs).map(difference).collect()
    }
}

impl fmt::Display for RankDifference {
    /// `rank 2 (node2): cpu model: A, and B on rank 0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |side: &Option<String>| side.clone().unwrap_or_else(|| "unknown".to_owned());
        let Self { rank, host, what, there, first } = self;
        write!(f, "rank {rank} ({host}): {what}: {}, and {} on rank 0", text(there), text(first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_that_differs_is_named_with_its_host_and_both_values() {
        let facts = |host: &str, model: &str| RankFacts {
            host: host.to_owned(),
            machine: [("cpu model".to_owned(), model.to_owned())].into(),
            ..RankFacts::default()
        };
        let (first, other) = (facts("node0", "A"), facts("node2", "B"));
        let machine = |of: &RankFacts| of.differences(2, &first, |of| &of.machine);
        assert!(machine(&facts("node2", "A")).is_empty());
        let said: Vec<String> = machine(&other).iter().map(ToString::to_string).collect();
        assert_eq!(said, ["rank 2 (node2): cpu model: B, and A on rank 0"]);
        let said = machine(&RankFacts { host: "node3".to_owned(), ..RankFacts::default() });
        assert_eq!(said[0].to_string(), "rank 2 (node3): cpu model: unknown, and A on rank 0");
    }
}
