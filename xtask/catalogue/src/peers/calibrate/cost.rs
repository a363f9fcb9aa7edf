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
}

impl BatchCost {
    /// The median of each figure over rounds. `None` where there was none.
    pub(super) fn median(rounds: &[Self]) -> Option<Self> {
        let of = |figure: fn(&Self) -> f64| {
            weighbridge::data::median(&rounds.iter().map(figure).collect::<Vec<_>>())
        };
        let median =
            || Self { wall: of(|cost| cost.wall), cpu: of(|cost| cost.cpu), faults: of(|cost| cost.faults) };
        (!rounds.is_empty()).then(median)
    }

    /// By one of the clocks.
    pub(super) fn by(self, clock: ComparedClock) -> f64 {
        match clock {
            ComparedClock::Wall => self.wall,
            ComparedClock::Cpu => self.cpu,
        }
    }
}

/// A clock that a difference is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ComparedClock {
    Wall,
    Cpu,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_taken_of_each_figure() {
        let round = |wall: f64, cpu: f64, faults: f64| BatchCost { wall, cpu, faults };
        let median = BatchCost::median(&[round(1.0, 9.0, 0.0), round(5.0, 2.0, 6.0), round(3.0, 4.0, 7.0)]);
        assert_eq!(median, Some(round(3.0, 4.0, 6.0)));
        assert_eq!(BatchCost::median(&[]), None);
    }
}
