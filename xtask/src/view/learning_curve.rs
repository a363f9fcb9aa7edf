//! The learning curve of a training to its target, as a case's metrics have it.

use weighbridge::data::{CaseRecord, MetricRecord, Reading};
use weighbridge_training::training::{ACCURACY_AT, LOSS_AT, STEPS_TO_TARGET, TIME_AT};

/// Looks at a training, until its target or the end of its data.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ShownCurve {
    /// In order; none where the case has no target.
    pub looks: Vec<ShownLook>,
    /// Whether the last one reached it.
    pub reached: bool,
}

/// What was seen after some steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ShownLook {
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
