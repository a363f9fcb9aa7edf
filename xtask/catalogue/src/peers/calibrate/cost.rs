//! What a batch costs, as either side tells it.

/// The cost of a whole batch: times in seconds, and page faults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BatchCost {
    /// By the clock on the wall.
    pub(super) wall: f64,
    /// Of all processors, of the process and of all below it.
    pub(super) cpu: f64,
    /// Page faults that were served without the disk.
    pub(super) faults: f64,
    /// The part of `wall` that is the worker's own loop, as it measured it; 0 of a loop by hand, and where
    /// the framework has workers beside it.
    pub(super) own: f64,
}

impl BatchCost {
    /// The median of each figure over rounds. `None` where there was none.
    pub(super) fn median(rounds: &[Self]) -> Option<Self> {
        let of = |figure: fn(&Self) -> f64| {
            weighbridge::data::median(&rounds.iter().map(figure).collect::<Vec<_>>())
        };
        let median = || Self {
            wall: of(|cost| cost.wall),
            cpu: of(|cost| cost.cpu),
            faults: of(|cost| cost.faults),
            own: of(|cost| cost.own),
        };
        (!rounds.is_empty()).then(median)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_taken_of_each_figure() {
        let round = |wall: f64, cpu: f64, faults: f64| BatchCost { wall, cpu, faults, own: 0.0 };
        let median = BatchCost::median(&[round(1.0, 9.0, 0.0), round(5.0, 2.0, 6.0), round(3.0, 4.0, 7.0)]);
        assert_eq!(median, Some(round(3.0, 4.0, 6.0)));
        assert_eq!(BatchCost::median(&[]), None);
    }
}
