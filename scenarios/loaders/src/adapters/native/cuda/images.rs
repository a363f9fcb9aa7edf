//! What looks at a whole pixel, at its neighbours or at the draws of a window: the formulas of images in
//! `scenarios/docs/transforms.md`, written operation by operation.

use weighbridge::Dtype;

use super::formulas::{below, between, between_wide, exp, unit};
use super::writer::{ParamClass, Writer, WriterValue, double, single};

/// Row and column of a cell.
pub(super) fn split_cell(w: &mut Writer, cell: WriterValue, columns: usize) -> (WriterValue, WriterValue) {
    (w.word("div.u32", cell, columns), w.word("rem.u32", cell, columns))
}

/// The cell of a row and a column.
pub(super) fn cell_at(w: &mut Writer, row: WriterValue, column: WriterValue, columns: usize) -> WriterValue {
    w.put(ParamClass::Word, "mad.lo.u32", &[&row, &columns, &column])
}

/// Half of the range of colours, and its greatest value.
pub(super) fn range(dtype: Dtype) -> (f32, f32) {
    if dtype == Dtype::U8 { (128.0, 255.0) } else { (0.5, 1.0) }
}

/// What is added to a number of `u8` to round it: then it stands in the lowest bits.
const WHOLE: f32 = 8_388_608.0; // 2^23

/// A number as a transform of colours leaves it: of `u8`, limited to the range and rounded.
pub(super) fn settle(w: &mut Writer, x: WriterValue, dtype: Dtype) -> WriterValue {
    if dtype != Dtype::U8 {
        return x;
    }
    let x = limit(w, x, 255.0);
    let x = w.single("add", x, single(WHOLE));
    w.single("sub", x, single(WHOLE))
}

/// The bits of a number that was settled as `u8`, in a word whose other bits are not nothing.
pub(super) fn byte(w: &mut Writer, x: WriterValue) -> WriterValue {
    let x = w.single("add", x, single(WHOLE));
    w.put(ParamClass::Word, "mov.b32", &[&x])
}

/// `x` limited to 0 to `top`. Not `max` and `min`, which lose NaN and the sign of zero.
pub(super) fn limit(w: &mut Writer, x: WriterValue, top: f32) -> WriterValue {
    let low = w.put(ParamClass::Flag, "setp.lt.f32", &[&x, &single(0.0)]);
    let x = w.choose(low, single(0.0), x);
    let high = w.put(ParamClass::Flag, "setp.gt.f32", &[&x, &single(top)]);
    w.choose(high, single(top), x)
}

/// A window in registers: where it is, and by how much it is longer than what it is resized to.
#[derive(Clone, Copy, Debug)]
pub(super) struct ImageWindow {
    pub(super) top: WriterValue,
    pub(super) left: WriterValue,
    pub(super) rows: WriterValue,
    pub(super) columns: WriterValue,
    pub(super) row_scale: WriterValue,
    pub(super) column_scale: WriterValue,
}

