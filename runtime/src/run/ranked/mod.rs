//! A run of several ranks: rank 0 schedules, the others do what it asks, and each repeat of all of them
//! becomes one.
//!
//! [`LeadingExecutor`] stands in the place of the one that runs children: it asks all ranks for each repeat,
//! runs rank 0's own, and puts what all tell together ([`RepeatMerge`]). [`follow`] is the life of the other
//! ranks.

mod follow;
mod lead;
mod merge;
mod order;

pub(crate) use follow::{FollowEnd, FollowTask, follow};
pub(super) use lead::LeadingExecutor;
pub(crate) use lead::RankLead;
