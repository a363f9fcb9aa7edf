//! The few special functions that the tests need: the normal distribution and the binomial one.
//!
//! A crate would serve, but costs a bench binary more of its build than all of this stage; the tests hold
//! these against one.

use std::f64::consts::PI;

/// Below this the tail of the normal distribution is summed, above it is a continued fraction.
const FAR_OUT: f64 = 3.0;

/// The density of the standard normal distribution.
fn normal_density(z: f64) -> f64 {
    (-0.5 * z * z).exp() / (2.0 * PI).sqrt()
}

/// P(Z <= z) for a standard normal Z, to 1e-15, and to twelve digits in the lower tail.
///
/// Near the middle by the series phi(z) (z + z^3/3 + z^5/15 + ...), whose terms all have one sign (Marsaglia,
/// *Evaluating the Normal Distribution*, 2004); further out by Laplace's continued fraction 1/(z + 1/(z +
/// 2/(z + ...))) (NIST *Digital Library of Mathematical Functions*, 7.9.3). NaN for NaN.
pub fn normal_cdf(z: f64) -> f64 {
    let distance = z.abs();
    if distance < FAR_OUT {
        let mut term = z;
        let mut sum = z;
        let mut odd = 1.0;
        while term.abs() > 1e-17 {
            odd += 2.0;
            term *= z * z / odd;
            sum += term;
        }
        return 0.5 + normal_density(z) * sum;
    }
    let mut fraction = distance;
    let mut level = 100.0; // at 3 the fiftieth level no longer changes the last digit
    while level > 0.0 {
        fraction = distance + level / fraction;
        level -= 1.0;
    }
    let tail = normal_density(distance) / fraction;
    if z > 0.0 { 1.0 - tail } else { tail }
}

/// The z below which a standard normal value lies with this probability, to about 1e-14: infinite at 0 and 1,
/// NaN outside of them.
///
/// Starts from the rational approximation 26.2.23 of Abramowitz and Stegun (*Handbook of Mathematical
/// Functions*, 1964), right to 4.5e-4, and mends it with [`normal_cdf`] by Halley's method.
pub fn normal_quantile(probability: f64) -> f64 {
    if probability > 0.5 {
        return -normal_quantile(1.0 - probability);
    }
    if probability == 0.0 {
        return f64::NEG_INFINITY;
    }
    if probability.is_nan() || probability < 0.0 {
        return f64::NAN;
    }
    let t = (-2.0 * probability.ln()).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    let mut z = above / below - t;
    for _ in 0..3 {
        let step = (normal_cdf(z) - probability) / normal_density(z);
        z -= step / (1.0 + 0.5 * z * step);
    }
    z
}

/// The amount by which Stirling's formula falls short of the logarithm of x!, for x over 0.
///
/// The series (NIST *Digital Library*, 5.11.1) from 16 on; below, the recurrence that x! = (x + 1)! / (x + 1)
/// makes.
fn stirling_error(x: f64) -> f64 {
    let mut x = x;
    let mut sum = 0.0;
    while x < 16.0 {
        sum += (x + 0.5) * (1.0 / x).ln_1p() - 1.0;
        x += 1.0;
    }
    let square = x * x;
    let series =
        1.0 / 1_260.0 - (1.0 / 1_680.0 - (1.0 / 1_188.0 - 691.0 / 360_360.0 / square) / square) / square;
    sum + (1.0 / 12.0 - (1.0 / 360.0 - series / square) / square) / x
}

/// x ln(x / mean) + mean - x without the cancellation where the two are close.
fn deviance(x: f64, mean: f64) -> f64 {
    let off = (x - mean) / (x + mean);
    if off.abs() > 0.1 {
        return x * (x / mean).ln() + mean - x;
    }
    // ln(x / mean) = 2 artanh(off)
    let mut sum = (x - mean) * off;
    let mut power = 2.0 * x * off;
    let mut odd = 1.0;
    loop {
        odd += 2.0;
        power *= off * off;
        let next = sum + power / odd;
        if next.to_bits() == sum.to_bits() {
            return sum;
        }
        sum = next;
    }
}

