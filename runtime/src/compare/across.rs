//! Systems side by side in one run: which of two leads by what factor, who stands on which place, who is a
//! tie.

use serde::{Deserialize, Serialize};

use super::Effect;
use crate::metric::{Direction, Reading};
use crate::record::{CaseRecord, MetricRecord};
use crate::stats;

/// From this ratio on a system is stronger than the best of the others.
pub const STRONGER: f64 = 1.2;
/// Below this ratio there is a gap to the best of the others.
pub const WEAKER: f64 = 0.8;

/// By what factor one system leads another: above 1 it is better, whichever way the metric is better.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The estimate (Hodges and Lehmann). Where both were measured in the same rounds, six or more, it is of
    /// the ratios within a round; else of all pairs of a value of the one and a value of the other; with too
    /// few values for an interval it is the ratio of the medians.
    pub estimate: f64,
    /// Lower and upper bound at 95 %; `None` where there are fewer than four values on a side.
    pub interval: Option<(f64, f64)>,
}

/// The standing of a system to the best of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RatioClass {
    /// It leads by more than [`STRONGER`].
    Strength,
    /// Neither leads by much, or nobody can say who leads.
    Parity,
    /// It has less than [`WEAKER`] of what the best other one has.
    Gap,
}

impl Ratio {
    /// By what factor `ours` leads `theirs`, without loops of workers that take a share of either. `None`
    /// where they are not the same metric, where the metric has no better side, and where a value is missing,
    /// zero or no number on one side.
    pub fn between(ours: &MetricRecord, theirs: &MetricRecord) -> Option<Self> {
        let same = ours.name == theirs.name && ours.unit == theirs.unit && ours.direction == theirs.direction;
        if !same {
            return None;
        }
        let own = (ours.looped, theirs.looped);
        let (ours, theirs) = (costs(ours)?, costs(theirs)?);
        let ratio = match Effect::of_rounds(&theirs, &ours).or_else(|| Effect::of(&theirs, &ours)) {
            // An effect says by how much we are worse.
            Some(effect) => Self {
                estimate: 1.0 / (1.0 + effect.estimate),
                interval: Some((1.0 / (1.0 + effect.high), 1.0 / (1.0 + effect.low))),
            },
            None => Self { estimate: (stats::median(&theirs) - stats::median(&ours)).exp(), interval: None },
        };
        let ratio = ratio.without_loops(own.0, own.1);
        ratio.estimate.is_finite().then_some(ratio)
    }

    /// The ratio of what the systems themselves take, where loops around them take a share of either side.
    /// The interval has what both loops would make of it: nobody knows how much of a loop a user's would
    /// need.
    fn without_loops(self, ours: Option<f64>, theirs: Option<f64>) -> Self {
        if ours.is_none() && theirs.is_none() {
            return self;
        }
        let own = (1.0 - theirs.unwrap_or(0.0)) / (1.0 - ours.unwrap_or(0.0));
        let Self { estimate, interval } = self;
        let wider = |(low, high): (f64, f64)| (low.min(low * own), high.max(high * own));
        Self { estimate: estimate * own, interval: interval.map(wider) }
    }

    /// Tells whether nobody can say who leads: the interval has 1 in it.
    pub fn is_tie(&self) -> bool {
        self.interval.is_some_and(|(low, high)| low <= 1.0 && 1.0 <= high)
    }

    /// Tells whether no places can be given: a tie; or, where there are too few values for an interval,
    /// neither leads by much.
    pub fn is_level(&self) -> bool {
        self.is_tie() || self.interval.is_none() && self.class() == RatioClass::Parity
    }

    /// The standing among others. A tie is parity, however far off the estimate.
    pub fn class(&self) -> RatioClass {
        match self.estimate {
            _ if self.is_tie() => RatioClass::Parity,
            ratio if ratio > STRONGER => RatioClass::Strength,
            ratio if ratio < WEAKER => RatioClass::Gap,
            _ => RatioClass::Parity,
        }
    }

    /// Tells whether all of the interval is of the estimate's class. Without an interval nothing is certain.
    pub fn is_certain(&self) -> bool {
        let class = |ratio| Self { estimate: ratio, interval: None }.class();
        self.interval.is_some_and(|(low, high)| class(low) == self.class() && class(high) == self.class())
    }
}

/// Values as costs, in the order of the repeats: logarithms, turned so that more is worse. `None` without
/// values, without a better side, and for a value that has no logarithm.
fn costs(metric: &MetricRecord) -> Option<Vec<f64>> {
    let sign = match metric.direction {
        Direction::Higher => -1.0,
        Direction::Lower => 1.0,
        Direction::Information => return None,
    };
    let values = metric.values.iter().filter_map(Reading::value);
    let costs: Vec<f64> = values.map(|value| sign * value.ln()).collect();
    (!costs.is_empty() && costs.iter().all(|cost| cost.is_finite())).then_some(costs)
}

