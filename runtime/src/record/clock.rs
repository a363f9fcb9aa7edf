//! Which clock a case leads with: the one on the wall, or the processor's where others had the processor.

use super::{CaseRecord, MetricRecord};
use crate::metric::names;

/// From this share of waiting on, wall times say more of the machine than of the case.
const WAITING: f64 = 0.10;

/// The processor's clock tells what a case does if the case keeps a processor busy: if it ran, or waited to
/// run, for this share of the wall time at least. What sleeps has no time by that clock.
const BUSY: f64 = 0.80;

/// Nor does it tell the time of one iteration where several threads ran: from this many processors on it is
/// their sum.
const ALONE: f64 = 1.25;

/// The share of the wall time that the process waited for a processor, in the median repeat, where it is over
/// 10 %.
pub(crate) fn waiting(metrics: &[MetricRecord]) -> Option<f64> {
    median(metrics, names::RUN_QUEUE_SHARE).filter(|share| *share > WAITING)
}

/// The metric that tells the same as this primary metric without the waiting for a processor; `None` where
/// there is none. Of a body it is the wall time less that waiting; in a record that has no such, and of a
/// stream, the processor's clock says it, if the case keeps a processor busy.
pub(crate) fn undelayed<'a>(primary_metric: &str, metrics: &'a [MetricRecord]) -> Option<&'a MetricRecord> {
    if primary_metric == names::WALL_TIME
        && let Some(metric) = find(metrics, names::UNDELAYED_TIME)
    {
        // Of several threads there is none: those that wait for processors do not run at once.
        return Some(metric).filter(|metric| metric.estimate.is_some());
    }
    let (name, busy) = match primary_metric {
        names::WALL_TIME => {
            (names::CPU_TIME, median(metrics, names::CPU_TIME)? / median(metrics, names::WALL_TIME)?)
        }
        names::THROUGHPUT => (
            names::THROUGHPUT_CPU,
            median(metrics, names::THROUGHPUT)? / median(metrics, names::THROUGHPUT_CPU)?,
        ),
        _ => return None,
    };
    let is_sum = primary_metric == names::WALL_TIME && busy > ALONE;
    let keeps_busy = busy + median(metrics, names::RUN_QUEUE_SHARE).unwrap_or(0.0) >= BUSY;
    (keeps_busy && !is_sum).then(|| find(metrics, name)).flatten()
}

fn median(metrics: &[MetricRecord], name: &str) -> Option<f64> {
    Some(find(metrics, name)?.estimate?.median)
}

fn find<'a>(metrics: &'a [MetricRecord], name: &str) -> Option<&'a MetricRecord> {
    metrics.iter().find(|metric| metric.name == name)
}

impl CaseRecord {
    /// The share of the wall time that the process waited for a processor, in the median repeat, where it is
    /// over 10 %: wall times are not to be relied on.
    pub fn waiting(&self) -> Option<f64> {
        waiting(&self.metrics)
    }

    /// The metric that stands for the case without its waiting for a processor: `undelayed_time` of a body,
    /// the rate by the processor's clock of a stream that keeps a processor busy; `None` where nothing does.
    pub fn undelayed(&self) -> Option<&MetricRecord> {
        undelayed(&self.primary_metric, &self.metrics)
    }

    /// The metric that tables lead with: the primary metric, or what stands for it without the waiting, where
    /// the process waited so long for a processor that wall times say more of the machine than of the case.
    pub fn leading(&self) -> Option<&MetricRecord> {
        let undelayed = self.waiting().and_then(|_| self.undelayed());
        undelayed.or_else(|| self.primary_metric())
    }

    /// The name of the metric that cases beside each other are compared by: one clock for all that are
    /// ranked, or for all where none is. It is the wall's, unless every one of them waited so long for a
    /// processor that it leads with another: what one does to itself, as with threads of its own, moves
    /// nobody else's clock.
    pub fn common_metric<'a>(cases: &[&'a Self]) -> &'a str {
        let nobody_is = !cases.iter().any(|case| case.ranked());
        let compared = || cases.iter().filter(|case| nobody_is || case.ranked());
        let Some(first) = compared().next() else { return "" };
        let instead = first.leading().map_or(&first.primary_metric, |metric| &metric.name);
        let do_all = compared().all(|case| case.leading().is_some_and(|metric| metric.name == *instead));
        if do_all { instead } else { &first.primary_metric }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::{Direction, Unit};
    use crate::record::Estimate;

    fn metrics(values: &[(&str, f64)]) -> Vec<MetricRecord> {
        let metric = |(name, value): &(&str, f64)| MetricRecord {
            name: (*name).to_owned(),
            unit: Unit::SECONDS,
            direction: Direction::Lower,
            values: Vec::new(),
            estimate: Estimate::of(&[*value; 7]),
            looped: None,
        };
        values.iter().map(metric).collect()
    }

    fn leads(wall: f64, cpu: f64, share: f64) -> bool {
        let metrics = metrics(&[("wall_time", wall), ("cpu_time", cpu), ("run_queue_share", share)]);
        undelayed("wall_time", &metrics).is_some()
    }

    #[test]
    fn a_body_leads_with_its_time_without_waiting_whatever_it_does() {
        let of = |values: &[(&str, f64)]| {
            let metrics = metrics(values);
            undelayed("wall_time", &metrics).map(|metric| metric.name.clone())
        };
        let sleep = [("wall_time", 2e-3), ("cpu_time", 30e-6), ("run_queue_share", 0.5)];
        assert_eq!(of(&sleep), None);
        let told = [&sleep[..], &[("undelayed_time", 1e-3)]].concat();
        assert_eq!(of(&told).as_deref(), Some("undelayed_time"));
    }

    #[test]
    fn the_processors_clock_stands_for_what_keeps_a_processor_busy_and_for_nothing_that_sleeps() {
        assert!(leads(1.0, 1.0, 0.0), "alone");
        assert!(leads(3.0, 1.0, 0.66), "it had a third of a processor");
        assert!(leads(1.0, 1.0, 0.6), "few of its blocks were hit, and the median is of none of them");
        assert!(!leads(5.06e-3, 30e-6, 0.0013), "a sleep of 5 ms");
        assert!(!leads(9e-3, 30e-6, 0.4), "a sleep whose end came late");
        assert!(!leads(1.0, 2.0, 0.5), "two threads: their sum is no time of an iteration");
    }

    #[test]
    fn a_rate_is_told_by_the_processors_clock_whatever_the_number_of_threads() {
        let with = |rate, by_cpu, share| {
            let metrics =
                metrics(&[("throughput", rate), ("throughput_cpu", by_cpu), ("run_queue_share", share)]);
            undelayed("throughput", &metrics).map(|metric| metric.name.clone())
        };
        assert_eq!(with(100.0, 50.0, 0.3).as_deref(), Some("throughput_cpu"), "two processors");
        assert_eq!(with(100.0, 900.0, 0.3), None, "a ninth of one, and it reads from a slow disk");
        assert_eq!(undelayed("region/save/wall_time", &metrics(&[])), None);
    }
}