/// The regularised incomplete beta function `I_x(a, b)`, for a and b over 0, to about 1e-13: the probability
/// that a value of the beta distribution lies below x. 0 below 0, 1 above 1; NaN for a NaN, and where a or b
/// is not above 0.
///
/// The continued fraction of NIST's *Digital Library*, 8.17.22, by Lentz's method (*Applied Optics* 15,
/// 1976), on the side where it converges fast; the factor before it by Loader's saddle point (*Fast and
/// Accurate Computation of Binomial Probabilities*, 2000), which loses no digits when a and b are large.
/// Takes about the root of the larger of a and b in steps.
pub fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x.is_nan() || a.is_nan() || b.is_nan() || a <= 0.0 || b <= 0.0 {
        return f64::NAN;
    }
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta_tail(b, a, 1.0 - x, x);
    }
    beta_tail(a, b, x, 1.0 - x)
}

/// [`incomplete_beta`] for x below (a + 1) / (a + b + 2); `rest` is 1 - x.
fn beta_tail(a: f64, b: f64, x: f64, rest: f64) -> f64 {
    /// Stands for a zero that would be divided by.
    const TINY: f64 = 1e-300;
    let both = a + b;
    let exponent = stirling_error(both)
        - stirling_error(a)
        - stirling_error(b)
        - deviance(a, both * x)
        - deviance(b, both * rest);
    let factor = exponent.exp() * (b / (2.0 * PI * a * both)).sqrt();
    let mut above = 1.0;
    let mut below = 1.0 / (1.0 - both * x / (a + 1.0));
    let mut fraction = below;
    let mut m = 1.0;
    while m < 100_000.0 {
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (both + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for step in [even, odd] {
            below = 1.0 + step * below;
            below = 1.0 / if below == 0.0 { TINY } else { below };
            above = 1.0 + step / above;
            above = if above == 0.0 { TINY } else { above };
            change = below * above;
            fraction *= change;
        }
        if (change - 1.0).abs() < 1e-15 {
            break;
        }
        m += 1.0;
    }
    factor * fraction
}

/// P(X <= `successes`) in `trials` independent trials that succeed with this probability, by way of
/// [`incomplete_beta`] (NIST *Digital Library*, 8.17.5). 1 for as many successes as trials or more; NaN for a
/// probability that is none.
pub fn binomial_cdf(successes: u64, trials: u64, probability: f64) -> f64 {
    if !(0.0..=1.0).contains(&probability) {
        return f64::NAN;
    }
    if successes >= trials {
        return 1.0;
    }
    incomplete_beta((trials - successes) as f64, successes as f64 + 1.0, 1.0 - probability)
}

#[cfg(test)]
mod tests {
    use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal};
    use statrs::function::beta::beta_reg;

    use super::*;

    /// Equal to this share of the second, or so near that neither says more.
    fn near(found: f64, expected: f64, share: f64) -> bool {
        (found - expected).abs() <= share * expected.abs().max(1e-300)
    }

    /// ```python
    /// for z in (-10, -5, -3, -2.9, -1, -.25, 0, 1.5, 3.5): print(scipy.special.ndtr(z))   # SciPy 1.17.1
    /// ```
    #[test]
    fn the_normal_distribution_agrees_with_scipy() {
        let table = [
            (-10.0, 7.619_853_024_160_47e-24),
            (-5.0, 2.866_515_718_791_933e-07),
            (-3.0, 0.001_349_898_031_630_093_3),
            (-2.9, 0.001_865_813_300_384_037_5),
            (-1.0, 0.158_655_253_931_457_07),
            (-0.25, 0.401_293_674_317_076_3),
            (0.0, 0.5),
            (1.5, 0.933_192_798_731_141_9),
            (3.5, 0.999_767_370_920_964_5),
        ];
        for (z, expected) in table {
            assert!(near(normal_cdf(z), expected, 1e-12), "{z}: {} {expected}", normal_cdf(z));
        }
        assert!(normal_cdf(f64::NAN).is_nan());
        assert_eq!((normal_cdf(f64::NEG_INFINITY), normal_cdf(f64::INFINITY)), (0.0, 1.0));
    }

    /// ```python
    /// for a, b, x in ((.5, .5, .3), (2, 3, .9), (1, 1, .25), (30, 1, .97), (99, 2, .99), (63, 2, .9),
    ///                 (5e4, 5e4, .499), (1e6, 3, 1 - 1e-6), (12.5, 700, .01), (700, 12.5, .99),
    ///                 (1e-3, 4, .5)):
    ///     print(scipy.special.betainc(a, b, x))   # SciPy 1.17.1
    /// ```
    #[test]
    fn the_incomplete_beta_function_agrees_with_scipy() {
        let table = [
            (0.5, 0.5, 0.3, 0.369_010_119_565_545_36),
            (2.0, 3.0, 0.9, 0.9963),
            (1.0, 1.0, 0.25, 0.25),
            (30.0, 1.0, 0.97, 0.401_007_068_543_157_5),
            (99.0, 2.0, 0.99, 0.735_761_978_922_956_1),
            (63.0, 2.0, 0.9, 0.009_563_149_713_054_643),
            (50_000.0, 50_000.0, 0.499, 0.263_544_938_297_044_84),
            (1_000_000.0, 3.0, 0.999_999, 0.919_698_327_013_452_1),
            (12.5, 700.0, 0.01, 0.041_603_096_432_027_44),
            (700.0, 12.5, 0.99, 0.958_396_903_567_972_4),
            (0.001, 4.0, 0.5, 0.999_973_485_110_011_9),
        ];
        for (a, b, x, expected) in table {
            let found = incomplete_beta(a, b, x);
            assert!(near(found, expected, 1e-11), "{a} {b} {x}: {found} {expected}");
        }
    }

    #[test]
    fn all_three_agree_with_statrs_on_a_grid() {
        let normal = Normal::standard();
        for step in -60..=60 {
            let z = f64::from(step) / 10.0;
            assert!((normal_cdf(z) - normal.cdf(z)).abs() < 1e-10, "{z}"); // its own error is 2e-11
        }
        for step in 1..1000 {
            let p = f64::from(step) / 1000.0;
            assert!((normal_quantile(p) - normal.inverse_cdf(p)).abs() < 1e-10, "{p}");
        }
        for trials in [1, 2, 7, 30, 101, 400] {
            for tenth in 0..=10 {
                let probability = f64::from(tenth) / 10.0;
                let known = Binomial::new(probability, trials).unwrap();
                for successes in 0..=trials {
                    let found = binomial_cdf(successes, trials, probability);
                    let expected = known.cdf(successes);
                    assert!((found - expected).abs() < 1e-11, "{successes} {trials} {probability}");
                }
            }
        }
        for a in [0.5, 1.0, 3.0, 17.0, 250.0] {
            for b in [0.5, 1.0, 2.0, 40.0, 300.0] {
                for twentieth in 1..20 {
                    let x = f64::from(twentieth) / 20.0;
                    assert!((incomplete_beta(a, b, x) - beta_reg(a, b, x)).abs() < 1e-11, "{a} {b} {x}");
                }
            }
        }
    }

    #[test]
    fn the_binomial_distribution_is_the_sum_of_its_terms() {
        for (trials, probability) in [(9, 0.5), (20, 0.03), (40, 0.77)] {
            let mut term = f64::powi(1.0 - probability, trials);
            let mut sum = 0.0;
            for successes in 0..trials {
                sum += term;
                let found = binomial_cdf(successes as u64, trials as u64, probability);
                assert!(near(found, sum, 1e-12), "{successes} {trials} {probability}");
                term *= f64::from(trials - successes) / f64::from(successes + 1) * probability
                    / (1.0 - probability);
            }
        }
        assert!(binomial_cdf(1, 2, 1.5).is_nan() && binomial_cdf(1, 2, f64::NAN).is_nan());
    }

    #[test]
    fn the_quantile_undoes_the_distribution() {
        for exponent in 1..300 {
            let p = 10f64.powi(-exponent);
            assert!(near(normal_cdf(normal_quantile(p)), p, 1e-11), "{p}");
        }
        assert!(normal_quantile(0.5).abs() < 1e-15);
        assert_eq!((normal_quantile(0.0), normal_quantile(1.0)), (f64::NEG_INFINITY, f64::INFINITY));
        assert!(normal_quantile(-0.1).is_nan() && normal_quantile(1.1).is_nan());
        assert!(normal_quantile(f64::NAN).is_nan());
    }

    #[test]
    fn the_two_sides_of_the_beta_function_make_one() {
        for (a, b) in [(1.0, 1.0), (2.5, 0.3), (90.0, 3.0), (1e5, 2e5)] {
            for twentieth in 0..=20 {
                let x = f64::from(twentieth) / 20.0;
                let both = incomplete_beta(a, b, x) + incomplete_beta(b, a, 1.0 - x);
                assert!((both - 1.0).abs() < 1e-11, "{a} {b} {x}");
            }
        }
        assert!(incomplete_beta(0.0, 1.0, 0.5).is_nan() && incomplete_beta(1.0, f64::NAN, 0.5).is_nan());
    }
}