/// A system's place among those of one scenario and point.
#[derive(Clone, Copy, Debug)]
pub struct Ranking<'a> {
    /// Its case.
    pub case: &'a CaseRecord,
    /// The metric that it is ranked by.
    pub metric: &'a MetricRecord,
    /// Its place, from 1. Those that cannot be told from the best are all first; else equals share no place.
    pub rank: usize,
    /// By what factor it leads the best: at most about 1, and 1 for the best itself.
    pub ratio: Ratio,
}

/// Ranks cases of one scenario and point by a metric: the best median first, then who cannot be told from
/// it, then the others by their factors. Only cases that may be ranked ([`CaseRecord::ranked`]) and have
/// the metric are in it; none where the metric has no better side.
pub fn rank<'a>(cases: &[&'a CaseRecord], metric: &str) -> Vec<Ranking<'a>> {
    let mut found: Vec<(f64, &CaseRecord, &MetricRecord)> = Vec::new();
    for case in cases.iter().filter(|case| case.ranked()) {
        if let Some(metric) = case.metric(metric)
            && let Some(costs) = costs(metric)
        {
            found.push((stats::median(&costs), case, metric));
        }
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    let Some((_, _, best)) = found.first().copied() else { return Vec::new() };
    let mut places: Vec<Ranking<'a>> = Vec::new();
    for (at, (_, case, metric)) in found.into_iter().enumerate() {
        let Some(ratio) = Ratio::between(metric, best) else { continue };
        let ratio = if at == 0 { Ratio { estimate: 1.0, interval: None } } else { ratio };
        // A place is shared with the best alone: "cannot be told from" does not carry over from one to the
        // next.
        let rank = if at == 0 || ratio.is_level() { 1 } else { usize::MAX };
        places.push(Ranking { case, metric, rank, ratio });
    }
    // The median of one may lie above another's whose factor is larger: the factor is what is shown.
    let others = places.get_mut(1..).unwrap_or_default();
    others.sort_by(|a, b| a.rank.cmp(&b.rank).then(b.ratio.estimate.total_cmp(&a.ratio.estimate)));
    for (at, place) in places.iter_mut().enumerate().filter(|(_, place)| place.rank > 1) {
        place.rank = at + 1;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::judge::fixture;
    use crate::metric::Unit;
    use crate::record::Estimate;

    const SPREAD: [f64; 7] = [1.00, 1.02, 0.98, 1.01, 0.99, 1.03, 1.005];

    fn metric(direction: Direction, values: &[f64]) -> MetricRecord {
        MetricRecord {
            name: "throughput".into(),
            unit: Unit::ELEMENTS_PER_SECOND,
            direction,
            values: values.iter().map(|value| Reading::Value(*value)).collect(),
            estimate: Estimate::of(values),
            looped: None,
        }
    }

    fn ratio(direction: Direction, factor: f64) -> Ratio {
        let (ours, theirs) =
            (metric(direction, &SPREAD.map(|value| value * factor)), metric(direction, &SPREAD));
        Ratio::between(&ours, &theirs).expect("both have values")
    }

    #[test]
    fn a_lead_is_that_of_the_systems_and_its_interval_holds_what_their_loops_take() {
        let rates = |by: f64, looped| {
            let values: Vec<f64> = SPREAD.iter().map(|value| value * by).collect();
            MetricRecord { looped, ..metric(Direction::Higher, &values) }
        };
        let lead = |looped| Ratio::between(&rates(2.0, None), &rates(1.0, looped)).unwrap();
        let (plain, without) = (lead(None), lead(Some(0.25)));
        assert!((without.estimate - plain.estimate * 0.75).abs() < 1e-9, "{without:?}");
        let ((low, high), (least, most)) = (without.interval.unwrap(), plain.interval.unwrap());
        assert!((low - least * 0.75).abs() < 1e-9 && (high - most).abs() < 1e-9, "{without:?}");
        assert!(lead(Some(0.5)).is_tie(), "half of its time is no difference of the systems");
        let behind = Ratio::between(&rates(1.0, Some(0.25)), &rates(2.0, None)).unwrap();
        assert!((behind.estimate * without.estimate - 1.0).abs() < 1e-9, "{behind:?}");
    }

    #[test]
    fn more_of_a_rate_and_less_of_a_time_lead() {
        for (direction, factor) in [(Direction::Higher, 2.0), (Direction::Lower, 0.5)] {
            let ratio = ratio(direction, factor);
            let (low, high) = ratio.interval.expect("seven values");
            assert!((ratio.estimate - 2.0).abs() < 1e-9 && low > 1.9 && high < 2.1, "{ratio:?}");
            assert!(ratio.class() == RatioClass::Strength && ratio.is_certain() && !ratio.is_tie());
        }
    }

    #[test]
    fn no_place_has_a_smaller_factor_than_a_later_one() {
        let case = |adapter: &str, values: &[f64]| {
            let mut case = fixture::case("RANKED", &[1.0]);
            (case.id.adapter, case.metrics) = (Some(adapter.into()), vec![metric(Direction::Higher, values)]);
            case
        };
        // The middle of its values is above the other's, and most of its pairs are below.
        let cases = [
            case("best", &SPREAD),
            case("skewed", &[0.50, 0.51, 0.52, 0.68, 0.685, 0.69, 0.695]),
            case("even", &[0.67, 0.671, 0.672, 0.673, 0.674, 0.675, 0.676]),
        ];
        let places = rank(&cases.iter().collect::<Vec<_>>(), "throughput");
        let factors: Vec<(usize, f64)> =
            places.iter().map(|place| (place.rank, place.ratio.estimate)).collect();
        assert!(factors.is_sorted_by(|a, b| a.0 <= b.0 && a.1 >= b.1), "{factors:?}");
        assert_eq!(factors.len(), 3);
        assert_eq!(places[1].case.id.adapter.as_deref(), Some("even"), "{factors:?}");
    }

    #[test]
    fn swapping_the_systems_turns_the_ratio_round() {
        let (one, other) = (ratio(Direction::Higher, 1.5), ratio(Direction::Higher, 1.0 / 1.5));
        assert!((one.estimate * other.estimate - 1.0).abs() < 1e-9);
        let ((low, _), (_, high)) = (one.interval.expect("it has one"), other.interval.expect("it has one"));
        assert!((low * high - 1.0).abs() < 1e-9);
    }

    #[test]
    fn the_bounds_are_a_fifth_and_a_tie_is_parity() {
        for (factor, class) in [
            (1.3, RatioClass::Strength),
            (1.15, RatioClass::Parity),
            (0.85, RatioClass::Parity),
            (0.7, RatioClass::Gap),
        ] {
            let ratio = ratio(Direction::Higher, factor);
            assert!(ratio.class() == class && ratio.is_certain(), "{factor}: {ratio:?}");
        }
        assert!(ratio(Direction::Higher, 1.0).is_tie());
        let wide = Ratio { estimate: 1.4, interval: Some((0.9, 2.1)) };
        assert!(wide.is_tie() && wide.class() == RatioClass::Parity && !wide.is_certain());
        let near = Ratio { estimate: 1.22, interval: Some((1.18, 1.3)) };
        assert!(near.class() == RatioClass::Strength && !near.is_certain());
    }

    #[test]
    fn few_values_have_a_ratio_without_an_interval() {
        let (ours, theirs) = (metric(Direction::Higher, &[3.0; 3]), metric(Direction::Higher, &[2.0; 3]));
        let ratio = Ratio::between(&ours, &theirs).expect("both have values");
        assert!((ratio.estimate - 1.5).abs() < 1e-12 && ratio.interval.is_none());
        assert!(ratio.class() == RatioClass::Strength && !ratio.is_certain() && !ratio.is_tie());
    }

    #[test]
    fn no_places_are_given_for_a_small_lead_that_has_no_interval() {
        let of = |estimate, interval| Ratio { estimate, interval };
        assert!(of(1.05, None).is_level() && of(0.85, None).is_level());
        assert!(!of(1.3, None).is_level() && !of(0.7, None).is_level());
        assert!(!of(1.05, Some((1.02, 1.08))).is_level() && of(1.3, Some((0.9, 1.9))).is_level());
    }

    #[test]
    fn what_has_no_better_side_no_value_or_another_name_has_no_ratio() {
        let plain = metric(Direction::Higher, &SPREAD);
        for other in [
            metric(Direction::Information, &SPREAD),
            metric(Direction::Lower, &SPREAD),
            metric(Direction::Higher, &[]),
            metric(Direction::Higher, &[0.0, 1.0]),
            metric(Direction::Higher, &[f64::NAN]),
            MetricRecord { name: "latency_p50".into(), ..plain.clone() },
        ] {
            assert_eq!(Ratio::between(&plain, &other), None);
            assert_eq!(Ratio::between(&other, &plain), None);
        }
        let information = metric(Direction::Information, &SPREAD);
        assert_eq!(Ratio::between(&information, &information), None);
    }
}
