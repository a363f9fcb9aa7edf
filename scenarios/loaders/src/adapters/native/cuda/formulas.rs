//! The formulas of `scenarios/docs/transforms.md`, written operation by operation. None is
//! contracted, so the bits are the same.
#![expect(clippy::many_single_char_names, reason = "the names of the page")]

use std::fmt::Display;

use super::writer::{ParamClass, Writer, WriterValue, double, single};

/// The step of the generator.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// `split(s, i)`, with `i` in a register.
pub(super) fn split(w: &mut Writer, seed: WriterValue, index: WriterValue) -> WriterValue {
    let next = w.long("add.u64", index, 1);
    let step = w.long("mul.lo.u64", next, hex(GOLDEN));
    let z = w.long("add.u64", seed, step);
    mix(w, z)
}

/// `split(s, i)`, with `i` known.
pub(super) fn split_at(w: &mut Writer, seed: WriterValue, index: u64) -> WriterValue {
    let step = index.wrapping_add(1).wrapping_mul(GOLDEN);
    let z = w.long("add.u64", seed, hex(step));
    mix(w, z)
}

fn hex(bits: u64) -> String {
    format!("0x{bits:x}")
}

fn mix(w: &mut Writer, z: WriterValue) -> WriterValue {
    let mut z = z;
    for (shift, factor) in [(30, Some(0xbf58_476d_1ce4_e5b9)), (27, Some(0x94d0_49bb_1331_11eb)), (31, None)]
    {
        let shifted = w.long("shr.u64", z, shift);
        z = w.long("xor.b64", z, shifted);
        if let Some(factor) = factor {
            z = w.long("mul.lo.u64", z, hex(factor));
        }
    }
    z
}

/// `unit(n)` of a draw's key.
pub(super) fn unit(w: &mut Writer, key: WriterValue, number: u64) -> WriterValue {
    let bits = split_at(w, key, number);
    let upper = w.long("shr.u64", bits, 11);
    let whole = w.put(ParamClass::Double, "cvt.rn.f64.u64", &[&upper]);
    w.double("mul", whole, double(1.0 / (1_u64 << 53) as f64))
}

/// `between(n, low, high)` of a draw's key, in `f64`.
pub(super) fn between_wide(
    w: &mut Writer,
    key: WriterValue,
    number: u64,
    low: f64,
    high: f64,
) -> WriterValue {
    let unit = unit(w, key, number);
    let part = w.double("mul", unit, double(high - low));
    w.double("add", part, double(low))
}

/// `f32(between(n, low, high))` of a draw's key.
pub(super) fn between(w: &mut Writer, key: WriterValue, number: u64, low: f64, high: f64) -> WriterValue {
    let x = between_wide(w, key, number, low, high);
    w.put(ParamClass::Single, "cvt.rn.f32.f64", &[&x])
}

/// `below(n, bound)` of a draw's key, as a word.
pub(super) fn below(w: &mut Writer, key: WriterValue, number: u64, bound: impl Display) -> WriterValue {
    let bits = split_at(w, key, number);
    let drawn = w.long("mul.hi.u64", bits, bound);
    w.put(ParamClass::Word, "cvt.u32.u64", &[&drawn])
}

/// `coin(n)` of a draw's key.
pub(super) fn coin(w: &mut Writer, key: WriterValue, number: u64) -> WriterValue {
    let bits = split_at(w, key, number);
    let highest = w.long("shr.u64", bits, 63);
    w.put(ParamClass::Flag, "setp.ge.u64", &[&highest, &1])
}

/// `exp(z)`, in `f64`.
pub(super) fn exp(w: &mut Writer, z: WriterValue) -> WriterValue {
    let y = w.double("div", z, double(1024.0));
    let mut p = w.put(ParamClass::Double, "mov.f64", &[&double(1.0)]);
    for k in (1..=13).rev() {
        let product = w.double("mul", p, y);
        let part = w.double("div", product, double(f64::from(k)));
        p = w.double("add", part, double(1.0));
    }
    (0..10).fold(p, |p, _| w.double("mul", p, p))
}

/// `p * x + c` for each constant, the first of which is `p`.
fn polynomial(w: &mut Writer, x: WriterValue, constants: &[f32]) -> WriterValue {
    let mut p = w.put(ParamClass::Single, "mov.f32", &[&single(constants[0])]);
    for constant in &constants[1..] {
        let product = w.single("mul", p, x);
        p = w.single("add", product, single(*constant));
    }
    p
}

/// `ln(v)`.
fn ln(w: &mut Writer, v: WriterValue) -> WriterValue {
    let bits = w.put(ParamClass::Word, "mov.b32", &[&v]);
    let from_root = w.word("sub.s32", bits, 0x3f35_04f3);
    let e = w.word("shr.s32", from_root, 23);
    let scaled = w.word("shl.b32", e, 23);
    let m = w.word("sub.s32", bits, scaled);
    let m = w.put(ParamClass::Single, "mov.b32", &[&m]);
    let t = w.single("sub", m, single(1.0));
    let z = w.single("mul", t, t);
    let p = polynomial(
        w,
        t,
        &[
            7.037_683_6e-2,
            -1.151_461e-1,
            1.167_699_84e-1,
            -1.242_014_1e-1,
            1.424_932_3e-1,
            -1.666_805_8e-1,
            2.000_071_4e-1,
            -2.499_999_4e-1,
            3.333_333e-1,
        ],
    );
    let e = w.put(ParamClass::Single, "cvt.rn.f32.s32", &[&e]);
    let pt = w.single("mul", p, t);
    let y = w.single("mul", pt, z);
    let small = w.single("mul", e, single(-2.121_944_4e-4));
    let y = w.single("add", y, small);
    let half = w.single("mul", z, single(0.5));
    let y = w.single("sub", y, half);
    let sum = w.single("add", t, y);
    let great = w.single("mul", e, single(0.693_359_4));
    w.single("add", sum, great)
}

