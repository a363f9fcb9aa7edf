//! Iterations within processes: how the two levels vary, and how many of the lower one are worth their time.

/// The variances of values within processes and between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variances {
    /// Of the values of one process, the mean over the processes.
    pub within: f64,
    /// Of the processes' true means. An unbiased estimate, so that it may come out below zero.
    pub between: f64,
}

/// The variances at both levels, from the values of each process, by the method of moments: the variance of
/// the processes' means less the part that their own values explain (Kalibera and Jones, *Rigorous
/// Benchmarking in Reasonable Time*, 2013, section 6). `None` for fewer than two processes, and where one has
/// fewer than two values; NaN where a value is.
pub fn variances(processes: &[Vec<f64>]) -> Option<Variances> {
    let count = processes.len() as f64;
    let mut means = Vec::with_capacity(processes.len());
    let (mut within, mut explained) = (0.0, 0.0);
    for values in processes {
        let (mean, variance) = mean_and_variance(values)?;
        means.push(mean);
        within += variance / count;
        explained += variance / values.len() as f64 / count;
    }
    let (_, of_means) = mean_and_variance(&means)?;
    Some(Variances { within, between: of_means - explained })
}

/// The number of iterations a process should make so that a given time yields the narrowest interval: the
/// root of (cost of a process / cost of an iteration) x (variance within / variance between), rounded up
/// (Kalibera and Jones 2013, section 6.2). Costs share one unit, variances too. At least 1.
///
/// `None` where processes do not differ (a variance between them of zero or below): then more processes buy
/// nothing, and one of any length will do. Also where a cost is not above zero, the variance within is below
/// it, or one of the four is not finite.
pub fn kalibera_jones(
    process_cost: f64,
    iteration_cost: f64,
    within_variance: f64,
    between_variance: f64,
) -> Option<u64> {
    let sound =
        process_cost > 0.0 && iteration_cost > 0.0 && within_variance >= 0.0 && between_variance > 0.0;
    let best = ((process_cost / iteration_cost) * (within_variance / between_variance)).sqrt();
    (sound && best.is_finite()).then(|| best.ceil().max(1.0) as u64)
}

/// The mean, and the variance with n - 1. `None` for fewer than two values.
fn mean_and_variance(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < 2 {
        return None;
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let mut squares = 0.0;
    for value in values {
        squares += (value - mean) * (value - mean);
    }
    Some((mean, squares / (count - 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::SplitMix64;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    /// ```python
    /// x = np.array([[9, 9, 11], [4, 5, 6], [7, 8, 9]]); w = x.var(axis=1, ddof=1).mean()
    /// w, x.mean(axis=1).var(ddof=1) - w / 3                                            # 10/9 and 47/9
    /// ```
    #[test]
    fn variances_agree_with_numpy() {
        let found = variances(&[vec![9.0, 9.0, 11.0], vec![4.0, 5.0, 6.0], vec![7.0, 8.0, 9.0]]).unwrap();
        assert!(close(found.within, 10.0 / 9.0) && close(found.between, 47.0 / 9.0), "{found:?}");
    }

    #[test]
    fn the_variances_that_were_put_in_come_out() {
        let mut random = SplitMix64::new(8);
        let mut even = || (random.draw() >> 11) as f64 / (1u64 << 53) as f64 - 0.5; // variance 1/12
        let processes: Vec<Vec<f64>> = (0..2_000)
            .map(|_| {
                let process = 3.0 * even();
                (0..5).map(|_| process + even()).collect()
            })
            .collect();
        let found = variances(&processes).unwrap();
        assert!(
            (found.within - 1.0 / 12.0).abs() < 0.005 && (found.between - 0.75).abs() < 0.06,
            "{found:?}"
        );
    }

    #[test]
    fn costly_processes_make_more_iterations_and_unlike_ones_fewer() {
        assert_eq!(kalibera_jones(100.0, 1.0, 4.0, 1.0), Some(20));
        assert_eq!(kalibera_jones(100.0, 1.0, 4.1, 1.0), Some(21));
        assert_eq!(kalibera_jones(1.0, 10.0, 1.0, 1.0), Some(1));
        assert_eq!(kalibera_jones(1.0, 10.0, 0.0, 1.0), Some(1));
        assert_eq!(kalibera_jones(200.0, 2.0, 8.0, 2.0), Some(20));
    }

    #[test]
    fn what_cannot_be_reckoned_is_none() {
        assert_eq!(kalibera_jones(1.0, 1.0, 1.0, 0.0), None);
        assert_eq!(kalibera_jones(1.0, 1.0, 1.0, -0.1), None);
        assert_eq!(kalibera_jones(0.0, 1.0, 1.0, 1.0), None);
        assert_eq!(kalibera_jones(1.0, f64::NAN, 1.0, 1.0), None);
        assert_eq!(kalibera_jones(f64::INFINITY, 1.0, 1.0, 1.0), None);
        assert_eq!(variances(&[]), None);
        assert_eq!(variances(&[vec![1.0, 2.0]]), None);
        assert_eq!(variances(&[vec![1.0, 2.0], vec![1.0]]), None);
        assert!(variances(&[vec![1.0, f64::NAN], vec![1.0, 2.0]]).unwrap().within.is_nan());
        let equal = variances(&[vec![1.0, 1.0], vec![1.0, 1.0]]).unwrap();
        assert!(close(equal.within, 0.0) && close(equal.between, 0.0));
    }
}
