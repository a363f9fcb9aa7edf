//! The functions of `scenarios/docs/transforms.md`: formulas that every language gives the same bits for.
#![expect(clippy::many_single_char_names, reason = "the names of the page")]
#![expect(clippy::inline_always, reason = "loops around them are compiled for several instruction sets")]

use weighbridge_data::Draw;

/// `exp` in `f64`: the polynomial of degree 13 at `z / 1024`, squared ten times.
pub(in crate::adapters::native) fn exp(z: f64) -> f64 {
    let y = z / 1024.0;
    let mut p = 1.0;
    for k in (1..=13).rev() {
        p = 1.0 + p * y / f64::from(k);
    }
    for _ in 0..10 {
        p *= p;
    }
    p
}

/// The natural logarithm in `f64`, of a normal, positive number: the series of `atanh`.
pub(in crate::adapters::native) fn ln64(v: f64) -> f64 {
    let bits = v.to_bits().cast_signed();
    let exponent = (bits - 0x3fe6_a09e_667f_3bcd) >> 52;
    let m = f64::from_bits((bits - (exponent << 52)).cast_unsigned());
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let mut p = 1.0 / 23.0;
    for k in (1..=21).rev().step_by(2) {
        p = p * z + 1.0 / f64::from(k);
    }
    exponent as f64 * std::f64::consts::LN_2 + (2.0 * s) * p
}

/// The natural logarithm in `f32`, of a normal, positive number: Cephes' polynomial.
#[inline(always)]
pub(super) fn ln(v: f32) -> f32 {
    let bits = v.to_bits().cast_signed();
    let exponent = bits.wrapping_sub(0x3f35_04f3) >> 23;
    let t = f32::from_bits(bits.wrapping_sub(exponent << 23).cast_unsigned()) - 1.0;
    let z = t * t;
    let mut p = 7.037_683_6e-2;
    for c in [
        -1.151_461e-1,
        1.167_699_84e-1,
        -1.242_014_1e-1,
        1.424_932_3e-1,
        -1.666_805_8e-1,
        2.000_071_4e-1,
        -2.499_999_4e-1,
        3.333_333e-1,
    ] {
        p = p * t + c;
    }
    let exponent = exponent as f32;
    let mut y = (p * t) * z;
    y += exponent * -2.121_944_4e-4;
    y -= 0.5 * z;
    (t + y) + exponent * 0.693_359_4
}

/// `sin(x) + cos(x)` in `f32`: reduced by multiples of a quarter turn, then Cephes' polynomials.
#[inline(always)]
pub(super) fn sincos(x: f32) -> f32 {
    const WHOLE: f32 = 12_582_912.0; // 1.5 * 2^23: what is added to it is rounded to a whole number
    let y = x * std::f32::consts::FRAC_2_PI + WHOLE;
    let quadrant = y.to_bits();
    let k = y - WHOLE;
    let r = ((x - k * 1.570_312_5) - k * 4.837_513e-4) - k * 7.549_79e-8;
    let z = r * r;
    let s = (((-1.951_529_6e-4 * z + 8.332_161e-3) * z - 1.666_665_5e-1) * z) * r + r;
    let c = (((2.443_315_7e-5 * z - 1.388_731_6e-3) * z + 4.166_664_6e-2) * z) * z;
    let c = (c - 0.5 * z) + 1.0;
    // Signs as bits, so that the loop has no branch.
    let a = c + f32::from_bits(s.to_bits() ^ (quadrant << 31));
    f32::from_bits(a.to_bits() ^ ((quadrant >> 1) << 31))
}

/// Fills `out` with the normal numbers of an element from number `first` on, which is even.
#[inline(always)]
pub(super) fn normals(draw: Draw, first: u64, out: &mut [f32]) {
    let (pairs, last) = out.as_chunks_mut::<2>();
    let from = first / 2;
    for (pair, two) in (from..).zip(&mut *pairs) {
        *two = uniforms(draw.bits(pair));
    }
    if let [last] = last {
        [*last, _] = uniforms(draw.bits(from + pairs.len() as u64));
    }
    for x in out {
        *x = quantile(*x);
    }
}

/// Two numbers from (-1, 1), of 24 bits each.
#[inline(always)]
fn uniforms(bits: u64) -> [f32; 2] {
    const SCALE: f32 = 1.0 / 16_777_216.0;
    [bits >> 40, (bits >> 16) & 0xff_ffff].map(|k| ((2 * k as i32 + 1) - 16_777_216) as f32 * SCALE)
}