/// `LogTransform`.
pub(super) fn log1p_abs(w: &mut Writer, x: WriterValue) -> WriterValue {
    let a = w.put(ParamClass::Single, "abs.f32", &[&x]);
    let u = w.single("add", a, single(1.0));
    let log = ln(w, u);
    let product = w.single("mul", log, a);
    let rest = w.single("sub", u, single(1.0));
    let y = w.single("div", product, rest);
    let nothing = w.put(ParamClass::Flag, "setp.eq.f32", &[&u, &single(1.0)]);
    let infinite = w.put(ParamClass::Flag, "setp.eq.f32", &[&a, &single(f32::INFINITY)]);
    let either = w.put(ParamClass::Flag, "or.pred", &[&nothing, &infinite]);
    w.choose(either, a, y)
}

/// `sincos(x)`.
pub(super) fn sincos(w: &mut Writer, x: WriterValue) -> WriterValue {
    let whole = single(12_582_912.0);
    let turns = w.single("mul", x, single(std::f32::consts::FRAC_2_PI));
    let y = w.single("add", turns, &whole);
    let q = w.put(ParamClass::Word, "mov.b32", &[&y]);
    let k = w.single("sub", y, &whole);
    let mut r = x;
    for part in [1.570_312_5, 4.837_513e-4, 7.549_79e-8] {
        let product = w.single("mul", k, single(part));
        r = w.single("sub", r, product);
    }
    let z = w.single("mul", r, r);
    let s = polynomial(w, z, &[-1.951_529_6e-4, 8.332_161e-3, -1.666_665_5e-1]);
    let s = w.single("mul", s, z);
    let s = w.single("mul", s, r);
    let s = w.single("add", s, r);
    let c = polynomial(w, z, &[2.443_315_7e-5, -1.388_731_6e-3, 4.166_664_6e-2]);
    let c = w.single("mul", c, z);
    let c = w.single("mul", c, z);
    let half = w.single("mul", z, single(0.5));
    let c = w.single("sub", c, half);
    let c = w.single("add", c, single(1.0));
    let s = flip_sign(w, s, q, 31);
    let a = w.single("add", c, s);
    let second = w.word("shr.u32", q, 1);
    flip_sign(w, a, second, 31)
}

/// Negates where the lowest bit of a word is set.
fn flip_sign(w: &mut Writer, x: WriterValue, word: WriterValue, shift: u32) -> WriterValue {
    let bits = w.put(ParamClass::Word, "mov.b32", &[&x]);
    let sign = w.word("shl.b32", word, shift);
    let flipped = w.word("xor.b32", bits, sign);
    w.put(ParamClass::Single, "mov.b32", &[&flipped])
}

/// `normal(j)` of a draw's key, with `j` in a word.
pub(super) fn normal(w: &mut Writer, key: WriterValue, number: WriterValue) -> WriterValue {
    let pair = w.word("shr.u32", number, 1);
    let pair = w.put(ParamClass::Long, "cvt.u64.u32", &[&pair]);
    let bits = split(w, key, pair);
    let even = w.long("shr.u64", bits, 40);
    let odd = w.long("shr.u64", bits, 16);
    let odd = w.long("and.b64", odd, 0xff_ffff);
    let lowest = w.word("and.b32", number, 1);
    let is_odd = w.put(ParamClass::Flag, "setp.ne.u32", &[&lowest, &0]);
    let k = w.put(ParamClass::Long, "selp.b64", &[&odd, &even, &is_odd]);
    let k = w.put(ParamClass::Word, "cvt.u32.u64", &[&k]);
    let twice = w.word("shl.b32", k, 1);
    let centred = w.word("add.s32", twice, 1 - 16_777_216);
    let x = w.put(ParamClass::Single, "cvt.rn.f32.s32", &[&centred]);
    let x = w.single("mul", x, single(1.0 / 16_777_216.0));
    quantile(w, x)
}

fn quantile(w: &mut Writer, x: WriterValue) -> WriterValue {
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
    let one = w.put(ParamClass::Single, "mov.f32", &[&single(1.0)]);
    let below = w.single("sub", one, x);
    let above = w.single("add", one, x);
    let product = w.single("mul", below, above);
    let log = ln(w, product);
    let wide = w.put(ParamClass::Single, "neg.f32", &[&log]);
    let centred = w.single("sub", wide, single(2.5));
    let near = polynomial(w, centred, &NEAR);
    let is_positive = w.put(ParamClass::Flag, "setp.gt.f32", &[&wide, &single(0.0)]);
    let positive = w.choose(is_positive, wide, single(0.0));
    let root = w.put(ParamClass::Single, "sqrt.rn.f32", &[&positive]);
    let root = w.single("sub", root, single(3.0));
    let far = polynomial(w, root, &FAR);
    let is_near = w.put(ParamClass::Flag, "setp.lt.f32", &[&wide, &single(5.0)]);
    let p = w.choose(is_near, near, far);
    let px = w.single("mul", p, x);
    w.single("mul", px, single(std::f32::consts::SQRT_2))
}