/// The window of `RandomResizedCrop`.
pub(super) fn random_window(w: &mut Writer, key: WriterValue, rows: usize, columns: usize) -> ImageWindow {
    const LN_4_3: f64 = 0.287_682_072_451_780_85;
    let (all_rows, all_columns) = (rows as f64, columns as f64);
    let mut height = w.put(ParamClass::Double, "mov.f64", &[&double(all_rows)]);
    let mut width = w.put(ParamClass::Double, "mov.f64", &[&double(all_columns)]);
    // From the last attempt to the first, so that the first that fits stays.
    for attempt in (0..10).rev() {
        let share = between_wide(w, key, 2 * attempt, 0.08, 1.0);
        let area = w.double("mul", share, double(all_rows * all_columns));
        let power = between_wide(w, key, 2 * attempt + 1, -LN_4_3, LN_4_3);
        let ratio = exp(w, power);
        let wide = side(w, "mul", area, ratio);
        let tall = side(w, "div", area, ratio);
        let bounds = [(wide, all_columns), (tall, all_rows)].map(|(side, most)| {
            let least = w.put(ParamClass::Flag, "setp.ge.f64", &[&side, &double(1.0)]);
            let most = w.put(ParamClass::Flag, "setp.le.f64", &[&side, &double(most)]);
            w.put(ParamClass::Flag, "and.pred", &[&least, &most])
        });
        let fits = w.put(ParamClass::Flag, "and.pred", &[&bounds[0], &bounds[1]]);
        width = w.put(ParamClass::Double, "selp.f64", &[&wide, &width, &fits]);
        height = w.put(ParamClass::Double, "selp.f64", &[&tall, &height, &fits]);
    }
    let row_scale = w.double("div", height, double(all_rows));
    let column_scale = w.double("div", width, double(all_columns));
    let [(rows, top), (columns, left)] =
        [(height, rows, 20), (width, columns, 21)].map(|(side, whole, number)| {
            let side = w.put(ParamClass::Word, "cvt.rzi.u32.f64", &[&side]);
            let places = w.put(ParamClass::Word, "sub.s32", &[&(whole + 1), &side]);
            let places = w.put(ParamClass::Long, "cvt.u64.u32", &[&places]);
            (side, below(w, key, number, places))
        });
    ImageWindow { top, left, rows, columns, row_scale, column_scale }
}

/// A side of a window, a whole number.
fn side(w: &mut Writer, op: &str, area: WriterValue, ratio: WriterValue) -> WriterValue {
    let square = w.double(op, area, ratio);
    let side = w.put(ParamClass::Double, "sqrt.rn.f64", &[&square]);
    let side = w.double("add", side, double(0.5));
    w.put(ParamClass::Double, "cvt.rmi.f64.f64", &[&side])
}

/// Where the pixel `index` of a resized axis comes from: two neighbours of `count`, and how far it is from
/// the first to the second.
pub(super) fn neighbours(
    w: &mut Writer,
    index: WriterValue,
    scale: WriterValue,
    count: WriterValue,
) -> (WriterValue, WriterValue, WriterValue) {
    let index = w.put(ParamClass::Double, "cvt.rn.f64.u32", &[&index]);
    let middle = w.double("add", index, double(0.5));
    let place = w.double("mul", middle, scale);
    let place = w.double("sub", place, double(0.5));
    let outside = w.put(ParamClass::Flag, "setp.lt.f64", &[&place, &double(0.0)]);
    let place = w.put(ParamClass::Double, "selp.f64", &[&double(0.0), &place, &outside]);
    let whole = w.put(ParamClass::Double, "cvt.rmi.f64.f64", &[&place]);
    let whole = w.put(ParamClass::Word, "cvt.rzi.u32.f64", &[&whole]);
    let last = w.word("sub.s32", count, 1);
    let first = w.word("min.u32", whole, last);
    let next = w.word("add.u32", first, 1);
    let second = w.word("min.u32", next, last);
    let start = w.put(ParamClass::Double, "cvt.rn.f64.u32", &[&first]);
    let way = w.double("sub", place, start);
    (first, second, w.put(ParamClass::Single, "cvt.rn.f32.f64", &[&way]))
}

/// `from + (to - from) * way`.
pub(super) fn blend(w: &mut Writer, from: WriterValue, to: WriterValue, way: WriterValue) -> WriterValue {
    let apart = w.single("sub", to, from);
    let part = w.single("mul", apart, way);
    w.single("add", from, part)
}

/// The weights of `GaussianBlur`: of the middle, of its neighbours, and of theirs.
pub(super) fn blur_weights(w: &mut Writer, key: WriterValue) -> [WriterValue; 3] {
    let deviation = between_wide(w, key, 0, 0.1, 2.0);
    let square = w.double("mul", deviation, deviation);
    let power = w.put(ParamClass::Double, "div.rn.f64", &[&double(-0.5), &square]);
    let a = exp(w, power);
    let squared = w.double("mul", a, a);
    let b = w.double("mul", squared, squared);
    let both = w.double("add", a, b);
    let twice = w.double("mul", both, double(2.0));
    let n = w.double("add", twice, double(1.0));
    let one = w.put(ParamClass::Double, "mov.f64", &[&double(1.0)]);
    [one, a, b].map(|k| {
        let share = w.double("div", k, n);
        w.put(ParamClass::Single, "cvt.rn.f32.f64", &[&share])
    })
}