/// The standard normal number below which a share of `(x + 1) / 2` lies: `sqrt(2) * erfinv(x)` after Giles.
#[inline(always)]
fn quantile(x: f32) -> f32 {
    const NEAR: [f32; 9] = [
        2.810_226_4e-8,
        3.432_739_4e-7,
        -3.523_387_7e-6,
        -4.391_506_5e-6,
        2.185_808_7e-4,
        -1.253_725e-3,
        -4.177_681_6e-3,
        0.246_640_73,
        1.501_409_4,
    ];
    const FAR: [f32; 9] = [
        -2.002_142_6e-4,
        1.009_505_6e-4,
        1.349_343_2e-3,
        -3.673_428_4e-3,
        5.739_507_7e-3,
        -7.622_461_3e-3,
        9.438_870_5e-3,
        1.001_674,
        2.832_976_8,
    ];
    let w = -ln((1.0 - x) * (1.0 + x));
    // Both polynomials and a choice: a branch would keep the loop from vector code.
    let near = NEAR[1..].iter().fold(NEAR[0], |p, c| p * (w - 2.5) + c);
    let root = w.max(0.0).sqrt() - 3.0;
    let far = FAR[1..].iter().fold(FAR[0], |p, c| p * root + c);
    let p = if w < 5.0 { near } else { far };
    (p * x) * std::f32::consts::SQRT_2
}

/// `ln(1 + |x|)`, near 0 too.
#[inline(always)]
#[expect(clippy::float_cmp, reason = "1 is where the addition left nothing of the number")]
pub(super) fn log1p_abs(x: f32) -> f32 {
    let a = x.abs();
    let u = 1.0 + a;
    let y = (ln(u) * a) / (u - 1.0);
    if u == 1.0 || a == f32::INFINITY { a } else { y }
}

#[cfg(test)]
mod tests {
    use weighbridge_data::Draws;

    use super::*;

    #[test]
    fn the_functions_are_near_what_they_are_named_for() {
        for step in 1..20_000 {
            let x = f64::from(step) / 7.0;
            assert!((ln64(x) - x.ln()).abs() < 1e-14, "{x}");
            assert!((f64::from(ln(x as f32)) - f64::from(x as f32).ln()).abs() < 1e-6, "{x}");
            let z = x / 5.0 - 300.0;
            assert!((exp(z) / z.exp() - 1.0).abs() < 2e-12, "{z} {}", exp(z) / z.exp() - 1.0);
            let angle = x as f32 - 1_000.0;
            let exact = f64::from(angle).sin() + f64::from(angle).cos();
            assert!((f64::from(sincos(angle)) - exact).abs() < 5e-7, "{angle}");
            let small = (x / 1e4) as f32;
            assert!((f64::from(log1p_abs(-small)) / f64::from(small).ln_1p() - 1.0).abs() < 1e-6, "{small}");
        }
        assert_eq!(log1p_abs(f32::INFINITY).to_bits(), f32::INFINITY.to_bits());
        assert!(log1p_abs(f32::NAN).is_nan() && sincos(f32::NAN).is_nan() && sincos(f32::INFINITY).is_nan());
    }

    #[test]
    fn normal_numbers_are_normal() {
        let mut numbers = vec![0.0; 100_001];
        normals(Draws::new(42, 0).at(0, 0), 0, &mut numbers);
        let n = numbers.len() as f64;
        let moment = |power: i32| numbers.iter().map(|&x| f64::from(x).powi(power)).sum::<f64>() / n;
        // Six standard deviations of each moment of so many normal numbers.
        for (power, expected, variance) in [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)] {
            let off = moment(power) - expected;
            assert!(off.abs() < 6.0 * f64::sqrt(variance / n), "moment {power} is off by {off}");
        }
        let beyond = numbers.iter().filter(|x| x.abs() > 2.575_829).count();
        assert!((800..1_200).contains(&beyond), "1 % lie beyond 2.5758: {beyond}");
        // The quartile, and the ends: known values of the normal distribution.
        assert!((quantile(0.5) - 0.674_489_75).abs() < 1e-6);
        assert!((quantile(1.0 - 1.0 / 16_777_216.0) - 5.419_983).abs() < 1e-4);
    }
}
