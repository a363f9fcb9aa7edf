//! The learning curve of a training to its target, as a case's metrics have it.

use weighbridge::data::{CaseRecord, MetricRecord, Reading};

// The names that a training gives its metrics. A system of one's own has a curve on every page if it names
// them so.
/// Steps until the target was reached; missing where it was not.
pub const STEPS_TO_TARGET: &str = "steps_to_target";
/// The seconds of those steps.
pub const TIME_TO_TARGET: &str = "time_to_target";
/// The best accuracy that was seen.
pub const BEST_ACCURACY: &str = "best_accuracy";
/// Before the number of steps: the mean loss since the look before.
pub const LOSS_AT: &str = "loss_at/";
/// Before the number of steps: the share of labels that was right.
pub const ACCURACY_AT: &str = "accuracy_at/";
/// Before the number of steps: the seconds until there.
pub const TIME_AT: &str = "time_at/";

/// Looks at a training, until its target or the end of its data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShownCurve {
    /// In order; none where the case has no target.
    pub looks: Vec<ShownLook>,
    /// `true` if the last one reached the target.
    pub reached: bool,
}

/// One look at a training after some steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShownLook {
    /// The steps.
    pub steps: u64,
    /// Seconds of the steps until there.
    pub time: f64,
    /// Mean loss of the steps since the look before.
    pub loss: f64,
    /// Share of labels that was right.
    pub accuracy: f64,
}

impl ShownCurve {
    /// Medians over the repeats.
    pub fn of(case: &CaseRecord) -> Self {
        Self::read(case, |metric| Some(metric.estimate.as_ref()?.median))
    }

    /// One repeat, by its place among those that were measured.
    pub fn of_repeat(case: &CaseRecord, place: usize) -> Self {
        Self::read(case, |metric| metric.values.get(place).and_then(Reading::value))
    }

    fn read(case: &CaseRecord, of: impl Fn(&MetricRecord) -> Option<f64>) -> Self {
        let value = |name: &str| of(case.metric(name)?);
        let look = |steps: u64| {
            Some(ShownLook {
                steps,
                time: value(&format!("{TIME_AT}{steps}"))?,
                loss: value(&format!("{LOSS_AT}{steps}"))?,
                accuracy: value(&format!("{ACCURACY_AT}{steps}"))?,
            })
        };
        let steps = case.metrics.iter().filter_map(|metric| metric.name.strip_prefix(LOSS_AT)?.parse().ok());
        let mut looks: Vec<ShownLook> = steps.filter_map(look).collect();
        looks.sort_by_key(|look| look.steps);
        Self { looks, reached: value(STEPS_TO_TARGET).is_some() }
    }
}