/// The place `offset` pixels on, or the last one on that side.
pub(super) fn beside(w: &mut Writer, index: WriterValue, offset: i32, count: usize) -> WriterValue {
    match offset {
        0 => index,
        _ if offset < 0 => {
            let place = w.word("add.s32", index, offset);
            w.word("max.s32", place, 0)
        }
        _ => {
            let place = w.word("add.s32", index, offset);
            w.word("min.s32", place, count - 1)
        }
    }
}

/// `(k0 * x[2] + k1 * (x[1] + x[3])) + k2 * (x[0] + x[4])`.
pub(super) fn five(w: &mut Writer, x: [WriterValue; 5], [k0, k1, k2]: [WriterValue; 3]) -> WriterValue {
    let middle = w.single("mul", k0, x[2]);
    let near = w.single("add", x[1], x[3]);
    let near = w.single("mul", k1, near);
    let far = w.single("add", x[0], x[4]);
    let far = w.single("mul", k2, far);
    let inner = w.single("add", middle, near);
    w.single("add", inner, far)
}

/// `ColorJitter` on a pixel of an image of `numbers` bytes, whose sum is known.
pub(super) fn jitter(
    w: &mut Writer,
    key: WriterValue,
    pixel: &[WriterValue],
    sum: WriterValue,
    numbers: usize,
) -> Vec<WriterValue> {
    let shift = between_wide(w, key, 0, -0.4, 0.4);
    let shift = w.double("mul", shift, double(255.0));
    let shift = w.put(ParamClass::Single, "cvt.rn.f32.f64", &[&shift]);
    let contrast = between(w, key, 1, 0.6, 1.4);
    let saturation = between(w, key, 2, 0.6, 1.4);
    let sum = w.put(ParamClass::Double, "cvt.rn.f64.u32", &[&sum]);
    let mean = w.double("div", sum, double(numbers as f64));
    let mean = w.put(ParamClass::Single, "cvt.rn.f32.f64", &[&mean]);
    let mean = w.single("add", mean, shift);
    let contrasted: Vec<WriterValue> = pixel
        .iter()
        .map(|x| {
            let shifted = w.single("add", *x, shift);
            let apart = w.single("sub", shifted, mean);
            let stretched = w.single("mul", apart, contrast);
            w.single("add", stretched, mean)
        })
        .collect();
    let grey = grey(w, &contrasted);
    let saturate = |y: &WriterValue| {
        let apart = w.single("sub", *y, grey);
        let stretched = w.single("mul", apart, saturation);
        let y = w.single("add", stretched, grey);
        settle(w, y, Dtype::U8)
    };
    contrasted.iter().map(saturate).collect()
}

/// `RandomGrayscale` on a pixel.
pub(super) fn grayscale(
    w: &mut Writer,
    key: WriterValue,
    pixel: &[WriterValue],
    dtype: Dtype,
) -> Vec<WriterValue> {
    let drawn = unit(w, key, 0);
    let is_grey = w.put(ParamClass::Flag, "setp.lt.f64", &[&drawn, &double(0.2)]);
    let grey = grey(w, pixel);
    let grey = settle(w, grey, dtype);
    pixel.iter().map(|x| w.choose(is_grey, grey, x)).collect()
}

/// `((r + g) + b) / 3`.
fn grey(w: &mut Writer, pixel: &[WriterValue]) -> WriterValue {
    let two = w.single("add", pixel[0], pixel[1]);
    let three = w.single("add", two, pixel[2]);
    w.single("div", three, single(3.0))
}
